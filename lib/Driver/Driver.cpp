#include "para/Driver/Driver.h"
#include "para/IR/ParaDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

int para::runParaOpt(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<ParaDialect, func::FuncDialect>();
  registerTransformsPasses();
  return asMainReturnCode(MlirOptMain(argc, argv, "para-opt\n", registry));
}
