//===- DType.h - Element types of the runtime ---------------------*- C++ -*-===//
#ifndef PARA_LOWER_DTYPE_H
#define PARA_LOWER_DTYPE_H

#include "para/Runtime/para_runtime.h"

#include "mlir/IR/BuiltinTypes.h"

namespace para {

inline int dtypeOf(mlir::Type type) {
  mlir::Type t = mlir::getElementTypeOrSelf(type);
  if (t.isF32()) return PARA_F32;
  if (t.isF64()) return PARA_F64;
  if (t.isF16()) return PARA_F16;
  if (t.isBF16()) return PARA_BF16;
  if (t.isInteger(1)) return PARA_BOOL;
  if (t.isInteger(8)) return PARA_I8;
  if (t.isInteger(16)) return PARA_I16;
  if (t.isInteger(32)) return PARA_I32;
  if (t.isInteger(64)) return PARA_I64;
  return -1;
}

inline const char *dtypeName(mlir::Type type) {
  static const char *names[] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i16", "i32", "i64", "bool"};
  int dtype = dtypeOf(type);
  return dtype < 0 ? nullptr : names[dtype];
}

} // namespace para

#endif
