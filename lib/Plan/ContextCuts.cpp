#include "CutFinder.h"
#include "SequenceCuts.h"

#include "para/IR/Program.h"
#include "para/Plan/Plan.h"

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class Finder : CutFinder {
public:
  Finder(func::FuncOp main, MeshAttr mesh) : CutFinder(main, mesh, "context") {}

  std::map<unsigned, int64_t> run() {
    std::map<unsigned, int64_t> found;
    int64_t length = 0;
    // Inputs that products with weights are made of say which dimension the sequence is.
    forEachDim([&](BlockArgument input, int64_t dim) {
      if (found.count(input.getArgNumber()) || !isSequence(input, dim))
        return;
      found[input.getArgNumber()] = dim;
      length = std::max(length, typeOf(input).getDimSize(dim));
    });
    // Labels, masks and positions of that length go with them.
    forEachDim([&](BlockArgument input, int64_t dim) {
      if (length > 1 && typeOf(input).getDimSize(dim) == length)
        found.try_emplace(input.getArgNumber(), dim);
    });
    return found;
  }

private:
  /// Dimensions of inputs that are neither the batch nor smaller than the axis.
  void forEachDim(llvm::function_ref<void(BlockArgument, int64_t)> visit) {
    for (BlockArgument argument : main.getArguments()) {
      if (getArgKind(main, argument.getArgNumber()) != "input")
        continue;
      auto batch = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "para.batch_dim");
      for (int64_t dim = 0; dim < typeOf(argument).getRank(); ++dim)
        if (!(batch && batch.getInt() == dim) && typeOf(argument).getDimSize(dim) >= mesh.getSize(axis))
          visit(argument, dim);
    }
  }

  /// Whether all products with weights that come first on the way from here keep the dimension.
  bool isSequence(BlockArgument input, int64_t dim) {
    llvm::DenseSet<std::pair<Value, int64_t>> seen;
    SmallVector<std::tuple<Value, int64_t, DimSharding>> work = {{input, dim, DimSharding{{axis}, 1, 1}}};
    bool keeps = false;
    while (!work.empty()) {
      auto [value, place, cut] = work.pop_back_val();
      if (!seen.insert({value, place}).second)
        continue;
      for (OpOperand &use : value.getUses()) {
        auto structured = dyn_cast<StructureOpInterface>(use.getOwner());
        if (!structured || getPhase(use.getOwner()) != Phase::Forward)
          continue;
        Structure structure = structured.getStructure();
        Projection projection(structure, mesh);
        auto lifted = projection.lift(structure.operands[use.getOperandNumber()][place], cut);
        FactorKind kind = lifted ? structure.factors[lifted->factor].kind : FactorKind::Whole;
        if (SequenceCuts::isProduct(structure)) {
          if (comesFromParameter(use.getOwner()->getOperand(1 - use.getOperandNumber()))) {
            if (kind != FactorKind::Parallel)
              return false;
            keeps = true;
          }
        } else if (kind == FactorKind::Parallel) { // what needs it whole gathers it
          for (const Projection::Outcome &outcome : projection.getOutcomes(*lifted))
            work.push_back({use.getOwner()->getResult(outcome.result), outcome.dim, outcome.sharding});
        }
      }
    }
    return keeps;
  }
};
} // namespace

std::map<unsigned, int64_t> para::findSequenceDims(func::FuncOp main, MeshAttr mesh) { return Finder(main, mesh).run(); }
