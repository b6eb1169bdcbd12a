//===- Machine.cpp - Optimization and machine code of the host ------------===//
#include "Internal.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

#include <mutex>

using namespace para;

std::unique_ptr<llvm::TargetMachine> para::makeHostMachine(bool isKernels) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::SubtargetFeatures features;
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(triple, llvm::sys::getHostCPUName(), features.getString(), options,
                                                                          llvm::Reloc::PIC_, std::nullopt,
                                                                          isKernels ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
}

void para::runPasses(llvm::Module &module, llvm::PassBuilder &passes, llvm::function_ref<llvm::ModulePassManager()> build) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  build().run(module, modules);
}

void para::optimize(llvm::Module &module, llvm::TargetMachine &machine, bool isKernels) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (!isKernels) // A straight line of calls: there is nothing to gain.
    return;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false; // Lanes are there already.
  llvm::PassBuilder passes(&machine, tuning);
  runPasses(module, passes, [&] { return passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2); });
}

llvm::SmallString<0> para::generateCode(llvm::Module &module, llvm::TargetMachine &machine, bool isText) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, isText ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile))
    return {};
  passes.run(module);
  return bytes;
}
