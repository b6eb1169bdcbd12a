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

LogicalResult para::emitProgram(ModuleOp module, const EmitOptions &options) {
  if (!module->hasAttr("rt.manifest"))
    return module.emitError("has not been lowered: there is no manifest");
  module.getContext()->loadDialect<LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  bool isCuda = options.target == "cuda", isRehearsal = options.target == "rehearsal";
  if (!isCuda && options.kind == "ptx")
    return module.emitError("PTX is made for --target=cuda only");
  bool single = isCuda || options.kind == "llvm" || options.kind == "object";
  std::vector<OwningOpRef<ModuleOp>> parts = splitKernels(module, single ? 1 : std::max(1u, options.threads));

  std::vector<llvm::SmallString<0>> objects(parts.size() + 1);
  for (auto [i, part] : llvm::enumerate(parts))
    if (failed(lowerKernels(*part)))
      return failure();

  std::string image;
  if (isCuda) {
    if (options.kind == "ptx" || options.kind == "llvm") {
      FailureOr<std::string> text = buildGpuText(module, *parts[0], options);
      return failed(text) ? failure() : writeFile(module, options.output, *text);
    }
    FailureOr<std::string> made = buildImage(module, *parts[0], options);
    if (failed(made) || failed(checkMessageOrder(module)))
      return failure();
    image = std::move(*made);
    parts.clear();
    objects.resize(1);
  }
  if (single && !isCuda) {
    llvm::LLVMContext context;
    auto machine = makeHostMachine(true);
    std::unique_ptr<llvm::Module> program = buildProgram(module, context, options), kernels = translateModuleToLLVMIR(*parts[0], context);
    if (!machine || !kernels)
      return module.emitError("kernels cannot be translated to LLVM");
    if (isRehearsal && failed(addScatters(*kernels, module)))
      return failure();
    if (isRehearsal)
      addRehearsals(*kernels, module);
    if (llvm::Linker::linkModules(*program, std::move(kernels)))
      return module.emitError("kernels and segments do not fit together");
    optimize(*program, *machine, true);
    if (options.kind == "object")
      return writeFile(module, options.output, generateCode(*program, *machine));
    std::string text;
    llvm::raw_string_ostream(text) << *program;
    return writeFile(module, options.output, text);
  }

  // Translation asks MLIR's context, which serves one thread; LLVM's work is spread.
  struct Unit {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> code;
    std::unique_ptr<llvm::TargetMachine> machine;
  };
  std::vector<std::unique_ptr<Unit>> units;
  for (size_t i = 0; i < objects.size(); ++i) {
    bool isKernels = i < parts.size();
    Unit &unit = *units.emplace_back(std::make_unique<Unit>());
    unit.machine = makeHostMachine(isKernels);
    unit.code = isKernels ? translateModuleToLLVMIR(*parts[i], unit.context) : buildProgram(module, unit.context, options, image);
    if (!unit.machine || !unit.code)
      return module.emitError("kernels cannot be translated to LLVM");
    if (isRehearsal && i == 0 && failed(addScatters(*unit.code, module)))
      return failure();
    if (isRehearsal && isKernels)
      addRehearsals(*unit.code, module);
    for (llvm::Function &function : *unit.code)
      if (isKernels && !function.isDeclaration() && !function.hasLocalLinkage())
        function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  auto work = [&](size_t i) {
    optimize(*units[i]->code, *units[i]->machine, i < parts.size());
    objects[i] = generateCode(*units[i]->code, *units[i]->machine);
  };
  {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(std::max(1u, options.threads)));
    for (size_t i = 0; i < objects.size(); ++i)
      pool.async([&, i] { work(i); });
    pool.wait();
  }
  units.clear();
  if (options.kind == "object")
    return writeFile(module, options.output, objects[0]);
  TemporaryFiles files;
  for (const auto &object : objects) {
    llvm::SmallString<128> path;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("para", "o", path))
      return reportTemporary(module, error);
    files.paths.push_back(path.str().str());
    if (failed(writeFile(module, path, object)))
      return failure();
  }
  return linkProgram(module, files.paths, options);
}
