//===- Main.cpp - The executable's main ---------------------------------------===//
#include "Environment.h"
#include "Launcher.h"
#include "Worker.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace para::runtime;

/// What was printed has come out, or an error.
static Status flushOutput() {
  errno = 0;
  bool isFine = std::fflush(stdout) == 0 && !std::ferror(stdout);
  return isFine ? Status::success()
                : Status::error(std::string("cannot write to standard output") +
                                (errno ? std::string(": ") + std::strerror(errno) : std::string()));
}

static int report(const Status &status) {
  if (!status.message().empty())
    std::fprintf(stderr, "para: %s\n", status.message().c_str());
  return status.exitCode();
}

/// One rank from joining to its exit status.
static int runRank(LaunchKind kind, const Manifest &manifest, const Flags &flags, const para_program &program) {
  int64_t ranks = manifest.ranks(), lines = manifest.lines();
  std::unique_ptr<World> world;
  Status status = kind == LaunchKind::Mpi ? joinMpi(ranks, lines, flags.transport != "mpi", world)
                                          : joinShared(kind, {ranks, lines, manifest.target != "cuda" && manifest.target != "rehearsal"}, world);
  if (status.failed())
    return report(status);
  installStopHandlers();
  int exitCode = 0;
  {
    Worker worker(manifest, flags, program, *world);
    status = worker.start();
    if (!status.failed())
      status = manifest.isTraining() ? worker.train(exitCode) : worker.infer(exitCode);
    if (!status.failed())
      status = worker.writeTrace();
    if (status.failed()) {
      exitCode = report(status);
      if (!status.isKnownToAll())
        world->declareFailure(exitCode);
    }
  }
  if (Status output = flushOutput(); output.failed() && exitCode == 0)
    exitCode = report(output);
  world->finish();
  return exitCode;
}

int para_main(int argc, char **argv, const para_program *program) {
  if (program->abi_version != PARA_ABI_VERSION)
    return report(Status::error(format("the program was compiled for ABI %u, this runtime has %d",
                                       program->abi_version, PARA_ABI_VERSION)));
  Manifest manifest;
  if (Status status = parseManifest(program->manifest, program->manifest_bytes, manifest); status.failed())
    return report(status);
  Flags flags;
  LaunchKind kind = detectLaunch(manifest.ranks());
  if (Status status = parseFlags(argc, argv, manifest, flags); status.failed())
    return report(status);
  if (flags.help || !flags.info.empty()) {
    std::string text = flags.help            ? helpText(manifest, argv[0])
                       : flags.info == "json" ? infoJson(manifest)
                                              : infoText(manifest);
    std::fputs(text.c_str(), stdout);
    Status output = flushOutput();
    return output.failed() ? report(output) : 0;
  }
  if (flags.transport == "mpi" && kind != LaunchKind::Mpi)
    return report(Status::error("--transport=mpi needs mpirun", 2));
  if (Status status = checkEnvironment(); status.failed())
    return report(status);
  if (kind == LaunchKind::Parent)
    return superviseRanks(manifest.ranks(), manifest.lines(), flags.threads, argv);
  return runRank(kind, manifest, flags, *program);
}
