//===- Plan.h - How a program is spread --------------------------*- C++ -*-===//
//
// The choices of a plan as data: what a recipe, a plan file or hand-given flags fix, what the planner prices, what is
// written to JSON. Applying a plan annotates the program (`para.mesh`, `para.sharding`, `para.used`, `para.split`, `para.stage`,
// `para.recompute`, `para.regather`).
//
// Example, ZeRO-1 on 4 ranks: Plan plan; plan.data = 4; plan.zero = 1; applyPlan(main, plan);
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_PLAN_H
#define PARA_PLAN_PLAN_H

#include "para/IR/Sharding.h"
#include "para/Plan/Constraint.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <set>
#include <string>

namespace para {

struct Plan {
  std::string recipe; ///< name for people: "ddp", "zero1 x pipeline"
  int64_t data = 1, tensor = 1, pipeline = 1;
  int64_t expert = 1;  ///< shares the batch as `data` does; each rank has its part of the experts
  int64_t context = 1; ///< parts of the sequence
  int zero = 0;             ///< what is cut over replicas (getReplicaAxes): 1 optimizer state, 2 gradients too, 3 parameters too
  int64_t microbatches = 1;
  std::string schedule = "1f1b"; ///< order of microbatches: a name of Schedule.h
  std::string recompute = "none"; ///< what is computed again for the backward pass: "none", "selective", "full"
  bool sequenceParallel = false; ///< what lies between tensor-parallel products is cut over `tensor` along the sequence
  int64_t bucketBytes = 25 << 20; ///< gradients are reduced in buckets of at most so many bytes (DDP); 0: one by one
  /// What is asked of values, by the names of parameters, inputs and nodes: "[data,_,tensor]" (Constraint.h).
  std::map<std::string, std::string> shards;
  /// Stage of each node of the model; empty: cut by cost.
  std::map<std::string, int64_t> stages;

  /// Parts of the model in its order: each rank of the pipeline has as many as the schedule has chunks.
  int64_t getNumStages() const;
  int64_t getNumRanks() const { return pipeline * getReplicas() * tensor; }
  /// Ranks of a stage that have the same parameters, but for experts: those of `data`, `expert` and `context`.
  int64_t getReplicas() const { return data * expert * context; }
  /// Ranks that share the samples.
  int64_t getBatchRanks() const { return data * expert; }
  /// "data=2 tensor=4 pipeline=1"; `expert` and `context` only where they are more than 1.
  std::string getMeshText(llvm::StringRef separator = " ") const;
  llvm::json::Object getMeshJson() const;
  MeshAttr getMesh(mlir::MLIRContext *ctx) const;
  llvm::json::Object toJson() const;
  static llvm::Expected<Plan> fromJson(const llvm::json::Value &value);
};

/// An axis of the mesh that a plan gives a size.
struct PlanAxis {
  llvm::StringLiteral name;
  int64_t Plan::*size;
};
/// Axes over which any of `shards` (Plan::shards) is cut.
std::set<std::string> getShardAxes(const std::map<std::string, std::string> &shards);
/// The first of `axes` of which the plan has but one rank, so that it would cut nothing; empty if there is none. Sizes in `given` were said, be they 1.
std::string findMissingAxis(const Plan &plan, const std::set<std::string> &axes, const std::map<std::string, int64_t> &given);

/// From the slowest to the fastest in the numbering of ranks: ranks of `tensor` are neighbours.
llvm::ArrayRef<PlanAxis> getPlanAxes();
/// The axis of that name, or null.
const PlanAxis *findPlanAxis(llvm::StringRef name);
/// "data, expert, context, tensor, pipeline" for people, data first.
std::string listPlanAxes();
/// Axes over which a parameter is replicated unless its sharding says otherwise.
llvm::ArrayRef<llvm::StringLiteral> getReplicaAxes();
/// Whether parameters in use are whole over the axis: all replicas' but `expert`, over which experts stay cut.
bool isGatheredAxis(llvm::StringRef axis);

/// Annotates @main. Fails with a diagnostic where the plan does not suit the program.
mlir::LogicalResult applyPlan(mlir::func::FuncOp main, const Plan &plan);

/// What `Plan::recompute` may say.
llvm::ArrayRef<llvm::StringRef> getRecomputeNames();

/// Marks the forward ops whose results are not kept for the backward pass with `para.recompute`, from the cuts that are there:
///   full       of each layer (or of about the square root of n parts, where nothing repeats) only what comes into it is kept
///   selective  within a layer the fewest bytes are kept from which the rest follows by ops that are cheap for their bytes
/// What is gathered from other ranks (`para.regather`) is gathered again. The part after the last layer is kept where its backward pass follows at once.
mlir::LogicalResult markRecomputed(mlir::func::FuncOp main, const Plan &plan, const llvm::DenseMap<mlir::Value, Sharding> &shardings);

/// Stage of every node by its name such that the costliest stage is cheapest; nodes keep their order. In `para.stage` of ops.
mlir::LogicalResult assignStages(mlir::func::FuncOp main, int64_t stages, const std::map<std::string, int64_t> &given);

/// Cuts of weights over `tensor`, found from the structure: column-parallel where what follows ends in a contraction with another
/// weight (which is then row-parallel), row-parallel where the input is cut already. By argument number.
std::map<unsigned, Sharding> findTensorCuts(mlir::func::FuncOp main, MeshAttr mesh);

/// Cuts of the weights of experts along their number, over `expert` and, where that makes enough parts, over `tensor`. By argument number.
std::map<unsigned, Sharding> findExpertCuts(mlir::func::FuncOp main, MeshAttr mesh);
/// The fewest experts that a layer has in one weight; 0 if no layer has any.
int64_t countExperts(mlir::func::FuncOp main);

/// The dimension of inputs that is the sequence, which `context` cuts: by argument number; empty if no input has one.
std::map<unsigned, int64_t> findSequenceDims(mlir::func::FuncOp main, MeshAttr mesh);

/// How each value is seen by propagation before its own sharding is known.
struct PropagationViews {
  std::map<unsigned, Sharding> arguments;             ///< in which sharding an argument is used (rather than kept)
  llvm::DenseMap<mlir::Value, Sharding> updateViews;  ///< in which sharding the update phase sees a gradient
  llvm::DenseMap<mlir::Operation *, Constraint> constraints; ///< of what an op makes
  bool sequenceParallel = false;                      ///< what lies between tensor-parallel products is cut over `tensor`, too
};

/// Chooses the split of every op in program order, from the shardings of its operands: of the proposals that the operands make, the
/// one of least time (compute over its pieces, bytes of reshards). Writes `para.split` and, for sequence parallelism, `para.target`; returns the sharding of every value.
llvm::DenseMap<mlir::Value, Sharding> propagate(mlir::func::FuncOp main, MeshAttr mesh, const PropagationViews &views);

} // namespace para

#endif
