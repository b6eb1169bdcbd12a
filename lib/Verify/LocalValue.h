//===- LocalValue.h - What a value of one rank is of the serial one -------===//
//
// The abstract values of the equivalence proof. A cut is told by the number of elements in each piece, so that two cuts are the same
// exactly if they are equal; nothing here knows of the partitioner's words for it.
//
// Example: 7 rows over data=4 in units of 1 are pieces of 2: rank 3 has one valid row and one of padding.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_VERIFY_LOCALVALUE_H
#define PARA_LIB_VERIFY_LOCALVALUE_H

#include "para/IR/Phases.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace para {

/// A dimension falls into `blocks` equal ranges. The first axis cuts each range into pieces of `piece` elements, the next one cuts such
/// a piece; the last pieces may be short or empty, and what is missing is padding.
struct Cut {
  struct Level {
    mlir::StringAttr axis;
    int64_t piece;
    bool operator==(const Level &other) const { return axis == other.axis && piece == other.piece; }
  };
  llvm::SmallVector<Level, 2> levels;
  int64_t blocks = 1;

  bool operator==(const Cut &other) const { return levels == other.levels && (levels.empty() || blocks == other.blocks); }
  bool operator!=(const Cut &other) const { return !(*this == other); }

  /// Reads "`size` elements in `blocks` blocks cut by `axes` in units of `unit`"; none if that does not make sense.
  static std::optional<Cut> read(int64_t size, llvm::ArrayRef<llvm::StringRef> axes, int64_t unit, int64_t blocks, MeshAttr mesh);

  int64_t getLocalSize(int64_t size) const { return levels.empty() ? size : blocks * levels.back().piece; }
  bool isPadded(int64_t size, MeshAttr mesh) const;
  bool has(llvm::StringRef axis) const;
  std::string describe() const;
};

/// Splits a piece of `size` elements once more: the number of elements in each of `count` pieces in units of `unit`.
int64_t getPiece(int64_t size, int64_t unit, int64_t count);

struct LocalValue {
  mlir::Value serial;           ///< the value of @main that this is a part of
  llvm::SmallVector<int64_t> shape; ///< of the whole: that of `serial`, or another view of the same elements
  std::vector<Cut> cuts;
  llvm::SmallVector<std::optional<ReductionKind>> filled; ///< whose identity the padding of a dimension holds; none: anything
  llvm::SmallVector<mlir::StringAttr, 2> partial;         ///< axes over which the parts are yet to be combined, by name
  ReductionKind reduction = ReductionKind::Sum;           ///< how
  ChunkPhase phase;                                       ///< in which it is made
  bool varies = false;  ///< whole in itself, but another one in each microbatch
  bool running = false; ///< a sum over the microbatches, complete once `phase` is over

  static LocalValue whole(mlir::Value serial, ChunkPhase phase);
  bool isPartial(llvm::StringRef axis) const;
  bool isCut(llvm::StringRef axis) const;
  void addPartial(mlir::StringAttr axis);
  /// Cuts and padding are forgotten to be filled.
  void forgetPadding() { filled.assign(filled.size(), std::nullopt); }
  llvm::SmallVector<int64_t> getLocalShape() const;
};

/// "data" or "data, tensor", or "none".
std::string describeAxes(llvm::ArrayRef<mlir::StringAttr> axes);
/// A serial value in words: the argument's name or the op that makes it.
std::string describeSerial(mlir::Value value);

} // namespace para

#endif
