//===- Onnx.cpp - ONNX operators that move elements -----------------------===//

#include "para/Import/OnnxOp.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

static void importReshape(OnnxOp &op) {
  V x = op.input(0);
  std::optional<SmallVector<int64_t>> target = op.version < 5 ? op.getInts("shape") : op.ints(1);
  if (!x || !target)
    return;
  bool keepZero = op.getInt("allowzero", 0);
  int64_t infer = -1, rest = 1;
  for (auto [i, size] : llvm::enumerate(*target)) {
    if (size == 0 && !keepZero) {
      if (static_cast<int64_t>(i) >= x.rank())
        return void(op.error() << "Reshape copies dimension " << i << ", which its operand does not have");
      size = x.dim(i);
    }
    if (size == -1 && infer < 0) {
      infer = i;
      continue;
    }
    if (size < 0)
      return void(op.error() << "Reshape to the impossible shape " << printShape(*target));
    rest = countElements({rest, size});
  }
  int64_t count = countElements(x.shape());
  bool possible = infer < 0 || (rest == 0 ? count == 0 : count % rest == 0);
  if (infer >= 0)
    (*target)[infer] = rest == 0 ? 0 : count / rest;
  SmallVector<int64_t> shape = op.rebind(x, *target, true);
  if (!possible && countElements(shape) != count && !op.b.hasFailed())
    return void(op.error() << printShape(x.shape()) << " cannot be reshaped to " << printShape(shape));
  if (!op.b.hasFailed())
    op.result(op.b.reshape(x, shape));
}

static void importFlatten(OnnxOp &op) {
  V x = op.input(0);
  int64_t axis = op.getInt("axis", 1);
  if (!x)
    return;
  if (axis != x.rank() && !op.b.normalizeAxis(axis, x.rank()))
    return;
  op.result(op.b.reshape(x, {countElements(x.shape().take_front(axis)), countElements(x.shape().drop_front(axis))}));
}

static void importSqueeze(OnnxOp &op) {
  V x = op.input(0);
  std::optional<SmallVector<int64_t>> axes = op.axes(13);
  if (!x || op.b.hasFailed())
    return;
  SmallVector<bool> drop(x.rank(), false);
  if (axes)
    for (int64_t axis : *axes) {
      if (!op.b.normalizeAxis(axis, x.rank()))
        return;
      if (x.dim(axis) != 1)
        return void(op.error() << "Squeeze of dimension " << axis << ", whose size is " << x.dim(axis));
      drop[axis] = true;
    }
  else
    for (int64_t i = 0; i < x.rank(); ++i)
      drop[i] = x.dim(i) == 1;
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!drop[i])
      shape.push_back(x.dim(i));
  op.result(op.b.reshape(x, shape));
}

static void importUnsqueeze(OnnxOp &op) {
  V x = op.input(0);
  std::optional<SmallVector<int64_t>> axes = op.axes(13);
  if (!x || op.b.hasFailed())
    return;
  if (!axes)
    return void(op.error() << "Unsqueeze needs axes");
  int64_t rank = x.rank() + axes->size();
  SmallVector<bool> added(rank, false);
  for (int64_t axis : *axes) {
    if (!op.b.normalizeAxis(axis, rank))
      return;
    if (std::exchange(added[axis], true))
      return void(op.error() << "Unsqueeze names an axis twice");
  }
  SmallVector<int64_t> shape;
  for (int64_t i = 0, from = 0; i < rank; ++i)
    shape.push_back(added[i] ? 1 : x.dim(from++));
  op.result(op.b.reshape(x, shape));
}

static void importTranspose(OnnxOp &op) {
  V x = op.input(0);
  if (!x)
    return;
  SmallVector<int64_t> reversed;
  for (int64_t i = x.rank(); i-- > 0;)
    reversed.push_back(i);
  op.result(op.b.transpose(x, op.getInts("perm").value_or(reversed)));
}

static void importExpand(OnnxOp &op) {
  V x = op.input(0);
  std::optional<SmallVector<int64_t>> shape = op.ints(1);
  if (!x || !shape || !op.b.checkShape(*shape))
    return;
  *shape = op.rebind(x, *shape, false);
  // Both sides broadcast.
  V like = op.b.splat(x.element(), *shape, 0);
  if (std::optional<SmallVector<int64_t>> common = op.b.commonShape({x, like}))
    op.result(op.b.broadcastTo(x, *common));
}

static void importTile(OnnxOp &op) {
  V x = op.input(0);
  std::optional<SmallVector<int64_t>> repeats = op.ints(1);
  if (!x || !repeats)
    return;
  if (static_cast<int64_t>(repeats->size()) != x.rank())
    return void(op.error() << "Tile needs a count for each dimension");
  SmallVector<int64_t> apart, repeated, shape;
  for (int64_t i = 0; i < x.rank(); ++i) {
    int64_t count = (*repeats)[i];
    if (!op.b.checkShape({count, x.dim(i)}))
      return;
    apart.append({1, x.dim(i)});
    repeated.append({count, x.dim(i)});
    shape.push_back(count * x.dim(i));
  }
  op.result(op.b.reshape(op.b.broadcastTo(op.b.reshape(x, apart), repeated), shape));
}

static void importSlice(OnnxOp &op) {
  V x = op.input(0);
  bool attributes = op.version < 10;
  std::optional<SmallVector<int64_t>> starts = attributes ? op.getInts("starts") : op.ints(1);
  std::optional<SmallVector<int64_t>> ends = attributes ? op.getInts("ends") : op.ints(2);
  std::optional<SmallVector<int64_t>> axes = op.axes(10, 3), steps;
  if (!attributes && op.has(4))
    steps = op.ints(4);
  if (!x || !starts || !ends || op.b.hasFailed())
    return;
  size_t count = starts->size();
  if (ends->size() != count || (axes && axes->size() != count) || (steps && steps->size() != count))
    return void(op.error() << "Slice needs as many starts as ends, axes and steps");
  SmallVector<int64_t> offsets(x.rank(), 0), sizes(x.shape()), strides(x.rank(), 1);
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i), step = steps ? (*steps)[i] : 1;
    if (!op.b.normalizeAxis(axis, x.rank()))
      return;
    if (step == 0 || step == INT64_MIN)
      return void(op.error() << "Slice with a step of " << step);
    int64_t size = x.dim(axis), last = step > 0 ? size : size - 1, first = step > 0 ? 0 : -1;
    auto clamp = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, first, last); };
    int64_t start = clamp((*starts)[i]), end = clamp((*ends)[i]);
    int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
    offsets[axis] = start;
    sizes[axis] = span <= 0 ? 0 : (span - 1) / stride + 1;
    strides[axis] = step;
    if (sizes[axis] == 0)
      offsets[axis] = 0;
  }
  op.result(op.b.slice(x, offsets, sizes, strides));
}

/// Sizes of the parts that Split and SplitToSequence make.
static std::optional<SmallVector<int64_t>> equalParts(OnnxOp &op, int64_t size, int64_t part) {
  if (part <= 0) {
    op.error() << op.type() << " into parts of size " << part;
    return std::nullopt;
  }
  SmallVector<int64_t> sizes;
  for (int64_t at = 0; at < size; at += part) {
    if (sizes.size() > 65536) {
      op.error() << op.type() << " makes too many parts";
      return std::nullopt;
    }
    sizes.push_back(std::min(part, size - at));
  }
  return sizes;
}

static std::vector<V> split(OnnxOp &op, V x, int64_t axis, ArrayRef<int64_t> sizes) {
  std::vector<V> parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    parts.push_back(op.b.sliceDim(x, axis, at, size));
    if (!parts.back())
      return {};
    at += size;
  }
  if (at != x.dim(axis))
    op.error() << "the parts of " << op.type() << " have " << at << " elements along axis " << axis << " of size " << x.dim(axis);
  return parts;
}

static void importSplit(OnnxOp &op) {
  V x = op.input(0);
  int64_t axis = op.getInt("axis", 0);
  if (!x || !op.b.normalizeAxis(axis, x.rank()))
    return;
  std::optional<SmallVector<int64_t>> sizes = op.axes(13, 1, "split");
  if (!sizes && !op.b.hasFailed()) {
    int64_t parts = op.getInt("num_outputs", op.numOutputs());
    sizes = equalParts(op, x.dim(axis), parts > 0 ? (x.dim(axis) + parts - 1) / parts : 0);
  }
  if (!sizes)
    return;
  for (auto [i, part] : llvm::enumerate(split(op, x, axis, *sizes)))
    op.result(part, i);
}

static void importSplitToSequence(OnnxOp &op) {
  V x = op.input(0);
  int64_t axis = op.getInt("axis", 0);
  if (!x || !op.b.normalizeAxis(axis, x.rank()))
    return;
  bool single = !op.has(1);
  std::optional<SmallVector<int64_t>> sizes = single ? equalParts(op, x.dim(axis), 1) : op.ints(1);
  if (sizes && !single && op.input(1).rank() == 0)
    sizes = equalParts(op, x.dim(axis), sizes->front());
  if (!sizes)
    return;
  std::vector<V> parts = split(op, x, axis, *sizes);
  if (single && !op.getInt("keepdims", 1))
    for (V &part : parts)
      part = op.b.squeeze(part, axis);
  op.result(std::move(parts));
}

static void importConcat(OnnxOp &op) {
  int64_t axis = op.getInt("axis", 0);
  V x = op.input(0);
  if (x && x.isTensor() && op.b.normalizeAxis(axis, x.rank()))
    op.result(op.b.concat(op.inputs(), axis));
}

/// A part of x beyond its end, for the modes that repeat elements.
static V border(OnnxOp &op, V x, int64_t axis, int64_t count, bool low, StringRef mode) {
  B &b = op.b;
  int64_t size = x.dim(axis);
  if (mode == "edge") {
    SmallVector<int64_t> shape(x.shape());
    shape[axis] = count;
    return b.broadcastTo(b.sliceDim(x, axis, low ? 0 : size - 1, 1), shape);
  }
  if (mode == "reflect")
    return b.sliceDim(x, axis, low ? count : size - 2, count, -1);
  return b.sliceDim(x, axis, low ? size - count : 0, count); // wrap
}

static void importPad(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  std::optional<SmallVector<int64_t>> pads = op.axes(11, 1, "pads"), axes;
  std::string mode = op.getString("mode", "constant");
  if (op.version >= 18 && op.has(3))
    axes = op.ints(3);
  std::optional<double> value = op.version < 11 ? op.getFloat("value", 0.0) : op.number(2, 0.0);
  if (!x || !pads || !value || b.hasFailed())
    return;
  int64_t count = axes ? axes->size() : x.rank();
  if (static_cast<int64_t>(pads->size()) != 2 * count)
    return void(op.error() << "Pad needs two numbers for each of " << count << " dimensions, and has " << pads->size());
  SmallVector<int64_t> low(x.rank(), 0), high(x.rank(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = axes ? (*axes)[i] : i;
    if (!b.normalizeAxis(axis, x.rank()))
      return;
    low[axis] = (*pads)[i];
    high[axis] = (*pads)[count + i];
  }
  if (mode == "constant")
    return op.result(b.pad(x, low, high, *value));
  if (mode != "edge" && mode != "reflect" && mode != "wrap")
    return void(op.error() << "Pad has the unknown mode '" << mode << "'");
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (low[axis] < 0 || high[axis] < 0)
      return void(op.error() << "negative pads are supported in mode 'constant' only");
    SmallVector<V> parts;
    if (low[axis])
      parts.push_back(border(op, x, axis, low[axis], true, mode));
    parts.push_back(x);
    if (high[axis])
      parts.push_back(border(op, x, axis, high[axis], false, mode));
    x = b.concat(parts, axis);
    if (!x)
      return;
  }
  op.result(x);
}

static void importTrilu(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  std::optional<double> k = op.number(1, 0.0);
  if (!x || !k)
    return;
  if (x.rank() < 2)
    return void(op.error() << "Trilu needs a matrix, not " << x.type());
  Type i64 = b.t.builder.getI64Type();
  SmallVector<int64_t> matrix(x.shape().take_back(2));
  V row = b.iota(i64, {matrix[0], 1}, 0), column = b.iota(i64, {1, matrix[1]}, 1);
  bool upper = op.getInt("upper", 1);
  V kept = b.compare(upper ? Comparison::GreaterEqual : Comparison::LessEqual, column, b.add(row, *k));
  op.result(b.select(kept, x, b.scalar(x, 0)));
}

static void importDepthToSpace(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  int64_t block = op.getInt("blocksize", 0);
  if (!x)
    return;
  bool toSpace = op.type() == "DepthToSpace";
  if (x.rank() != 4 || block <= 0 || block > 4096 || (toSpace && x.dim(1) % (block * block)) ||
      (!toSpace && (x.dim(2) % block || x.dim(3) % block)))
    return void(op.error() << op.type() << " with block size " << block << " does not fit " << x.type());
  int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2), w = x.dim(3);
  if (!toSpace) {
    V parts = b.reshape(x, {n, c, h / block, block, w / block, block});
    return op.result(b.reshape(b.transpose(parts, {0, 3, 5, 1, 2, 4}), {n, c * block * block, h / block, w / block}));
  }
  int64_t depth = c / (block * block);
  bool columns = op.getString("mode", "DCR") == "CRD";
  V parts = columns ? b.transpose(b.reshape(x, {n, depth, block, block, h, w}), {0, 1, 4, 2, 5, 3})
                    : b.transpose(b.reshape(x, {n, block, block, depth, h, w}), {0, 3, 4, 1, 5, 2});
  op.result(b.reshape(parts, {n, depth, h * block, w * block}));
}

void registerShapeConstantsOnnx(OnnxRegistry &r);

void para::registerShapeOnnx(OnnxRegistry &r) {
  r.add("Reshape", 1, importReshape);
  r.add("Flatten", 1, importFlatten);
  r.add("Squeeze", 1, importSqueeze);
  r.add("Unsqueeze", 1, importUnsqueeze);
  r.add("Transpose", 1, importTranspose);
  r.add("Expand", 8, importExpand);
  r.add("Tile", 6, importTile);
  r.add("Slice", 1, importSlice);
  r.add("Split", 2, importSplit);
  r.add("SplitToSequence", 11, importSplitToSequence);
  r.add("Concat", 4, importConcat);
  r.add("Pad", 2, importPad);
  r.add("Trilu", 14, importTrilu);
  r.add({"DepthToSpace", "SpaceToDepth"}, 1, importDepthToSpace);
  registerShapeConstantsOnnx(r);
}
