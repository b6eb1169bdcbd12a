//===- CallsCollective.cpp - Collectives as contiguous calls --------------===//
//
// The runtime's collectives move whole buffers, rank by rank. A collective along a dimension that is not the leading one is
// that call with transposes before or after it, which later fuse into the neighbouring kernels or into strides.
//
//===----------------------------------------------------------------------===//
#include "Calls.h"

#include "DType.h"
#include "IndexMath.h"
#include "MemoryPlanner.h"
#include "OpFacts.h"

#include "para/IR/Phases.h"
#include "para/IR/Program.h"
#include "para/Ops/TensorBuilder.h"

using namespace mlir;
using namespace para;

using Dims = SmallVector<int64_t>;

/// [.., size, ..] with `size` short of n * local is padded to that, split and brought to [n, .., local, ..].
static Value splitToFront(TensorBuilder &t, Value x, int64_t dim, int64_t n, int64_t local) {
  Dims shape(TensorBuilder::shape(x)), low(shape.size(), 0), high(shape.size(), 0);
  high[dim] = n * local - shape[dim];
  if (high[dim] > 0)
    x = t.pad(x, low, high);
  Dims split(shape);
  split[dim] = local;
  split.insert(split.begin() + dim, n);
  x = t.reshape(x, split);
  Dims order{dim};
  for (int64_t d = 0; d < static_cast<int64_t>(split.size()); ++d)
    if (d != dim)
      order.push_back(d);
  return dim == 0 ? x : t.transpose(x, order);
}

/// The inverse: [n, .., local, ..] to [.., size, ..], cut to `size`.
static Value joinFromFront(TensorBuilder &t, Value x, int64_t dim, int64_t size) {
  Dims shape(TensorBuilder::shape(x)), order;
  for (int64_t d = 1; d < static_cast<int64_t>(shape.size()); ++d) {
    if (d - 1 == dim)
      order.push_back(0);
    order.push_back(d);
  }
  if (dim != 0)
    x = t.transpose(x, order);
  Dims joined(shape.begin() + 1, shape.end());
  joined[dim] *= shape[0];
  x = t.reshape(x, joined);
  if (joined[dim] > size) {
    joined[dim] = size;
    x = t.slice(x, Dims(joined.size(), 0), joined);
  }
  return x;
}

LogicalResult CallBuilder::formCollective(Operation *op, const Call &call) {
  if (call.kind == Call::AllReduce) {
    formAllReduce(op, call);
    return success();
  }
  Value input = op->getOperand(0), result = op->getResult(0);
  Type element = getElementTypeOrSelf(result.getType());
  int64_t n = mesh ? mesh.getSize(call.axes[0]) : 1;
  TensorBuilder t(op->getLoc(), builder);
  Operation *before = op->getPrevNode();
  SmallVector<StringRef> axes(call.axes);
  auto describe = [&](int64_t count) {
    return SmallVector<NamedAttribute>{builder.getNamedAttr("axes", builder.getStrArrayAttr(axes)), attr("count", count),
                                       attr("dtype", dtypeOf(element)), attr("reduction", static_cast<int64_t>(call.reduction))};
  };
  Value made;
  if (call.kind == Call::AllGather) {
    Dims shape{n};
    llvm::append_range(shape, shapeOf(input));
    // Parts that lie one behind the other are the whole: no kernel has to put them in its place.
    bool isWhole = call.dim == 0 && n * sizeOf(input) == sizeOf(result);
    auto [x, offset] = contiguous(input);
    rt::CallOp c = create(op, "all_gather", x, offset, isWhole ? result.getType() : RankedTensorType::get(shape, element), describe(sizeOf(input)));
    made = isWhole ? c.getResult(0) : joinFromFront(t, c.getResult(0), call.dim, shapeOf(result)[call.dim]);
  } else if (call.kind == Call::ReduceScatter) {
    Value split = splitToFront(t, input, call.dim, n, shapeOf(result)[call.dim]);
    auto [x, offset] = contiguous(split);
    made = create(op, "reduce_scatter", x, offset, result.getType(), describe(sizeOf(result))).getResult(0);
  } else {
    Value split = splitToFront(t, input, call.toDim, n, shapeOf(result)[call.toDim]);
    auto [x, offset] = contiguous(split);
    rt::CallOp c = create(op, "all_to_all", x, offset, split.getType(), describe(sizeOf(split) / n));
    made = joinFromFront(t, c.getResult(0), call.dim, shapeOf(result)[call.dim]);
  }
  tagSince(before, op);
  result.replaceAllUsesWith(made);
  obsolete.push_back(op);
  return success();
}

/// Values of which each list can lie side by side with few bytes between them, which would be sent as well: those that fill whole lines of memory
/// first, and behind them what does not, as long as there is room.
static SmallVector<SmallVector<unsigned>> packLists(ValueRange values, SmallVector<unsigned> numbers) {
  auto rest = [&](unsigned number, int64_t unit) { return llvm::alignTo(bytesOf(values[number]), unit) - bytesOf(values[number]); };
  llvm::stable_sort(numbers, [&](unsigned a, unsigned b) {
    auto key = [&](unsigned number) { return std::pair(rest(number, messageAlignment), rest(number, arenaAlignment) > 0); };
    return key(a) < key(b);
  });
  SmallVector<SmallVector<unsigned>> lists;
  int64_t between = 0;
  for (unsigned number : numbers) {
    if (lists.empty() || between > mostBetween) {
      lists.emplace_back();
      between = 0;
    }
    lists.back().push_back(number);
    between += rest(number, messageAlignment);
  }
  return lists;
}

void CallBuilder::formAllReduce(Operation *op, const Call &call) {
  // Values of one element type are a message or few; the memory planner puts those of a call side by side.
  SmallVector<Type> types;
  for (Value v : op->getOperands())
    if (Type type = getElementTypeOrSelf(v.getType()); !llvm::is_contained(types, type))
      types.push_back(type);
  for (Type type : types) {
    SmallVector<unsigned> ofType;
    for (auto [i, v] : llvm::enumerate(op->getOperands()))
      if (getElementTypeOrSelf(v.getType()) == type)
        ofType.push_back(i);
    SmallVector<NamedAttribute> desc{builder.getNamedAttr("axes", builder.getStrArrayAttr(call.axes)), attr("dtype", dtypeOf(type)),
                                     attr("reduction", static_cast<int64_t>(call.reduction))};
    for (ArrayRef<unsigned> numbers : packLists(op->getOperands(), ofType)) {
      SmallVector<Value> inputs = llvm::map_to_vector(numbers, [&](unsigned i) { return op->getOperand(i); });
      rt::CallOp c = create(op, "all_reduce", inputs, Dims(inputs.size(), 0), ValueRange(inputs).getTypes(), desc);
      for (auto [i, number] : llvm::enumerate(numbers))
        op->getResult(number).replaceAllUsesWith(c.getResult(i));
    }
  }
  obsolete.push_back(op);
}

LogicalResult CallBuilder::formMessage(Operation *op, const Call &call) {
  int64_t axis = -1;
  for (auto [i, name] : llvm::enumerate(mesh ? mesh.getAxes().getValue() : ArrayRef<Attribute>()))
    if (cast<StringAttr>(name).getValue() == "pipeline")
      axis = i;
  if (axis < 0)
    return op->emitOpError("passes a value between stages, but the mesh has no axis `pipeline`");
  bool send = call.kind == Call::Send;
  int64_t bytes = bytesOf(send ? op->getOperand(0) : op->getResult(0));
  SmallVector<NamedAttribute> desc{attr("axis", axis), attr("peer", call.peer), attr("tag", call.tag), attr("bytes", bytes)};
  if (send) {
    // A view of what an earlier phase wrote is copied instead: the stages agreed on when messages are waited for by the phase that made the
    // value, and a parameter may be written when the last microbatches' messages are under way.
    Value whole = op->getOperand(0);
    auto [x, offset] = contiguous(whole);
    if (Operation *made = whole.getDefiningOp(), *wrote = x.getDefiningOp(); made && (wrote ? getChunkPhase(wrote) != getChunkPhase(made) : getPhase(made) != Phase::Setup))
      x = whole, offset = 0;
    desc.push_back(attr("depth", call.depth));
    create(op, "send", x, offset, {}, desc);
  } else {
    rt::CallOp c = create(op, "recv", {}, {}, op->getResult(0).getType(), desc);
    op->getResult(0).replaceAllUsesWith(c.getResult(0));
  }
  obsolete.push_back(op);
  return success();
}
