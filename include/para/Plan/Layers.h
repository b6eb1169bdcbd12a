//===- Layers.h - Blocks of a model that repeat ------------------*- C++ -*-===//
//
// A deep model is the same block over and over. What is found about one block holds for all, so that a search over a model with a hundred
// layers works on one with three. Blocks are found by structure: runs of ops that equal those `period` ops later in name, attributes,
// types and in where operands come from. Names only keep an exporter's node whole.
//
// Example: 96 decoder layers: one run of 96 blocks; folded, the first, one that stands for 94, and the last remain.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_LAYERS_H
#define PARA_PLAN_LAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace para {

/// `count` blocks of `period` ops each, from op number `begin` of @main on.
struct LayerRun {
  int64_t begin, period, count;
  bool operator==(const LayerRun &other) const { return begin == other.begin && period == other.period && count == other.count; }
};

/// Runs of at least two blocks in the order of the program; they do not overlap.
std::vector<LayerRun> findLayers(mlir::func::FuncOp main);

/// A consecutive part of a folded program. It stands for `repeat` parts that are alike.
struct Segment {
  int64_t repeat = 1;
  std::vector<std::string> nodes;                ///< of the folded program
  std::vector<std::vector<std::string>> members; ///< nodes of the model, of each of the parts it stands for, in their order
};

/// Removes blocks from @main so that of each run of four or more the first, one in the middle and the last are left. Returns the segments in
/// order: what is before a run, each block that is left, what is between and behind. Results of removed blocks that the function returns
/// are returned no more, arguments that only they use are removed. A run from which something behind it takes more than the last block's
/// values is left whole.
std::vector<Segment> foldLayers(mlir::func::FuncOp main);

} // namespace para

#endif
