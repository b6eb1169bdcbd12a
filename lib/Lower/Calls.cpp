//===- Calls.cpp - Builds runtime calls over tensors ----------------------===//
#include "Calls.h"

#include "DType.h"
#include "IndexMath.h"
#include "Matmul.h"

#include "para/Interfaces/Precision.h"
#include "para/Ops/TensorBuilder.h"

using namespace mlir;
using namespace para;

CallBuilder::CallBuilder(ModuleOp module, func::FuncOp func, bool onGpu)
    : module(module), func(func), onGpu(onGpu), builder(module.getContext()) {
  mesh = module->getAttrOfType<MeshAttr>("para.mesh");
  auto count = module->getAttrOfType<IntegerAttr>("para.microbatches");
  microbatches = count ? count.getInt() : 1;
}

NamedAttribute CallBuilder::attr(StringRef name, int64_t value) { return builder.getNamedAttr(name, builder.getI64IntegerAttr(value)); }
NamedAttribute CallBuilder::attr(StringRef name, ArrayRef<int64_t> value) {
  return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(value));
}

LogicalResult CallBuilder::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front())
    ops.push_back(&op);
  bool failed = false;
  for (Operation *op : ops) {
    auto library = dyn_cast<LibraryOpInterface>(op);
    std::optional<LibraryCall> call = library ? library.getLibraryCall() : std::nullopt;
    if (!call)
      continue;
    builder.setInsertionPoint(op);
    failed |= mlir::failed(form(op, *call));
  }
  if (microbatches > 1) {
    ops.clear();
    for (Operation &op : func.getBody().front())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (isAccumulate(op))
        absorbAccumulate(op);
  }
  for (Operation *op : llvm::reverse(obsolete))
    op->erase();
  eraseDead();
  return failure(failed);
}

LogicalResult CallBuilder::form(Operation *op, const Call &call) {
  switch (call.kind) {
  case Call::Accumulate:
    if (microbatches == 1) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      obsolete.push_back(op);
    }
    return success();
  case Call::Matmul:
    if (!formMatmul(op, call)) // It becomes a kernel.
      sumWide(op);
    return success();
  case Call::Convolution:
    formConvolution(op, call);
    return success();
  case Call::ScatterAdd:
    formScatter(op, call);
    return success();
  case Call::Send:
  case Call::Recv:
    return formMessage(op, call);
  default:
    return formCollective(op, call);
  }
}

std::pair<Value, int64_t> CallBuilder::contiguous(Value v) {
  View view = viewOf(v, facts);
  if (isContiguous(view, shapeOf(v)) && view.offset >= 0)
    return {view.base, view.offset};
  return {v, 0};
}

rt::CallOp CallBuilder::create(Operation *at, StringRef callee, ValueRange inputs, ArrayRef<int64_t> offsets, TypeRange results,
                               ArrayRef<NamedAttribute> desc) {
  auto call = rt::CallOp::create(builder, at->getLoc(), results, builder.getStringAttr(callee), inputs, builder.getDictionaryAttr(desc),
                                 builder.getDenseI64ArrayAttr(offsets));
  if (Attribute phase = at->getAttr("para.phase"))
    call->setAttr("para.phase", phase);
  return call;
}

void CallBuilder::tagSince(Operation *before, Operation *op) {
  Attribute phase = op->getAttr("para.phase");
  Block::iterator it = before ? std::next(before->getIterator()) : op->getBlock()->begin();
  for (; phase && it != builder.getInsertionPoint(); ++it)
    if (!it->hasAttr("para.phase"))
      it->setAttr("para.phase", phase);
}

void CallBuilder::eraseDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Values that hold the same elements in another order or shape, while each has one user, the nearest first.
static SmallVector<Value> followMoves(Value v, FactsCache &facts) {
  SmallVector<Value> chain;
  while (v.hasOneUse()) {
    Operation *user = *v.user_begin();
    const OpFacts &f = facts.get(user);
    if (!f.move || f.accesses[0].dynamic || sizeOf(user->getResult(0)) != sizeOf(v) || user->getBlock() != v.getParentBlock())
      break;
    v = user->getResult(0);
    chain.push_back(v);
  }
  return chain;
}

CallBuilder::Elements CallBuilder::elementsOf(const View &view, ArrayRef<int64_t> shape) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (auto [stride, size] : llvm::zip_equal(view.strides, shape))
    if (size > 1)
      dims.push_back({stride, size});
  llvm::sort(dims, std::greater<>());
  return {view.base.getAsOpaquePointer(), view.offset, dims};
}

/// The value from which `v` was made by moves and which has its elements as the transpose of `v` would have them; null if there is none.
static Value findTransposed(Value v, ArrayRef<int64_t> order, FactsCache &facts) {
  MLIRContext *ctx = v.getContext();
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> dims, index(order.size());
  for (auto [i, d] : llvm::enumerate(order)) {
    shape.push_back(shapeOf(v)[d]);
    dims.push_back(getAffineDimExpr(i, ctx));
    index[d] = dims.back();
  }
  AffineExpr wanted = linearize(dims, shape, ctx);
  for (Value current = v; (current = followMove(current, index, facts));)
    if (sizeOf(current) == sizeOf(v) && sameFunction(linearize(index, shapeOf(current), ctx), wanted, shape))
      return current;
  return nullptr;
}

View CallBuilder::pack(Operation *op, Value v, ArrayRef<int64_t> order) {
  View before = viewOf(v, facts);
  Operation *last = op->getPrevNode();
  builder.setInsertionPoint(op);
  Value copy = onGpu ? findTransposed(v, order, facts) : Value();
  if (!copy)
    copy = TensorBuilder(op->getLoc(), builder).transpose(v, order);
  tagSince(last, op);
  View view{copy, SmallVector<int64_t>(order.size()), 0};
  Packed entry{copy, {}};
  SmallVector<int64_t> shape;
  for (int64_t d : order)
    shape.push_back(shapeOf(v)[d]);
  for (auto [stride, d] : llvm::zip_equal(stridesOf(shape), order)) {
    view.strides[d] = stride;
    entry.strides[{before.strides[d], shapeOf(v)[d]}] = stride;
  }
  Elements elements = elementsOf(before, shapeOf(v));
  bool isInjective = llvm::all_of(before.strides, [](int64_t stride) { return stride > 0; });
  if (onGpu && isInjective)
    packed.try_emplace(elements, entry);
  return view;
}

std::optional<View> CallBuilder::findPacked(Value v) {
  View view = viewOf(v, facts);
  auto it = packed.find(elementsOf(view, shapeOf(v)));
  if (it == packed.end())
    return std::nullopt;
  View found{it->second.value, {}, 0};
  for (auto [stride, size] : llvm::zip_equal(view.strides, shapeOf(v)))
    found.strides.push_back(size > 1 ? it->second.strides.at({stride, size}) : 1);
  return found;
}

/// Whether the dimensions are one with one stride.
static bool isOneStride(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  std::optional<int64_t> next;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1)
      continue;
    if (next && strides[i] != *next)
      return false;
    next = strides[i] * sizes[i];
  }
  return true;
}

bool CallBuilder::joinBatches(Operation *op, const Call &call, View &a, View &b) {
  if (call.lhsBatch.size() < 2)
    return false;
  struct Side {
    Value v;
    View &view;
    ArrayRef<int64_t> batch;
    SmallVector<int64_t> sizes, strides;
  };
  Side sides[] = {{op->getOperand(0), a, call.lhsBatch, {}, {}}, {op->getOperand(1), b, call.rhsBatch, {}, {}}};
  for (Side &side : sides) {
    for (int64_t d : side.batch) {
      side.sizes.push_back(shapeOf(side.v)[d]);
      side.strides.push_back(side.view.strides[d]);
    }
    // One that is repeated would have to be copied for each time.
    for (auto [size, stride] : llvm::zip_equal(side.sizes, side.strides))
      if (size > 1 && stride == 0 && !isOneStride(side.sizes, side.strides))
        return false;
  }
  for (Side &side : sides) {
    if (isOneStride(side.sizes, side.strides))
      continue;
    if (auto known = findPacked(side.v)) {
      side.view = *known;
      continue;
    }
    SmallVector<int64_t> order(side.batch), rest;
    for (int64_t d = 0; d < static_cast<int64_t>(shapeOf(side.v).size()); ++d)
      if (!llvm::is_contained(side.batch, d))
        rest.push_back(d);
    llvm::stable_sort(rest, [&](int64_t x, int64_t y) { return side.view.strides[x] > side.view.strides[y]; });
    llvm::append_range(order, rest);
    side.view = pack(op, side.v, order);
  }
  return true;
}

bool CallBuilder::formMatmul(Operation *op, const Call &call) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1), result = op->getResult(0), stored = result;
  SmallVector<int64_t> shape(shapeOf(result)), cStrides = stridesOf(shape);
  View a = viewOf(lhs, facts), b = viewOf(rhs, facts);
  bool joins = onGpu && joinBatches(op, call, a, b);
  for (Value seen : followMoves(result, facts)) {
    View view = viewOf(seen, facts);
    auto strides = stridesSeenFrom(shape, shapeOf(seen), view.strides);
    if (view.base != result || view.offset != 0 || !strides)
      continue;
    if (!joins || isOneStride(ArrayRef<int64_t>(shape).take_front(call.lhsBatch.size()), ArrayRef<int64_t>(*strides).take_front(call.lhsBatch.size()))) {
      cStrides = *strides;
      stored = seen;
    }
  }
  auto isIn = [](ArrayRef<int64_t> list, int64_t d) { return llvm::is_contained(list, d); };
  MatmulPlan plan;
  bool isSwapped = false; // makes the transpose of the result, of the operands in the other order
  for (int attempt = 0;; ++attempt) {
    SmallVector<MatmulDim> batch, rows, columns, contract;
    unsigned next = 0;
    for (auto [l, r] : llvm::zip_equal(call.lhsBatch, call.rhsBatch))
      batch.push_back({shapeOf(lhs)[l], a.strides[l], b.strides[r], cStrides[next++]});
    for (int64_t d = 0; d < static_cast<int64_t>(shapeOf(lhs).size()); ++d)
      if (!isIn(call.lhsBatch, d) && !isIn(call.lhsContract, d))
        rows.push_back({shapeOf(lhs)[d], a.strides[d], 0, cStrides[next++]});
    for (int64_t d = 0; d < static_cast<int64_t>(shapeOf(rhs).size()); ++d)
      if (!isIn(call.rhsBatch, d) && !isIn(call.rhsContract, d))
        columns.push_back({shapeOf(rhs)[d], 0, b.strides[d], cStrides[next++]});
    for (auto [l, r] : llvm::zip_equal(call.lhsContract, call.rhsContract))
      contract.push_back({shapeOf(lhs)[l], a.strides[l], b.strides[r], 0});
    if (isSwapped) {
      rows.swap(columns);
      for (auto *dims : {&batch, &rows, &columns, &contract})
        for (MatmulDim &dim : *dims)
          std::swap(dim.a, dim.b);
    }
    MatmulObstacle obstacle = planMatmul(batch, rows, columns, contract, plan);
    if (obstacle == MatmulObstacle::None)
      break;
    if (attempt == 5)
      return false;
    if (obstacle == MatmulObstacle::Result) {
      if (stored == result)
        return false;
      isSwapped = !isSwapped;
      if (isSwapped)
        continue;
      stored = result;
      cStrides = stridesOf(shape);
      continue;
    }
    // Copies one side with its contracted dimensions last, in the order of the contraction.
    bool left = obstacle == (isSwapped ? MatmulObstacle::Rhs : MatmulObstacle::Lhs) || (obstacle == MatmulObstacle::Contract && attempt % 2 == 0);
    Value side = left ? lhs : rhs;
    ArrayRef<int64_t> sideBatch = left ? call.lhsBatch : call.rhsBatch, sideContract = left ? call.lhsContract : call.rhsContract;
    SmallVector<int64_t> order(sideBatch);
    for (int64_t d = 0; d < static_cast<int64_t>(shapeOf(side).size()); ++d)
      if (!isIn(sideBatch, d) && !isIn(sideContract, d))
        order.push_back(d);
    llvm::append_range(order, sideContract);
    std::optional<View> known = onGpu ? findPacked(side) : std::nullopt;
    if (known && known->base != (left ? a : b).base)
      (left ? a : b) = *known;
    else
      (left ? a : b) = pack(op, side, order);
  }
  if (isSwapped)
    std::swap(a, b);
  if (onGpu && spreadRows(plan, a, b))
    return formMatmul(op, call);
  builder.setInsertionPoint(op);
  bool isSpread = onGpu && spreadResult(plan, stored);
  SmallVector<NamedAttribute> desc{attr("dtype", dtypeOf(lhs.getType())),
                                   attr("c_dtype", dtypeOf(result.getType())),
                                   attr("batch", plan.batch),
                                   attr("a_batch", plan.aBatch),
                                   attr("b_batch", plan.bBatch),
                                   attr("c_batch", plan.cBatch),
                                   attr("mnk", {plan.m, plan.n, plan.k}),
                                   attr("strides", {plan.aRow, plan.aColumn, plan.bRow, plan.bColumn, plan.cRow})};
  RankedTensorType type = cast<RankedTensorType>(stored.getType());
  if (isSpread)
    type = RankedTensorType::get({plan.m, plan.cRow}, type.getElementType());
  rt::CallOp made = create(op, "matmul", {a.base, b.base}, {a.offset, b.offset}, type, desc);
  Value value = isSpread ? ownRows(made.getResult(0), plan.n, shapeOf(stored), op) : made.getResult(0);
  stored.replaceAllUsesWith(value);
  return true;
}

void CallBuilder::sumWide(Operation *op) {
  Value result = op->getResult(0);
  if (!isNarrow(result.getType()))
    return;
  Operation *last = op->getPrevNode();
  builder.setInsertionPoint(op);
  Operation *wide = builder.clone(*op);
  setFloatElement(wide, builder.getF32Type());
  Value rounded = TensorBuilder(op->getLoc(), builder).cast(wide->getResult(0), getElementTypeOrSelf(result.getType()));
  tagSince(last, op);
  result.replaceAllUsesWith(rounded);
  obsolete.push_back(op);
}

void CallBuilder::formConvolution(Operation *op, const Call &call) {
  // In the order x, w, y of the runtime, whichever of them is written.
  Value result = op->getResult(0), first = op->getOperand(0), second = op->getOperand(1), x, w, y;
  if (call.convolution == PARA_CONV_FORWARD)
    x = first, w = second, y = result;
  else if (call.convolution == PARA_CONV_INPUT_GRAD)
    y = first, w = second, x = result;
  else
    y = first, x = second, w = result;
  SmallVector<int64_t> shape(shapeOf(x)), out(shapeOf(y).drop_front(2)), window(shapeOf(w).drop_front(2)), low(call.padLow), high(call.padHigh);
  // A GPU's library pads both sides of a dimension alike: what one side has more is put there before, or taken away behind.
  SmallVector<int64_t> before(shape.size(), 0), after(shape.size(), 0);
  if (onGpu)
    for (size_t i = 0; i < low.size(); ++i) {
      int64_t both = std::min(low[i], high[i]);
      before[i + 2] = low[i] - both, after[i + 2] = high[i] - both;
      shape[i + 2] += before[i + 2] + after[i + 2];
      low[i] = high[i] = both;
    }
  bool isPadded = shape != SmallVector<int64_t>(shapeOf(x));
  Operation *last = op->getPrevNode();
  TensorBuilder t(op->getLoc(), builder);
  Type type = result.getType();
  if (isPadded && x == result)
    type = RankedTensorType::get(shape, getElementTypeOrSelf(type));
  else if (isPadded)
    (x == first ? first : second) = t.pad(x, before, after);
  tagSince(last, op);
  auto [a, aOffset] = contiguous(first);
  auto [b, bOffset] = contiguous(second);
  SmallVector<NamedAttribute> desc{attr("kind", call.convolution), attr("dtype", dtypeOf(result.getType())), attr("groups", call.groups),
                                   attr("nck", {shape[0], shape[1], shapeOf(y)[1]}), attr("in", ArrayRef<int64_t>(shape).drop_front(2)), attr("out", out),
                                   attr("window", window), attr("stride", call.strides), attr("dilation", call.dilations),
                                   attr("pad_low", low), attr("pad_high", high)};
  rt::CallOp made = create(op, "convolution", {a, b}, {aOffset, bOffset}, type, desc);
  Value stored = made.getResult(0);
  if (stored.getType() != result.getType()) {
    stored = t.slice(stored, before, shapeOf(result));
    tagSince(made, op);
  }
  result.replaceAllUsesWith(stored);
}

void CallBuilder::formScatter(Operation *op, const Call &call) {
  Value indices = op->getOperand(0), updates = op->getOperand(1), result = op->getResult(0);
  auto [a, aOffset] = contiguous(indices);
  auto [b, bOffset] = contiguous(updates);
  int64_t positions = sizeOf(indices);
  SmallVector<NamedAttribute> desc{attr("dtype", dtypeOf(updates.getType())), attr("index_dtype", dtypeOf(indices.getType())),
                                   attr("positions", positions), attr("width", positions ? sizeOf(updates) / positions : 0),
                                   attr("rows", shapeOf(result)[0]), builder.getNamedAttr("axes", builder.getStrArrayAttr(call.shardAxes)),
                                   attr("size", call.shardSize), attr("unit", call.shardUnit), attr("bytes", bytesOf(result))};
  rt::CallOp made = create(op, "scatter_add", {a, b}, {aOffset, bOffset}, result.getType(), desc);
  result.replaceAllUsesWith(made.getResult(0));
}

void CallBuilder::absorbAccumulate(Operation *op) {
  auto call = op->getOperand(0).getDefiningOp<rt::CallOp>();
  if (!call || call.getCallee() != "matmul" || !call->hasOneUse() || call->getAttr("para.phase") != op->getAttr("para.phase"))
    return;
  SmallVector<NamedAttribute> desc(call.getDesc().getValue());
  desc.push_back(builder.getNamedAttr("accumulate", builder.getUnitAttr()));
  call.setDescAttr(builder.getDictionaryAttr(desc));
  op->getResult(0).replaceAllUsesWith(call.getResult(0));
  obsolete.push_back(op);
}
