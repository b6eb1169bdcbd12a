//===- CutFinder.h - Cuts of parameters that follow from each other -*- C++ -*-===//
//
// What the finders of cuts over one axis share: the way from a value back to the parameter it is made of, and parameters that are cut as
// their first use is.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_PLAN_CUTFINDER_H
#define PARA_LIB_PLAN_CUTFINDER_H

#include "para/IR/Sharding.h"
#include "para/Partition/Projection.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace para {

/// A dimension of an argument that a dimension of a value comes from, through ops of one operand that keep the number of elements.
struct Origin {
  mlir::BlockArgument argument;
  DimSharding cut;
  int64_t dim;
};

class CutFinder {
protected:
  CutFinder(mlir::func::FuncOp main, MeshAttr mesh, llvm::StringRef axis) : main(main), mesh(mesh), axis(mlir::StringAttr::get(main.getContext(), axis)) {}

  bool isParameter(mlir::BlockArgument argument);
  bool comesFromParameter(mlir::Value value);
  std::optional<Origin> trace(mlir::Value value, int64_t dim, DimSharding cut);
  void setCut(const Origin &origin);
  /// Parameters without a decision (biases, scales) are cut as their first use is.
  void adoptSmall();

  mlir::func::FuncOp main;
  MeshAttr mesh;
  Axis axis;
  std::map<unsigned, Sharding> cuts; ///< by argument number

private:
  void followUses(mlir::Value value, std::optional<Origin> &agreed, bool &all);
  void followBroadcast(mlir::Operation *op, const Structure &structure, const Projection &projection, std::optional<Origin> &agreed, bool &all);
};

} // namespace para

#endif
