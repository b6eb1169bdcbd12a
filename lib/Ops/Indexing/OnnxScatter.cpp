//===- OnnxScatter.cpp - ONNX operators that put elements -----------------===//

#include "para/Import/OnnxOp.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

/// `data` where no update goes, else the update, alone or combined.
static V merge(OnnxOp &op, V data, V chosen, V update, StringRef reduction) {
  B &b = op.b;
  V both = update;
  if (reduction == "add")
    both = b.add(data, update);
  else if (reduction == "mul")
    both = b.mul(data, update);
  else if (reduction == "max")
    both = b.max(data, update);
  else if (reduction == "min")
    both = b.min(data, update);
  else if (reduction != "none")
    return op.error() << op.type() << " has the unknown reduction '" << reduction << "'", V();
  return b.select(chosen, both, data);
}

/// One place along the axis after another: later updates win, as they do one by one.
static void importScatterElements(OnnxOp &op) {
  B &b = op.b;
  V data = op.input(0), indices = op.input(1), updates = op.input(2);
  int64_t axis = op.getInt("axis", 0);
  if (!data || !indices || !updates || !b.normalizeAxis(axis, data.rank()))
    return;
  bool fits = indices.rank() == data.rank() && indices.shape() == updates.shape() && indices.dim(axis) <= 64;
  for (int64_t i = 0; fits && i < data.rank(); ++i)
    fits = i == axis || indices.dim(i) == data.dim(i);
  if (!fits)
    return void(op.error() << op.type() << " into " << data.type() << " at " << indices.type() << " is not supported");
  std::string reduction = op.getString("reduction", "none");
  V wrapped = b.wrapIndices(indices, data.dim(axis));
  SmallVector<int64_t> line(data.rank(), 1);
  line[axis] = data.dim(axis);
  V places = b.iota(indices.element(), line, axis);
  for (int64_t k = 0; k < indices.dim(axis) && data; ++k) {
    V chosen = b.compare(Comparison::Equal, places, b.sliceDim(wrapped, axis, k, 1));
    data = merge(op, data, chosen, b.sliceDim(updates, axis, k, 1), reduction);
  }
  op.result(data);
}

/// A ScatterND whose indices are known and run over a block of the data.
static void importScatterND(OnnxOp &op) {
  B &b = op.b;
  V data = op.input(0), indices = op.input(1), updates = op.input(2);
  if (!data || !indices || !updates)
    return;
  int64_t last = indices.rank() - 1, width = last >= 0 ? indices.dim(last) : 0;
  if (width < 1 || width > data.rank() || updates.rank() != last + data.rank() - width)
    return void(op.error() << "ScatterND into " << data.type() << " at " << indices.type());
  auto unsupported = [&] { op.error() << "ScatterND is supported where its indices are known and run over a block"; };
  SmallVector<int64_t> low(data.rank(), 0), high(data.rank(), 0), block, order;
  SmallVector<bool> used(last, false);
  for (int64_t c = 0; c < width; ++c) {
    V component = b.wrapIndices(b.squeeze(b.sliceDim(indices, last, c, 1), last), data.dim(c));
    std::optional<AffineIndex> affine = component && component.known ? matchAffine(*component.known) : std::nullopt;
    if (!affine || (affine->dim >= 0 && (affine->steps[affine->dim] != 1 || std::exchange(used[affine->dim], true))))
      return b.hasFailed() ? void() : unsupported();
    int64_t size = affine->dim < 0 ? 1 : indices.dim(affine->dim);
    low[c] = affine->base;
    high[c] = data.dim(c) - affine->base - size;
    if (low[c] < 0 || high[c] < 0)
      return void(op.error() << "an index of ScatterND lies outside of " << data.type());
    block.push_back(size);
    if (affine->dim >= 0)
      order.push_back(affine->dim);
  }
  // Dimensions of the indices along which no component moves must not repeat.
  for (int64_t d = 0; d < last; ++d)
    if (!used[d]) {
      if (indices.dim(d) != 1)
        return unsupported();
      order.push_back(d);
    }
  for (int64_t d = last; d < updates.rank(); ++d)
    order.push_back(d);
  llvm::append_range(block, data.shape().drop_front(width));
  V placed = b.reshape(b.transpose(updates, order), block);
  V inside = b.pad(b.splat(IntegerType::get(data.element().getContext(), 1), block, 1), low, high);
  op.result(merge(op, data, inside, b.pad(placed, low, high), op.getString("reduction", "none")));
}

/// x along one axis at places that lie between its elements.
static V resample(OnnxOp &op, V x, int64_t axis, int64_t size, double scale, bool linear) {
  B &b = op.b;
  std::string mode = op.getString("coordinate_transformation_mode", op.version < 11 ? "asymmetric" : "half_pixel");
  std::string nearest = op.getString("nearest_mode", op.version < 11 ? "floor" : "round_prefer_floor");
  int64_t from = x.dim(axis);
  SmallVector<int64_t> lower, upper;
  std::vector<Scalar> weights;
  for (int64_t i = 0; i < size; ++i) {
    double at;
    if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && size > 1))
      at = (i + 0.5) / scale - 0.5;
    else if (mode == "pytorch_half_pixel")
      at = 0;
    else if (mode == "align_corners")
      at = size == 1 ? 0 : static_cast<double>(i * (from - 1)) / static_cast<double>(size - 1);
    else if (mode == "asymmetric")
      at = i / scale;
    else
      return op.error() << op.type() << " with coordinates '" << mode << "' is not supported", V();
    auto clamp = [&](double place) { return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(from - 1))); };
    if (linear) {
      double inside = std::clamp(at, 0.0, static_cast<double>(from - 1)), whole = std::floor(inside);
      lower.push_back(clamp(whole));
      upper.push_back(clamp(whole + 1));
      weights.push_back(roundTo(x.element(), Scalar::ofFloat(inside - whole)));
      continue;
    }
    double whole = nearest == "floor" ? std::floor(at) : nearest == "ceil" ? std::ceil(at)
                   : nearest == "round_prefer_ceil" ? std::floor(at + 0.5) : std::ceil(at - 0.5);
    lower.push_back(clamp(whole));
  }
  // Each element several times is a broadcast.
  int64_t times = from > 0 ? size / from : 0;
  auto repeats = [&](int64_t i) { return lower[i] == i / times; };
  if (!linear && times * from == size && llvm::all_of(llvm::seq<int64_t>(0, size), repeats)) {
    SmallVector<int64_t> spread(x.shape()), shape(x.shape());
    spread.insert(spread.begin() + axis + 1, times);
    shape[axis] = size;
    return b.reshape(b.broadcastTo(b.unsqueeze(x, axis + 1), spread), shape);
  }
  V low = b.gather(x, b.ints(lower), axis);
  if (!linear || !low)
    return low;
  SmallVector<int64_t> line(x.rank(), 1);
  line[axis] = size;
  V weight = b.known(RankedTensorType::get(line, x.element()), std::move(weights));
  return b.add(low, b.mul(b.sub(b.gather(x, b.ints(upper), axis), low), weight));
}

static void importResize(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  std::string mode = op.getString("mode", "nearest");
  if (!x)
    return;
  size_t scalesAt = op.version < 11 ? 1 : 2;
  std::optional<SmallVector<int64_t>> axes = op.getInts("axes"), sizes;
  SmallVector<double> scales;
  if (op.has(scalesAt) && countElements(op.input(scalesAt).shape()) > 0) {
    V given = op.input(scalesAt);
    std::optional<std::vector<Scalar>> values = given.known && given.isFloat() ? given.known->read() : std::nullopt;
    if (!values)
      return void(op.error() << "the scales of " << op.type() << " must be known while compiling");
    for (Scalar value : *values)
      scales.push_back(value.f);
  } else if (op.has(3)) {
    sizes = op.ints(3);
    if (!sizes)
      return;
  }
  size_t count = sizes ? sizes->size() : scales.size();
  bool linear = mode == "linear";
  if ((!linear && mode != "nearest") || op.getInt("antialias", 0) || op.getString("keep_aspect_ratio_policy", "stretch") != "stretch" ||
      !x.isFloat() || count == 0 || count != (axes ? axes->size() : static_cast<size_t>(x.rank())))
    return void(op.error() << op.type() << " of " << x.type() << " in mode '" << mode << "' is not supported");
  for (size_t i = 0; i < count && x; ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    if (!b.normalizeAxis(axis, x.rank()))
      return;
    double wanted = sizes ? static_cast<double>((*sizes)[i]) : std::floor(x.dim(axis) * scales[i]);
    if (!(wanted >= 1 && wanted <= 65536) || x.dim(axis) == 0)
      return void(op.error() << op.type() << " to an impossible size");
    int64_t size = static_cast<int64_t>(wanted);
    if (size != x.dim(axis))
      x = resample(op, x, axis, size, sizes ? wanted / static_cast<double>(x.dim(axis)) : scales[i], linear);
  }
  op.result(x);
}

void registerScatterOnnx(OnnxRegistry &r);
void registerScatterOnnx(OnnxRegistry &r) {
  r.add("ScatterElements", 11, importScatterElements);
  r.add("ScatterND", 11, importScatterND);
  r.add("Resize", 10, importResize);
  r.add("Upsample", 9, importResize);
}
