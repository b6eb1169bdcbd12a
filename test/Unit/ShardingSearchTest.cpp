//===- ShardingSearchTest.cpp - The inner search against enumeration -------===//
//
// Random graphs of up to eight ops on a mesh of 2 x 2: the search costs what enumerating every choice costs, and what it chose is
// partitioned and proved.
//
//===----------------------------------------------------------------------===//
#include "para/IR/Program.h"
#include "para/Partition/Passes.h"
#include "para/Plan/Plan.h"
#include "para/Plan/ShardingSearch.h"
#include "para/Schedule/Passes.h"
#include "para/Verify/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace para;

namespace {
/// A graph of matrices as text: products, sums, maps, transposes and row sums of what there is.
class Graph {
public:
  Graph(unsigned seed, int ops) : random(seed) {
    addArgument(pick(), pick());
    addArgument(values[0].columns, pick());
    for (int i = 0; i < ops; ++i)
      addOp();
  }
  std::string getText() const {
    const Matrix &last = values.back();
    return "module {\n  func.func @main(" + arguments + ") -> (" + last.type() + " {para.kind = \"output\", para.name = \"y\"}) {\n" + body + "    return " + last.name +
           " : " + last.type() + "\n  }\n}\n";
  }

private:
  struct Matrix {
    std::string name;
    int64_t rows, columns;
    std::string type() const { return llvm::formatv("tensor<{0}x{1}xf32>", rows, columns).str(); }
  };
  int64_t pick() {
    static const int64_t sizes[] = {4, 6, 64, 5, 512};
    return sizes[random() % 5];
  }
  void addArgument(int64_t rows, int64_t columns) {
    Matrix m{"%a" + std::to_string(count++), rows, columns};
    arguments += (arguments.empty() ? "" : ", ") + m.name + ": " + m.type() + " {para.kind = \"" + (count == 1 ? "input" : "parameter") + "\", para.name = \"" +
                 m.name.substr(1) + "\"}";
    values.push_back(m);
  }
  void addOp() {
    const Matrix x = values[values.size() - 1 - random() % std::min<size_t>(values.size(), 3)];
    Matrix y{"%v" + std::to_string(count++), x.rows, x.columns};
    switch (random() % 5) {
    case 0:
      for (const Matrix &w : values)
        if (w.rows == x.columns) {
          y.columns = w.columns;
          body += llvm::formatv("    {0} = para.dot {1}, {2} batch [] x [] contract [1] x [0] : {3}, {4} -> {5}\n", y.name, x.name, w.name, x.type(), w.type(), y.type()).str();
          values.push_back(y);
          return;
        }
      [[fallthrough]];
    case 1:
      body += llvm::formatv("    {0} = para.relu {1} : {2}\n", y.name, x.name, x.type()).str();
      break;
    case 2:
      body += llvm::formatv("    {0} = para.add {1}, {1} : {2}\n", y.name, x.name, x.type()).str();
      break;
    case 3:
      std::swap(y.rows, y.columns);
      body += llvm::formatv("    {0} = para.transpose {1} [1, 0] : {2} -> {3}\n", y.name, x.name, x.type(), y.type()).str();
      break;
    case 4:
      body += llvm::formatv("    {0}_s = para.reduce sum {1} [1] : {2} -> tensor<{3}xf32>\n    {0} = para.broadcast {0}_s [0] : tensor<{3}xf32> -> {4}\n", y.name, x.name, x.type(),
                            x.rows, y.type())
                  .str();
      break;
    }
    values.push_back(y);
  }

  std::mt19937 random;
  std::vector<Matrix> values;
  std::string arguments, body;
  int count = 0;
};
} // namespace

TEST(ShardingSearch, EqualsEnumeration) {
  int compared = 0, cut = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    MLIRContext context;
    context.loadDialect<ParaDialect, func::FuncDialect>();
    std::string text = Graph(seed, 1 + int(seed % 5)).getText();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    auto main = module->lookupSymbol<func::FuncOp>("main");
    for (Operation &op : main.getBody().front().without_terminator())
      op.setAttr("para.phase", PhaseAttr::get(&context, Phase::Forward));
    Plan plan;
    plan.data = plan.tensor = 2;
    MeshAttr mesh = plan.getMesh(&context);
    ShardingCosts costs;
    costs.compute = [](double flops, double bytes) { return flops * 1e-9 + bytes * 1e-10; };
    costs.move = [](ReshardMove::Kind kind, Axis, double bytes) { return 1e-7 + bytes * 1e-9 * (kind == ReshardMove::AllReduce ? 1 : 0.5); };
    auto problem = buildShardingProblem(main, mesh, costs, INT64_MAX);
    ASSERT_TRUE(succeeded(problem)) << text;
    auto found = solve(problem->problem, {.seconds = 20});
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError()) << text;
    auto best = solveExhaustively(problem->problem);
    ASSERT_TRUE(bool(best)) << llvm::toString(best.takeError()) << text;
    EXPECT_EQ(found->cost, best->cost) << text;
    EXPECT_LE(found->lowerBound, best->cost) << text;
    EXPECT_FALSE(bool(problem->problem.verify(found->choice))) << text;
    ++compared;
    annotateShardings(main, mesh, *problem, found->choice);
    for (auto [node, strategy] : llvm::zip_equal(problem->nodes, found->choice))
      cut += node.op && llvm::any_of(node.splits[strategy].factors, [](const FactorSplit &factor) { return !factor.axes.empty(); });
    PassManager pm(&context);
    buildPartitionPipeline(pm);
    buildSchedulePipeline(pm, "1f1b");
    buildVerifyPipeline(pm);
    EXPECT_TRUE(succeeded(pm.run(*module))) << text;
  }
  EXPECT_EQ(compared, 60);
  EXPECT_GT(cut, 60); // the costs make cutting worth while
}

// A limit on memory is kept, and one that nothing keeps is told.
TEST(ShardingSearch, KeepsMemory) {
  MLIRContext context;
  context.loadDialect<ParaDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(module {
    func.func @main(%x: tensor<64x64xf32> {para.kind = "input", para.name = "x"}, %w: tensor<64x64xf32> {para.kind = "parameter", para.name = "w"})
        -> (tensor<64x64xf32> {para.kind = "output", para.name = "y"}) {
      %0 = para.dot %x, %w batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    }
  })", &context);
  Plan plan;
  plan.data = plan.tensor = 2;
  ShardingCosts costs;
  costs.compute = [](double flops, double) { return flops * 1e-12; };
  costs.move = [](ReshardMove::Kind, Axis, double bytes) { return bytes; }; // so dear that without a limit inputs stay whole
  auto main = module->lookupSymbol<func::FuncOp>("main");
  int64_t whole = 64 * 64 * 4;
  for (int64_t limit : {3 * whole, 3 * whole / 2, 3 * whole / 4}) {
    auto problem = buildShardingProblem(main, plan.getMesh(&context), costs, limit);
    ASSERT_TRUE(succeeded(problem));
    auto found = solve(problem->problem, {.seconds = 5});
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_LE(problem->problem.getPeak(found->choice), limit);
  }
  auto problem = buildShardingProblem(main, plan.getMesh(&context), costs, whole / 4);
  ASSERT_TRUE(succeeded(problem));
  auto none = solve(problem->problem, {.seconds = 5});
  EXPECT_FALSE(bool(none));
  llvm::consumeError(none.takeError());
}
