//===- Rt.h - The device program ---------------------------------*- C++ -*-===//
#ifndef PARA_LOWER_RT_H
#define PARA_LOWER_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Lower/RtDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Lower/RtAttrs.h.inc"

#define GET_OP_CLASSES
#include "Lower/RtOps.h.inc"

namespace para::rt {
/// Threads of a block, on a function for a GPU that no rt.kernel launches.
constexpr llvm::StringLiteral threadsAttrName = "rt.threads";
} // namespace para::rt

#endif
