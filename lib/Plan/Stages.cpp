#include "para/IR/Program.h"
#include "para/Interfaces/Structure.h"
#include "para/Plan/Plan.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace para;

namespace {
/// Cuts a row of costs into `parts` runs such that the costliest is cheapest: dynamic programming over (prefix, parts).
SmallVector<int64_t> cutEvenly(ArrayRef<double> costs, int64_t parts) {
  size_t n = costs.size();
  std::vector<double> prefix(n + 1, 0);
  for (size_t i = 0; i < n; ++i)
    prefix[i + 1] = prefix[i] + costs[i];
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(n + 1, 1e300));
  std::vector<std::vector<size_t>> from(parts + 1, std::vector<size_t>(n + 1, 0));
  best[0][0] = 0;
  for (int64_t p = 1; p <= parts; ++p)
    for (size_t end = 1; end <= n; ++end)
      for (size_t begin = end; begin-- > size_t(p - 1);) {
        double run = prefix[end] - prefix[begin];
        if (run >= best[p][end])
          break; // longer runs only cost more
        double worst = std::max(run, best[p - 1][begin]);
        if (worst < best[p][end]) {
          best[p][end] = worst;
          from[p][end] = begin;
        }
      }
  SmallVector<int64_t> stages(n, 0);
  size_t end = n;
  for (int64_t p = parts; p > 0; --p) {
    for (size_t i = from[p][end]; i < end; ++i)
      stages[i] = p - 1;
    end = from[p][end];
  }
  return stages;
}
} // namespace

LogicalResult para::assignStages(func::FuncOp main, int64_t stages, const std::map<std::string, int64_t> &given) {
  Builder builder(main.getContext());
  // Nodes in the order of the forward pass, with the time of their forward and backward ops. Memory-bound ops count by bytes.
  llvm::MapVector<StringAttr, double> nodes;
  auto nameOf = [&](Operation *op) { return builder.getStringAttr(getNodeName(op->getLoc())); };
  llvm::StringMap<bool> parameters;
  for (BlockArgument argument : main.getArguments())
    parameters[getArgName(main, argument.getArgNumber())] = true;
  for (Operation &op : main.getBody().front().without_terminator())
    if (getPhase(&op) == Phase::Forward && op.getNumOperands() > 0)
      nodes.insert({nameOf(&op), 0});
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto it = nodes.find(nameOf(&op));
    if (auto structured = dyn_cast<StructureOpInterface>(op); structured && it != nodes.end())
      it->second += structured.getFlops() + 2 * structured.getBytesMoved();
  }
  SmallVector<double> costs = llvm::map_to_vector(nodes, [](auto &node) { return node.second; });
  if (stages > 1 && int64_t(costs.size()) < stages) { // a model without any node is one stage
    bool hasChunks = main->getParentOfType<ModuleOp>()->hasAttr("para.places");
    return main.emitError() << "has " << costs.size() << " nodes, which cannot make " << stages << " pipeline stages; "
                            << (hasChunks ? "take a schedule of fewer parts on a rank (--pipeline-schedule), or " : "") << "give the pipeline at most "
                            << std::max<size_t>(1, costs.size()) << " ranks, and the others to data or tensor (--mesh data=N,pipeline=N)";
  }
  for (const auto &[node, stage] : given)
    if (!nodes.contains(builder.getStringAttr(node)))
      return main.emitError() << "the plan puts '" << node << "' on stage " << stage << ", but the model has no such node: the plan is of another model";
  SmallVector<int64_t> cut = cutEvenly(costs, stages);
  llvm::DenseMap<StringAttr, int64_t> stageOf;
  for (auto [node, stage] : llvm::zip(nodes, cut)) {
    auto it = given.find(node.first.getValue().str());
    stageOf[node.first] = it == given.end() ? stage : it->second;
    if (stageOf[node.first] < 0 || stageOf[node.first] >= stages)
      return main.emitError() << "the plan puts '" << node.first.getValue() << "' on stage " << stageOf[node.first] << " of " << stages;
  }
  // Stages never go back in the forward pass: a node is no earlier than what it takes from. All ops of a node, those of its derivative
  // too, share its stage, so that the backward pass runs the stages in the opposite order.
  for (bool moved = true; moved;) {
    moved = false;
    for (Operation &op : main.getBody().front().without_terminator()) {
      auto own = stageOf.find(nameOf(&op));
      if (getPhase(&op) != Phase::Forward || own == stageOf.end())
        continue;
      for (Value operand : op.getOperands()) {
        Operation *producer = operand.getDefiningOp();
        auto from = producer ? stageOf.find(nameOf(producer)) : stageOf.end();
        if (from != stageOf.end() && from->second > own->second) {
          own->second = from->second;
          moved = true;
        }
      }
    }
  }
  llvm::DenseMap<Operation *, int64_t> stageOfOp;
  auto setStage = [&](Operation *op, int64_t stage) {
    stageOfOp[op] = stage;
    op->setAttr("para.stage", builder.getI64IntegerAttr(stage));
  };
  // A node whose forward ops have been folded away goes where its gradient comes from.
  auto stageAmong = [&](Operation *op) {
    int64_t backward = stages, forward = 0;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && producer->getNumOperands() > 0) {
        if (getPhase(producer) == Phase::Backward)
          backward = std::min(backward, stageOfOp[producer]);
        else
          forward = std::max(forward, stageOfOp[producer]);
      }
    return backward < stages ? backward : forward;
  };
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto it = stageOf.find(nameOf(&op));
    setStage(&op, it == stageOf.end() ? stageAmong(&op) : it->second);
  }
  // Equal ops of several nodes are one, which is no earlier than what takes from it on the way back.
  for (Operation &op : llvm::reverse(main.getBody().front().without_terminator()))
    if (getPhase(&op) == Phase::Backward)
      for (Operation *user : op.getUsers())
        if (getPhase(user) == Phase::Backward && stageOfOp.lookup(user) > stageOfOp.lookup(&op) && !user->hasTrait<OpTrait::IsTerminator>())
          setStage(&op, stageOfOp.lookup(user));
  // A parameter, its state and its update live where it is used first; what follows from the update phase alone goes there too.
  llvm::StringMap<int64_t> home;
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    int64_t first = -1;
    for (Operation *user : argument.getUsers())
      if (getPhase(user) == Phase::Forward && isa<StructureOpInterface>(user) && (first < 0 || stageOfOp[user] < first))
        first = stageOfOp[user];
    StringRef owner = getArgName(main, index);
    if (auto of = main.getArgAttrOfType<StringAttr>(index, "para.state_of"))
      owner = of.getValue();
    if (first < 0)
      first = home.lookup(owner);
    home[owner] = first;
    main.setArgAttr(index, "para.stage", builder.getI64IntegerAttr(first));
  }
  for (Operation &op : main.getBody().front().without_terminator())
    if (getPhase(&op) == Phase::Update)
      if (auto it = home.find(getNodeName(op.getLoc())); it != home.end())
        setStage(&op, it->second);
  return success();
}
