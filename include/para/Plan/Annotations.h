//===- Annotations.h - Plans and ONNX's multi-device annotations --*- C++ -*-===//
//
// A configuration of an annotated model says of each node its pipeline stage, and of its tensors which device has which part. Read, these are
// constraints on the plan: the mesh of ranks whose numbering explains the devices, the stages, and the cut of each value. Written, they are
// what an annotated program does.
//
//   stage of a node            Plan::stages
//   spec of a node's output    the cut of the value (Plan::shards)
//   spec of a node's input     the form in which the node takes it; of a parameter or an input of the model, the cut of the value
//
// A sum that is not finished has no spec: ONNX has no word for it, nor for ZeRO levels, microbatches, schedules and recomputation.
//
// Example: auto asked = PlanAnnotations::read(outline, outline.configurations[0], main); asked->mesh["tensor"] = 2 where weights are cut in two.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PLAN_ANNOTATIONS_H
#define PARA_PLAN_ANNOTATIONS_H

#include "para/Import/ModelOutline.h"
#include "para/Plan/Plan.h"

namespace para {

struct PlanAnnotations {
  std::string configuration; ///< its name
  int64_t ranks = 1;
  std::map<std::string, int64_t> mesh;       ///< sizes of axes that follow; all of them, or of the pipeline alone, or none
  std::map<std::string, int64_t> stages;     ///< Plan::stages
  std::map<std::string, std::string> shards; ///< of values, as in Plan::shards

  /// What `configuration` asks for. `main` is the imported program. Of several meshes that would do, one in which `asked` has its sizes, if there
  /// is one; then one that cuts batches over `data` and parameters over other axes. What no mesh can be is reported at its nodes.
  static mlir::FailureOr<PlanAnnotations> read(const ModelOutline &outline, const DeviceConfiguration &configuration, mlir::func::FuncOp main,
                                               const std::map<std::string, int64_t> &asked);

  /// Settles on what specs leave open, by the step that is derived (`main`): which values have to be asked for at all, and with `sequence` null
  /// whether sequences are cut. The first way is taken under which every node takes its inputs as asked, with what has been simplified away left
  /// out. Fails with reports at the nodes where there is none. Where the mesh is open, all that is done is to leave out.
  mlir::LogicalResult settle(mlir::func::FuncOp main, int64_t microbatches, std::optional<bool> sequence);
  bool sequenceParallel = false; ///< settled: Plan::sequenceParallel
  std::map<std::string, std::string> imposed; ///< settled: what of `shards` has to be asked for

  /// Makes a plan for `main` one under which nodes take their inputs as asked: another number of microbatches than was settled for may have
  /// other ways. Fails with reports at the nodes.
  mlir::LogicalResult refit(mlir::func::FuncOp main, Plan &plan) const;
  /// Whether all axes have their sizes.
  bool isMeshFixed() const { return mesh.size() > 1; }

private:
  /// Form in which a node takes a value.
  struct Use {
    std::string node;
    std::vector<std::string> made; ///< ModelNode::made
    std::string tensor, value;
    Sharding sharding;
  };
  mlir::LogicalResult check(mlir::func::FuncOp main) const;
  mlir::LogicalResult dropVanished(mlir::func::FuncOp main);

  std::vector<Use> uses;
  std::map<std::string, std::string> taken; ///< as shards: of values of which only takers tell
  friend class AnnotationReader;
};

/// What a program that applyPlan() has annotated does on its mesh, in the words of a file.
struct WrittenAnnotations {
  DeviceConfiguration configuration; ///< "para"; devices are called by their place in the mesh: "pipeline=0,data=1,tensor=0"
  std::vector<NodeConfiguration> nodes;
  std::vector<DeviceShards> assignments;
};
WrittenAnnotations writeAnnotations(const ModelOutline &outline, mlir::func::FuncOp main);

} // namespace para

#endif
