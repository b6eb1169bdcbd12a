//===- WorkCollector.h - The walk behind collectWork() ------------*- C++ -*-===//
//
// Parts: kernels and messages of calls and streams (Segments.cpp), what fused attention and losses keep to themselves (FusedWork.cpp), rows that are sent to experts (RoutedWork.cpp), and
// what lies in memory (KeptWork.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_WORKCOLLECTOR_H
#define PARA_LIB_PLAN_WORKCOLLECTOR_H

#include "para/Plan/Segments.h"

#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Interfaces/Collective.h"
#include "para/Interfaces/Library.h"
#include "para/Interfaces/Relayout.h"
#include "para/Interfaces/Structure.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <map>
#include <set>

namespace para {

using mlir::Operation;
using mlir::Value;
namespace func = mlir::func;

inline mlir::RankedTensorType typeOf(Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
inline int64_t stageOf(Operation *op) {
  auto stage = op->getAttrOfType<mlir::IntegerAttr>("para.stage");
  return stage ? stage.getInt() : 0;
}

/// One op of the walk with what is asked of it again and again.
struct WorkNode {
  Operation *op = nullptr;
  std::optional<LibraryCall> call;
  bool isMove = false;     ///< the same elements under other coordinates
  bool isElement = false;  ///< each result element from elements, no loop
  bool isConstant = false; ///< from no argument
  bool isInAttention = false;
  int64_t level = 0; ///< library calls on the longest way here
};

class WorkCollector {
public:
  WorkCollector(func::FuncOp spmd, int64_t segments, const StoragePolicy &policy) : spmd(spmd), policy(policy), works(segments) {}

  std::vector<SegmentWork> run();

private:
  double bytesOf(Value value) const;
  SegmentWork &workOf(Operation *op) { return works[std::min<size_t>(stageOf(op), works.size() - 1)]; }
  PhaseWork &phaseOf(Operation *op);
  void describe(Operation *op);
  /// A sum of a product that is used nowhere else and a parameter's rows.
  bool isBias(Operation *op) const;
  /// The node that makes a single number of many is the loss; its ops backward have its name, too.
  void findLoss();
  bool isMadeByProduct(Value value) const;
  /// What only the loss has, apart from what it is made of.
  bool isInLoss(Value value) const;
  void addLoss();
  bool isProduct(const WorkNode &node) const { return node.call && node.call->kind == LibraryCall::Matmul; }
  /// Scores are what a batched product makes larger than its operands and another such product contracts again. All that has their
  /// elements, in a segment, stays in the kernel.
  static std::array<int64_t, 3> scoreKey(int64_t segment, Value value);
  void findAttention();
  bool makesPlaces(const WorkNode &node) const;
  /// Values that only say which rows go where.
  void findRoutes();
  /// A product that moves rows instead of adding up; false if it does not.
  bool addRoute(Operation *op, PhaseWork &phase);
  /// Of each row in a buffer that a product that moves rows has filled, or empties; 0 if none does.
  double getCopies(Operation *exchange) const;
  bool isOfScores(Operation *op) const;
  /// Where the elements of a value lie: through views.
  Value rootOf(Value value) const;
  bool isInMemory(Value value) const { return kept.contains(value) || isWritten(value); }
  /// Whether a kernel writes it: of ops that may be part of others, what others use, or none but those of its pass.
  bool isWritten(Value value) const;
  void addArguments();
  void addCall(const WorkNode &node);
  /// Narrows an operand of a product and transposes it for that of the weights, each of its matrices by a kernel; kernels that stream write
  /// it so at once, where it is one matrix.
  void addCast(PhaseWork &phase, Value operand, int64_t matrices);
  void addTraffic(const WorkNode &node, TrafficWork::Kind kind, double bytes, PhaseWork *phase = nullptr);
  /// One kernel a segment and pass: the work of its products, and what is read and written around them.
  void addAttention();
  bool isScoreLike(Value value) const;
  /// What is read to make a value of the pass forward again.
  double readSources(Value value, llvm::SmallPtrSet<void *, 8> &seen);
  /// Ops between which nothing need be in memory are one kernel.
  void addStreams();
  /// What the backward pass takes: operands of its calls as they are, all else back to what is kept anyway or in memory in any case.
  void findKept();
  void addKept();
  void addBoundaries();
  /// Of scores a kernel of its own, whose results and masks are kept; before residual sums a part of theirs, whose masks are kept.
  void addDropout();
  bool isResidualSum(const WorkNode &node) const;

  func::FuncOp spmd;
  const StoragePolicy &policy;
  std::vector<SegmentWork> works;
  llvm::MapVector<Operation *, WorkNode> nodes;
  llvm::DenseSet<Operation *> weightGradients, lossOps;
  int64_t lossElements = 0;
  llvm::StringMap<int64_t> opsOfNode; ///< of the pass forward, that compute
  llvm::DenseSet<Value> routes;
  llvm::SetVector<Value> kept; ///< from forward to backward
  std::set<std::array<int64_t, 3>> scores; ///< segment, elements and keys of what is shaped as attention scores
};

} // namespace para

#endif
