//===- SequenceCuts.h - What lies between tensor-parallel products -------===//
//
// Sequence parallelism (Korthikanti et al. 2022): a sum over `tensor` that a product leaves unfinished is finished into rows cut over `tensor`,
// and what follows (residual sums, norms) works on its rows until the next product takes the whole again. Which dimension has
// the rows is found from the factors of what follows: one along which nothing is reduced before the next product.
//
// Example: of y[batch, seq, hidden] it is `seq`: a norm reduces `hidden`, and `batch` is there for the axis `data`.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_SEQUENCECUTS_H
#define PARA_LIB_PLAN_SEQUENCECUTS_H

#include "para/IR/Sharding.h"
#include "para/Interfaces/Structure.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <set>

namespace para {

class SequenceCuts {
public:
  SequenceCuts(mlir::func::FuncOp main, MeshAttr mesh) : main(main), mesh(mesh), tensor(mlir::StringAttr::get(main.getContext(), "tensor")) {}

  /// Whether the value's rows are cut over `tensor`.
  bool isCut(mlir::Value value) const { return cut.contains(value); }
  /// An op that takes rows whole: a sum of products of two values.
  static bool isProduct(const Structure &structure);
  /// Whether one sum of the backward pass takes all of what `op` makes: the cotangents that meet there are finished together.
  static bool feedsSum(mlir::Operation *op);

  /// The sharding into which the result of `op`, which comes out as `sharding`, is to be brought at once; none: it stays.
  std::optional<Sharding> getTarget(mlir::Operation *op, const Structure &structure, const Sharding &sharding);
  /// Notes in which sharding a result is used.
  void note(mlir::Operation *op, const Structure &structure, const Sharding &sharding);
  /// Forgets which values are cut, but not along which dimensions.
  void restart() { cut.clear(); }

private:
  /// A dimension and the blocks in it of which each is cut: batch and sequence may be one dimension.
  struct Place {
    int64_t dim, blocks;
  };
  struct Walk {
    llvm::DenseSet<std::pair<mlir::Value, int64_t>> seen;
    int64_t obstacles = 0; ///< ops before the next products that do not take the cut as it is
    int64_t products = 0;  ///< that are reached
    int64_t blocks = 0;    ///< into which such an op would have the dimension fall
    bool reduced = false;  ///< the dimension is summed away
    /// How many in a thousand of the ways from the value end at obstacles.
    int64_t getHindrance() const { return obstacles ? 1000 * obstacles / (obstacles + products) : 0; }
  };

  std::optional<Place> findPlace(mlir::Value value, const Sharding &sharding);
  void follow(mlir::Value value, int64_t dim, const DimSharding &cut, Walk &walk);
  bool isLookup(mlir::Operation *op, const Structure &structure);

  mlir::func::FuncOp main;
  MeshAttr mesh;
  Axis tensor;
  llvm::DenseSet<mlir::Value> cut;
  std::map<std::vector<int64_t>, Place> places; ///< by shape: values of one shape are cut alike, those of the backward pass as those of the forward pass
};

/// What products take whole over `context` (keys and values) is gathered where it is smallest, before heads share it; sums of its gradients
/// end cut as it was, where they are smallest.
class ContextRows {
public:
  ContextRows(mlir::func::FuncOp main, MeshAttr mesh);

  /// Remembers which dimension of a value of the forward pass is cut.
  void note(mlir::Value value, const Sharding &sharding);
  /// Remembers that an operand, cut as `is`, is used as `wanted`. What is found holds from the next walk over the program on.
  void noteUse(mlir::Operation *op, const Structure &structure, mlir::Value operand, const Sharding &is, const Sharding &wanted);
  bool foundAny() const { return !gathered.empty(); }
  /// In what sharding the op's result is to end; none: as it is.
  std::optional<Sharding> getTarget(mlir::Operation *op, const Structure &structure, const Sharding &sharding) const;

private:
  /// Whether the sum becomes smaller before anything but linear ops of one operand takes it.
  static bool shrinksLater(mlir::Operation *op);
  /// Which dimension of a backward product's result are rows of the factor of the forward pass that it is the cotangent of.
  std::optional<int64_t> findRows(mlir::Operation *op, const Structure &structure) const;
  /// Likewise of what linear ops and sums make of such results; none where the way from the product is not seen.
  std::optional<int64_t> followRows(mlir::Operation *op) const;
  /// Along which dimension the sum that `op` makes is to be cut; none: not at all.
  std::optional<int64_t> findPlace(mlir::Operation *op) const;

  MeshAttr mesh;
  Axis axis;
  llvm::DenseSet<mlir::Value> gathered;           ///< that are whole
  llvm::DenseMap<mlir::Value, int64_t> places;    ///< the dimension of what is cut
  std::map<std::vector<int64_t>, std::set<int64_t>> placesOfShape; ///< where a value's own place is not known; of several none is taken
  std::set<std::vector<int64_t>> isOfParameter;   ///< shapes whose sums are gradients of weights
  mutable llvm::DenseMap<mlir::Operation *, std::optional<int64_t>> rowsOf; ///< followRows()
};

} // namespace para

#endif
