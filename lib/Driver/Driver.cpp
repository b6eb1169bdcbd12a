#include "para/Driver/Driver.h"
#include "para/Autodiff/Passes.h"
#include "para/Collectives/Passes.h"
#include "para/Cost/Machine.h"
#include "para/Driver/Compile.h"
#include "para/IR/ParaDialect.h"
#include "para/Import/Passes.h"
#include "para/Lower/Passes.h"
#include "para/Partition/Passes.h"
#include "para/Plan/Passes.h"
#include "para/Schedule/Passes.h"
#include "para/Support/Output.h"
#include "para/Verify/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace para;

namespace {
int runPassTool(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<ParaDialect, rt::RtDialect, func::FuncDialect>();
  // Of device programs, as --emit=lower writes them.
  registry.insert<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
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
  auto [input, output] = registerAndParseCLIOptions(argc, argv, "para-opt: the pass tool\n", registry);
  std::string problem, text;
  auto file = openInputFile(input, &problem);
  if (!file) {
    llvm::errs() << "para-opt: error: " << problem << "\n";
    return 1;
  }
  llvm::raw_string_ostream stream(text);
  if (failed(MlirOptMain(stream, std::move(file), registry, MlirOptMainConfig::createFromCLOptions())))
    return 1;
  if (llvm::Error error = writeOutput(output, text)) {
    llvm::errs() << "para-opt: error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}

int runDriver(int argc, char **argv) {
  outliveReaders();
  auto options = parseDriverOptions(ArrayRef<const char *>(argv + 1, argc - 1));
  if (!options) {
    llvm::errs() << "para-opt: error: " << llvm::toString(options.takeError()) << "\n";
    return 2;
  }
  if (options->help) {
    llvm::outs() << getDriverHelp();
    return 0;
  }
  for (const std::string &note : options->notes)
    llvm::errs() << "para-opt: note: " << note << "\n";
  if (options->version) {
    llvm::outs() << "para-opt 0.1 (LLVM " << LLVM_VERSION_STRING << ")\n";
    return 0;
  }
  if (options->calibrate) {
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(Machine::calibrateHost().toJson()));
    return 0;
  }
  if (options->input.empty()) {
    llvm::errs() << "para-opt: error: no model is given; para-opt --help tells the flags\n";
    return 2;
  }
  if (!llvm::sys::fs::exists(options->input)) {
    llvm::errs() << "para-opt: error: there is no file '" << options->input << "'\n";
    return 1;
  }
  if (!llvm::sys::fs::is_regular_file(options->input)) {
    llvm::errs() << "para-opt: error: '" << options->input << "' is no file; give the .onnx file of a model\n";
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
  passes |= argc == 1 && !llvm::sys::Process::StandardInIsUserInput();
  for (int i = 1; i < argc; ++i)
    passes &= !StringRef(argv[i]).ends_with(".onnx");
  int status = passes ? runPassTool(argc, argv) : runDriver(argc, argv);
  llvm::Error error = flushStandardOutput();
  if (error && status == 0) {
    llvm::errs() << "para-opt: error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  llvm::consumeError(std::move(error));
  return status;
}
