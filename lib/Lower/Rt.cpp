//===- Rt.cpp - The device program ----------------------------------------===//
#include "para/Lower/Rt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace para::rt;

#include "Lower/RtDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Lower/RtAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "Lower/RtOps.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Lower/RtAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Lower/RtOps.cpp.inc"
      >();
}
