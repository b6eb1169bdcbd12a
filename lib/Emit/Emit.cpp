//===- Emit.cpp - From the device program to files ------------------------===//
#include "Internal.h"

#include "para/Lower/Rt.h"
#include "para/Support/Output.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace para;

namespace {
/// Removes temporary files when it goes.
struct TemporaryFiles {
  std::vector<std::string> paths;
  ~TemporaryFiles() {
    for (const std::string &path : paths)
      llvm::sys::fs::remove(path);
  }
};
} // namespace

/// Kernel functions in `parts` modules, each with about the same number of operations.
static std::vector<OwningOpRef<ModuleOp>> splitKernels(ModuleOp module, unsigned parts) {
  std::vector<OwningOpRef<ModuleOp>> result;
  std::vector<int64_t> load(parts, 0);
  for (unsigned i = 0; i < parts; ++i)
    result.push_back(ModuleOp::create(module.getLoc()));
  for (Operation &op : *module.getBody()) {
    if (isa<LLVM::GlobalOp>(op))
      for (auto &part : result)
        part->getBody()->push_back(op.clone());
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func)
      continue;
    if (func.isDeclaration()) {
      for (auto &part : result)
        part->getBody()->push_back(op.clone());
      continue;
    }
    int64_t size = 0;
    op.walk([&](Operation *) { ++size; });
    unsigned least = std::min_element(load.begin(), load.end()) - load.begin();
    load[least] += size;
    result[least]->getBody()->push_back(op.clone());
  }
  return result;
}

LogicalResult para::reportOutput(ModuleOp module, llvm::Error error) {
  return emitError(UnknownLoc::get(module.getContext())) << llvm::toString(std::move(error));
}

LogicalResult para::reportTemporary(ModuleOp module, std::error_code error) {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  return emitError(UnknownLoc::get(module.getContext())) << "cannot make a temporary file in '" << folder << "' (TMPDIR names another folder): " << error.message();
}

LogicalResult para::writeFile(ModuleOp module, StringRef path, StringRef bytes) {
  if (llvm::Error error = writeOutput(path, bytes))
    return reportOutput(module, std::move(error));
  return success();
}

/// Segments and kernels as one module: its text, or its code.
static LogicalResult emitOne(ModuleOp module, llvm::Module &kernels, llvm::TargetMachine &machine, ArrayRef<ThreadKernel> threadKernels, const EmitOptions &options) {
  bool isHost = options.target == "host";
  std::unique_ptr<llvm::Module> program = buildProgram(module, kernels.getContext(), options, {}, threadKernels);
  if (!isHost)
    optimizeForRehearsal(kernels, machine);
  program->setDataLayout(kernels.getDataLayout());
  program->setTargetTriple(kernels.getTargetTriple());
  if (llvm::Linker::linkModules(*program, llvm::CloneModule(kernels)))
    return module.emitError("kernels and segments do not fit together");
  optimize(*program, machine, isHost);
  if (options.kind == "object")
    return writeFile(module, options.output, generateCode(*program, machine));
  std::string text;
  llvm::raw_string_ostream(text) << *program;
  return writeFile(module, options.output, text);
}

LogicalResult para::emitProgram(ModuleOp module, const EmitOptions &options) {
  if (!module->hasAttr("rt.manifest"))
    return module.emitError("has not been lowered: there is no manifest");
  module.getContext()->loadDialect<LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  bool isHost = options.target == "host", isCuda = options.target == "cuda";
  if (!isCuda && options.kind == "ptx")
    return module.emitError("PTX is made for --target=cuda only");
  bool single = isCuda || options.kind == "llvm" || options.kind == "object";
  std::vector<OwningOpRef<ModuleOp>> parts = splitKernels(module, single ? 1 : std::max(1u, options.threads));
  for (auto &part : parts)
    if (failed(lowerKernels(*part)))
      return failure();
  if (isCuda && (options.kind == "ptx" || options.kind == "llvm")) {
    FailureOr<std::string> text = buildGpuText(module, *parts[0], options);
    return failed(text) ? failure() : writeFile(module, options.output, *text);
  }
  if (failed(checkProgress(module)) || (!isHost && failed(checkMessageOrder(module))))
    return failure();

  // Translation asks MLIR's context, which serves one thread; LLVM's work is spread.
  struct Unit {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> code;
    std::unique_ptr<llvm::TargetMachine> machine;
    llvm::SmallString<0> object;
  };
  std::vector<std::unique_ptr<Unit>> units;
  std::vector<ThreadKernel> threadKernels;
  for (auto [i, part] : llvm::enumerate(parts)) {
    Unit &unit = *units.emplace_back(std::make_unique<Unit>());
    unit.machine = makeHostMachine(true);
    unit.code = translateModuleToLLVMIR(*part, unit.context);
    if (!unit.machine || !unit.code)
      return module.emitError("kernels cannot be translated to LLVM");
    if (!isHost)
      addThreadFunctions(*unit.code, module, threadKernels);
    for (llvm::Function &function : *unit.code)
      if (!function.isDeclaration() && !function.hasLocalLinkage())
        function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  if (single && !isCuda)
    return emitOne(module, *units[0]->code, *units[0]->machine, threadKernels, options);

  auto work = [&](Unit &unit, bool isKernels) {
    isKernels && !isHost ? optimizeForRehearsal(*unit.code, *unit.machine) : optimize(*unit.code, *unit.machine, isKernels);
    unit.object = generateCode(*unit.code, *unit.machine);
    unit.code.reset();
  };
  std::string image;
  if (isCuda) {
    FailureOr<std::string> made = buildImage(module, *parts[0], options, [&] { work(*units[0], true); });
    if (failed(made))
      return failure();
    image = std::move(*made);
  }
  Unit &segments = *units.emplace_back(std::make_unique<Unit>());
  segments.machine = makeHostMachine(false);
  segments.code = segments.machine ? buildProgram(module, segments.context, options, image, threadKernels) : nullptr;
  if (!segments.code)
    return module.emitError("no code can be made for this processor");
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(std::max(1u, options.threads)));
    for (auto &unit : units)
      if (unit->code)
        pool.async([&, &unit = *unit] { work(unit, &unit != &segments); });
    pool.wait();
  }
  TemporaryFiles files;
  for (auto &unit : units) {
    llvm::SmallString<128> path;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("para", "o", path))
      return reportTemporary(module, error);
    files.paths.push_back(path.str().str());
    if (failed(writeFile(module, path, unit->object)))
      return failure();
  }
  units.clear();
  return linkProgram(module, files.paths, options);
}
