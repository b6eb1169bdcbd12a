//===- KernelEmitter.cpp - Elements of a fused body -----------------------===//
#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace para;

KernelEmitter::KernelEmitter(ImplicitLocOpBuilder &b, const KernelBody &body, FactsCache &facts, Operation *at)
    : ElementEmitter(b), body(body), facts(facts), at(at) {}

void KernelEmitter::startBody() {
  memo.clear();
  evenPositions.clear();
}

void KernelEmitter::finishBody() {
  extents.truncate(extents.size() - boundedAs.size());
  boundedAs.clear();
}

Coordinate KernelEmitter::bounded(const Coordinate &coordinate, int64_t size) {
  auto dim = dyn_cast<AffineDimExpr>(coordinate.affine);
  if (coordinate.dynamic || isa<AffineConstantExpr>(coordinate.affine) || (dim && extents[dim.getPosition()] <= size))
    return coordinate;
  unsigned loops = extents.size() - boundedAs.size();
  for (auto [i, known] : llvm::enumerate(boundedAs))
    if (known == coordinate.affine && extents[loops + i] == size)
      return {getAffineDimExpr(loops + i, b.getContext())};
  boundedAs.push_back(coordinate.affine);
  extents.push_back(size);
  return {getAffineDimExpr(extents.size() - 1, b.getContext())};
}

LinearForm KernelEmitter::resolve(const LinearForm &form) {
  LinearForm result = form;
  // Backwards, since a later one may be made of an earlier one.
  for (size_t i = boundedAs.size(); i-- > 0;) {
    AffineExpr dim = getAffineDimExpr(extents.size() - boundedAs.size() + i, b.getContext());
    if (llvm::any_of(result.terms, [&](auto &term) { return term.first.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition()); }))
      result = simplest(linearForm(result.toExpr(b.getContext()).replace(dim, boundedAs[i]), extents), extents);
  }
  return result;
}

Type KernelEmitter::elementType(Type scalar) { return lane >= 0 ? Type(VectorType::get({lanes}, scalar)) : scalar; }

Value KernelEmitter::integer(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }

Value KernelEmitter::splat(Value scalar) {
  if (lane < 0 || isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, elementType(scalar.getType()), scalar);
}

Value KernelEmitter::element(Value v, ArrayRef<AffineExpr> index) {
  return element(v, SmallVector<Coordinate>(llvm::map_range(index, [](AffineExpr e) { return Coordinate{e}; })));
}

Value KernelEmitter::element(Value v, ArrayRef<Coordinate> index) {
  if (Value known = rowValues.lookup(v))
    return splat(known);
  Key key{v.getAsOpaquePointer(), {}, guard.getAsOpaquePointer()};
  for (const Coordinate &c : index) {
    std::get<1>(key).push_back(const_cast<void *>(c.affine.getAsOpaquePointer()));
    std::get<1>(key).push_back(c.dynamic.getAsOpaquePointer());
  }
  if (auto it = memo.find(key); it != memo.end())
    return it->second;
  Value result;
  Operation *op = v.getDefiningOp();
  Type scalar = getElementTypeOrSelf(v.getType());
  auto stored = body.storedIn.find(v);
  bool isStored = stored != body.storedIn.end() && stored->second < pass;
  if (isStored && llvm::is_contained(body.passes[stored->second].kept, v)) { // one row
    unsigned prefix = *prefixOf(shapeOf(v), body.rows);
    result = load(scratch.lookup(v), scalar, shapeOf(v).drop_front(prefix), index.drop_front(prefix));
  } else if (!op || isStored) {
    result = load(pointers.lookup(v), scalar, shapeOf(v), index);
  } else {
    assert(!facts.get(op).reduction && "a reduction is finished before its result is used");
    Operation *outer = std::exchange(current, op);
    if (facts.get(op).accumulate) // Adding to what is there is done where it is stored.
      result = operand(0, index);
    else
      result = cast<ElementOpInterface>(op).emitElement(*this, 0, index);
    current = outer;
  }
  memo[key] = result;
  return result;
}

Value KernelEmitter::term(Operation *op, ArrayRef<AffineExpr> index) {
  Operation *outer = std::exchange(current, op);
  SmallVector<Coordinate> coordinates(llvm::map_range(index, [](AffineExpr e) { return Coordinate{e}; }));
  Value result = cast<ElementOpInterface>(op).emitElement(*this, 0, coordinates);
  current = outer;
  return result;
}

Value KernelEmitter::operand(unsigned number, ArrayRef<Coordinate> index) {
  // The same element at another spelling of its coordinates is one element.
  Value v = current->getOperand(number);
  SmallVector<Coordinate> simple(index);
  for (Coordinate &c : simple)
    c.affine = linearForm(c.affine, extents).toExpr(b.getContext());
  return element(v, simple);
}

Value KernelEmitter::position(const Coordinate &coordinate) {
  LinearForm form = resolve(simplest(linearForm(coordinate.affine, extents), extents));
  Value affine = lane >= 0 ? lanesOf(form) : scalarOf(form);
  if (lane >= 0 && !coordinate.dynamic)
    noteEven(affine, form);
  if (record) {
    SmallVector<unsigned> dims;
    for (unsigned d = 0; d < extents.size(); ++d)
      if (form.factorOf(d) != std::optional<int64_t>(0))
        dims.push_back(d);
    // A value of its own, so that what depends on it is known.
    affine = arith::AddIOp::create(b, affine, constantInteger(b.getI64Type(), 0));
    loadedDims[affine] = dims;
  }
  if (!coordinate.dynamic)
    return affine;
  if (form.terms.empty() && form.constant == 0)
    return splat(coordinate.dynamic);
  return arith::AddIOp::create(b, affine, splat(coordinate.dynamic));
}

int64_t KernelEmitter::axisSize(StringRef axis) {
  auto module = at->getParentOfType<ModuleOp>();
  if (axis == "microbatch") {
    auto count = module->getAttrOfType<IntegerAttr>("para.microbatches");
    return count ? count.getInt() : 1;
  }
  auto mesh = module->getAttrOfType<MeshAttr>("para.mesh");
  return mesh ? mesh.getSize(axis) : 1;
}

Value KernelEmitter::shardBegin(ArrayRef<StringRef> axes, int64_t size, int64_t unit) {
  Value begin = integer(0);
  int64_t range = (size + unit - 1) / unit;
  for (StringRef axis : axes) {
    range = (range + axisSize(axis) - 1) / axisSize(axis);
    begin = arith::AddIOp::create(b, begin, arith::MulIOp::create(b, number(axis), integer(range * unit)));
  }
  return splat(begin);
}

Value KernelEmitter::shardValid(ArrayRef<StringRef> axes, int64_t size, int64_t unit) {
  int64_t range = (size + unit - 1) / unit;
  Value left = integer(range);
  for (StringRef axis : axes) {
    range = (range + axisSize(axis) - 1) / axisSize(axis);
    Value rest = arith::SubIOp::create(b, left, arith::MulIOp::create(b, number(axis), integer(range)));
    left = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, rest, integer(0)), integer(range));
  }
  return splat(arith::MulIOp::create(b, left, integer(unit)));
}

Value KernelEmitter::guarded(Value condition, function_ref<Value()> make, Value otherwise) {
  Value outer = guard;
  guard = outer ? arith::AndIOp::create(b, outer, condition).getResult() : condition;
  Value made = make();
  guard = outer;
  return arith::SelectOp::create(b, condition, made, otherwise);
}

Value KernelEmitter::table(DenseElementsAttr values, const Coordinate &linear) {
  // A constant in the module, one for equal contents.
  auto module = at->getParentOfType<ModuleOp>();
  Type scalar = values.getElementType(), storage = scalar.isInteger(1) ? b.getI8Type() : scalar;
  if (scalar.isInteger(1))
    values = values.mapValues(storage, [](const APInt &v) { return v.zext(8); });
  values = values.reshape(RankedTensorType::get({values.getNumElements()}, storage));
  std::string name;
  for (auto global : module.getOps<LLVM::GlobalOp>())
    if (global.getValueOrNull() == values)
      name = global.getSymName().str();
  auto type = LLVM::LLVMArrayType::get(storage, values.getNumElements());
  if (name.empty()) {
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(module.getBody());
    unsigned count = std::distance(module.getOps<LLVM::GlobalOp>().begin(), module.getOps<LLVM::GlobalOp>().end());
    name = "table_" + std::to_string(count);
    LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, values);
  }
  Value pointer = LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), name);
  return load(pointer, scalar, {values.getNumElements()}, {linear});
}

Value KernelEmitter::selectTail(Value x, Value otherwise) {
  return tail ? arith::SelectOp::create(b, tail, x, otherwise).getResult() : x;
}
