#include "Importer.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace para {

OnnxOp::OnnxOp(OnnxImporter &importer, OnnxScope &scope, const onnx::NodeProto &node, int64_t version, std::vector<ImportValue> values)
    : b(importer.b), version(version), importer(importer), scope(scope), node(node), operands(std::move(values)),
      results(node.output_size()) {}

StringRef OnnxOp::type() const { return node.op_type(); }
size_t OnnxOp::numOutputs() const { return node.output_size(); }
bool OnnxOp::isTraining() const { return importer.options.train; }

ImportValue OnnxOp::input(size_t i) {
  if (has(i))
    return operands[i];
  if (!b.hasFailed())
    error() << type() << " needs operand " << i;
  return {};
}

std::optional<SmallVector<int64_t>> OnnxOp::ints(size_t i) {
  ImportValue value = input(i);
  if (!value)
    return std::nullopt;
  std::optional<std::vector<int64_t>> values = value.known ? value.known->readInts() : std::nullopt;
  if (!values) {
    error() << "operand " << i << " ('" << node.input(i) << "') of " << type() << " must be integers known while compiling";
    return std::nullopt;
  }
  return SmallVector<int64_t>(values->begin(), values->end());
}

std::optional<double> OnnxOp::number(size_t i, double otherwise) {
  if (!has(i))
    return otherwise;
  std::optional<double> value = operands[i].splat();
  if (!value)
    error() << "operand " << i << " ('" << node.input(i) << "') of " << type() << " must be a number known while compiling";
  return value;
}

const onnx::AttributeProto *OnnxOp::find(StringRef name, int kind) {
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.name() != name)
      continue;
    const onnx::AttributeProto *found = &attribute;
    if (!attribute.ref_attr_name().empty())
      found = scope.attributes ? scope.attributes->lookup(attribute.ref_attr_name()) : nullptr;
    // Files before IR version 2 do not tell the kind.
    if (found && found->type() != onnx::AttributeProto::UNDEFINED && kind >= 0 && found->type() != kind) {
      error() << "attribute '" << name << "' has the wrong kind";
      return nullptr;
    }
    return found;
  }
  return nullptr;
}

bool OnnxOp::hasAttribute(StringRef name) { return find(name, -1); }

int64_t OnnxOp::getInt(StringRef name, int64_t otherwise) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::INT);
  return attribute ? attribute->i() : otherwise;
}

double OnnxOp::getFloat(StringRef name, double otherwise) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::FLOAT);
  return attribute ? attribute->f() : otherwise;
}

std::string OnnxOp::getString(StringRef name, StringRef otherwise) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise.str();
}

std::optional<SmallVector<int64_t>> OnnxOp::getInts(StringRef name) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<SmallVector<double>> OnnxOp::getFloats(StringRef name) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::FLOATS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::vector<std::string> OnnxOp::getStrings(StringRef name) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::STRINGS);
  return attribute ? std::vector<std::string>(attribute->strings().begin(), attribute->strings().end()) : std::vector<std::string>();
}

ImportValue OnnxOp::getTensor(StringRef name) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::TENSOR);
  if (!attribute || !attribute->has_t())
    return {};
  const onnx::TensorProto &tensor = attribute->t();
  ImportValue value = importer.importTensor(tensor, importer.file.findData(tensor), node.output_size() ? node.output(0) : "", b.t.loc);
  if (!value)
    b.markFailed();
  return value;
}

std::optional<SmallVector<int64_t>> OnnxOp::axes(int64_t since, size_t operand, StringRef name) {
  if (version < since)
    return getInts(name);
  return has(operand) ? ints(operand) : std::nullopt;
}

Type OnnxOp::elementType(int64_t onnxType) {
  Type type = importer.elementType(onnxType);
  if (!type)
    error() << "the element type " << getTypeName(static_cast<int32_t>(onnxType)) << " is not supported";
  return type;
}

bool OnnxOp::wants(size_t i) const { return i < numOutputs() && !node.output(i).empty() && scope.reads.contains(node.output(i)); }

void OnnxOp::result(ImportValue value, size_t i) {
  if (i < results.size())
    results[i] = std::move(value);
}

void OnnxOp::update(ImportValue buffer, ImportValue value) {
  auto argument = dyn_cast_or_null<BlockArgument>(buffer.value);
  if (!argument || !value || !isTraining())
    return;
  importer.updates[argument] = std::move(value);
}

ImportValue OnnxOp::current(ImportValue buffer) const {
  auto it = buffer.value ? importer.updates.find(buffer.value) : importer.updates.end();
  return it == importer.updates.end() ? buffer : it->second;
}

/// The dimensions of `target` that grow with those of `x`: both are read in groups of equal products, and of a group that has
/// the batch the first dimension that can have it as a factor is it.
static SmallVector<int64_t> scaleReshape(ArrayRef<int64_t> x, ArrayRef<int64_t> now, ArrayRef<int64_t> target, int64_t from, int64_t to) {
  SmallVector<int64_t> result(target);
  for (size_t xi = 0, ti = 0; xi < x.size() && ti < target.size();) {
    size_t xBegin = xi, tBegin = ti;
    int64_t xCount = x[xi++], tCount = target[ti++];
    while (xCount != tCount && (xCount < tCount ? xi < x.size() : ti < target.size()))
      xCount < tCount ? xCount *= x[xi++] : tCount *= target[ti++];
    bool grows = false;
    for (size_t i = xBegin; i < xi; ++i)
      grows |= x[i] != now[i];
    for (size_t i = tBegin; grows && i < ti; ++i)
      if (target[i] % from == 0) {
        result[i] = target[i] / from * to;
        grows = false;
      }
  }
  return result;
}

SmallVector<int64_t> OnnxOp::rebind(ImportValue x, SmallVector<int64_t> shape, bool reshapes) {
  std::string key = scope.prefix + (node.output_size() ? node.output(0) : "");
  importer.shapes[key] = {SmallVector<int64_t>(x.shape()), shape};
  auto it = importer.originalShapes.find(key);
  if (it == importer.originalShapes.end())
    return shape;
  auto [xThen, then] = it->second;
  int64_t from = *importer.originalBatch, to = *importer.batch;
  if (xThen.size() != static_cast<size_t>(x.rank()))
    return then;
  if (reshapes) {
    SmallVector<int64_t> scaled = scaleReshape(xThen, x.shape(), then, from, to);
    if (countElements(scaled) == countElements(x.shape()))
      return scaled;
    error() << type() << " to " << printShape(then) << " carries the file's batch of " << from;
    return shape;
  }
  // A broadcast: dimensions follow the operand's; a new one in front that has the batch's size is the batch.
  int64_t added = static_cast<int64_t>(then.size()) - x.rank();
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i + added >= 0 && x.dim(i) != xThen[i] && then[i + added] == xThen[i])
      then[i + added] = x.dim(i);
  bool leads = !then.empty() && then[0] == from && (added > 0 || (added == 0 && x.dim(0) == 1));
  if (leads)
    then[0] = to;
  return then;
}

void OnnxOp::noteLogSoftmax(ImportValue result, ImportValue x, int64_t dim) {
  if (result.value)
    importer.logSoftmaxOf[result.value] = {x, dim};
}

ImportValue OnnxOp::getLogSoftmaxScores(ImportValue value, int64_t dim) const {
  auto it = importer.logSoftmaxOf.find(value.value);
  return value.value && it != importer.logSoftmaxOf.end() && it->second.second == dim ? it->second.first : ImportValue();
}

void OnnxOp::inlineGraph(StringRef name) {
  const onnx::AttributeProto *attribute = find(name, onnx::AttributeProto::GRAPH);
  if (!attribute || !attribute->has_g())
    error() << type() << " needs the graph '" << name << "'";
  else
    importer.importSubgraph(*this, attribute->g());
}

static void importIf(OnnxOp &op) {
  std::optional<double> condition = op.number(0, 0);
  if (condition)
    op.inlineGraph(*condition ? "then_branch" : "else_branch");
}

void registerControlFlow(OnnxRegistry &registry) { registry.add("If", 1, importIf); }

Type getElementType(int64_t onnxType, MLIRContext *context) {
  auto integer = [&](unsigned width) { return IntegerType::get(context, width); };
  switch (onnxType) {
  case onnx::TensorProto::FLOAT: return Float32Type::get(context);
  case onnx::TensorProto::DOUBLE: return Float64Type::get(context);
  case onnx::TensorProto::FLOAT16: return Float16Type::get(context);
  case onnx::TensorProto::BFLOAT16: return BFloat16Type::get(context);
  case onnx::TensorProto::BOOL: return integer(1);
  case onnx::TensorProto::INT8: return integer(8);
  case onnx::TensorProto::INT16: return integer(16);
  case onnx::TensorProto::INT32: return integer(32);
  case onnx::TensorProto::INT64: return integer(64);
  // Integers have no sign of their own in the IR: unsigned ones live in the next wider type.
  case onnx::TensorProto::UINT8: return integer(16);
  case onnx::TensorProto::UINT16: return integer(32);
  case onnx::TensorProto::UINT32: return integer(64);
  default: return {};
  }
}

} // namespace para
