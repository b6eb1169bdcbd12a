#include "para/Plan/ShardingSearch.h"
#include "para/Plan/NamedValues.h"

#include "para/Cost/Kernel.h"
#include "para/IR/Program.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace para;

namespace {
RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
double bytesOf(RankedTensorType type) { return double(type.getNumElements()) * double(llvm::divideCeil(type.getElementTypeBitWidth(), 8u)); }
constexpr double picoseconds = 1e12;

class ProblemBuilder {
public:
  ProblemBuilder(func::FuncOp main, MeshAttr mesh, const ShardingCosts &costs) : main(main), mesh(mesh), costs(costs), reshards(mesh) {
    for (Attribute attr : mesh.getAxes())
      if (auto axis = cast<StringAttr>(attr); axis.getValue() != kMicrobatch && mesh.getSize(axis.getValue()) > 1)
        axes.push_back(axis);
  }

  FailureOr<ShardingProblem> run(int64_t memoryBytes) {
    result.problem.name = "shardings";
    result.problem.usageLimit = memoryBytes;
    int64_t now = 0;
    for (Operation &op : main.getBody().front())
      time[&op] = ++now;
    for (BlockArgument argument : main.getArguments())
      addArgument(argument);
    for (Operation &op : main.getBody().front().without_terminator())
      if (failed(addOp(&op)))
        return failure();
    addResults();
    return std::move(result);
  }

private:
  int64_t costOf(double seconds) { return int64_t(std::min(seconds * picoseconds, 9e15)); }

  /// Seconds of the cheapest way between two shardings; those that were asked for are kept.
  double move(RankedTensorType type, const Sharding &from, const Sharding &to) {
    if (from == to)
      return 0;
    MLIRContext *ctx = main.getContext();
    auto [it, isNew] = moves.try_emplace({type, {from.getAttr(ctx), to.getAttr(ctx)}}, 0);
    if (!isNew)
      return it->second;
    const auto &path = reshards.find(type, from, to);
    double seconds = path ? 0 : -1;
    Sharding at = from;
    for (const ReshardMove &step : path ? path->moves : std::vector<ReshardMove>()) {
      double before = bytesOf(at.getLocalType(type, mesh)), after = bytesOf(step.result.getLocalType(type, mesh));
      if (step.kind != ReshardMove::Slice)
        seconds += costs.move(step.kind, step.axis, std::max(before, after));
      at = step.result;
    }
    return it->second = seconds;
  }

  Problem::Node &addNode(ShardingProblem::Node node, Value value) {
    int64_t last = 0, first = value && value.getDefiningOp() ? time[value.getDefiningOp()] : 0;
    if (node.op)
      for (Value made : node.op->getResults())
        for (Operation *user : made.getUsers())
          last = std::max(last, time[user]);
    else // arguments stay
      last = time[main.getBody().front().getTerminator()];
    result.nodes.push_back(std::move(node));
    result.problem.nodes.push_back({});
    Problem::Node &added = result.problem.nodes.back();
    added.begin = first;
    added.end = std::max(first, last) + 1;
    return added;
  }

  void addArgument(BlockArgument argument) {
    ShardingProblem::Node node;
    node.argument = argument;
    RankedTensorType type = typeOf(argument);
    node.shardings = {Sharding::replicated(type.getRank())};
    bool isWhole = getArgKind(main, argument.getArgNumber()) == "hyper";
    for (Axis axis : axes) {
      size_t there = node.shardings.size();
      for (size_t s = 0; s < there && !isWhole; ++s)
        for (int64_t d = 0; d < type.getRank(); ++d)
          if (type.getDimSize(d) > 1) {
            Sharding next = node.shardings[s];
            next.dims[d].axes.push_back(axis);
            node.shardings.push_back(next);
          }
    }
    for (Sharding &sharding : node.shardings)
      sharding = sharding.getCanonical(type, mesh);
    numberOf[argument] = result.nodes.size();
    shardings[argument] = node.shardings;
    std::vector<Sharding> all = node.shardings;
    Problem::Node &added = addNode(std::move(node), argument);
    for (const Sharding &sharding : all) {
      added.costs.push_back(0);
      added.usages.push_back(int64_t(bytesOf(sharding.getLocalType(type, mesh))));
    }
  }

  /// A dimension made of several factors may be cut in one of them.
  static bool isClear(const Structure &structure, const OpSplit &split) {
    for (const auto &values : {structure.operands, structure.results})
      for (const ValueFactors &value : values)
        for (const DimFactors &dim : value)
          if (llvm::count_if(dim, [&](int factor) { return !split.factors[factor].axes.empty(); }) > 1)
            return false;
    return true;
  }

  /// A loop over what only the result has (a broadcast's) gains nothing by being cut: a slice of the result is free.
  static bool isRead(const Structure &structure, int factor) {
    return llvm::any_of(structure.operands, [&](const ValueFactors &operand) {
      return llvm::any_of(operand, [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
    });
  }

  std::vector<OpSplit> enumerate(const Structure &structure) {
    OpSplit none;
    none.factors.resize(structure.factors.size());
    std::vector<OpSplit> splits = {none};
    bool isJoint = llvm::is_contained(structure.linearity, Linearity::Joint);
    for (Axis axis : axes) {
      size_t there = splits.size();
      for (size_t s = 0; s < there; ++s) {
        for (size_t f = 0; f < structure.factors.size(); ++f)
          if (structure.factors[f].kind != FactorKind::Whole && structure.factors[f].size > 1 && isRead(structure, int(f))) {
            OpSplit next = splits[s];
            next.factors[f].axes.push_back(axis);
            if (isClear(structure, next))
              splits.push_back(std::move(next));
          }
        auto pass = [&](int operand) {
          OpSplit next = splits[s];
          if (!next.partial.empty() && next.partialOperand != operand)
            return;
          next.partial.push_back(axis);
          llvm::sort(next.partial, [](Axis a, Axis b) { return a.getValue() < b.getValue(); });
          next.partialOperand = operand;
          splits.push_back(std::move(next));
        };
        if (isJoint)
          pass(-1);
        for (auto [index, linearity] : llvm::enumerate(structure.linearity))
          if (linearity == Linearity::Alone)
            pass(int(index));
      }
    }
    return splits;
  }

  LogicalResult addOp(Operation *op) {
    auto structured = dyn_cast<StructureOpInterface>(op);
    if (!structured)
      return op->emitOpError("does not tell its structure and has no strategies");
    Structure structure = structured.getStructure();
    Projection projection(structure, mesh);
    ShardingProblem::Node node;
    node.op = op;
    node.splits = enumerate(structure);
    unsigned number = result.nodes.size();
    std::vector<OpSplit> splits = node.splits;
    Problem::Node &added = addNode(std::move(node), op->getNumResults() ? op->getResult(0) : Value());
    for (Value made : op->getResults())
      numberOf[made] = number;
    for (const OpSplit &split : splits) {
      double share = 1, bytes = 0, usage = 0;
      for (auto [factor, cut] : llvm::zip(structure.factors, split.factors))
        if (!cut.axes.empty()) {
          DimSharding dim{cut.axes, 1, 1};
          share *= double(dim.getLocalSize(factor.size, mesh)) / double(factor.size);
        }
      for (auto [index, operand] : llvm::enumerate(op->getOperands()))
        bytes += bytesOf(projection.getOperand(split, index).getLocalType(typeOf(operand), mesh));
      for (auto [index, made] : llvm::enumerate(op->getResults())) {
        Sharding sharding = projection.getResult(split, index).getCanonical(typeOf(made), mesh);
        double own = bytesOf(sharding.getLocalType(typeOf(made), mesh));
        shardings[made].push_back(sharding);
        bytes += own;
        usage += own;
      }
      added.costs.push_back(op->getNumOperands() ? costOf(costs.compute(structured.getFlops() * share, bytes)) : 0);
      added.usages.push_back(int64_t(usage));
    }
    std::map<unsigned, Problem::Edge> edges;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      std::vector<Sharding> wanted;
      for (const OpSplit &split : splits)
        wanted.push_back(projection.getOperand(split, index).getCanonical(typeOf(operand), mesh));
      addEdge(edges[numberOf[operand]], operand, numberOf[operand], number, wanted);
    }
    for (auto &[from, edge] : edges)
      result.problem.edges.push_back(std::move(edge));
    return success();
  }

  /// Adds what it takes to bring `value` from each of its shardings into each that is wanted.
  void addEdge(Problem::Edge &edge, Value value, unsigned from, unsigned to, ArrayRef<Sharding> wanted) {
    const std::vector<Sharding> &made = shardings[value];
    edge.from = int32_t(from);
    edge.to = int32_t(to);
    edge.costs.resize(made.size() * wanted.size(), 0);
    for (size_t i = 0; i < made.size(); ++i)
      for (size_t j = 0; j < wanted.size(); ++j) {
        int64_t &cost = edge.costs[i * wanted.size() + j];
        double seconds = move(typeOf(value), made[i], wanted[j]);
        cost = seconds < 0 || cost >= kImpossible ? kImpossible : cost + costOf(seconds);
      }
  }

  /// What a step updates ends where it began; a scalar output is wanted whole, others without sums that are not finished.
  void addResults() {
    for (auto [index, returned] : llvm::enumerate(getResults(main))) {
      Value value = returned.value;
      auto updates = main.getResultAttrOfType<StringAttr>(index, "para.updates");
      int argument = updates ? getArgIndex(main, updates.getValue()) : -1;
      if (argument >= 0 && value != main.getArgument(argument)) {
        Problem::Edge edge;
        Value target = main.getArgument(argument);
        addEdge(edge, value, numberOf[value], numberOf[target], shardings[target]);
        // Both may be tied already, by the update itself: two edges of one pair are one.
        auto there = llvm::find_if(result.problem.edges, [&](const Problem::Edge &e) {
          return (e.from == edge.from && e.to == edge.to) || (e.from == edge.to && e.to == edge.from);
        });
        if (there == result.problem.edges.end()) {
          result.problem.edges.push_back(std::move(edge));
          continue;
        }
        size_t rows = shardings[value].size(), columns = shardings[target].size();
        for (size_t i = 0; i < rows; ++i)
          for (size_t j = 0; j < columns; ++j) {
            int64_t &cost = there->from == edge.from ? there->costs[i * columns + j] : there->costs[j * rows + i];
            cost = std::min(kImpossible, cost + edge.costs[i * columns + j]);
          }
        continue;
      }
      Problem::Node &node = result.problem.nodes[numberOf[value]];
      for (auto [strategy, sharding] : llvm::enumerate(shardings[value])) {
        Sharding wanted = typeOf(value).getRank() ? sharding : Sharding::replicated(0);
        wanted.partial.clear();
        double seconds = move(typeOf(value), sharding, wanted);
        node.costs[strategy] = seconds < 0 ? kImpossible : node.costs[strategy] + costOf(seconds);
      }
    }
  }

  func::FuncOp main;
  MeshAttr mesh;
  const ShardingCosts &costs;
  ReshardFinder reshards;
  Axes axes;
  ShardingProblem result;
  llvm::DenseMap<Operation *, int64_t> time;
  llvm::DenseMap<Value, unsigned> numberOf;
  llvm::DenseMap<Value, std::vector<Sharding>> shardings; ///< by strategy of the node that makes the value
  llvm::DenseMap<std::pair<Type, std::pair<Attribute, Attribute>>, double> moves;
};
} // namespace

FailureOr<ShardingProblem> para::buildShardingProblem(func::FuncOp main, MeshAttr mesh, const ShardingCosts &costs, int64_t memoryBytes) {
  return ProblemBuilder(main, mesh, costs).run(memoryBytes);
}

void para::annotateShardings(func::FuncOp main, MeshAttr mesh, const ShardingProblem &problem, ArrayRef<int32_t> choice) {
  Builder builder(main.getContext());
  main->getParentOfType<ModuleOp>()->setAttr("para.mesh", mesh);
  main->getParentOfType<ModuleOp>()->removeAttr("para.places");
  for (auto [node, strategy] : llvm::zip_equal(problem.nodes, choice)) {
    if (!node.op) {
      main.setArgAttr(node.argument.getArgNumber(), "para.sharding", node.shardings[strategy].getAttr(main.getContext()));
      main.setArgAttr(node.argument.getArgNumber(), "para.stage", builder.getI64IntegerAttr(0));
      continue;
    }
    for (StringRef name : {"para.split", "para.partial_operand", "para.local", "para.target"})
      node.op->removeAttr(name);
    node.splits[strategy].annotate(node.op);
    node.op->setAttr("para.stage", builder.getI64IntegerAttr(0));
  }
}

namespace {
/// As --shard would ask for it; empty where a sum is not finished or a cut cannot be said.
std::string textOf(const Sharding &sharding) {
  if (!sharding.partial.empty())
    return "";
  std::string text = "[";
  for (auto [index, dim] : llvm::enumerate(sharding.dims)) {
    if (dim.unit != 1 || dim.blocks != 1)
      return "";
    std::string axes;
    for (Axis axis : dim.axes)
      axes += (axes.empty() ? "" : "+") + axis.getValue().str();
    text += (index ? "," : "") + (axes.empty() ? "_" : axes);
  }
  return text + "]";
}
} // namespace

std::optional<Plan> para::searchShardings(func::FuncOp main, const Plan &plan, const Machine &machine, double seconds, double &gap) {
  MeshAttr mesh = plan.getMesh(main.getContext());
  const Device &device = machine.getDevice(0);
  ShardingCosts costs;
  // What an op moves is partly kept by the kernel it becomes a part of: half, as long as kernels are not formed.
  costs.compute = [&](double flops, double bytes) {
    Kernel kernel;
    kernel.kind = Kernel::Product;
    kernel.flops = flops;
    kernel.bytes = bytes / 2;
    return kernelSeconds(device, kernel);
  };
  costs.move = [&](ReshardMove::Kind kind, Axis axis, double bytes) {
    double n = double(mesh.getSize(axis.getValue())), sent = (n - 1) / n * bytes * (kind == ReshardMove::AllReduce ? 2 : 1);
    bool inside = mesh.getNumRanks() <= machine.getRanksPerNode();
    return machine.getStartSeconds(inside) * (n - 1) + sent / machine.getLinkBytesPerSecond(inside);
  };
  auto problem = buildShardingProblem(main, mesh, costs, int64_t(std::min(machine.getMemoryBytes(), 9e18)));
  if (failed(problem))
    return std::nullopt;
  SolveOptions options;
  options.seconds = seconds;
  options.gap = 1e-3;
  options.rounds = 64; // a plan must not depend on how busy the computer is
  auto solution = solve(problem->problem, options);
  if (!solution) {
    llvm::consumeError(solution.takeError());
    return std::nullopt;
  }
  gap = solution->getGap();
  Plan found = plan;
  std::map<std::string, std::string> nodes; // what a node makes
  NamedValues values(main);
  for (auto [node, strategy] : llvm::zip_equal(problem->nodes, solution->choice)) {
    if (!node.op) {
      std::string text = textOf(node.shardings[strategy]);
      StringRef kind = getArgKind(main, node.argument.getArgNumber());
      if ((kind == "parameter" || kind == "input" || kind == "state") && !text.empty())
        found.shards[getArgName(main, node.argument.getArgNumber()).str()] = text;
      continue;
    }
    StringRef name = getNodeName(node.op->getLoc());
    if (name.empty() || node.op->getNumResults() != 1 || values.find(name) != node.op->getResult(0))
      continue;
    Structure structure = cast<StructureOpInterface>(node.op).getStructure();
    nodes[name.str()] = textOf(Projection(structure, mesh).getResult(node.splits[strategy], 0).getCanonical(typeOf(node.op->getResult(0)), mesh));
  }
  for (const auto &[name, text] : nodes)
    if (!text.empty() && !found.shards.count(name))
      found.shards[name] = text;
  found.recipe = "searched";
  return found;
}
