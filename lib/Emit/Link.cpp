//===- Link.cpp - Objects and the runtime become a program ----------------===//
#include "Internal.h"

#include "para/Support/Output.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace para;

static std::string runtimeFolder(const EmitOptions &options) {
  if (!options.runtimeFolder.empty())
    return options.runtimeFolder;
  std::string self = llvm::sys::fs::getMainExecutable(options.program.empty() ? nullptr : options.program.c_str(), reinterpret_cast<void *>(&runtimeFolder));
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(llvm::sys::path::parent_path(self)));
  llvm::sys::path::append(folder, "lib");
  return folder.str().str();
}

LogicalResult para::linkProgram(ModuleOp module, ArrayRef<std::string> objects, const EmitOptions &options) {
  std::string linker;
  for (const char *name : {"clang++-22", "clang++"})
    if (auto found = llvm::sys::findProgramByName(name); found && linker.empty())
      linker = *found;
  if (linker.empty())
    return module.emitError("no clang++ was found to link the program with");
  llvm::Expected<PendingFile> file = PendingFile::create(options.output);
  if (!file)
    return reportOutput(module, file.takeError());
  std::vector<std::string> arguments{linker, "-o", file->getPath().str(), "-fuse-ld=lld"};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  if (options.kind == "shared") {
    arguments.push_back("-shared");
  } else {
    bool isHost = options.target == "host";
    std::vector<std::string> libraries{"core"};
    if (isHost)
      libraries.push_back("host");
    else
      libraries.insert(libraries.end(), {"cuda", "rehearsal"});
    arguments.push_back("-Wl,--start-group");
    for (const std::string &name : libraries) {
      arguments.push_back(runtimeFolder(options) + "/libpara_runtime_" + name + ".a");
      if (!llvm::sys::fs::exists(arguments.back()))
        return module.emitError() << "the runtime is not where it should be: " << arguments.back();
    }
    arguments.push_back("-Wl,--end-group");
    if (isHost) // CUDA's libraries are loaded where they are wanted.
      arguments.insert(arguments.end(), {"-ldnnl", "-lgomp"});
    arguments.insert(arguments.end(), {"-lmpi", "-lz", "-ldl", "-lpthread"});
  }
  arguments.insert(arguments.end(), options.linkArguments.begin(), options.linkArguments.end());
  llvm::SmallString<128> log;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("para-link", "log", log))
    return reportTemporary(module, error);
  std::vector<StringRef> list(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {std::nullopt, log.str(), log.str()};
  std::string error;
  int status = llvm::sys::ExecuteAndWait(linker, list, std::nullopt, redirects, 0, 0, &error);
  std::string output;
  if (auto buffer = llvm::MemoryBuffer::getFile(log))
    output = (*buffer)->getBuffer().str();
  llvm::sys::fs::remove(log);
  if (status == 0) {
    if (llvm::Error error = file->commit())
      return reportOutput(module, std::move(error));
    return success();
  }
  // What the linker says of its output is of a file that nobody knows; it is ended by a signal where the disk takes no more of a mapped file.
  std::pair<StringRef, std::errc> causes[] = {{"No space left on device", std::errc::no_space_on_device},
                                              {"Bus error", std::errc::no_space_on_device},
                                              {"File too large", std::errc::file_too_large},
                                              {"File size limit exceeded", std::errc::file_too_large}};
  for (auto [text, cause] : causes)
    if (StringRef(output).contains(text))
      return emitError(UnknownLoc::get(module.getContext())) << "cannot write '" << options.output << "': " << std::make_error_code(cause).message();
  return module.emitError() << "linking failed: " << (error.empty() ? output : error);
}
