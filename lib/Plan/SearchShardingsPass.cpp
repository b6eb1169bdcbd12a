#include "para/IR/Program.h"
#include "para/Plan/Passes.h"
#include "para/Plan/Plan.h"
#include "para/Plan/ShardingSearch.h"

using namespace mlir;

namespace para {
#define GEN_PASS_DEF_SEARCHSHARDINGSPASS
#include "para/Plan/Passes.h.inc"
} // namespace para

namespace {
struct SearchShardingsPass : para::impl::SearchShardingsPassBase<SearchShardingsPass> {
  using SearchShardingsPassBase::SearchShardingsPassBase;

  void runOnOperation() override {
    auto main = para::getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    para::Plan plan;
    plan.data = data;
    plan.tensor = tensor;
    para::MeshAttr mesh = plan.getMesh(&getContext());
    para::ShardingCosts costs;
    costs.compute = [&](double flops, double bytes) { return flops * flop + bytes * byte; };
    costs.move = [&](para::ReshardMove::Kind kind, para::Axis axis, double bytes) {
      double n = double(mesh.getSize(axis.getValue())), share = (n - 1) / n * (kind == para::ReshardMove::AllReduce ? 2 : 1);
      return start + share * bytes * sent;
    };
    auto problem = para::buildShardingProblem(*main, mesh, costs, INT64_MAX);
    if (failed(problem))
      return signalPassFailure();
    para::SolveOptions options;
    options.seconds = seconds;
    options.gap = 1e-6;
    auto solution = para::solve(problem->problem, options);
    if (!solution) {
      main->emitError() << llvm::toString(solution.takeError());
      return signalPassFailure();
    }
    para::annotateShardings(*main, mesh, *problem, solution->choice);
    (*main)->setAttr("para.search", DenseI64ArrayAttr::get(&getContext(), {solution->cost, solution->lowerBound}));
  }
};
} // namespace
