//===- Suite.cpp - One set of checks for all back ends -------------------------===//
//
//   para-conformance-host [--ranks N] [--check NAME]
//   para-conformance-cuda [--ranks N] [--check NAME] [--target rehearsal | cuda]
//
// Runs all checks, or one, as N ranks (or as many as a launcher starts with PARA_CONFORMANCE_RANKS=N), and ends with status 0 where all hold.
//
//===----------------------------------------------------------------------===//
#include "Suite.h"

#include "core/Launcher.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace para::conformance {

namespace {
constexpr int64_t arenaBytes = 48 << 20;
constexpr Check checks[] = {{"buffers", checkBuffers}, {"lists", checkLists}, {"streams", checkStreams}, {"kernels", checkKernels}, {"products", checkProducts},
                            {"collectives", checkCollectives}, {"messages", checkMessages}, {"errors", checkErrors}};

/// Two axes: stages, which exchange messages in both directions, and `data` within a stage.
std::string makeManifest(int64_t ranks, const std::string &target) {
  int64_t stages = ranks % 2 == 0 ? 2 : ranks, inner = ranks / stages;
  std::string text = "{\"version\": 1, \"model\": \"conformance\", \"mode\": \"infer\", \"target\": \"" + target + "\", \"mesh\": [{\"name\": \"pipeline\", \"size\": " +
                     std::to_string(stages) + "}, {\"name\": \"data\", \"size\": " + std::to_string(inner) +
                     "}], \"communicators\": [{\"axes\": [\"pipeline\", \"data\"]}, {\"axes\": [\"data\"]}, {\"axes\": [\"pipeline\"]}], \"messages\": [";
  bool isFirst = true;
  for (int64_t from = 0; from < stages; ++from)
    for (int64_t to = 0; to < stages; ++to)
      if (from != to)
        text += std::string(std::exchange(isFirst, false) ? "" : ", ") + "[" + std::to_string(from) + ", " + std::to_string(to) + "]";
  text += "], \"stages\": [";
  for (int64_t stage = 0; stage < stages; ++stage)
    text += std::string(stage ? ", " : "") + "{\"arena_bytes\": " + std::to_string(arenaBytes) + ", \"actions\": [], \"tensors\": []}";
  return text + "]}";
}

int report(const Status &status) {
  if (status.failed() && !status.message().empty())
    std::fprintf(stderr, "conformance: %s\n", status.message().c_str());
  return status.exitCode();
}
} // namespace

int64_t Suite::room(int64_t bytes, int64_t shift) {
  int64_t offset = used + shift;
  used = (offset + bytes + 255) / 256 * 256;
  if (used > arenaBytes) {
    std::fprintf(stderr, "conformance: a list of cases needs more than the arena\n");
    std::exit(1);
  }
  return offset;
}

Status Suite::run() {
  const void *key = reinterpret_cast<const void *>(++lists);
  for (int repetition = 0; repetition < 3; ++repetition) {
    for (const Case &one : cases) {
      for (const Case::Bytes &bytes : one.after) {
        std::vector<char> garbage(bytes.data.size(), 0x5a);
        PARA_TRY(device.write(bytes.offset, garbage.data(), int64_t(garbage.size())));
      }
      for (const Case::Bytes &bytes : one.before)
        PARA_TRY(device.write(bytes.offset, bytes.data.data(), int64_t(bytes.data.size())));
    }
    PARA_TRY(device.run(key, [&] {
      for (const Case &one : cases)
        if (para_status status = one.call())
          return status;
      return para_status(PARA_OK);
    }));
    for (const Case &one : cases)
      for (const Case::Bytes &bytes : one.after) {
        std::vector<char> found(bytes.data.size());
        PARA_TRY(device.read(bytes.offset, found.data(), int64_t(found.size())));
        auto wrong = std::mismatch(found.begin(), found.end(), bytes.data.begin());
        if (wrong.first != found.end())
          return Status::error(format("rank %lld: %s: byte %lld of %zu is %d, expected %d (run %d of the list)", (long long)world.rank(), one.what.c_str(),
                                      (long long)(wrong.first - found.begin()), found.size(), *wrong.first, *wrong.second, repetition + 1));
      }
  }
  cases.clear();
  used = 0;
  return Status::success();
}

std::vector<char> elements(int32_t dtype, int64_t count, const std::function<double(int64_t)> &value) {
  int64_t bytes = elementBytes(DType(dtype));
  std::vector<char> made(size_t(count * bytes));
  for (int64_t i = 0; i < count; ++i)
    storeScalar(DType(dtype), made.data() + i * bytes, value(i));
  return made;
}

static int runRank(LaunchKind kind, const Manifest &manifest, const para_program &program, const std::string &chosen, bool isGpu, bool sharesMemory) {
  std::unique_ptr<World> world;
  Status status = kind == LaunchKind::Mpi ? joinMpi(manifest.ranks(), manifest.lines(), sharesMemory, world)
                                          : joinShared(kind, {manifest.ranks(), manifest.lines(), !isGpu}, world);
  if (status.failed())
    return report(status);
  {
    std::unique_ptr<Device> device;
    DeviceOptions options;
    options.manifest = &manifest;
    options.program = &program;
    options.world = world.get();
    options.threads = 2;
    status = world->agree(createDevice(options, device));
    Suite suite(manifest, *world, *device, isGpu);
    for (const Check &check : checks) {
      bool isWanted = chosen == check.name || (chosen.empty() && std::strcmp(check.name, "errors") != 0);
      if (status.failed() || !isWanted)
        continue;
      status = check.run(suite);
      if (!status.failed() && world->rank() == 0)
        std::printf("%s: as they should be on %lld ranks\n", check.name, (long long)manifest.ranks());
    }
    if (status.failed()) {
      report(status);
      if (!status.isKnownToAll())
        world->declareFailure(1);
    }
  }
  std::fflush(stdout);
  world->finish();
  return status.failed() ? 1 : 0;
}

} // namespace para::conformance

int main(int argc, char **argv) {
  using namespace para::conformance;
  const char *told = std::getenv("PARA_CONFORMANCE_RANKS");
  int64_t ranks = told ? std::atoll(told) : 1;
#ifdef PARA_CONFORMANCE_GPU
  std::string target = "rehearsal", chosen, transport = "auto";
  bool isGpu = true;
#else
  std::string target = "host", chosen, transport = "auto";
  bool isGpu = false;
  limitThreadSpinning(argv);
#endif
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string flag = argv[i], value = argv[i + 1];
    bool isFine = flag == "--ranks"    ? parseInteger(value, ranks) && ranks >= 1
                  : flag == "--check"  ? (chosen = value, std::any_of(std::begin(checks), std::end(checks), [&](const Check &check) { return chosen == check.name; }))
                  : flag == "--target" ? isGpu == (value != "host") && (target = value, true)
                                       : flag == "--transport" && (transport = value, true);
    if (!isFine)
      return std::fprintf(stderr, "conformance: %s %s cannot be\n", flag.c_str(), value.c_str()), 2;
  }
  std::string text = makeManifest(ranks, target), image = makeImage();
  Manifest manifest;
  if (Status status = parseManifest(text.data(), text.size(), manifest); status.failed())
    return report(status);
  para_program program{PARA_ABI_VERSION, 0, text.data(), text.size(), nullptr, isGpu ? image.data() : nullptr, isGpu ? image.size() : 0, threadKernels, 1};
  LaunchKind kind = detectLaunch(ranks);
  if (kind == LaunchKind::Parent)
    return superviseRanks(ranks, manifest.lines(), 2, argv);
  return runRank(kind, manifest, program, chosen, isGpu, transport != "mpi");
}
