//===- ParaDialect.h - The para dialect and its attributes ----------------===//
//
// Example: the attribute of a value whose rows are split over `data` and which is a partial sum over `tensor`:
//   #para.sharding<[["data"], []], units = [1, 1], partial = ["tensor"]>
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IR_PARADIALECT_H
#define PARA_IR_PARADIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include "para/IR/ParaDialect.h.inc"

#include "para/IR/ParaEnums.h.inc"

namespace para {
/// Whether tensors have elements of this type: f16, bf16, f32, f64, i1, i8, i16, i32, i64.
bool isElementType(mlir::Type type);
} // namespace para

#define GET_ATTRDEF_CLASSES
#include "para/IR/ParaAttrs.h.inc"

#endif
