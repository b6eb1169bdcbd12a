#include "para/IR/Program.h"
#include "para/IR/Sharding.h"
#include "para/Partition/Passes.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_VERIFYPARTITIONPASS
#include "para/Partition/Passes.h.inc"
} // namespace para

namespace {
struct VerifyPartitionPass : para::impl::VerifyPartitionPassBase<VerifyPartitionPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("para.mesh");
    auto spmd = getOperation().lookupSymbol<func::FuncOp>("spmd");
    if (!mesh || !spmd) {
      getOperation().emitError("has no para.mesh and @spmd after the partition stage");
      return signalPassFailure();
    }
    for (BlockArgument argument : spmd.getArguments())
      check(spmd, mesh, argument.getType(), spmd.getArgAttrDict(argument.getArgNumber()), "argument");
    for (auto [index, type] : llvm::enumerate(spmd.getResultTypes()))
      check(spmd, mesh, type, spmd.getResultAttrDict(index), "result");
    Phase last = Phase::Prepare;
    for (Operation &op : spmd.getBody().front().without_terminator()) {
      if (!op.hasAttr("para.phase") || !op.hasAttr("para.stage")) {
        op.emitOpError("has no phase or stage after the partition stage");
        return signalPassFailure();
      }
      if (getPhase(&op) < last) {
        op.emitOpError("stands after a later phase");
        return signalPassFailure();
      }
      last = getPhase(&op);
    }
  }

  void check(func::FuncOp spmd, MeshAttr mesh, Type type, DictionaryAttr attributes, StringRef what) {
    auto sharding = attributes.getAs<ShardingAttr>("para.sharding");
    auto global = attributes.getAs<TypeAttr>("para.global");
    auto name = attributes.getAs<StringAttr>("para.name");
    if (sharding && global && Sharding::get(sharding).getLocalType(cast<RankedTensorType>(global.getValue()), mesh) == type)
      return;
    spmd.emitError() << what << " " << (name ? name.getValue() : "?") << " has local type " << type << ", which does not follow from its sharding";
    signalPassFailure();
  }
};
} // namespace
