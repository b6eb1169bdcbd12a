//===- KernelEmitter.h - Elements as scalars or lanes --------------*- C++ -*-===//
//
// Emits the elements of a fused body at the current loops. One loop may carry lanes: then every element is a vector, loads are
// contiguous where the offset grows by one with that loop, one repeated element where it does not depend on it, a few neighbours
// dealt out to the lanes where all are near, else gathers.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_KERNELEMITTER_H
#define PARA_LOWER_KERNELEMITTER_H

#include "llvm/ADT/MapVector.h"
#include "IndexMath.h"
#include "KernelBody.h"
#include "KernelStreams.h"

#include "para/Interfaces/Element.h"

#include <map>

namespace para {

/// Neighbours are loaded up to this many times the lanes.
constexpr int64_t mostNeighbours = 4;

/// An access to memory, seen while emitting without lanes: what choosing the lanes goes by.
struct MemoryAccess {
  LinearForm offset;
  llvm::SmallVector<unsigned> dynamicDims; ///< loops on which the data-dependent part depends
  bool dynamic = false;
  bool isStore = false;
};

class KernelEmitter : public ElementEmitter {
public:
  KernelEmitter(mlir::ImplicitLocOpBuilder &b, const KernelBody &body, FactsCache &facts, mlir::Operation *at);

  /// Where tensors are in memory: block arguments, outputs; and rows that are kept for later passes.
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::MapVector<mlir::Value, mlir::Value> scratch; ///< walked, and code is made on the way
  /// Of these, those at which other threads may write: nothing is read there but what is wanted.
  llvm::DenseSet<mlir::Value> written;
  /// What these pointers are known to be multiples of, in bytes; an element's size for others.
  llvm::DenseMap<mlir::Value, int64_t> alignments;
  /// Numbers which the launch passes (coordinates, microbatch) by name, in the order of first use.
  llvm::function_ref<mlir::Value(llvm::StringRef)> number;

  // The loops at this point.
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::Value> loopValues;
  int lane = -1;
  int64_t lanes = 1;
  /// What is a multiple of the lanes at every vector, where the loop with lanes is none: an element's number. Pointers in `shiftedPointers`
  /// make up for it.
  std::optional<LinearForm> aligned;
  llvm::DenseSet<mlir::Value> shiftedPointers;
  /// Whether elements that lie near are loaded as neighbours and dealt out to the lanes.
  bool dealsNeighbours = false;
  mlir::Value tail; ///< lanes inside of the loop's extent; null for all
  unsigned pass = 0;
  /// Results of finished reductions in this row.
  llvm::DenseMap<mlir::Value, mlir::Value> rowValues;
  llvm::SmallVectorImpl<MemoryAccess> *record = nullptr;
  /// Where accesses are noted that the kernel makes; null for nowhere.
  std::vector<MemoryStream> *streams = nullptr;

  /// Forgets elements computed at other loop values.
  void startBody();
  /// Drops the loops that bounded coordinates added.
  void finishBody();
  mlir::Value element(mlir::Value v, llvm::ArrayRef<Coordinate> index);
  mlir::Value element(mlir::Value v, llvm::ArrayRef<mlir::AffineExpr> index);
  /// One term of a reduction at the loops.
  mlir::Value term(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value load(mlir::Value pointer, mlir::Type scalar, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Coordinate> index);
  void store(mlir::Value element, mlir::Value pointer, mlir::Type scalar, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value selectTail(mlir::Value x, mlir::Value otherwise);
  mlir::Value integer(int64_t value);
  mlir::Value splat(mlir::Value scalar);

  // ElementEmitter
  mlir::Value operand(unsigned number, llvm::ArrayRef<Coordinate> index) override;
  mlir::Value position(const Coordinate &coordinate) override;
  mlir::Value shardBegin(llvm::ArrayRef<llvm::StringRef> axes, int64_t size, int64_t unit) override;
  mlir::Value shardValid(llvm::ArrayRef<llvm::StringRef> axes, int64_t size, int64_t unit) override;
  mlir::Value guarded(mlir::Value condition, llvm::function_ref<mlir::Value()> make, mlir::Value otherwise) override;
  Coordinate bounded(const Coordinate &coordinate, int64_t size) override;
  mlir::Value table(mlir::DenseElementsAttr values, const Coordinate &linear) override;
  mlir::Type elementType(mlir::Type scalar) override;

private:
  struct Address {
    mlir::Value base;      ///< pointer of the first lane (or the only one)
    mlir::Value offsets;   ///< one a lane; null if contiguous or uniform
    bool contiguous = false;
    llvm::SmallVector<int64_t> steps; ///< from `base` to each lane's element, where near; else empty
  };
  Address address(mlir::Value pointer, mlir::Type storage, const LinearForm &form, llvm::ArrayRef<std::pair<mlir::Value, int64_t>> dynamic);
  void note(mlir::Value pointer, mlir::Type storage, const LinearForm &form, bool dynamic, const Address &place, unsigned alignment, bool isStore);
  mlir::Value loadNeighbours(const Address &place, mlir::Type storage, mlir::Value mask);
  /// Of the first lane's address.
  unsigned alignmentOf(mlir::Value pointer, mlir::Type storage, const LinearForm &form, llvm::ArrayRef<std::pair<mlir::Value, int64_t>> dynamic);
  /// The form without bounded coordinates.
  LinearForm resolve(const LinearForm &form);
  mlir::Value scalarOf(const LinearForm &form);
  mlir::Value lanesOf(const LinearForm &form);
  mlir::Value atomOf(mlir::AffineExpr atom, bool wide);
  /// Notes `lanesValue` among `evenPositions` if it is one.
  void noteEven(mlir::Value lanesValue, const LinearForm &form);
  /// A value equal in all lanes as a scalar; null if it is not known to be.
  mlir::Value uniform(mlir::Value v);
  void dimsOf(mlir::Value v, llvm::SmallVectorImpl<unsigned> &dims);
  mlir::Value mask();
  mlir::Value laneSteps(llvm::ArrayRef<int64_t> steps);
  int64_t axisSize(llvm::StringRef axis);

  const KernelBody &body;
  FactsCache &facts;
  mlir::Operation *at; ///< in the module whose mesh counts
  mlir::Operation *current = nullptr;
  mlir::Value guard;
  /// Bounded coordinates: each is a loop behind the real ones, with an extent and no value.
  llvm::SmallVector<mlir::AffineExpr> boundedAs;
  using Key = std::tuple<void *, llvm::SmallVector<void *, 8>, void *>;
  std::map<Key, mlir::Value> memo;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> loadedDims;
  /// Positions that begin with a multiple of the lanes and go up by one: that multiple.
  llvm::DenseMap<mlir::Value, mlir::Value> evenPositions;
};

} // namespace para

#endif
