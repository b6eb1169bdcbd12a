//===- Results.cpp - Arguments and results of the function ----------------===//

#include "Importer.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace para {

BlockArgument OnnxImporter::addArgument(StringRef name, RankedTensorType type, StringRef kind) {
  Block &block = function.getBody().front();
  unsigned index = block.getNumArguments();
  DictionaryAttr attributes = builder.getDictionaryAttr({builder.getNamedAttr("para.kind", builder.getStringAttr(kind)),
                                                         builder.getNamedAttr("para.name", builder.getStringAttr(name))});
  (void)function.insertArgument(index, type, attributes, locate(name));
  return block.getArgument(index);
}

void OnnxImporter::setArgument(BlockArgument argument, StringRef name, Attribute value) {
  function.setArgAttr(argument.getArgNumber(), name, value);
}

bool OnnxImporter::addResults() {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](Value value, StringRef name, StringRef kind, StringRef updates) {
    SmallVector<NamedAttribute> entries = {builder.getNamedAttr("para.kind", builder.getStringAttr(kind)),
                                           builder.getNamedAttr("para.name", builder.getStringAttr(name))};
    if (!updates.empty())
      entries.push_back(builder.getNamedAttr("para.updates", builder.getStringAttr(updates)));
    results.push_back(value);
    attributes.push_back(builder.getDictionaryAttr(entries));
  };
  for (const onnx::ValueInfoProto &output : graph.output()) {
    Location loc = locate(output.name());
    const ImportValue *value = main.lookup(output.name());
    if (!value || !value->isTensor()) {
      emitError(loc) << (value ? "the output is no tensor" : "the output is not defined");
      ++failures;
      continue;
    }
    b.begin(loc);
    add(b.materialize(*value), output.name(), "output", "");
    failures += b.hasFailed();
  }
  for (auto &[buffer, value] : updates) {
    BlockArgument argument = cast<BlockArgument>(buffer);
    StringRef name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "para.name").getValue();
    setArgument(argument, "para.kind", builder.getStringAttr("buffer"));
    function.removeArgAttr(argument.getArgNumber(), builder.getStringAttr("para.trainable"));
    b.begin(locate(name));
    add(b.materialize(value), name, "update", name);
    failures += b.hasFailed();
  }
  if (failures)
    return false;
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, entry] : llvm::enumerate(attributes))
    function.setResultAttrs(i, entry);
  return true;
}

void OnnxImporter::eraseDead() {
  Block &block = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  // Initializers whose numbers nobody needs are no arguments; inputs stay.
  llvm::BitVector unused(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    StringRef kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "para.kind").getValue();
    if (argument.use_empty() && kind != "input")
      unused.set(argument.getArgNumber());
  }
  (void)function.eraseArguments(unused);
}

} // namespace para
