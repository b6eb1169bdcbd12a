#include "para/Driver/Driver.h"
#include "para/Autodiff/Passes.h"
#include "para/Collectives/Passes.h"
#include "para/Driver/Compile.h"
#include "para/IR/ParaDialect.h"
#include "para/Import/Passes.h"
#include "para/Lower/Passes.h"
#include "para/Partition/Passes.h"
#include "para/Plan/Passes.h"
#include "para/Schedule/Passes.h"
#include "para/Verify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace para;

namespace {
int runPassTool(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<ParaDialect, func::FuncDialect>();
  registerTransformsPasses();
  registerImportPasses();
  registerAutodiffPasses();
  registerPlanPasses();
  registerPartitionPasses();
  registerCollectivesPasses();
  registerSchedulePasses();
  registerVerifyPasses();
  registerLowerPasses();
  PassPipelineRegistration<AutodiffOptions>("para-autodiff-pipeline", "forward to training step", buildAutodiffPipeline);
  PassPipelineRegistration<>("para-partition-pipeline", "annotated to per-rank", buildPartitionPipeline);
  PassPipelineRegistration<>("para-schedule-pipeline", "per-rank to per-stage, 1F1B", [](OpPassManager &pm) { buildSchedulePipeline(pm, "1f1b"); });
  PassPipelineRegistration<>("para-verify-pipeline", "the proofs", buildVerifyPipeline);
  return failed(MlirOptMain(argc, argv, "para-opt: the pass tool\n", registry)) ? 1 : 0;
}

int runDriver(int argc, char **argv) {
  auto options = parseDriverOptions(ArrayRef<const char *>(argv + 1, argc - 1));
  if (!options) {
    llvm::errs() << "para-opt: " << llvm::toString(options.takeError()) << "\n";
    return 2;
  }
  if (options->help) {
    llvm::outs() << getDriverHelp();
    return 0;
  }
  if (options->version) {
    llvm::outs() << "para-opt 0.1 (LLVM " << LLVM_VERSION_STRING << ")\n";
    return 0;
  }
  if (options->input.empty()) {
    llvm::errs() << "para-opt: no model is given; para-opt --help tells the flags\n";
    return 2;
  }
  if (!llvm::sys::fs::exists(options->input)) {
    llvm::errs() << "para-opt: there is no file '" << options->input << "'\n";
    return 1;
  }
  if (!llvm::sys::fs::is_regular_file(options->input)) {
    llvm::errs() << "para-opt: '" << options->input << "' is no file\n";
    return 1;
  }
  return compileModel(*options, argv[0]);
}
} // namespace

int para::runParaOpt(int argc, char **argv) {
  // What is not plainly for the pass tool is for the driver: only a .mlir file or standard input makes it the pass tool.
  bool passes = false;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    passes |= argument.ends_with(".mlir") || argument.starts_with("--para-") || argument.starts_with("--pass-pipeline") || argument == "-";
  }
  passes |= argc == 1;
  for (int i = 1; i < argc; ++i)
    passes &= !StringRef(argv[i]).ends_with(".onnx");
  return passes ? runPassTool(argc, argv) : runDriver(argc, argv);
}
