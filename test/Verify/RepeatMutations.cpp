//===- RepeatMutations.cpp - Changes of what is computed again -------------===//
#include "Mutations.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace para;
using namespace para::test;

namespace {
/// Ops of @main that are marked to compute another one again.
std::vector<Operation *> getRepeats(ProgramView &view) {
  std::vector<Operation *> repeats;
  auto main = view.stages[0]->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>("main");
  for (Operation &op : main.getBody().front())
    if (op.hasAttr("para.repeats"))
      repeats.push_back(&op);
  return repeats;
}

} // namespace

// The serial program says that an op computes what another one has computed.
Sites para::test::otherRepeat(ProgramView &view, Random &random) {
  Sites sites;
  for (Operation *op : getRepeats(view))
    sites.push_back({[&view, &random, op] {
      std::vector<int64_t> others;
      int64_t number = 0;
      for (Operation *other = &op->getBlock()->front(); other != op; other = other->getNextNode(), ++number)
        if (other->getName() == op->getName() && other->getResultTypes() == op->getResultTypes() && view.number(other->getResult(0)) != view.number(op->getResult(0)))
          others.push_back(number);
      if (others.empty())
        return std::string();
      op->setAttr("para.repeats", Builder(op->getContext()).getI64IntegerAttr(pick(others, random)));
      return "said to repeat another op: " + describe(op);
    }});
  return sites;
}

// What is computed again in the serial program is not what had been computed.
Sites para::test::changedRepeat(ProgramView &view, Random &random) {
  Sites sites;
  for (Operation *op : getRepeats(view))
    sites.push_back({[&view, &random, op] {
      unsigned index = random() % op->getNumOperands();
      auto rivals = getRivals(view, op, index);
      if (rivals.empty())
        return std::string();
      op->setOperand(index, pick(rivals, random));
      return "repeated with another operand " + std::to_string(index) + ": " + describe(op);
    }});
  return sites;
}

// A rank's part of what is computed again is said to be a part of another op.
Sites para::test::otherOrigin(ProgramView &view, Random &random) {
  return at(view, [](Operation *op) { return op->hasAttr("para.repeats"); },
            [&](Operation *op) {
              std::vector<Operation *> others;
              for (Operation *other : view.ops)
                if (other->getName() == op->getName() && other->getResultTypes() == op->getResultTypes() && other->hasAttr("para.origin") &&
                    view.number(other->getResult(0)) != view.number(op->getResult(0)))
                  others.push_back(other);
              if (others.empty())
                return std::string();
              op->setAttr("para.origin", pick(others, random)->getAttr("para.origin"));
              return std::string("said to be a part of another op:");
            });
}
