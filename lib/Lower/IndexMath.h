//===- IndexMath.h - Affine coordinates with known ranges --------*- C++ -*-===//
//
// Coordinates are affine in loops whose extents are known, so that quotients and rests mostly vanish: with d1 < 8,
// (8 * d0 + d1) floordiv 8 is d0. A LinearForm is the normal form: a sum of atoms (loops, quotients, rests) with factors.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_INDEXMATH_H
#define PARA_LOWER_INDEXMATH_H

#include "mlir/IR/AffineExpr.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace para {

struct LinearForm {
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>, 4> terms;
  int64_t constant = 0;

  void add(mlir::AffineExpr atom, int64_t factor);
  void add(const LinearForm &other, int64_t factor = 1);
  mlir::AffineExpr toExpr(mlir::MLIRContext *ctx) const;
  /// The factor of a loop if the form is linear in it.
  std::optional<int64_t> factorOf(unsigned dim) const;
  bool isLinear() const;
  bool operator==(const LinearForm &other) const;
};

/// The least and the greatest value of the form.
std::pair<int64_t, int64_t> boundsOf(const LinearForm &form, llvm::ArrayRef<int64_t> extents);
/// The normal form of `e` where loop i runs over [0, extents[i]).
LinearForm linearForm(mlir::AffineExpr e, llvm::ArrayRef<int64_t> extents);
/// The same with every rest x mod c as x - c * (x floordiv c): equal functions have equal forms more often.
LinearForm expandRests(const LinearForm &form, llvm::ArrayRef<int64_t> extents);
/// The simpler of the two.
LinearForm simplest(const LinearForm &form, llvm::ArrayRef<int64_t> extents);
/// A form along a vector of lanes, the first of which stands at a multiple of their number.
struct LanePattern {
  LinearForm first;                   ///< at the first lane
  llvm::SmallVector<int64_t> steps;   ///< from the first lane to each
  int64_t low() const;                ///< the least step
  int64_t span() const;               ///< how many neighbours hold all steps
  bool isContiguous() const;
  bool isUniform() const;
};
/// The form with loop `lane` as lanes where the steps are the same at every vector: with 4 lanes, (d + 1) floordiv 2 steps 0, 1, 1, 2.
std::optional<LanePattern> lanePattern(const LinearForm &form, unsigned lane, int64_t lanes, llvm::ArrayRef<int64_t> extents);
bool sameFunction(mlir::AffineExpr x, mlir::AffineExpr y, llvm::ArrayRef<int64_t> extents);

/// Row-major number of `index` in `shape`, and the inverse.
mlir::AffineExpr linearize(llvm::ArrayRef<mlir::AffineExpr> index, llvm::ArrayRef<int64_t> shape, mlir::MLIRContext *ctx);
llvm::SmallVector<mlir::AffineExpr> delinearize(mlir::AffineExpr linear, llvm::ArrayRef<int64_t> shape, mlir::MLIRContext *ctx);

/// Row-major strides.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);
int64_t productOf(llvm::ArrayRef<int64_t> shape);
/// How many leading dimensions have the product `rows`.
std::optional<unsigned> prefixOf(llvm::ArrayRef<int64_t> shape, int64_t rows);
/// Loop extents into which the dimension lists of all `shapes` (same product) split, as far as they nest; major first.
llvm::SmallVector<int64_t> commonRefinement(llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes, int64_t product);

} // namespace para

#endif
