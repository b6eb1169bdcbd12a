//===- PlacedValues.h - How an annotated program holds its values --*- C++ -*-===//
#ifndef PARA_LIB_PLAN_PLACEDVALUES_H
#define PARA_LIB_PLAN_PLACEDVALUES_H

#include "para/Import/ModelOutline.h"
#include "para/Plan/NamedValues.h"
#include "para/IR/Sharding.h"

namespace para {

/// Shardings of @main after applyPlan(), without microbatches.
class PlacedValues {
public:
  explicit PlacedValues(mlir::func::FuncOp main);

  const NamedValues &getNames() const { return names; }
  MeshAttr getMesh() const { return mesh; }
  /// As an argument is kept, or an op leaves its result.
  Sharding getValue(mlir::Value value) const;
  /// As an argument comes to the ops that read it: parameters are whole over replicas, whatever ZeRO does.
  Sharding getArgument(mlir::BlockArgument argument) const;
  /// As the first op of the node (`made`: ModelNode::made) that reads `value` takes it; none if no op does, or if it takes a sum that is not finished.
  std::optional<Sharding> getUse(llvm::ArrayRef<std::string> made, mlir::Value value) const;

private:
  NamedValues names;
  MeshAttr mesh;
};

/// Fills in stages of nodes that have none: the one of what they take from, else of what takes from them, else the first.
void inferStages(const ModelOutline &outline, std::vector<std::optional<int64_t>> &stages);

} // namespace para

#endif
