#include "Mutations.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace para;
using namespace para::test;

namespace {
bool isAny(Operation *op, ArrayRef<StringRef> names) {
  return llvm::any_of(names, [&](StringRef name) { return isNamed(op, name); });
}

void bypass(Operation *op, unsigned result, Value by) { op->getResult(result).replaceAllUsesWith(by); }

std::vector<std::string> otherAxes(ProgramView &view, StringRef axis) {
  std::vector<std::string> axes;
  for (Attribute other : view.mesh.getAxes())
    if (StringRef name = cast<StringAttr>(other).getValue(); name != axis && name != "pipeline" && view.mesh.getSize(name) > 1)
      axes.push_back(name.str());
  return axes;
}

std::vector<StringRef> axesOf(Operation *op) {
  std::vector<StringRef> axes;
  if (auto axis = op->getAttrOfType<StringAttr>("axis"))
    axes.push_back(axis.getValue());
  if (auto list = op->getAttrOfType<ArrayAttr>("axes"))
    for (Attribute axis : list)
      axes.push_back(cast<StringAttr>(axis).getValue());
  return axes;
}

Sites dropCollective(ProgramView &view, Random &random) {
  return at(view, [](Operation *op) { return isAny(op, {"all_reduce", "reduce_scatter", "all_to_all", "all_gather"}) && op->getOperand(0).getType() == op->getResult(0).getType(); },
            [&random](Operation *op) {
              unsigned index = random() % op->getNumResults();
              bypass(op, index, op->getOperand(index));
              return std::string("dropped");
            });
}

// A maximum taken twice is the same; a sum is not.
Sites doubleCollective(ProgramView &view, Random &) {
  return at(view, [](Operation *op) { return isNamed(op, "all_reduce") && op->getAttrOfType<ReductionKindAttr>("kind").getValue() == ReductionKind::Sum; },
            [](Operation *op) {
              OpBuilder builder(op->getContext());
              builder.setInsertionPointAfter(op);
              Operation *again = builder.clone(*op);
              for (auto [first, second] : llvm::zip(op->getResults(), again->getResults()))
                first.replaceAllUsesWith(second);
              again->setOperands(op->getResults());
              return std::string("doubled");
            });
}

Sites otherAxis(ProgramView &view, Random &random) {
  return at(view, [&](Operation *op) { return isAny(op, {"all_reduce", "reduce_scatter", "all_gather", "all_to_all"}) && !otherAxes(view, axesOf(op)[0]).empty(); },
            [&](Operation *op) {
              StringAttr axis = StringAttr::get(op->getContext(), pick(otherAxes(view, axesOf(op)[0]), random));
              if (op->hasAttr("axis"))
                op->setAttr("axis", axis);
              else
                op->setAttr("axes", ArrayAttr::get(op->getContext(), {axis}));
              return "over " + axis.getValue().str() + ":";
            });
}

Sites otherReduction(ProgramView &view, Random &) {
  return at(view, [](Operation *op) { return isAny(op, {"all_reduce", "reduce_scatter"}); },
            [](Operation *op) {
              bool sum = op->getAttrOfType<ReductionKindAttr>("kind").getValue() == ReductionKind::Sum;
              op->setAttr("kind", ReductionKindAttr::get(op->getContext(), sum ? ReductionKind::Max : ReductionKind::Sum));
              return std::string("other reduction:");
            });
}

Sites dropMask(ProgramView &view, Random &) {
  return at(view, [](Operation *op) { return isNamed(op, "mask"); },
            [](Operation *op) {
              bypass(op, 0, op->getOperand(0));
              return std::string("dropped");
            });
}

Sites wrongMask(ProgramView &view, Random &random) {
  return at(view, [](Operation *op) { return isNamed(op, "mask"); },
            [&random](Operation *op) {
              Builder b(op->getContext());
              int64_t size = getInteger(op, "size"), unit = getInteger(op, "unit");
              if (random() % 3 == 0) {
                bool sum = op->getAttrOfType<ReductionKindAttr>("kind").getValue() == ReductionKind::Sum;
                op->setAttr("kind", ReductionKindAttr::get(op->getContext(), sum ? ReductionKind::Max : ReductionKind::Sum));
                return std::string("other identity:");
              }
              op->setAttr("size", b.getI64IntegerAttr(random() % 2 ? size + unit : size - unit));
              return std::string("other size:");
            });
}

// All pieces of a constant that is the same everywhere are alike.
bool isUniform(Value value) {
  Operation *op = value.getDefiningOp();
  if (isNamed(op, "constant"))
    return isa<SplatElementsAttr>(op->getAttr("value"));
  return isAny(op, {"broadcast", "shard_slice", "reshape", "cast"}) && isUniform(op->getOperand(0));
}
bool isUnevenOrVaried(Operation *op) { return isNamed(op, "shard_slice") && !isUniform(op->getOperand(0)); }

Sites sliceAxis(ProgramView &view, Random &random) {
  return at(view, [&](Operation *op) { return isUnevenOrVaried(op) && !otherAxes(view, axesOf(op)[0]).empty(); },
            [&](Operation *op) {
              op->setAttr("axis", StringAttr::get(op->getContext(), pick(otherAxes(view, axesOf(op)[0]), random)));
              return std::string("other axis:");
            });
}

Sites sliceDim(ProgramView &view, Random &) {
  return at(view, [](Operation *op) { return isUnevenOrVaried(op) && cast<RankedTensorType>(op->getOperand(0).getType()).getRank() > 1; },
            [](Operation *op) {
              int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
              op->setAttr("dim", Builder(op->getContext()).getI64IntegerAttr((getInteger(op, "dim") + 1) % rank));
              return std::string("other dimension:");
            });
}

Sites shardDescription(ProgramView &view, Random &random) {
  return at(view, [](Operation *op) { return isAny(op, {"iota", "gather", "scatter_add"}) && !axesOf(op).empty(); },
            [&](Operation *op) {
              Builder b(op->getContext());
              auto others = otherAxes(view, axesOf(op)[0]);
              if (random() % 3 == 0 && !others.empty()) {
                op->setAttr("axes", b.getStrArrayAttr({StringRef(pick(others, random))}));
                return std::string("shard over another axis:");
              }
              if (random() % 2) {
                op->setAttr("axes", b.getArrayAttr({}));
                return std::string("shard not told:");
              }
              op->setAttr("size", b.getI64IntegerAttr(getInteger(op, "size") * 2));
              return std::string("shard of twice the size:");
            });
}

Sites sliceOffset(ProgramView &view, Random &random) {
  auto movable = [](Operation *op) {
    std::vector<int64_t> dims;
    if (!isNamed(op, "slice"))
      return dims;
    auto from = cast<RankedTensorType>(op->getOperand(0).getType()), to = cast<RankedTensorType>(op->getResult(0).getType());
    auto strides = op->getAttrOfType<DenseI64ArrayAttr>("strides");
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      if (from.getDimSize(dim) > to.getDimSize(dim) && strides[dim] == 1)
        dims.push_back(dim);
    return dims;
  };
  return at(view, [=](Operation *op) { return !movable(op).empty() && !isUniform(op->getOperand(0)); },
            [=, &random](Operation *op) {
              int64_t dim = pick(movable(op), random);
              auto from = cast<RankedTensorType>(op->getOperand(0).getType()), to = cast<RankedTensorType>(op->getResult(0).getType());
              SmallVector<int64_t> offsets(op->getAttrOfType<DenseI64ArrayAttr>("offsets").asArrayRef());
              int64_t places = from.getDimSize(dim) - to.getDimSize(dim) + 1;
              offsets[dim] = (offsets[dim] + 1 + int64_t(random() % (places - 1))) % places;
              op->setAttr("offsets", DenseI64ArrayAttr::get(op->getContext(), offsets));
              return std::string("other offset:");
            });
}

Sites swapOperand(ProgramView &view, Random &random) {
  return at(view, [](Operation *op) { return op->getNumOperands() > 0 && op->getNumResults() <= 1; },
            [&](Operation *op) {
              unsigned index = random() % op->getNumOperands();
              auto rivals = getRivals(view, op, index);
              if (rivals.empty())
                return std::string();
              op->setOperand(index, pick(rivals, random));
              return "operand " + std::to_string(index) + " replaced in";
            });
}

Sites exchangeOperands(ProgramView &view, Random &) {
  auto differs = [&view](Operation *op) {
    if (!isAny(op, {"sub", "div", "pow", "select", "dot", "compare"}))
      return false;
    unsigned last = op->getNumOperands() - 1;
    SmallVector<Value> operands(op->getOperands());
    std::swap(operands[last - 1], operands[last]);
    return operands[last].getType() == operands[last - 1].getType() && view.number(operands[last]) != view.number(operands[last - 1]);
  };
  return at(view, differs, [](Operation *op) {
    unsigned last = op->getNumOperands() - 1;
    Value a = op->getOperand(last - 1), b = op->getOperand(last);
    op->setOperand(last - 1, b);
    op->setOperand(last, a);
    return std::string("operands exchanged in");
  });
}

bool isOne(Value value) {
  Operation *op = value.getDefiningOp();
  if (isAny(op, {"broadcast", "shard_slice", "reshape", "cast"}))
    return isOne(op->getOperand(0));
  auto splat = isNamed(op, "constant") ? dyn_cast<SplatElementsAttr>(op->getAttr("value")) : SplatElementsAttr();
  return splat && isa<FloatType>(splat.getElementType()) && splat.getSplatValue<APFloat>().isExactlyValue(1.0);
}

Sites missingScale(ProgramView &view, Random &) {
  return at(view, [](Operation *op) { return isAny(op, {"mul", "div"}) && !isOne(op->getOperand(1)); },
            [](Operation *op) {
              bypass(op, 0, op->getOperand(0));
              return std::string("bypassed");
            });
}

Sites dropAccumulate(ProgramView &view, Random &) {
  return at(view, [](Operation *op) { return isNamed(op, "accumulate"); },
            [](Operation *op) {
              bypass(op, 0, op->getOperand(0));
              return std::string("dropped");
            });
}

Sites messageTag(ProgramView &view, Random &random) {
  return at(view, [](Operation *op) { return isAny(op, {"send", "recv"}); },
            [&](Operation *op) {
              std::vector<Operation *> others;
              for (Operation *other : view.ops)
                if (other != op && other->getName() == op->getName() && other->getBlock() == op->getBlock() &&
                    getInteger(other, "peer") == getInteger(op, "peer") && getPhase(other) == getPhase(op)) {
                  Value mine = isNamed(op, "send") ? op->getOperand(0) : op->getResult(0), theirs = isNamed(op, "send") ? other->getOperand(0) : other->getResult(0);
                  if (mine.getType() == theirs.getType() && view.number(mine) != view.number(theirs))
                    others.push_back(other);
                }
              if (others.empty()) {
                op->setAttr("tag", Builder(op->getContext()).getI64IntegerAttr(getInteger(op, "tag") + 1000));
                return std::string("unknown tag:");
              }
              Operation *other = pick(others, random);
              Attribute mine = op->getAttr("tag");
              op->setAttr("tag", other->getAttr("tag"));
              other->setAttr("tag", mine);
              return std::string("tags exchanged:");
            });
}

Sites swapUpdates(ProgramView &view, Random &) {
  Sites sites;
  for (func::FuncOp function : view.stages) {
    Operation *end = function.getBody().front().getTerminator();
    for (unsigned a = 0; a < end->getNumOperands(); ++a)
      for (unsigned b = a + 1; b < end->getNumOperands(); ++b)
        if (end->getOperand(a).getType() == end->getOperand(b).getType() && view.number(end->getOperand(a)) != view.number(end->getOperand(b)))
          sites.push_back({[=]() mutable {
            Value first = end->getOperand(a), second = end->getOperand(b);
            end->setOperand(a, second);
            end->setOperand(b, first);
            return "results '" + getResultName(function, a).str() + "' and '" + getResultName(function, b).str() + "' exchanged";
          }});
  }
  return sites;
}

// Computed after somebody has read it.
Sites laterPhase(ProgramView &view, Random &random) {
  auto last = [](Operation *op) {
    Phase first = Phase::Update;
    for (Operation *user : op->getUsers())
      if (!user->hasTrait<OpTrait::IsTerminator>())
        first = std::min(first, getPhase(user));
    return first;
  };
  return at(view, [=](Operation *op) { return op->getNumResults() > 0 && last(op) < Phase::Update && !op->hasTrait<OpTrait::ConstantLike>(); },
            [=, &random](Operation *op) {
              int first = int(last(op)) + 1, count = int(Phase::Update) - first + 1;
              Phase phase = Phase(first + int(random() % count));
              op->setAttr("para.phase", PhaseAttr::get(op->getContext(), phase));
              return "in the phase " + stringifyPhase(phase).str() + ":";
            });
}

// Two stages that both wait before they send what the other waits for.
Sites receiveFirst(ProgramView &view, Random &) {
  Sites sites;
  for (Operation *recv : view.ops) {
    if (!isNamed(recv, "recv"))
      continue;
    Operation *answer = view.getSend(recv);
    for (Operation *send = recv->getPrevNode(); send && getPhase(send) == getPhase(recv); send = send->getPrevNode())
      if (isNamed(send, "send") && view.depends(answer->getOperand(0), view.getRecv(send)->getResult(0))) {
        sites.push_back({[=] {
          recv->moveBefore(send);
          return "before it sends what the answer needs: " + describe(recv);
        }});
        break;
      }
  }
  return sites;
}

Sites otherAttribute(ProgramView &view, Random &) {
  auto swapped = [](Operation *op) -> DenseI64ArrayAttr {
    auto permutation = op->getAttrOfType<DenseI64ArrayAttr>("permutation");
    if (!permutation)
      return nullptr;
    auto from = cast<RankedTensorType>(op->getOperand(0).getType());
    SmallVector<int64_t> dims(permutation.asArrayRef());
    for (size_t a = 0; a < dims.size(); ++a)
      for (size_t b = a + 1; b < dims.size(); ++b)
        if (from.getDimSize(dims[a]) == from.getDimSize(dims[b]) && from.getDimSize(dims[a]) > 1) {
          std::swap(dims[a], dims[b]);
          return DenseI64ArrayAttr::get(op->getContext(), dims);
        }
    return nullptr;
  };
  return at(view, [=](Operation *op) { return isNamed(op, "compare") || isNamed(op, "reduce") || swapped(op); },
            [=](Operation *op) {
              MLIRContext *context = op->getContext();
              if (auto predicate = op->getAttrOfType<ComparisonAttr>("predicate"))
                op->setAttr("predicate", ComparisonAttr::get(context, predicate.getValue() == Comparison::Equal ? Comparison::NotEqual : Comparison::Equal));
              else if (auto kind = op->getAttrOfType<ReductionKindAttr>("kind"))
                op->setAttr("kind", ReductionKindAttr::get(context, kind.getValue() == ReductionKind::Sum ? ReductionKind::Max : ReductionKind::Sum));
              else
                op->setAttr("permutation", swapped(op));
              return std::string("other attribute:");
            });
}

Sites otherConstant(ProgramView &view, Random &) {
  auto isFloatSplat = [](Operation *op) {
    auto splat = isNamed(op, "constant") ? dyn_cast<SplatElementsAttr>(op->getAttr("value")) : SplatElementsAttr();
    return splat && isa<FloatType>(splat.getElementType());
  };
  return at(view, isFloatSplat, [](Operation *op) {
    auto splat = cast<SplatElementsAttr>(op->getAttr("value"));
    APFloat value = splat.getSplatValue<APFloat>();
    APFloat other = value + APFloat(value.getSemantics(), "3");
    value = other == value ? APFloat(value.getSemantics(), "3") : other; // infinite and very large ones take no notice
    op->setAttr("value", SplatElementsAttr::get(splat.getType(), ArrayRef<APFloat>(value)));
    return std::string("other value:");
  });
}

// What one value of a bucket is combined with goes to another.
Sites exchangeBucket(ProgramView &view, Random &) {
  Sites sites;
  for (Operation *op : view.ops)
    for (unsigned a = 0; a < op->getNumResults(); ++a)
      for (unsigned b = a + 1; b < op->getNumResults(); ++b)
        if (op->getResult(a).getType() == op->getResult(b).getType() && view.number(op->getResult(a)) != view.number(op->getResult(b)))
          sites.push_back({[=] {
            Value first = op->getOperand(a), second = op->getOperand(b);
            op->setOperand(a, second);
            op->setOperand(b, first);
            return "values exchanged: " + describe(op);
          }});
  return sites;
}

Sites otherUpdate(ProgramView &view, Random &) {
  Sites sites;
  for (func::FuncOp function : view.stages)
    for (unsigned a = 0; a < function.getNumResults(); ++a)
      for (unsigned b = 0; b < function.getNumResults(); ++b) {
        auto mine = function.getResultAttrOfType<StringAttr>(a, "para.updates"), other = function.getResultAttrOfType<StringAttr>(b, "para.updates");
        if (a != b && mine && other && function.getResultTypes()[a] == function.getResultTypes()[b])
          sites.push_back({[=]() mutable {
            function.setResultAttr(a, "para.updates", other);
            return "result '" + getResultName(function, a).str() + "' overwrites '" + other.getValue().str() + "'";
          }});
      }
  return sites;
}

Sites schedule(ProgramView &view, Random &random) {
  Sites sites;
  for (func::FuncOp function : view.stages)
    sites.push_back({[function, &random]() mutable {
      SmallVector<Attribute> actions(function->getAttrOfType<ArrayAttr>("para.schedule").getValue());
      unsigned at = random() % actions.size();
      bool again = random() % 2;
      if (again)
        actions.insert(actions.begin() + at, actions[at]);
      else
        actions.erase(actions.begin() + at);
      function->setAttr("para.schedule", ArrayAttr::get(function.getContext(), actions));
      return "action " + std::to_string(at) + (again ? " twice in @" : " left out in @") + function.getName().str();
    }});
  return sites;
}

constexpr MutationKind kKinds[] = {
    {"collective dropped", dropCollective},
    {"collective doubled", doubleCollective},
    {"collective over another axis", otherAxis},
    {"collective by another reduction", otherReduction},
    {"values of a bucket exchanged", exchangeBucket},
    {"mask dropped", dropMask},
    {"mask of another size or kind", wrongMask},
    {"shard sliced over another axis", sliceAxis},
    {"shard sliced in another dimension", sliceDim},
    {"shard description wrong", shardDescription},
    {"slice offset changed", sliceOffset},
    {"operand replaced", swapOperand},
    {"operands exchanged", exchangeOperands},
    {"scale missing", missingScale},
    {"accumulation dropped", dropAccumulate},
    {"message tag changed", messageTag},
    {"results exchanged", swapUpdates},
    {"result overwrites another argument", otherUpdate},
    {"action of the schedule", schedule},
    {"computed in a later phase", laterPhase},
    {"received before sending", receiveFirst},
    {"attribute changed", otherAttribute},
    {"constant changed", otherConstant},
    {"repeats another op", otherRepeat},
    {"repeated with another operand", changedRepeat},
    {"repeated part of another op", otherOrigin},
};
} // namespace

std::string para::test::describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName().getStringRef().drop_front(5);
  if (auto origin = op->getAttrOfType<IntegerAttr>("para.origin"))
    os << " (origin " << origin.getInt() << ")";
  os << " in @" << cast<func::FuncOp>(op->getParentOp()).getName();
  return text;
}

std::vector<Value> para::test::getRivals(ProgramView &view, Operation *op, unsigned index) {
  std::vector<Value> rivals;
  Value own = op->getOperand(index);
  auto consider = [&](Value value) {
    if (value.getType() != own.getType() || view.number(value) == view.number(own))
      return;
    SmallVector<Value> operands(op->getOperands());
    operands[index] = value;
    if (op->getNumResults() == 0 || view.number(op, operands) != view.number(op->getResult(0)))
      rivals.push_back(value);
  };
  for (BlockArgument argument : op->getBlock()->getArguments())
    consider(argument);
  for (Operation *other = op->getPrevNode(); other && rivals.size() < 40; other = other->getPrevNode())
    for (Value result : other->getResults())
      if (getPhase(other) <= getPhase(op))
        consider(result);
  return rivals;
}

llvm::ArrayRef<MutationKind> para::test::getMutationKinds() { return kKinds; }
