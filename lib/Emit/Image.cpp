//===- Image.cpp - The GPU code that a program carries --------------------===//
//
// For each GPU its PTX, which later GPUs translate when they load it, and where ptxas is there its machine code too. The format is
// in runtime/README.md.
//
//===----------------------------------------------------------------------===//
#include "Internal.h"

#include "para/Support/Output.h"

#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace para;

namespace {
struct Part {
  std::string arch, ptx, cubin, problem;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  std::unique_ptr<llvm::TargetMachine> machine;
};
} // namespace

static LogicalResult prepare(Part &part, ModuleOp program, ModuleOp kernels) {
  std::string problem;
  part.machine = makeGpuMachine(part.arch, problem);
  if (!part.machine)
    return program.emitError(problem);
  part.code = translateModuleToLLVMIR(kernels, part.context);
  if (!part.code)
    return program.emitError("kernels cannot be translated to LLVM");
  return success();
}

FailureOr<std::string> para::buildGpuText(ModuleOp program, ModuleOp kernels, const EmitOptions &options) {
  Part part;
  if (options.arch.empty())
    return program.emitError("--arch names no GPU");
  part.arch = options.arch.front();
  if (failed(prepare(part, program, kernels)))
    return failure();
  optimizeForGpu(*part.code, *part.machine, program);
  if (options.kind == "ptx")
    return generateCode(*part.code, *part.machine, /*isText=*/true).str().str();
  std::string text;
  llvm::raw_string_ostream(text) << *part.code;
  return text;
}

static std::string findAssembler() {
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto folder = llvm::sys::Process::GetEnv(variable))
      if (std::string path = *folder + "/bin/ptxas"; llvm::sys::fs::can_execute(path))
        return path;
  std::string usual = "/usr/local/cuda/bin/ptxas";
  return llvm::sys::fs::can_execute(usual) ? usual : "";
}

/// Machine code of the part's PTX.
static void assemble(Part &part, StringRef assembler) {
  llvm::SmallString<128> in, out, log;
  bool made = !llvm::sys::fs::createTemporaryFile("para", "ptx", in) && !llvm::sys::fs::createTemporaryFile("para", "cubin", out) &&
              !llvm::sys::fs::createTemporaryFile("para", "log", log);
  if (!made) {
    part.problem = "cannot make temporary files";
    return;
  }
  if (llvm::Error error = writeOutput(in, part.ptx)) {
    part.problem = llvm::toString(std::move(error));
    return;
  }
  std::optional<StringRef> redirects[] = {std::nullopt, log.str(), log.str()};
  int status = llvm::sys::ExecuteAndWait(assembler, {assembler, "-arch=" + part.arch, "-o", out, in}, std::nullopt, redirects);
  if (auto buffer = llvm::MemoryBuffer::getFile(status ? log : out))
    (status ? part.problem : part.cubin) = (*buffer)->getBuffer().str();
  for (auto &path : {in, out, log})
    llvm::sys::fs::remove(path);
  if (status)
    part.problem = "ptxas does not take the kernels for " + part.arch + ": " + part.problem;
}

FailureOr<std::string> para::buildImage(ModuleOp program, ModuleOp kernels, const EmitOptions &options, llvm::function_ref<void()> alongside) {
  std::vector<std::unique_ptr<Part>> parts;
  for (const std::string &arch : options.arch) {
    if (llvm::any_of(parts, [&](auto &part) { return part->arch == arch; }))
      continue;
    parts.push_back(std::make_unique<Part>());
    parts.back()->arch = arch;
    if (failed(prepare(*parts.back(), program, kernels)))
      return failure();
  }
  if (parts.empty())
    return program.emitError("--arch names no GPU");
  std::string assembler = findAssembler();
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(std::max(1u, options.threads)));
    pool.async([&] { alongside(); });
    for (auto &part : parts)
      pool.async([&part, &assembler, program] {
        optimizeForGpu(*part->code, *part->machine, program);
        part->ptx = generateCode(*part->code, *part->machine, /*isText=*/true).str().str();
        if (part->ptx.empty())
          part->problem = "no PTX could be made for " + part->arch;
        else if (!assembler.empty())
          assemble(*part, assembler);
      });
    pool.wait();
  }
  // Head, table, contents; PTX ends in a zero.
  struct Entry {
    uint32_t arch, kind;
    uint64_t offset, bytes;
  };
  std::vector<Entry> table;
  std::string contents;
  uint64_t count = 0;
  for (auto &part : parts) {
    if (!part->problem.empty())
      return program.emitError(part->problem);
    count += 1 + !part->cubin.empty();
  }
  for (auto &part : parts)
    for (uint32_t kind : {0, 1}) {
      std::string &bytes = kind ? part->cubin : part->ptx;
      if (bytes.empty())
        continue;
      contents.resize((contents.size() + 15) / 16 * 16);
      table.push_back({static_cast<uint32_t>(std::stoi(part->arch.substr(3))), kind, 16 + count * sizeof(Entry) + contents.size(), bytes.size()});
      contents += bytes;
      contents.push_back(0);
    }
  std::string image = "PARAGPU1";
  image.append(reinterpret_cast<const char *>(&count), sizeof count);
  image.append(reinterpret_cast<const char *>(table.data()), table.size() * sizeof(Entry));
  return image + contents;
}
