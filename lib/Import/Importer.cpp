#include "Importer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace para {

/// Each call is imported by a call of ours, which takes some of the stack.
constexpr size_t mostNested = 500;

static int64_t getVersion(const llvm::StringMap<int64_t> &opsets, StringRef domain) {
  auto it = opsets.find(normalizeDomain(domain));
  if (it != opsets.end())
    return it->second;
  return domain == "com.microsoft" ? 1 : 0;
}

void OnnxRegistry::add(StringRef type, int64_t since, OnnxHandler handler, StringRef domain) {
  auto &versions = handlers[(domain + "::" + type).str()];
  versions.emplace_back(since, handler);
  llvm::sort(versions, [](const auto &a, const auto &b) { return a.first < b.first; });
}

OnnxHandler OnnxRegistry::lookup(StringRef domain, StringRef type, int64_t version) const {
  OnnxHandler result = nullptr;
  auto it = handlers.find((normalizeDomain(domain) + "::" + type).str());
  if (it != handlers.end())
    for (auto [since, handler] : it->second)
      if (since <= version)
        result = handler;
  return result;
}

const ImportValue *OnnxScope::lookup(StringRef name) const {
  for (const OnnxScope *scope = this; scope; scope = scope->parent)
    if (auto it = scope->values.find(name); it != scope->values.end())
      return &it->second;
  return nullptr;
}

void forEachRead(const onnx::NodeProto &node, llvm::function_ref<void(StringRef)> visit, int depth) {
  for (const std::string &name : node.input())
    visit(name);
  auto visitGraph = [&](const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &inner : graph.node())
      forEachRead(inner, visit, depth + 1);
    for (const onnx::ValueInfoProto &output : graph.output())
      visit(output.name());
  };
  if (depth < 64) // more than the decoder lets through
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        visitGraph(attribute.g());
      for (const onnx::GraphProto &graph : attribute.graphs())
        visitGraph(graph);
    }
}

std::vector<bool> findLiveNodes(const NodeList &nodes, ArrayRef<StringRef> outputs) {
  llvm::StringMap<int> producer;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &name : nodes[i].output())
      if (!name.empty())
        producer.try_emplace(name, i);
  std::vector<bool> live(nodes.size(), false);
  std::vector<int> work;
  auto need = [&](StringRef name) {
    auto it = producer.find(name);
    if (it != producer.end() && !live[it->second]) {
      live[it->second] = true;
      work.push_back(it->second);
    }
  };
  for (StringRef output : outputs)
    need(output);
  while (!work.empty()) {
    int i = work.back();
    work.pop_back();
    forEachRead(nodes[i], need);
  }
  return live;
}

/// Live nodes such that producers come first, else in file order. Nodes of a cycle keep their order, and fail.
static std::vector<int> orderNodes(const NodeList &nodes, const std::vector<bool> &live) {
  llvm::StringMap<int> producer;
  for (int i = 0; i < nodes.size(); ++i)
    if (live[i])
      for (const std::string &name : nodes[i].output())
        if (!name.empty())
          producer.try_emplace(name, i);
  enum State : char { New, Open, Done };
  std::vector<State> states(nodes.size(), New);
  std::vector<int> order, stack;
  for (int root = 0; root < nodes.size(); ++root) {
    if (live[root])
      stack.push_back(root);
    while (!stack.empty()) {
      int i = stack.back();
      if (states[i] == New) {
        states[i] = Open;
        forEachRead(nodes[i], [&](StringRef name) {
          auto it = producer.find(name);
          if (it != producer.end() && states[it->second] == New)
            stack.push_back(it->second);
        });
        continue;
      }
      stack.pop_back();
      if (std::exchange(states[i], Done) != Done)
        order.push_back(i);
    }
  }
  return order;
}

OnnxImporter::OnnxImporter(const ModelFile &file, const ImportOptions &options, MLIRContext *context)
    : file(file), model(file.model), graph(file.model.graph()), options(options), context(context), builder(context, &made), b(builder) {
#define PARA_ONNX_FAMILY(Family) register##Family##Onnx(registry);
#include "para/Import/OnnxFamilies.def"
#undef PARA_ONNX_FAMILY
  registerControlFlow(registry);
}

Location OnnxImporter::locate(StringRef name) const {
  return NameLoc::get(StringAttr::get(context, name.empty() ? StringRef("<unnamed>") : name));
}

Location OnnxImporter::locate(const onnx::NodeProto &node, const OnnxScope &scope) const {
  StringRef name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i)
    name = node.output(i);
  if (name.empty())
    name = node.op_type();
  return locate((scope.prefix + name).str());
}

Type OnnxImporter::elementType(int64_t onnxType) const {
  Type type = getElementType(onnxType, context);
  if (!type || !isa<FloatType>(type))
    return type;
  switch (options.precision) {
  case Precision::Model:
    return type;
  case Precision::F64:
    return Float64Type::get(context);
  default:
    return Float32Type::get(context);
  }
}

FailureOr<OwningOpRef<ModuleOp>> OnnxImporter::run(ModelOutline *wanted) {
  outline = wanted;
  Location loc = FileLineColLoc::get(context, file.name, 0, 0);
  for (const onnx::OperatorSetIdProto &import : model.opset_import())
    opsets[normalizeDomain(import.domain())] = import.version();
  for (const onnx::FunctionProto &f : model.functions())
    functions[(normalizeDomain(f.domain()) + "::" + f.name() + "::" + f.overload()).str()] = &f;
  SmallVector<StringRef> outputs;
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.push_back(output.name());
  if (outputs.empty())
    return emitError(loc) << "the graph has no output", failure();
  live = findLiveNodes(graph.node(), outputs);
  if (!checkSupported() || !bindInputs())
    return failure();

  module = ModuleOp::create(loc, file.stem);
  (*module)->setAttr("para.model", builder.getStringAttr(file.stem));
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, loc, "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  main.opsets = &opsets;
  if (!addInputs() || !addInitializers())
    return failure();
  for (StringRef output : outputs)
    main.reads.insert(output);
  if (outline)
    outline->nodes.resize(graph.node_size());
  importNodes(graph.node(), live, main);
  if (failures || !addResults()) {
    if (originalBatch)
      emitError(loc) << "the file has a fixed batch of " << *fileBatch << ", and the nodes above cannot take another; export it with a dynamic batch";
    return failure();
  }
  if (outline && !outlineModel())
    return failure();
  eraseDead();
  if (mlir::failed(verify(*module)))
    return failure();
  return std::move(module);
}

const onnx::FunctionProto *OnnxImporter::findFunction(const onnx::NodeProto &node) const {
  if (functions.empty())
    return nullptr;
  return functions.lookup((normalizeDomain(node.domain()) + "::" + node.op_type() + "::" + node.overload()).str());
}

static std::vector<bool> findLiveNodes(const onnx::FunctionProto &function) {
  SmallVector<StringRef> outputs;
  for (const std::string &output : function.output())
    outputs.push_back(output);
  return findLiveNodes(function.node(), outputs);
}

static llvm::StringMap<int64_t> getOpsets(const onnx::FunctionProto &function) {
  llvm::StringMap<int64_t> result;
  for (const onnx::OperatorSetIdProto &import : function.opset_import())
    result[normalizeDomain(import.domain())] = import.version();
  return result;
}

void OnnxImporter::collectUnsupported(const NodeList &nodes, const std::vector<bool> &live, const llvm::StringMap<int64_t> &opsets,
                                      SmallVectorImpl<const onnx::FunctionProto *> &called) {
  for (int i = 0; i < nodes.size(); ++i) {
    if (!live[i])
      continue;
    const onnx::NodeProto &node = nodes[i];
    int64_t version = getVersion(opsets, node.domain());
    if (const onnx::FunctionProto *callee = findFunction(node)) {
      called.push_back(callee);
      continue;
    }
    if (registry.lookup(node.domain(), node.op_type(), version))
      continue;
    StringRef domain = normalizeDomain(node.domain());
    std::string what = (domain + (domain.empty() ? "" : "::") + node.op_type()).str();
    std::string key = what + " " + std::to_string(version);
    auto [it, isNew] = unsupportedIndex.try_emplace(key, unsupported.size());
    if (isNew) {
      unsupported.emplace_back(what, node.name().empty() && node.output_size() ? node.output(0) : node.name());
      unsupportedCount.push_back(version);
      unsupportedCount.push_back(0);
    }
    ++unsupportedCount[2 * it->second + 1];
  }
}

bool OnnxImporter::checkSupported() {
  SmallVector<const onnx::FunctionProto *> called;
  llvm::DenseSet<const onnx::FunctionProto *> checked;
  collectUnsupported(graph.node(), live, opsets, called);
  while (!called.empty())
    if (const onnx::FunctionProto *function = called.pop_back_val(); checked.insert(function).second)
      collectUnsupported(function->node(), findLiveNodes(*function), getOpsets(*function), called);
  for (auto [i, entry] : llvm::enumerate(unsupported)) {
    InFlightDiagnostic diagnostic = emitError(locate(entry.second)) << "unsupported operator " << entry.first;
    if (unsupportedCount[2 * i])
      diagnostic << " (opset " << unsupportedCount[2 * i] << ")";
    else
      diagnostic << " (the model imports no version of its domain)";
    if (unsupportedCount[2 * i + 1] > 1)
      diagnostic << ", " << unsupportedCount[2 * i + 1] << " nodes";
  }
  return unsupported.empty();
}

void OnnxImporter::setResult(const onnx::NodeProto &node, int i, ImportValue value, OnnxScope &scope) {
  if (i >= node.output_size() || node.output(i).empty())
    return;
  if (!scope.values.try_emplace(node.output(i), value).second) {
    emitError(locate(node, scope)) << "'" << node.output(i) << "' is defined twice";
    ++failures;
  }
}

void OnnxImporter::importNodes(const NodeList &nodes, const std::vector<bool> &live, OnnxScope &scope) {
  for (int i = 0; i < nodes.size(); ++i)
    if (live[i])
      forEachRead(nodes[i], [&](StringRef name) { scope.reads.insert(name); });
  // In the main graph go on, to find all errors; what a body is missing would be reported again and again.
  int before = failures;
  for (int i : orderNodes(nodes, live))
    if (scope.depth == 0 || failures == before) {
      Block &block = function.getBody().front();
      Operation *last = block.empty() ? nullptr : &block.back();
      importNode(nodes[i], scope);
      if (&scope == &main)
        noteNode(i, last);
    }
}

void OnnxImporter::importNode(const onnx::NodeProto &node, OnnxScope &scope) {
  // Calls of calls multiply, and a node may be unrolled: end before memory does.
  constexpr int64_t mostNodes = 300'000, mostOps = 3'000'000;
  if (stopped)
    return;
  if (++nodesImported > mostNodes || made.count > mostOps || budget.isSpent()) {
    InFlightDiagnostic error = emitError(locate(node, scope));
    if (budget.isSpent())
      error << "the model computes too much while compiling; let the exporter fold its constants";
    else if (nodesImported > mostNodes)
      error << "the model has more than " << mostNodes << " nodes once the calls of its functions are expanded, which is the most that is taken";
    else
      error << "the model becomes more than " << mostOps << " operations, since nodes are unrolled; shorter sequences (--dim) make fewer";
    ++failures;
    stopped = true;
    return;
  }
  std::vector<ImportValue> operands;
  bool poisoned = false;
  for (const std::string &name : node.input()) {
    if (name.empty()) {
      operands.emplace_back();
      continue;
    }
    const ImportValue *value = scope.lookup(name);
    if (!value) {
      emitError(locate(node, scope)) << "input '" << name << "' is not defined before this node";
      ++failures, poisoned = true;
      continue;
    }
    // An omitted operand of a call is null, too; its name in the body is empty-valued, not poisoned.
    operands.push_back(*value);
    poisoned |= !*value && !scope.attributes;
  }
  if (poisoned) {
    for (int i = 0; i < node.output_size(); ++i)
      setResult(node, i, {}, scope);
    return;
  }
  if (const onnx::FunctionProto *callee = findFunction(node))
    return importCall(*callee, node, std::move(operands), scope);

  int64_t version = getVersion(*scope.opsets, node.domain());
  OnnxHandler handler = registry.lookup(node.domain(), node.op_type(), version);
  Location loc = locate(node, scope);
  if (!handler) { // In a subgraph; others were listed before.
    emitError(loc) << "unsupported operator " << node.op_type() << " (opset " << version << ")";
    ++failures;
  } else {
    b.begin(loc);
    OnnxOp op(*this, scope, node, version, std::move(operands));
    handler(op);
    b.t.loc = loc;
    if (!b.hasFailed()) {
      for (int i = 0; i < node.output_size(); ++i) {
        if (!op.results[i] && op.wants(i) && !b.hasFailed())
          b.error() << "output " << i << " ('" << node.output(i) << "') of " << node.op_type() << " is not supported";
        setResult(node, i, op.results[i], scope);
      }
      failures += b.hasFailed();
      return;
    }
    ++failures;
  }
  for (int i = 0; i < node.output_size(); ++i)
    setResult(node, i, {}, scope);
}

void OnnxImporter::importCall(const onnx::FunctionProto &callee, const onnx::NodeProto &node, std::vector<ImportValue> operands, OnnxScope &scope) {
  Location loc = locate(node, scope);
  auto fail = [&](const Twine &text) {
    emitError(loc) << text;
    ++failures;
    for (int i = 0; i < node.output_size(); ++i)
      setResult(node, i, {}, scope);
  };
  if (auto first = llvm::find(activeCalls, &callee); first != activeCalls.end()) {
    std::string cycle;
    for (const onnx::FunctionProto *function : llvm::make_range(first, activeCalls.end()))
      cycle += function->name() + " -> ";
    return fail("'" + callee.name() + "' calls itself (" + cycle + callee.name() + "); ONNX functions must not be recursive");
  }
  if (activeCalls.size() >= mostNested)
    return fail("calls are nested more than " + Twine(mostNested) + " deep, which is the most that is taken; let the exporter inline its functions");
  if (static_cast<int>(operands.size()) > callee.input_size() || node.output_size() > callee.output_size())
    return fail("'" + callee.name() + "' is called with too many operands or results");

  // Attributes of the call, defaults of the function, and references of the caller's own body.
  llvm::StringMap<const onnx::AttributeProto *> attributes;
  for (const onnx::AttributeProto &attribute : callee.attribute_proto())
    attributes[attribute.name()] = &attribute;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    const onnx::AttributeProto *value = &attribute;
    if (!attribute.ref_attr_name().empty())
      value = scope.attributes ? scope.attributes->lookup(attribute.ref_attr_name()) : nullptr;
    if (value)
      attributes[attribute.name()] = value;
  }
  llvm::StringMap<int64_t> calleeOpsets = getOpsets(callee);
  OnnxScope body;
  body.attributes = &attributes;
  body.opsets = &calleeOpsets;
  body.depth = scope.depth + 1;
  body.prefix = scope.prefix + (node.name().empty() ? callee.name() : node.name()) + "/";
  operands.resize(callee.input_size());
  for (auto [name, operand] : llvm::zip_equal(callee.input(), operands))
    body.values[name] = operand;
  int before = failures;
  for (const std::string &output : callee.output())
    body.reads.insert(output);
  activeCalls.push_back(&callee);
  importNodes(callee.node(), findLiveNodes(callee), body);
  activeCalls.pop_back();
  for (int i = 0; i < node.output_size(); ++i) {
    auto it = body.values.find(callee.output(i));
    if (it == body.values.end() && failures == before)
      return fail("output '" + callee.output(i) + "' of '" + callee.name() + "' is not defined");
    setResult(node, i, it == body.values.end() ? ImportValue() : it->second, scope);
  }
}

void OnnxImporter::importSubgraph(OnnxOp &op, const onnx::GraphProto &subgraph) {
  if (op.scope.depth >= int(mostNested)) {
    op.error() << "subgraphs and calls are nested more than " << mostNested << " deep, which is the most that is taken";
    return;
  }
  OnnxScope body;
  body.parent = &op.scope;
  body.attributes = op.scope.attributes;
  body.opsets = op.scope.opsets;
  body.depth = op.scope.depth + 1;
  body.prefix = op.scope.prefix + (op.node.name().empty() ? "" : op.node.name() + "/");
  Location loc = b.t.loc;
  for (const onnx::TensorProto &tensor : subgraph.initializer()) {
    FailureOr<Known> known = failure();
    SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    Type element = elementType(tensor.data_type());
    if (!element)
      op.error() << "initializer '" << tensor.name() << "' has the unsupported type " << getTypeName(tensor.data_type());
    else if (b.checkShape(shape))
      known = file.read(tensor, RankedTensorType::get(shape, element), loc);
    if (mlir::failed(known))
      op.b.markFailed();
    body.values[tensor.name()] = mlir::failed(known) ? ImportValue() : ImportValue(*known);
  }
  SmallVector<StringRef> outputs;
  for (const onnx::ValueInfoProto &output : subgraph.output())
    outputs.push_back(output.name());
  for (StringRef output : outputs)
    body.reads.insert(output);
  importNodes(subgraph.node(), findLiveNodes(subgraph.node(), outputs), body);
  b.t.loc = loc;
  for (auto [i, name] : llvm::enumerate(outputs)) {
    const ImportValue *value = body.lookup(name);
    if (!value)
      op.error() << "output '" << name << "' of its subgraph is not defined";
    else if (*value)
      op.result(*value, i);
    else
      op.b.markFailed();
  }
}

FailureOr<OwningOpRef<ModuleOp>> importOnnx(StringRef path, const ImportOptions &options, MLIRContext *context, ModelOutline *outline) {
  context->loadDialect<ParaDialect, func::FuncDialect>();
  FailureOr<std::unique_ptr<ModelFile>> file = ModelFile::open(path, context);
  if (failed(file))
    return failure();
  OnnxImporter importer(**file, options, context);
  if (!importer.isRebound())
    return importer.run(outline);
  // Shapes in the file speak of its own batch: see what they mean there.
  ImportOptions own = options;
  own.dims.erase("batch");
  OnnxImporter original(**file, own, context);
  {
    ScopedDiagnosticHandler once(context, [](Diagnostic &d) { return success(d.getSeverity() == DiagnosticSeverity::Remark); });
    if (failed(original.run()))
      return failure();
  }
  OnnxImporter rebound(**file, options, context);
  rebound.follow(original);
  return rebound.run(outline);
}

} // namespace para
