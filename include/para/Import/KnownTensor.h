//===- KnownTensor.h - Tensors computed while importing ---------*- C++ -*-===//
//
// Shapes, position ids, masks and rotary tables are computed by nodes of the graph from nothing but constants. Such a tensor
// is a strided view of elements that are computed when somebody asks. A dimension of stride 0 is a broadcast: it takes no
// memory, and elementwise results keep it.
//
// Example: Expand(Range(0, 8), [1024, 8]) is a view of eight elements with strides [0, 1].
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IMPORT_KNOWNTENSOR_H
#define PARA_IMPORT_KNOWNTENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <functional>
#include <memory>
#include <vector>

namespace para {

/// An element: integers (sign extended) and bools in `i`, floats in `f`, rounded to their type.
union Scalar {
  int64_t i;
  double f;
  static Scalar ofInt(int64_t i) { Scalar s; s.i = i; return s; }
  static Scalar ofFloat(double f) { Scalar s; s.f = f; return s; }
};

/// Wraps or rounds an element to its type.
Scalar roundTo(mlir::Type element, Scalar value);
/// Conversion as ONNX Cast does it.
Scalar convert(mlir::Type from, mlir::Type to, Scalar value);

/// Counts the elements computed while it lives, so that an import can stop before it takes all memory.
class KnownBudget {
public:
  KnownBudget();
  ~KnownBudget();
  bool isSpent() const { return left < 0; }
  static void spend(int64_t elements);

private:
  int64_t left = 1 << 25;
  KnownBudget *outer;
};

struct KnownTensor;
using Known = std::shared_ptr<KnownTensor>;

/// Elements in row-major order, computed once.
struct KnownStorage {
  std::vector<Scalar> data;
  /// Fills `data`; empty once done.
  std::function<void(std::vector<Scalar> &)> compute;
  int64_t count = 0;
  /// Length of the chain of computations this one waits for.
  int depth = 0;
  /// Too many elements, here or in an operand.
  bool large = false;
};

struct KnownTensor {
  mlir::RankedTensorType type;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
  std::shared_ptr<KnownStorage> storage;

  /// Builds the tensor by ops instead; used where it is too large for a constant. Empty for constants of the file.
  std::function<mlir::Value()> emit;
  mlir::Value emitted;
  /// What this is a numpy broadcast of.
  Known broadcastOf;
  /// The operands, where this is a concatenation along the last dimension.
  std::vector<Known> parts;

  mlir::Type element() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t rank() const { return type.getRank(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }
  /// No dimension has a stride.
  bool isSplat() const { return llvm::all_of(strides, [](int64_t s) { return s == 0; }); }
  int64_t getCompactCount() const;

  /// The most elements a tensor may have to be computed here.
  static constexpr int64_t kLimit = 1 << 20;

  /// Computes the elements; null where the tensor is too large.
  const std::vector<Scalar> *data();
  /// All elements in row-major order; empty optional where there are too many.
  std::optional<std::vector<Scalar>> read();
  std::optional<std::vector<int64_t>> readInts();

  /// A view of the same elements.
  Known view(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> strides, int64_t offset) const;
  /// The view with size 1 where the stride is 0.
  Known compact() const;

  static Known create(mlir::RankedTensorType type, std::vector<Scalar> data);
  static Known splat(mlir::RankedTensorType type, Scalar value);
  /// Elements computed on demand from `operands`.
  static Known lazy(mlir::RankedTensorType type, llvm::ArrayRef<Known> operands,
                    std::function<void(std::vector<Scalar> &)> compute);
};

/// value[i...] = base + sum steps[k] * i[k], in whole numbers.
struct AffineIndex {
  int64_t base = 0;
  llvm::SmallVector<int64_t> steps;
  /// The only dimension with a step, -1 for none.
  int64_t dim = -1;
};
/// Recognizes a tensor that moves along at most one dimension, in equal steps.
std::optional<AffineIndex> matchAffine(KnownTensor &x);

/// Strides of a view of other shape without copying, as numpy finds them.
std::optional<llvm::SmallVector<int64_t>> reshapeStrides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                                                         llvm::ArrayRef<int64_t> newShape);

/// Calls `visit` with the offsets of all elements of `shape` in row-major order, one offset per entry of `strides`.
void forEachOffset(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<llvm::SmallVector<int64_t>> strides,
                   llvm::MutableArrayRef<int64_t> offsets, llvm::function_ref<void()> visit);

/// Row-major strides.
llvm::SmallVector<int64_t> rowMajor(llvm::ArrayRef<int64_t> shape);
/// As in "[2, 3]".
std::string printShape(llvm::ArrayRef<int64_t> shape);
/// Product; saturates.
int64_t countElements(llvm::ArrayRef<int64_t> shape);

} // namespace para

#endif
