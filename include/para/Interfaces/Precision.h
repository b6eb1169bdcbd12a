//===- Precision.h - What ops do with 16-bit floats --------------*- C++ -*-===//
//
// In a program of 16-bit floats tensors are stored in 16 bits and arithmetic is f32. Each op says which of its operands it takes as
// they are stored; the autodiff stage writes casts between the two, and nothing later needs to know of precision.
//
// Example: a product takes 16-bit operands and sums in f32; a reduction takes f32 operands, which are 16-bit tensors cast in its kernel.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_INTERFACES_PRECISION_H
#define PARA_INTERFACES_PRECISION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace para {

enum class PrecisionRule {
  Arithmetic, ///< operands and results are f32; the result is rounded where an operand is 16-bit (the default)
  Sums,       ///< the same, and the result stays f32: what is summed is not rounded
  Moves,      ///< elements as they are, of any type
  Looks,      ///< elements as they are of operand 0, taken where others tell
  Multiplies, ///< 16-bit operands, f32 sums; the result is 16-bit or f32
  Converts,   ///< a cast
  Composite,  ///< any type; computes in f32 inside
};

/// Whether values of the type are stored in 16 bits and computed in f32.
inline bool isNarrow(mlir::Type type) { return mlir::getElementTypeOrSelf(type).isF16() || mlir::getElementTypeOrSelf(type).isBF16(); }
/// The type in which elements of `type` are computed: f32 for narrow ones, else the same.
inline mlir::Type getComputeType(mlir::Type type) { return isNarrow(type) ? mlir::Float32Type::get(type.getContext()) : mlir::getElementTypeOrSelf(type); }

/// Whether a value of the type may be held in 16 bits or in f32.
inline bool isNarrowOrF32(mlir::Type type) { return isNarrow(type) || mlir::getElementTypeOrSelf(type).isF32(); }
/// Gives the results of `op` which are narrow or f32, and the constants among its attributes, this element type.
void setFloatElement(mlir::Operation *op, mlir::Type element);

/// The rule of any op.
PrecisionRule getPrecisionRule(mlir::Operation *op);

} // namespace para

#include "para/Interfaces/Precision.h.inc"

#endif
