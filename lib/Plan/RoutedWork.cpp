//===- RoutedWork.cpp - Rows that are picked by products with ones and zeros --===//
//
// Where a mixture sends tokens to experts, models multiply by tensors that have a single one a row. Kernels know the places instead: such a
// product moves rows, and the tensor is a list of places, small beside them. So are its gradients, of which only those places count.
//
//===----------------------------------------------------------------------===//
#include "WorkCollector.h"

using namespace mlir;
using namespace para;

/// A comparison of numbers with 0, 1, 2, ...
bool WorkCollector::makesPlaces(const WorkNode &node) const {
  Operation *op = node.op;
  if (!node.isElement || node.isConstant || op->getNumOperands() != 2 || op->getNumResults() != 1 || !typeOf(op->getResult(0)).getElementType().isInteger(1))
    return false;
  for (Value operand : op->getOperands()) {
    Operation *root = rootOf(operand).getDefiningOp();
    auto it = root ? nodes.find(root) : nodes.end();
    if (it != nodes.end() && it->second.isConstant && typeOf(root->getResult(0)).getNumElements() > 1 && isa<IntegerType>(typeOf(operand).getElementType()) &&
        typeOf(operand).getElementTypeBitWidth() > 1)
      return true;
  }
  return false;
}

void WorkCollector::findRoutes() {
  std::map<std::pair<StringRef, int64_t>, bool> gradients; // of places, by the product's node and their number
  auto isAlone = [](Operation *op) {
    auto structured = dyn_cast<StructureOpInterface>(op);
    return structured && llvm::all_of(structured.getStructure().linearity, [](Linearity linearity) { return linearity == Linearity::Alone; });
  };
  for (auto &[op, node] : nodes) {
    if (op->getNumResults() != 1 || getPhase(op) == Phase::Update)
      continue;
    auto isRoute = [&](Value value) { return routes.contains(value); };
    size_t count = llvm::count_if(op->getOperands(), isRoute);
    StringRef name = getNodeName(op->getLoc());
    int64_t elements = typeOf(op->getResult(0)).getNumElements();
    bool passes = op->getNumOperands() == 1 && (node.isElement || node.call);
    if (makesPlaces(node) || (count == 1 && passes) || (count > 0 && node.isElement && op->getNumOperands() == 2 && isAlone(op)) || (count == 2 && isProduct(node))) {
      routes.insert(op->getResult(0));
    } else if (isProduct(node) && getPhase(op) == Phase::Backward && count == 0 && gradients.count({name, elements})) {
      routes.insert(op->getResult(0));
    }
    if (isProduct(node) && getPhase(op) == Phase::Forward)
      for (Value operand : op->getOperands())
        if (isRoute(operand))
          gradients[{name, typeOf(operand).getNumElements()}] = true;
  }
}

bool WorkCollector::addRoute(Operation *op, PhaseWork &phase) {
  size_t count = llvm::count_if(op->getOperands(), [&](Value operand) { return routes.contains(operand); });
  if (count == 0 && !routes.contains(op->getResult(0)))
    return false;
  if (count < 2) {
    double most = bytesOf(op->getResult(0));
    for (Value operand : op->getOperands())
      most = std::max(most, bytesOf(operand));
    KernelWork kernel;
    kernel.bytes = most + (count ? bytesOf(op->getResult(0)) : most); // of places' gradients, both rows are read
    phase.kernels.push_back(kernel);
  }
  return true;
}

double WorkCollector::getCopies(Operation *exchange) const {
  auto ratio = [&](Operation *op, Value moved) {
    auto it = op ? nodes.find(op) : nodes.end();
    if (it == nodes.end() || !isProduct(it->second) || llvm::count_if(op->getOperands(), [&](Value operand) { return routes.contains(operand); }) != 1)
      return 0.0;
    double other = double(typeOf(op->getResult(0)).getNumElements());
    for (Value operand : op->getOperands())
      if (moved == op->getResult(0) && !routes.contains(operand))
        other = double(typeOf(operand).getNumElements());
    return std::max(1.0, double(typeOf(moved).getNumElements()) / other);
  };
  Value filled = rootOf(exchange->getOperand(0));
  if (double copies = ratio(filled.getDefiningOp(), filled); copies > 0)
    return copies;
  SmallVector<Value> values(exchange->getResults());
  llvm::DenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (double copies = ratio(user, value); copies > 0)
        return copies;
      if (auto it = nodes.find(user); it != nodes.end() && it->second.isMove)
        for (Value result : user->getResults())
          if (seen.insert(result).second)
            values.push_back(result);
    }
  }
  return 0;
}
