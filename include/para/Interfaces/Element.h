//===- Element.h - How to compute one element of an op's result -*- C++ -*-===//
//
// Lowering asks each op for one element of a result, given its coordinates; elements of operands are pulled through the
// emitter, which reads a buffer or descends into the producer when it is fused into the same kernel. A broadcast, transpose,
// slice or pad is a change of coordinates and costs nothing. The emitter decides how many lanes an element has: the same
// code makes scalar, CPU vector and GPU kernels.
//
// Example, transpose: return emitter.operand(0, {index[1], index[0]});
//
//===----------------------------------------------------------------------===//
#ifndef PARA_INTERFACES_ELEMENT_H
#define PARA_INTERFACES_ELEMENT_H

#include "para/IR/ParaDialect.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"

namespace para {

/// A coordinate along one dimension: affine in the loops of the kernel, plus an optional value known only when it runs (i64,
/// one or one a lane).
struct Coordinate {
  mlir::AffineExpr affine;
  mlir::Value dynamic = nullptr;
};

class ElementEmitter {
public:
  explicit ElementEmitter(mlir::ImplicitLocOpBuilder &b) : b(b) {}
  virtual ~ElementEmitter() = default;

  mlir::ImplicitLocOpBuilder &b;

  /// Element of operand `number` of the op being emitted.
  virtual mlir::Value operand(unsigned number, llvm::ArrayRef<Coordinate> index) = 0;
  /// The coordinate as an i64 element.
  virtual mlir::Value position(const Coordinate &coordinate) = 0;
  /// Where this rank's shard of a dimension begins, as i64: the dimension has `size` elements in units of `unit`, cut by `axes`.
  virtual mlir::Value shardBegin(llvm::ArrayRef<llvm::StringRef> axes, int64_t size, int64_t unit) = 0;
  /// How many elements of this rank's shard are valid, as i64.
  virtual mlir::Value shardValid(llvm::ArrayRef<llvm::StringRef> axes, int64_t size, int64_t unit) = 0;
  /// `make()` where `condition` holds, else `otherwise`. Operands that `make` pulls are not read where it does not hold, so
  /// their coordinates may lie outside there.
  virtual mlir::Value guarded(mlir::Value condition, llvm::function_ref<mlir::Value()> make, mlir::Value otherwise) = 0;
  /// The coordinate where it is known to lie in [0, size), as inside of `guarded`: what is made of it becomes simpler.
  virtual Coordinate bounded(const Coordinate &coordinate, int64_t size) { return coordinate; }
  /// Element number `linear` of a constant that is no splat.
  virtual mlir::Value table(mlir::DenseElementsAttr values, const Coordinate &linear) = 0;
  /// Scalar type or vector of lanes.
  virtual mlir::Type elementType(mlir::Type scalar) = 0;
  /// A constant element.
  mlir::Value constant(mlir::Type scalar, double value);
  mlir::Value constantInteger(mlir::Type scalar, int64_t value);
};

/// Arithmetic on coordinates.
namespace coordinates {
/// The row-major number of the element at `index` in `shape`.
Coordinate linearize(ElementEmitter &emitter, llvm::ArrayRef<Coordinate> index, llvm::ArrayRef<int64_t> shape);
/// The inverse.
llvm::SmallVector<Coordinate> delinearize(ElementEmitter &emitter, const Coordinate &linear, llvm::ArrayRef<int64_t> shape);
/// a * x + b.
Coordinate scaled(ElementEmitter &emitter, const Coordinate &x, int64_t a, int64_t b = 0);
Coordinate sum(ElementEmitter &emitter, const Coordinate &x, const Coordinate &y);
/// Quotient and rest of x >= 0 by c.
Coordinate quotient(ElementEmitter &emitter, const Coordinate &x, int64_t c);
Coordinate rest(ElementEmitter &emitter, const Coordinate &x, int64_t c);
/// 0 <= x < size as an i1 element.
mlir::Value inside(ElementEmitter &emitter, const Coordinate &x, int64_t size);
} // namespace coordinates

/// Arithmetic on elements, integer or floating, one or many lanes. Transcendental functions become `math` ops which
/// the lower stage expands.
namespace scalar {
using mlir::ImplicitLocOpBuilder;
using mlir::Value;
Value add(ImplicitLocOpBuilder &b, Value x, Value y);
Value sub(ImplicitLocOpBuilder &b, Value x, Value y);
Value mul(ImplicitLocOpBuilder &b, Value x, Value y);
Value div(ImplicitLocOpBuilder &b, Value x, Value y);
Value max(ImplicitLocOpBuilder &b, Value x, Value y);
Value min(ImplicitLocOpBuilder &b, Value x, Value y);
Value neg(ImplicitLocOpBuilder &b, Value x);
Value abs(ImplicitLocOpBuilder &b, Value x);
Value sign(ImplicitLocOpBuilder &b, Value x);
Value sigmoid(ImplicitLocOpBuilder &b, Value x);
Value logicalNot(ImplicitLocOpBuilder &b, Value x);
Value compare(ImplicitLocOpBuilder &b, Comparison predicate, Value x, Value y);
/// Converts to the scalar type `to`, as ONNX Cast does (to bool: x != 0; float to integer truncates).
Value cast(ImplicitLocOpBuilder &b, Value x, mlir::Type to);
/// The identity of a reduction as a scalar attribute: 0, lowest, highest.
mlir::TypedAttr identity(mlir::Type scalar, ReductionKind kind);
Value combine(ImplicitLocOpBuilder &b, ReductionKind kind, Value x, Value y);
} // namespace scalar
} // namespace para

#include "para/Interfaces/Element.h.inc"

#endif
