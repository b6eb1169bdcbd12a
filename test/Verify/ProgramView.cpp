#include "ProgramView.h"

using namespace mlir;
using namespace para;
using namespace para::test;

bool para::test::isNamed(Operation *op, StringRef name) { return op && op->getName().getStringRef() == ("para." + name).str(); }
int64_t para::test::getInteger(Operation *op, StringRef name) { return op->getAttrOfType<IntegerAttr>(name).getInt(); }

ProgramView::ProgramView(ModuleOp module) : mesh(module->getAttrOfType<MeshAttr>("para.mesh")) {
  for (int64_t stage = 0; stage < mesh.getSize("pipeline"); ++stage)
    stages.push_back(module.lookupSymbol<func::FuncOp>("stage" + std::to_string(stage)));
  for (auto [stage, function] : llvm::enumerate(stages))
    for (Operation &op : function.getBody().front()) {
      if (isNamed(&op, "send"))
        sends[{stage, getInteger(&op, "peer"), getInteger(&op, "tag")}] = &op;
      if (isNamed(&op, "recv"))
        recvs[{getInteger(&op, "peer"), stage, getInteger(&op, "tag")}] = &op;
    }
  llvm::DenseSet<Operation *> alive;
  std::vector<Operation *> open;
  for (func::FuncOp function : stages)
    open.push_back(function.getBody().front().getTerminator());
  while (!open.empty()) {
    Operation *op = open.back();
    open.pop_back();
    if (!alive.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        open.push_back(producer);
    if (isNamed(op, "recv"))
      open.push_back(getSend(op));
  }
  for (func::FuncOp function : stages)
    for (Operation &op : function.getBody().front().without_terminator())
      if (alive.contains(&op))
        ops.push_back(&op);
}

static int64_t stageOf(Operation *op) {
  int64_t stage = 0;
  cast<func::FuncOp>(op->getParentOp()).getName().drop_front(5).getAsInteger(10, stage);
  return stage;
}

Operation *ProgramView::getSend(Operation *recv) { return sends.at({getInteger(recv, "peer"), stageOf(recv), getInteger(recv, "tag")}); }
Operation *ProgramView::getRecv(Operation *send) { return recvs.at({stageOf(send), getInteger(send, "peer"), getInteger(send, "tag")}); }

int ProgramView::number(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  int result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    std::string key = "argument " + getArgName(function, argument.getArgNumber()).str();
    result = numbers.try_emplace(key, int(numbers.size())).first->second;
  } else if (Operation *op = value.getDefiningOp(); isNamed(op, "recv")) {
    result = number(getSend(op)->getOperand(0));
  } else if (op->getNumResults() > 1) { // a bucket: each result is of its operand
    result = number(op, {op->getOperand(cast<OpResult>(value).getResultNumber())});
  } else {
    result = number(op, SmallVector<Value>(op->getOperands()));
  }
  known[value] = result;
  return result;
}

int ProgramView::number(Operation *op, ArrayRef<Value> operands) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op->getName();
  for (NamedAttribute attr : op->getAttrs())
    if (!attr.getName().getValue().starts_with("para."))
      os << " " << attr.getName().getValue() << "=" << attr.getValue();
  SmallVector<int> parts = llvm::map_to_vector(operands, [&](Value operand) { return number(operand); });
  if (op->hasTrait<OpTrait::IsCommutative>())
    llvm::sort(parts);
  for (int part : parts)
    os << " %" << part;
  os << " : " << op->getResult(0).getType();
  return numbers.try_emplace(key, int(numbers.size())).first->second;
}

bool ProgramView::depends(Value value, Value on) {
  llvm::DenseSet<Value> seen;
  std::vector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.back();
    open.pop_back();
    if (next == on)
      return true;
    if (!seen.insert(next).second || !next.getDefiningOp())
      continue;
    Operation *op = next.getDefiningOp();
    if (isNamed(op, "recv"))
      open.push_back(getSend(op)->getOperand(0));
    llvm::append_range(open, op->getOperands());
  }
  return false;
}
