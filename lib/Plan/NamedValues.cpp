#include "para/Plan/NamedValues.h"
#include "para/IR/Program.h"
#include "para/Support/JsonFile.h"

using namespace mlir;
using namespace para;

NamedValues::NamedValues(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments())
    arguments[getArgName(main, argument.getArgNumber())] = argument;
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (getPhase(&op) != Phase::Forward || op.getNumResults() != 1 || op.getNumOperands() == 0)
      continue;
    if (StringRef name = getNodeName(op.getLoc()); !name.empty())
      ops[name].push_back(&op);
    if (StringRef name = getTensorName(op.getLoc()); !name.empty())
      tensors[name] = op.getResult(0); // of the ops that a formula became, the last makes it
  }
}

Value NamedValues::find(StringRef name) const {
  if (auto it = arguments.find(name); it != arguments.end())
    return it->second;
  Value tensor = tensors.lookup(name);
  ArrayRef<Operation *> made = getOps(name);
  // A node without a name is called by its first output, which need not be what it makes last.
  bool isOutput = tensor && getNodeName(tensor.getLoc()) == name;
  return made.empty() || isOutput ? tensor : Value(made.back()->getResult(0));
}

Value NamedValues::findTensor(StringRef name) const {
  Value argument = arguments.lookup(name);
  return argument ? argument : tensors.lookup(name);
}

std::string NamedValues::findNearest(StringRef name) const {
  SmallVector<StringRef> names;
  for (const auto *map : {&arguments, &tensors})
    for (const auto &entry : *map)
      names.push_back(entry.first());
  for (const auto &entry : ops)
    names.push_back(entry.first());
  llvm::sort(names);
  return para::findNearest(name, names).str();
}

ArrayRef<Operation *> NamedValues::getOps(StringRef node) const {
  auto it = ops.find(node);
  return it == ops.end() ? ArrayRef<Operation *>() : ArrayRef<Operation *>(it->second);
}
