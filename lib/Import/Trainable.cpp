#include "Trainable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace para {

static bool isFloat(int32_t type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE || type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16;
}

TrainableRule::TrainableRule(const onnx::GraphProto &graph, const std::vector<bool> &live) : graph(graph) {
  constexpr StringRef kindKey = "pkg.torch.export.graph_signature.InputSpec.kind";
  auto readKinds = [&](const auto &infos) {
    for (const onnx::ValueInfoProto &info : infos)
      for (const onnx::StringStringEntryProto &entry : info.metadata_props())
        if (entry.key() == kindKey)
          kinds[info.name()] = entry.value();
  };
  readKinds(graph.value_info());
  readKinds(graph.input());
  for (const onnx::StringStringEntryProto &entry : graph.metadata_props())
    if (StringRef(entry.key()).ends_with("ExportedProgram.graph_signature"))
      readSignature(entry.value());
  for (auto [i, tensor] : llvm::enumerate(graph.initializer()))
    if (isFloat(tensor.data_type()) && tensor.dims_size() > 0) {
      initializerNumber[tensor.name()] = i;
      sources[tensor.name()] = i;
    }
  for (const onnx::ValueInfoProto &info : graph.input())
    if (!initializerNumber.contains(info.name()) && isFloat(info.type().tensor_type().elem_type()))
      dependsOnFloatInput.insert(info.name());
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.insert(output.name());
  for (int n = 0; n < graph.node_size(); ++n) {
    const onnx::NodeProto &node = graph.node(n);
    if (!live[n])
      continue;
    std::optional<int> source;
    bool floatInput = false;
    for (int i = 0; i < node.input_size(); ++i) {
      StringRef name = node.input(i);
      uses[name].push_back({&node, i});
      floatInput |= dependsOnFloatInput.contains(name);
      if (auto it = sources.find(name); it != sources.end())
        source = source && *source != it->second ? -1 : it->second;
    }
    for (const std::string &name : node.output()) {
      if (source)
        sources[name] = *source;
      if (floatInput)
        dependsOnFloatInput.insert(name);
    }
  }
}

/// Lines such as: p_fc_weight: PARAMETER target='fc.weight'
void TrainableRule::readSignature(StringRef text) {
  hasSignature = true;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    auto [head, tail] = line.split(": ");
    auto [kind, target] = tail.split(" target='");
    if (!target.empty() && (kind == "PARAMETER" || kind == "BUFFER"))
      kinds[target.take_until([](char c) { return c == '\''; })] = kind;
  }
}

bool TrainableRule::isExporterMade(StringRef name) const {
  if (kinds.contains(name))
    return false;
  // Exported programs name parameters by their module's path.
  if (hasSignature)
    return !name.contains('.');
  auto numbered = [&](StringRef prefix) {
    StringRef rest = name;
    return rest.consume_front(prefix) && !rest.empty() && llvm::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
  };
  return name.starts_with("onnx::") || name.starts_with("/") || numbered("val_") || numbered("_val_") || name.contains("Constant");
}

bool TrainableRule::isWeightOperand(StringRef name) const {
  auto it = uses.find(name);
  return it != uses.end() && llvm::any_of(it->second, [](const Use &use) {
    StringRef type = use.node->op_type();
    if (type == "Conv" || type == "ConvTranspose" || type == "Gemm" || type == "LSTM" || type == "GRU" || type == "RNN")
      return use.operand > 0;
    return type == "MatMul" || type == "Einsum" || (type == "Transpose" && use.operand == 0);
  });
}

/// Whether a gradient can reach the initializer by a way on which it is not just a table of numbers: frequencies of rotary
/// embeddings meet nothing but positions before they go into sines; masks are only compared.
bool TrainableRule::reachesLoss(StringRef start) const {
  int number = initializerNumber.lookup(start);
  llvm::StringSet<> seen;
  std::vector<StringRef> work = {start};
  while (!work.empty()) {
    StringRef name = work.back();
    work.pop_back();
    if (outputs.contains(name))
      return true;
    auto it = uses.find(name);
    if (it == uses.end())
      continue;
    for (const Use &use : it->second) {
      StringRef type = use.node->op_type();
      bool stops = llvm::StringSwitch<bool>(type)
          .Cases({"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Not", "And", "Or", "Xor"}, true)
          .Cases({"Shape", "Size", "ArgMax", "ArgMin", "NonZero", "IsNaN", "IsInf", "Sign", "Floor", "Ceil", "Round"}, true)
          .Cases({"Range", "ConstantOfShape", "OneHot"}, true)
          .Case("Where", use.operand == 0)
          .Cases({"Gather", "GatherElements", "GatherND", "Reshape", "Expand", "Tile", "Slice", "CastLike"}, use.operand > 0)
          .Default(false);
      for (const onnx::AttributeProto &attribute : use.node->attribute())
        stops |= type == "Cast" && attribute.name() == "to" && !isFloat(static_cast<int32_t>(attribute.i()));
      bool meets = false;
      for (const std::string &other : use.node->input()) {
        auto source = sources.find(other);
        meets |= dependsOnFloatInput.contains(other) || (source != sources.end() && source->second != number);
      }
      if (stops || (!meets && (type == "Sin" || type == "Cos")))
        continue;
      // Subgraphs and functions are not looked into.
      if (meets || !use.node->domain().empty())
        return true;
      for (const std::string &output : use.node->output())
        if (seen.insert(output).second)
          work.push_back(output);
    }
  }
  return false;
}

TrainableRule::Verdict TrainableRule::judge(const onnx::TensorProto &tensor) const {
  StringRef name = tensor.name();
  auto kind = kinds.find(name);
  if (kind != kinds.end() && kind->second == "PARAMETER")
    return Trainable;
  bool weight = isWeightOperand(name);
  if (tensor.dims_size() == 0)
    return kind != kinds.end() ? Frozen : Number;
  if (kind != kinds.end())
    return Frozen;
  // Numbers that an operator must know.
  if (auto it = uses.find(name); it != uses.end())
    if (llvm::all_of(it->second, [](const Use &use) {
          StringRef type = use.node->op_type();
          return use.operand > 0 && (type == "Pad" || type == "Clip" || type == "Resize" || type == "Dropout" || type == "OneHot");
        }))
      return Number;
  // Running statistics.
  if (auto it = uses.find(name); it != uses.end())
    if (llvm::all_of(it->second, [](const Use &use) { return use.node->op_type() == "BatchNormalization" && use.operand >= 3; }))
      return Frozen;
  if (isExporterMade(name) && !weight) {
    int64_t count = 1;
    for (int64_t size : tensor.dims())
      count = size == 1 ? count : 2;
    return count == 1 ? Number : Frozen;
  }
  return weight || reachesLoss(name) ? Trainable : Table;
}

std::vector<std::string> TrainableRule::getFoldedParameters() const {
  std::vector<std::string> result;
  llvm::StringSet<> present;
  for (const onnx::TensorProto &tensor : graph.initializer())
    present.insert(tensor.name());
  for (const auto &entry : kinds)
    if (entry.second == "PARAMETER" && !present.contains(entry.first()))
      result.push_back(entry.first().str());
  llvm::sort(result);
  return result;
}

} // namespace para
