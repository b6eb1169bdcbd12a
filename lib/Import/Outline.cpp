//===- Outline.cpp - Which ops and values the model's nodes and tensors became ===//

#include "Importer.h"
#include "ReadAnnotations.h"

#include "para/IR/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace para {

void OnnxImporter::noteNode(int i, Operation *last) {
  for (const std::string &output : graph.node(i).output()) {
    auto it = main.values.find(output);
    Operation *op = it == main.values.end() || !it->second.value ? nullptr : it->second.value.getDefiningOp();
    // A tensor that is another under a second name leaves the first in place.
    auto loc = op ? dyn_cast<NameLoc>(op->getLoc()) : NameLoc();
    if (loc && op->getNumResults() == 1 && getTensorName(loc).empty())
      op->setLoc(NameLoc::get(loc.getName(), locate(output)));
  }
  if (!outline)
    return;
  Block &block = function.getBody().front();
  llvm::StringSet<> seen;
  for (Operation &op : llvm::make_range(last ? std::next(last->getIterator()) : block.begin(), block.end()))
    if (StringRef name = getNodeName(op.getLoc()); !name.empty() && seen.insert(name).second)
      outline->nodes[i].made.push_back(name.str());
}

bool OnnxImporter::outlineModel() {
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto &node = graph.node(i);
    ModelNode &entry = outline->nodes[i];
    entry.name = getNodeName(locate(node, main)).str();
    entry.inputs.assign(node.input().begin(), node.input().end());
    entry.outputs.assign(node.output().begin(), node.output().end());
    entry.isLive = live[i];
  }
  for (const auto &[name, value] : main.values) {
    if (!value.isTensor())
      continue;
    ModelTensor tensor{ModelTensor::Constant, "", value.shape().vec()};
    if (auto argument = dyn_cast_or_null<BlockArgument>(value.value)) {
      tensor.kind = ModelTensor::Argument;
      tensor.value = getArgName(function, argument.getArgNumber()).str();
    } else if (value.value && !getTensorName(value.value.getLoc()).empty()) {
      tensor.kind = ModelTensor::Result;
      tensor.value = getTensorName(value.value.getLoc()).str();
    }
    outline->tensors[name] = std::move(tensor);
  }
  outline->hasExternalData = llvm::any_of(graph.initializer(), ModelFile::isExternal);
  return !options.readsAnnotations || succeeded(readAnnotations(model, *outline, context));
}

} // namespace para
