//===- Onnx.cpp - ONNX operators that look up elements --------------------===//

#include "para/Import/OnnxOp.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

static void importGather(OnnxOp &op) {
  V table = op.input(0), indices = op.input(1);
  int64_t axis = op.getInt("axis", 0);
  if (table && indices && op.b.normalizeAxis(axis, table.rank()))
    op.result(op.b.gather(table, indices, axis));
}

/// The element of x along `axis` whose place is `indices`, as a sum with one term that is not zero.
static V pick(B &b, V x, V indices, int64_t axis) {
  // x as [..., 1, n, ...], indices as [..., k, 1, ...].
  V places = b.unsqueeze(indices, axis + 1), rows = b.unsqueeze(x, axis);
  if (!places || !rows)
    return {};
  SmallVector<int64_t> line(rows.rank(), 1);
  line[axis + 1] = x.dim(axis);
  V chosen = b.compare(Comparison::Equal, b.iota(indices.element(), line, axis + 1), places);
  if (x.isBool())
    return b.reduce(ReductionKind::Max, b.mul(chosen, rows), {axis + 1}, false);
  return b.sum(b.select(chosen, rows, b.scalar(x, 0)), {axis + 1}, false);
}

static void importGatherElements(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), indices = op.input(1);
  int64_t axis = op.getInt("axis", 0);
  if (!x || !indices || !b.normalizeAxis(axis, x.rank()))
    return;
  if (indices.rank() != x.rank())
    return void(op.error() << "GatherElements of " << x.type() << " at " << indices.type());
  // Other dimensions are cut to those of the indices.
  SmallVector<int64_t> sizes(indices.shape());
  sizes[axis] = x.dim(axis);
  V cut = b.slice(x, SmallVector<int64_t>(x.rank(), 0), sizes);
  if (!cut)
    return;
  if (cut.known && cut.known->isSplat())
    return op.result(b.broadcastTo(b.sliceDim(cut, axis, 0, 1), indices.shape()));
  op.result(pick(b, cut, b.wrapIndices(indices, x.dim(axis)), axis));
}

/// A GatherND whose index components each move along their own dimension of the result, or not at all, cuts a slice of the
/// table, permutes and repeats it. Exported masks are looked up so.
static V gatherSlices(B &b, V table, ArrayRef<V> components, ArrayRef<int64_t> outer) {
  SmallVector<int64_t> offsets(table.rank(), 0), sizes(table.shape()), strides(table.rank(), 1);
  SmallVector<std::pair<int64_t, int64_t>> order; // dimension of the result, component
  SmallVector<int64_t> moving;
  for (auto [c, component] : llvm::enumerate(components)) {
    std::optional<AffineIndex> affine = component.known ? matchAffine(*component.known) : std::nullopt;
    if (!affine)
      return {};
    offsets[c] = affine->base;
    sizes[c] = affine->dim < 0 ? 1 : outer[affine->dim];
    strides[c] = affine->dim < 0 ? 1 : affine->steps[affine->dim];
    if (affine->dim < 0)
      continue;
    if (llvm::any_of(order, [&](auto &entry) { return entry.first == affine->dim; }))
      return {};
    order.emplace_back(affine->dim, moving.size());
    moving.push_back(sizes[c]);
  }
  V part = b.slice(table, offsets, sizes, strides);
  SmallVector<int64_t> rest(table.shape().drop_front(components.size()));
  SmallVector<int64_t> shape(moving), permutation, spread(outer.size(), 1), full(outer);
  llvm::append_range(shape, rest);
  llvm::sort(order);
  for (auto [dim, place] : order) {
    permutation.push_back(place);
    spread[dim] = outer[dim];
  }
  for (size_t i = 0; i < rest.size(); ++i)
    permutation.push_back(moving.size() + i);
  llvm::append_range(spread, rest);
  llvm::append_range(full, rest);
  return b.broadcastTo(b.reshape(b.transpose(b.reshape(part, shape), permutation), spread), full);
}

static void importGatherND(OnnxOp &op) {
  B &b = op.b;
  V table = op.input(0), indices = op.input(1);
  int64_t batch = op.getInt("batch_dims", 0);
  if (!table || !indices)
    return;
  int64_t last = indices.rank() - 1, width = last >= 0 ? indices.dim(last) : 0;
  if (last < 0 || batch < 0 || batch > last || width < 1 || batch + width > table.rank() ||
      table.shape().take_front(batch) != indices.shape().take_front(batch) || indices.isFloat())
    return void(op.error() << "GatherND of " << table.type() << " at " << indices.type() << " with " << batch << " batch dimensions");
  SmallVector<int64_t> outer(indices.shape().drop_back());
  SmallVector<V> components;
  for (int64_t i = 0; i < batch; ++i)
    components.push_back(b.iota(indices.element(), outer, i));
  bool inParts = indices.known && static_cast<int64_t>(indices.known->parts.size()) == width;
  for (int64_t c = 0; c < width; ++c) {
    V part = inParts ? V(indices.known->parts[c]) : b.sliceDim(indices, last, c, 1);
    V component = b.wrapIndices(b.squeeze(part, last), table.dim(batch + c));
    if (!component)
      return;
    components.push_back(component);
  }
  if (V result = gatherSlices(b, table, components, outer); result || b.hasFailed())
    return op.result(result);
  // One index into the dimensions laid flat.
  V flat;
  int64_t rows = 1;
  for (auto [c, component] : llvm::enumerate(components)) {
    flat = flat ? b.add(b.mul(flat, static_cast<double>(table.dim(c))), component) : component;
    rows *= table.dim(c);
  }
  SmallVector<int64_t> shape = {rows};
  llvm::append_range(shape, table.shape().drop_front(components.size()));
  op.result(b.gather(b.reshape(table, shape), flat, 0));
}

static void importOneHot(OnnxOp &op) {
  B &b = op.b;
  V indices = op.input(0), values = op.input(2);
  std::optional<double> depth = op.number(1, 0);
  if (!indices || !values || !depth)
    return;
  int64_t axis = op.getInt("axis", -1), size = static_cast<int64_t>(*depth);
  if (!b.normalizeAxis(axis, indices.rank() + 1) || !b.checkShape({size}))
    return;
  if (values.rank() != 1 || values.dim(0) != 2)
    return void(op.error() << "OneHot needs two values");
  if (indices.isFloat())
    indices = b.cast(indices, b.t.builder.getI64Type());
  // Places outside are legal here: they are off everywhere.
  V wrapped = b.select(b.compare(Comparison::Less, indices, b.scalar(indices, 0)), b.add(indices, static_cast<double>(size)), indices);
  V places = b.unsqueeze(wrapped, axis);
  if (!places)
    return;
  SmallVector<int64_t> shape(places.shape());
  shape[axis] = size;
  V chosen = b.compare(Comparison::Equal, b.iota(indices.element(), shape, axis), places);
  op.result(b.select(chosen, b.reshape(b.sliceDim(values, 0, 1, 1), {}), b.reshape(b.sliceDim(values, 0, 0, 1), {})));
}

/// Place of the highest element along a dimension, which stays with size 1; of several the first or the last.
static V findHighest(B &b, V x, int64_t dim, bool last) {
  Type i64 = b.t.builder.getI64Type();
  V highest = b.reduce(ReductionKind::Max, x, {dim}, true);
  V places = x ? b.iota(i64, x.shape(), dim) : V();
  V other = b.scalar(places, last ? -1.0 : static_cast<double>(x.dim(dim)));
  return b.reduce(last ? ReductionKind::Max : ReductionKind::Min, b.select(b.compare(Comparison::Equal, x, highest), places, other), {dim}, true);
}

static void importArgMax(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  int64_t axis = op.getInt("axis", 0);
  if (!x || !b.normalizeAxis(axis, x.rank()))
    return;
  if (op.type() == "ArgMin")
    x = b.neg(x);
  V place = findHighest(b, x, axis, op.getInt("select_last_index", 0));
  op.result(op.getInt("keepdims", 1) ? place : place ? b.squeeze(place, axis) : place);
}

/// The k highest elements one after another; k is small where models are routed by it.
static void importTopK(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  std::optional<double> k = op.version < 10 ? static_cast<double>(op.getInt("k", 1)) : op.number(1, 1);
  int64_t axis = op.getInt("axis", -1);
  if (!x || !k || !b.normalizeAxis(axis, x.rank()))
    return;
  if (*k < 0 || *k > 64 || *k > x.dim(axis) || !x.isFloat())
    return void(op.error() << "TopK of " << *k << " elements of " << x.type() << " is not supported");
  bool largest = op.getInt("largest", 1);
  V left = largest ? x : b.neg(x);
  SmallVector<V> values, places;
  for (int64_t i = 0; i < static_cast<int64_t>(*k); ++i) {
    V place = findHighest(b, left, axis, false);
    if (!place)
      return;
    V chosen = b.compare(Comparison::Equal, b.iota(place.element(), x.shape(), axis), place);
    values.push_back(b.sum(b.select(chosen, x, b.scalar(x, 0)), {axis}, true));
    places.push_back(place);
    left = b.select(chosen, b.scalar(x, -std::numeric_limits<double>::infinity()), left);
  }
  op.result(b.concat(values, axis));
  op.result(b.concat(places, axis), 1);
}

static void importCumSum(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  std::optional<double> at = op.number(1, 0);
  if (!x || !at)
    return;
  int64_t axis = static_cast<int64_t>(*at);
  if (!b.normalizeAxis(axis, x.rank()))
    return;
  int64_t size = x.dim(axis);
  bool reverse = op.getInt("reverse", 0);
  auto shift = [&](V v, int64_t by) {
    SmallVector<int64_t> low(x.rank(), 0), high(x.rank(), 0);
    (reverse ? high : low)[axis] = by;
    return b.pad(b.sliceDim(v, axis, reverse ? by : 0, size - by), low, high);
  };
  if (op.getInt("exclusive", 0) && size > 0)
    x = shift(x, 1);
  // After each step an element holds the sum of twice as many.
  for (int64_t by = 1; by < size && x; by *= 2)
    x = b.add(x, shift(x, by));
  op.result(x);
}

void registerScatterOnnx(OnnxRegistry &r);

void para::registerIndexingOnnx(OnnxRegistry &r) {
  r.add("Gather", 1, importGather);
  r.add("GatherElements", 11, importGatherElements);
  r.add("GatherND", 11, importGatherND);
  r.add("OneHot", 9, importOneHot);
  r.add({"ArgMax", "ArgMin"}, 1, importArgMax);
  r.add("TopK", 1, importTopK);
  r.add("CumSum", 11, importCumSum);
  registerScatterOnnx(r);
}
