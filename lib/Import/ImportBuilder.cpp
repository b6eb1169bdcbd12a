#include "para/Import/ImportBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace para {

using V = ImportValue;

InFlightDiagnostic ImportBuilder::error() {
  failed = true;
  return emitError(t.loc);
}

bool ImportBuilder::check(V x) {
  if (x && !x.isTensor())
    error() << "a sequence stands where a tensor is needed";
  return x.isTensor();
}

bool ImportBuilder::checkShape(Dims shape) {
  constexpr int64_t limit = int64_t(1) << 50;
  if (llvm::all_of(shape, [](int64_t size) { return size >= 0; }) && countElements(shape) < limit)
    return true;
  error() << "the shape " << printShape(shape) << " is negative or too large";
  return false;
}

bool ImportBuilder::normalizeAxis(int64_t &axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    error() << "axis " << axis << " does not exist at rank " << rank;
    return false;
  }
  axis += axis < 0 ? rank : 0;
  return true;
}

/// Builds a constant, unless the file must be named as its source.
Value ImportBuilder::materializeConstant(KnownTensor &x) {
  Known compact = x.compact();
  const std::vector<Scalar> &data = *x.data();
  Type element = x.element();
  if (compact->isSplat() && countElements(x.shape()) > 0) {
    Scalar value = data[x.offset];
    Attribute attr = x.isFloat() ? Attribute(FloatAttr::get(element, value.f)) : Attribute(IntegerAttr::get(element, value.i));
    return t.constant(llvm::cast<ElementsAttr>(Attribute(DenseElementsAttr::get(x.type, attr))));
  }
  int64_t count = countElements(compact->shape());
  if (std::optional<AffineIndex> affine = count >= 8 ? matchAffine(*compact) : std::nullopt; affine && affine->dim >= 0) {
    int64_t size = compact->shape()[affine->dim], step = affine->steps[affine->dim];
    Type i64 = x.isFloat() ? Type(t.builder.getI64Type()) : element;
    auto type = RankedTensorType::get({size}, i64);
    Value line = t.iota(type, 0);
    if (step != 1)
      line = t.mul(line, materialize(V(KnownTensor::splat(type, Scalar::ofInt(step)))));
    if (affine->base != 0)
      line = t.add(line, materialize(V(KnownTensor::splat(type, Scalar::ofInt(affine->base)))));
    line = t.cast(line, element);
    return t.broadcast(line, x.shape(), {affine->dim});
  }
  std::vector<Scalar> values = *compact->read();
  DenseElementsAttr attr;
  if (auto type = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> floats;
    for (Scalar value : values) {
      APFloat f(value.f);
      bool lost;
      f.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
      floats.push_back(f);
    }
    attr = DenseElementsAttr::get(compact->type, floats);
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    SmallVector<APInt> integers;
    for (Scalar value : values)
      integers.push_back(APInt(64, value.i).trunc(width));
    attr = DenseElementsAttr::get(compact->type, integers);
  }
  Value small = t.constant(llvm::cast<ElementsAttr>(Attribute(attr)));
  return t.broadcastTo(small, x.shape());
}

bool ImportBuilder::isConstant(KnownTensor &x) {
  constexpr int64_t mostBytes = 1 << 16;
  int64_t bytes = x.getCompactCount() * llvm::divideCeil(x.element().getIntOrFloatBitWidth(), 8);
  return x.data() && (bytes <= mostBytes || !x.emit || matchAffine(*x.compact()));
}

Value ImportBuilder::materialize(V x) {
  if (!x.known)
    return x.value;
  KnownTensor &k = *x.known;
  if (k.emitted)
    return k.emitted;
  if (isConstant(k))
    return k.emitted = materializeConstant(k);
  if (!k.emit) {
    error() << "a tensor of " << k.getCompactCount() << " elements is too large for a constant";
    return k.emitted = t.splat(k.type, 0.0); // The import has failed; go on to find more errors.
  }
  Value value = k.emit();
  // A coordinate is counted in i64.
  return k.emitted = t.cast(value, k.element());
}

V ImportBuilder::matmul(V x, V y) {
  if (!check(x) || !check(y))
    return {};
  if (x.element() != y.element())
    return error() << "operands have element types " << x.element() << " and " << y.element(), V();
  if (!x.isFloat())
    return error() << "integer matrix products are not supported", V();
  if (x.rank() == 0 || y.rank() == 0)
    return error() << "operands need a dimension", V();
  // Vectors are matrices of one row or column.
  bool row = x.rank() == 1, column = y.rank() == 1;
  V a = row ? unsqueeze(x, 0) : x, c = column ? unsqueeze(y, 1) : y;
  V aBatch = splat(a.element(), a.shape().drop_back(2), 0), cBatch = splat(a.element(), c.shape().drop_back(2), 0);
  if (a.dim(a.rank() - 1) != c.dim(c.rank() - 2))
    return error() << "cannot multiply " << x.type() << " and " << y.type(), V();
  if (!commonShape({aBatch, cBatch}))
    return {};
  V result = t.matmul(materialize(a), materialize(c));
  if (column)
    result = squeeze(result, result.rank() - 1);
  return row ? squeeze(result, result.rank() - (column ? 1 : 2)) : result;
}

V ImportBuilder::dot(V x, V y, Dims xBatch, Dims yBatch, Dims xContract, Dims yContract) {
  if (!check(x) || !check(y))
    return {};
  if (x.element() != y.element() || !x.isFloat())
    return error() << "cannot multiply " << x.type() << " and " << y.type(), V();
  return t.dot(materialize(x), materialize(y), xBatch, yBatch, xContract, yContract);
}

V ImportBuilder::wrapIndices(V indices, int64_t size) {
  if (!check(indices))
    return {};
  if (indices.isFloat())
    return error() << "indices are no integers: " << indices.type(), V();
  if (!indices.known && size > 0)
    return V(t.index(indices.value, size, /*fromEnd=*/true));
  return select(compare(Comparison::Less, indices, scalar(indices, 0)), add(indices, static_cast<double>(size)), indices);
}

V ImportBuilder::gather(V table, V indices, int64_t dim) {
  if (!check(table) || !check(indices))
    return {};
  int64_t size = table.dim(dim);
  indices = wrapIndices(indices, size);
  if (!indices)
    return {};
  SmallVector<int64_t> shape(table.shape().take_front(dim));
  shape.append(indices.shape().begin(), indices.shape().end());
  llvm::append_range(shape, table.shape().drop_front(dim + 1));
  if (!checkShape(shape))
    return {};
  if (!indices.known)
    return V(t.gather(materialize(table), materialize(indices), dim));

  // Known indices in equal steps cut a slice.
  if (std::optional<AffineIndex> affine = matchAffine(*indices.known)) {
    int64_t count = affine->dim < 0 ? 1 : indices.dim(affine->dim);
    V part = sliceDim(table, dim, affine->base, count, affine->dim < 0 ? 1 : affine->steps[affine->dim]);
    if (!part)
      return {};
    SmallVector<int64_t> spread(shape);
    for (int64_t i = 0; i < indices.rank(); ++i)
      spread[dim + i] = i == affine->dim ? count : 1;
    return broadcastTo(reshape(part, spread), shape);
  }
  std::optional<std::vector<int64_t>> places = indices.known->readInts();
  if (places && llvm::any_of(*places, [&](int64_t i) { return i < 0 || i >= size; }))
    return error() << "an index lies outside of a dimension of size " << size, V();
  auto emit = [this, table, indices, dim] { return t.gather(materialize(table), materialize(indices), dim); };
  if (!table.known || !places)
    return V(emit());
  Known source = table.known;
  auto type = table.type().clone(shape);
  SmallVector<int64_t> outer(source->shape().take_front(dim)), inner(source->shape().drop_front(dim + 1));
  Known result = KnownTensor::lazy(type, {source, indices.known}, [=](std::vector<Scalar> &out) {
    const std::vector<Scalar> &data = *source->data();
    SmallVector<int64_t> outerStrides(ArrayRef(source->strides).take_front(dim)), innerStrides(ArrayRef(source->strides).drop_front(dim + 1));
    int64_t at[] = {source->offset};
    forEachOffset(outer, {outerStrides}, at, [&] {
      for (int64_t place : *places) {
        int64_t from[] = {at[0] + place * source->strides[dim]};
        forEachOffset(inner, {innerStrides}, from, [&] { out.push_back(data[from[0]]); });
      }
    });
  });
  result->emit = emit;
  return result;
}

V ImportBuilder::softmax(V x, int64_t dim) {
  return !check(x) ? V() : !x.isFloat() ? (error() << "needs floats, not " << x.type(), V()) : V(t.softmax(materialize(x), dim));
}
V ImportBuilder::logSoftmax(V x, int64_t dim) {
  return !check(x) ? V() : !x.isFloat() ? (error() << "needs floats, not " << x.type(), V()) : cast(V(t.logSoftmax(materialize(x), dim)), x.element());
}

} // namespace para
