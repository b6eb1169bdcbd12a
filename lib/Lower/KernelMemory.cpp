//===- KernelMemory.cpp - Loads and stores of lanes -----------------------===//
#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace para;

Value KernelEmitter::laneSteps(ArrayRef<int64_t> steps) {
  auto type = VectorType::get({lanes}, b.getI64Type());
  return arith::ConstantOp::create(b, type, DenseElementsAttr::get(type, steps));
}

/// A loop, quotient or rest as a scalar at the first lane, or (`wide`) as one number a lane.
Value KernelEmitter::atomOf(AffineExpr atom, bool wide) {
  if (auto d = dyn_cast<AffineDimExpr>(atom)) {
    Value base = loopValues[d.getPosition()];
    if (!wide)
      return base;
    Value all = splat(base);
    return static_cast<int>(d.getPosition()) == lane ? arith::AddIOp::create(b, all, laneSteps(llvm::to_vector(llvm::seq<int64_t>(0, lanes)))).getResult() : all;
  }
  auto binary = cast<AffineBinaryOpExpr>(atom);
  LinearForm inner = linearForm(binary.getLHS(), extents);
  Value x = wide ? lanesOf(inner) : scalarOf(inner);
  Value c = integer(cast<AffineConstantExpr>(binary.getRHS()).getValue());
  if (wide)
    c = splat(c);
  if (atom.getKind() == AffineExprKind::Mod)
    return arith::RemUIOp::create(b, x, c);
  return arith::DivUIOp::create(b, x, c);
}

Value KernelEmitter::scalarOf(const LinearForm &form) {
  Value sum;
  for (auto [atom, factor] : form.terms) {
    Value x = atomOf(atom, false);
    if (factor != 1)
      x = arith::MulIOp::create(b, x, integer(factor));
    sum = sum ? arith::AddIOp::create(b, sum, x).getResult() : x;
  }
  if (!sum)
    return integer(form.constant);
  return form.constant ? arith::AddIOp::create(b, sum, integer(form.constant)).getResult() : sum;
}

Value KernelEmitter::lanesOf(const LinearForm &form) {
  if (auto pattern = lanePattern(form, lane, lanes, extents)) {
    Value first = splat(scalarOf(pattern->first));
    return pattern->isUniform() ? first : arith::AddIOp::create(b, first, laneSteps(pattern->steps)).getResult();
  }
  // What does not depend on the lane is computed once, as a scalar.
  LinearForm same, varying;
  same.constant = form.constant;
  for (auto [atom, factor] : form.terms)
    (atom.isFunctionOfDim(lane) && !isa<AffineDimExpr>(atom) ? varying : same).add(atom, factor);
  Value sum = lanesOf(same);
  for (auto [atom, factor] : varying.terms) {
    Value x = atomOf(atom, true);
    if (factor != 1)
      x = arith::MulIOp::create(b, x, splat(integer(factor)));
    sum = arith::AddIOp::create(b, sum, x);
  }
  return sum;
}

void KernelEmitter::noteEven(Value lanesValue, const LinearForm &form) {
  auto pattern = lanePattern(form, lane, lanes, extents);
  if (aligned || !pattern || !pattern->isContiguous())
    return;
  bool isEven = pattern->first.constant % lanes == 0;
  for (auto [atom, factor] : pattern->first.terms) {
    auto dim = dyn_cast<AffineDimExpr>(atom);
    isEven &= factor % lanes == 0 || (dim && static_cast<int>(dim.getPosition()) == lane);
  }
  if (isEven)
    evenPositions[lanesValue] = scalarOf(pattern->first);
}

Value KernelEmitter::uniform(Value v) {
  if (!isa<VectorType>(v.getType()))
    return v;
  Operation *op = v.getDefiningOp();
  if (!op)
    return nullptr;
  // On which side of a multiple of the lanes they are, all of them are.
  if (auto compare = dyn_cast<arith::CmpIOp>(op); compare && evenPositions.count(compare.getLhs())) {
    using Predicate = arith::CmpIPredicate;
    bool isSide = llvm::is_contained({Predicate::slt, Predicate::sge, Predicate::ult, Predicate::uge}, compare.getPredicate());
    Value bound = uniform(compare.getRhs());
    auto constant = bound ? bound.getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
    auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    if (isSide && number && number.getInt() % lanes == 0)
      return arith::CmpIOp::create(b, compare.getPredicate(), evenPositions.lookup(compare.getLhs()), bound);
  }
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return isa<VectorType>(broadcast.getSource().getType()) ? nullptr : broadcast.getSource();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<SplatElementsAttr>(constant.getValue());
    return dense ? arith::ConstantOp::create(b, dense.getSplatValue<TypedAttr>()).getResult() : Value();
  }
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
    return nullptr;
  SmallVector<Value> operands;
  for (Value x : op->getOperands()) {
    operands.push_back(uniform(x));
    if (!operands.back())
      return nullptr;
  }
  Operation *made = b.clone(*op);
  made->setOperands(operands);
  made->getResult(0).setType(getElementTypeOrSelf(v.getType()));
  return made->getResult(0);
}

void KernelEmitter::dimsOf(Value v, SmallVectorImpl<unsigned> &dims) {
  SmallVector<Value> stack{v};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value x = stack.pop_back_val();
    if (!seen.insert(x).second)
      continue;
    if (auto it = loadedDims.find(x); it != loadedDims.end())
      for (unsigned d : it->second)
        if (!llvm::is_contained(dims, d))
          dims.push_back(d);
    if (Operation *op = x.getDefiningOp())
      stack.append(op->operand_begin(), op->operand_end());
  }
}

Value KernelEmitter::mask() {
  if (!guard)
    return tail;
  return tail ? arith::AndIOp::create(b, splat(guard), tail).getResult() : splat(guard);
}

KernelEmitter::Address KernelEmitter::address(Value pointer, Type storage, const LinearForm &form,
                                              ArrayRef<std::pair<Value, int64_t>> dynamic) {
  Type ptr = pointer.getType();
  bool lanesVary = false;
  LanePattern one{form, {0}};
  std::optional<LanePattern> pattern = lane >= 0 ? lanePattern(form, lane, lanes, extents) : one;
  SmallVector<std::pair<Value, int64_t>> scalars;
  for (auto [v, stride] : dynamic) {
    Value s = uniform(v);
    lanesVary |= !s;
    scalars.push_back({s, stride});
  }
  Address result;
  bool isSimple = pattern && (pattern->isUniform() || pattern->isContiguous());
  bool isNear = pattern && dealsNeighbours && pattern->span() <= mostNeighbours * lanes;
  if (!lanesVary && (isSimple || isNear)) {
    if (!isSimple) {
      int64_t low = pattern->low();
      pattern->first.constant += low;
      for (int64_t step : pattern->steps)
        result.steps.push_back(step - low);
    }
    Value offset = scalarOf(pattern->first);
    for (auto [s, stride] : scalars)
      offset = arith::AddIOp::create(b, offset, stride == 1 ? s : arith::MulIOp::create(b, s, integer(stride)).getResult());
    result.contiguous = isSimple && lane >= 0 && !pattern->isUniform();
    result.base = LLVM::GEPOp::create(b, ptr, storage, pointer, ArrayRef<LLVM::GEPArg>{offset});
    return result;
  }
  result.offsets = lanesOf(form);
  for (auto [v, stride] : dynamic) {
    Value x = splat(v);
    result.offsets = arith::AddIOp::create(b, result.offsets, stride == 1 ? x : arith::MulIOp::create(b, x, splat(integer(stride))).getResult());
  }
  result.base = pointer;
  return result;
}

unsigned KernelEmitter::alignmentOf(Value pointer, Type storage, const LinearForm &form, ArrayRef<std::pair<Value, int64_t>> dynamic) {
  int64_t bytes = elementBytes(storage), known = alignments.lookup(pointer);
  if (known <= bytes || lane < 0)
    return bytes;
  LinearForm rest = form;
  if (aligned && !shiftedPointers.contains(pointer)) {
    rest.add(*aligned, -1);
    known = std::gcd(known, lanes * bytes);
    if (rest.factorOf(lane) != std::optional<int64_t>(0))
      return bytes;
  }
  known = std::gcd(known, rest.constant * bytes);
  for (auto [atom, factor] : rest.terms) { // The loop with lanes advances by all of them.
    auto dim = dyn_cast<AffineDimExpr>(atom);
    known = std::gcd(known, factor * bytes * (dim && static_cast<int>(dim.getPosition()) == lane ? lanes : 1));
  }
  for (auto [v, stride] : dynamic)
    known = std::gcd(known, stride * bytes);
  return std::max(known, bytes);
}

void KernelEmitter::note(Value pointer, Type storage, const LinearForm &form, bool dynamic, const Address &place, unsigned alignment, bool isStore) {
  if (!streams)
    return;
  MemoryStream stream{pointer, form, pass, isStore, dynamic, elementBytes(storage)};
  bool isScalar = lane < 0;
  stream.bytes = place.contiguous ? std::min<int64_t>(lanes * stream.elementBytes, alignment) : stream.elementBytes;
  if (place.contiguous) {
    stream.narrow = stream.bytes < lanes * stream.elementBytes ? "rows begin anywhere" : "short elements";
  } else if (place.offsets || !place.steps.empty()) {
    stream.pattern = dynamic ? MemoryStream::ByData : MemoryStream::Apart;
    stream.narrow = dynamic ? "places by data" : "neighbours lie apart";
  } else if (!isScalar || form.terms.empty()) {
    stream.pattern = MemoryStream::Same;
  } else {
    bool isRange = llvm::any_of(form.terms, [](auto &term) { return isa<AffineDimExpr>(term.first) && term.second == 1; });
    stream.pattern = dynamic ? MemoryStream::ByData : isRange ? MemoryStream::Range : MemoryStream::Apart;
    stream.narrow = dynamic ? "places by data" : isRange ? "an element a thread" : "neighbours lie apart";
  }
  streams->push_back(stream);
}

/// One load of all elements from the first to the last that a lane wants, and of no other.
Value KernelEmitter::loadNeighbours(const Address &place, Type storage, Value mask) {
  int64_t width = llvm::alignTo(*llvm::max_element(place.steps) + 1, lanes);
  auto bools = VectorType::get({width}, b.getI1Type()), wide = VectorType::get({width}, storage);
  Value wanted;
  if (!mask) {
    SmallVector<bool> bits(width);
    for (int64_t step : place.steps)
      bits[step] = true;
    wanted = arith::ConstantOp::create(b, bools, DenseElementsAttr::get(bools, ArrayRef<bool>(bits)));
  } else {
    // Each round looks at one more of the lanes that want the same element.
    SmallVector<SmallVector<int64_t>> lanesAt(width);
    for (auto [i, step] : llvm::enumerate(place.steps))
      lanesAt[step].push_back(i);
    size_t rounds = 0;
    for (auto &list : lanesAt)
      rounds = std::max(rounds, list.size());
    Value none = arith::ConstantOp::create(b, mask.getType(), b.getZeroAttr(mask.getType()));
    for (size_t round = 0; round < rounds; ++round) {
      SmallVector<int64_t> from;
      for (auto &list : lanesAt)
        from.push_back(round < list.size() ? list[round] : lanes);
      Value bits = vector::ShuffleOp::create(b, mask, none, from);
      wanted = wanted ? arith::OrIOp::create(b, wanted, bits).getResult() : bits;
    }
  }
  Value zero = arith::ConstantOp::create(b, wide, b.getZeroAttr(wide));
  Value all = LLVM::MaskedLoadOp::create(b, wide, place.base, wanted, zero, b.getI32IntegerAttr(elementBytes(storage)));
  return vector::ShuffleOp::create(b, all, all, place.steps);
}

Value KernelEmitter::load(Value pointer, Type scalar, ArrayRef<int64_t> shape, ArrayRef<Coordinate> index) {
  assert(pointer && "every tensor of a kernel is in memory or computed");
  Type storage = scalar.isInteger(1) ? Type(b.getI8Type()) : scalar;
  LinearForm form;
  SmallVector<std::pair<Value, int64_t>> dynamic;
  SmallVector<int64_t> strides = stridesOf(shape);
  for (auto [c, stride] : llvm::zip_equal(index, strides)) {
    form.add(linearForm(c.affine, extents), stride);
    if (c.dynamic)
      dynamic.push_back({c.dynamic, stride});
  }
  form = resolve(simplest(form, extents));
  Address place = address(pointer, storage, form, dynamic);
  unsigned alignment = place.contiguous ? alignmentOf(pointer, storage, form, dynamic) : elementBytes(scalar);
  note(pointer, storage, form, !dynamic.empty(), place, alignment, false);
  Value all = mask(), result;
  auto zero = [&](Type type) { return arith::ConstantOp::create(b, type, b.getZeroAttr(type)).getResult(); };
  auto loadIf = [&](Value condition, Type type, Value from, unsigned alignment) {
    auto branch = scf::IfOp::create(b, type, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, LLVM::LoadOp::create(b, type, from, alignment).getResult());
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, zero(type));
    return branch.getResult(0);
  };
  if (!place.steps.empty()) {
    result = loadNeighbours(place, storage, all);
  } else if (place.offsets) {
    auto pointers = VectorType::get({lanes}, pointer.getType());
    Value at = LLVM::GEPOp::create(b, pointers, storage, place.base, ArrayRef<LLVM::GEPArg>{place.offsets});
    Value m = all;
    if (!m) {
      auto bools = VectorType::get({lanes}, b.getI1Type());
      m = arith::ConstantOp::create(b, bools, DenseElementsAttr::get(bools, true));
    }
    Type type = elementType(storage);
    result = LLVM::masked_gather::create(b, type, at, m, ValueRange{zero(type)}, b.getI32IntegerAttr(alignment));
  } else if (place.contiguous) {
    Type type = elementType(storage);
    Value any = guard && !tail && productOf(shape) >= lanes ? uniform(guard) : Value();
    if (any && written.contains(pointer)) {
      result = loadIf(any, type, place.base, alignment);
    } else if (any) { // The buffer's first elements will do where none is wanted.
      unsigned first = std::max<int64_t>(alignments.lookup(pointer), elementBytes(storage));
      Value base = arith::SelectOp::create(b, any, place.base, pointer);
      result = LLVM::LoadOp::create(b, type, base, std::min(alignment, first));
    } else if (all)
      result = LLVM::MaskedLoadOp::create(b, type, place.base, all, zero(type), b.getI32IntegerAttr(alignment));
    else
      result = LLVM::LoadOp::create(b, type, place.base, alignment);
  } else {
    Value base = place.base, any = guard;
    if (Value s = guard ? uniform(guard) : Value())
      any = s;
    else if (guard && isa<VectorType>(guard.getType()))
      any = vector::ReductionOp::create(b, vector::CombiningKind::OR, guard);
    if (any && written.contains(pointer)) {
      result = splat(loadIf(any, storage, base, alignment));
    } else {
      if (any) // Not to be read where no lane wants it: the buffer's first element will do.
        base = arith::SelectOp::create(b, any, base, pointer);
      result = splat(LLVM::LoadOp::create(b, storage, base, alignment));
    }
  }
  if (scalar.isInteger(1))
    result = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, result, zero(result.getType()));
  if (record) {
    MemoryAccess access{form, {}, !dynamic.empty()};
    for (auto [v, stride] : dynamic)
      dimsOf(v, access.dynamicDims);
    record->push_back(access);
    SmallVector<unsigned> dims = access.dynamicDims;
    for (unsigned d = 0; d < extents.size(); ++d)
      if (form.factorOf(d) != std::optional<int64_t>(0))
        dims.push_back(d);
    loadedDims[result] = dims;
  }
  return result;
}

void KernelEmitter::store(Value element, Value pointer, Type scalar, ArrayRef<int64_t> shape, ArrayRef<AffineExpr> index) {
  Type storage = scalar.isInteger(1) ? Type(b.getI8Type()) : scalar;
  LinearForm form;
  SmallVector<int64_t> strides = stridesOf(shape);
  for (auto [e, stride] : llvm::zip_equal(index, strides))
    form.add(linearForm(e, extents), stride);
  form = simplest(form, extents);
  if (record)
    record->push_back({form, {}, false, true});
  if (scalar.isInteger(1))
    element = arith::ExtUIOp::create(b, elementType(storage), element);
  bool deals = std::exchange(dealsNeighbours, false);
  Address place = address(pointer, storage, form, {});
  dealsNeighbours = deals;
  unsigned alignment = place.contiguous ? alignmentOf(pointer, storage, form, {}) : elementBytes(scalar);
  note(pointer, storage, form, false, place, alignment, true);
  if (place.offsets) {
    auto pointers = VectorType::get({lanes}, pointer.getType());
    Value at = LLVM::GEPOp::create(b, pointers, storage, place.base, ArrayRef<LLVM::GEPArg>{place.offsets});
    Value m = tail;
    if (!m) {
      auto bools = VectorType::get({lanes}, b.getI1Type());
      m = arith::ConstantOp::create(b, bools, DenseElementsAttr::get(bools, true));
    }
    LLVM::masked_scatter::create(b, element, at, m, b.getI32IntegerAttr(alignment));
  } else if (place.contiguous && tail) {
    LLVM::MaskedStoreOp::create(b, element, place.base, tail, b.getI32IntegerAttr(alignment));
  } else if (place.contiguous || lane < 0) {
    LLVM::StoreOp::create(b, element, place.base, alignment);
  } else { // Equal in all lanes.
    LLVM::StoreOp::create(b, vector::ExtractOp::create(b, element, ArrayRef<int64_t>{0}), place.base, alignment);
  }
}
