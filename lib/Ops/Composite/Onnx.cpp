//===- Onnx.cpp - ONNX softmax, norms and losses --------------------------===//

#include "para/Import/OnnxOp.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

static void importSoftmax(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  bool flat = op.version < 13, log = op.type() == "LogSoftmax";
  int64_t axis = op.getInt("axis", flat ? 1 : -1);
  if (!x)
    return;
  if (!(flat && axis == x.rank()) && !b.normalizeAxis(axis, x.rank()))
    return;
  // Before version 13 the dimensions from the axis on were one.
  bool last = axis + 1 == x.rank();
  SmallVector<int64_t> matrix = {countElements(x.shape().take_front(axis)), countElements(x.shape().drop_front(axis))};
  V rows = flat && !last ? b.reshape(x, matrix) : x;
  int64_t dim = flat && !last ? 1 : axis;
  V result = log ? b.logSoftmax(rows, dim) : b.softmax(rows, dim);
  if (!result)
    return;
  result = b.reshape(result, x.shape());
  if (log && rows.rank() == x.rank())
    op.noteLogSoftmax(result, x, dim);
  op.result(result);
}

/// Values reshaped so that they run along dimension `dim` of x.
static V along(B &b, V values, V x, int64_t dim) {
  SmallVector<int64_t> shape(x.rank(), 1);
  shape[dim] = x.dim(dim);
  return b.reshape(values, shape);
}

static void importBatchNormalization(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), scale = op.input(1), bias = op.input(2), mean = op.input(3), variance = op.input(4);
  if (!x || !scale || !bias || !mean || !variance)
    return;
  double epsilon = op.getFloat("epsilon", 1e-5), momentum = op.getFloat("momentum", 0.9);
  // Before version 14 the results beyond the first tell that statistics are taken.
  bool training = op.version >= 14 ? op.getInt("training_mode", 0) : op.numOutputs() > 1;
  if (x.rank() < 2 || !x.isFloat())
    return void(op.error() << "BatchNormalization of " << x.type() << " is not supported");
  for (V v : {scale, bias, mean, variance})
    if (v.rank() != 1 || v.dim(0) != x.dim(1))
      return void(op.error() << "BatchNormalization of " << x.type() << " with statistics " << v.type());
  auto spread = [&](V v) { return along(b, b.cast(v, x.element()), x, 1); };
  if (!training) {
    V factor = b.div(scale, b.cast(b.sqrt(b.add(variance, epsilon)), scale.element()));
    V shift = b.sub(bias, b.mul(b.cast(mean, scale.element()), factor));
    return op.result(b.add(b.mul(x, spread(factor)), spread(shift)));
  }
  SmallVector<int64_t> dims = {0};
  llvm::append_range(dims, llvm::seq<int64_t>(2, x.rank()));
  std::array<Value, 3> parts = b.t.normalize(b.materialize(x), dims, epsilon);
  op.result(b.add(b.mul(V(parts[0]), spread(scale)), spread(bias)));
  auto mix = [&](V running, Value now, unsigned result) {
    V fresh = b.cast(b.reshape(V(now), {x.dim(1)}), running.element());
    V next = b.add(b.mul(op.current(running), momentum), b.mul(fresh, 1.0 - momentum));
    op.update(running, next);
    op.result(next, result);
    if (op.version < 14)
      op.result(fresh, result + 2);
  };
  mix(mean, parts[1], 1);
  mix(variance, parts[2], 2);
}

/// Wider type for the statistics of narrow floats.
static V widen(OnnxOp &op, V x) {
  bool narrow = x && x.isFloat() && x.element().getIntOrFloatBitWidth() < 32 && op.getInt("stash_type", 1) == 1;
  return narrow ? op.b.cast(x, Float32Type::get(x.element().getContext())) : x;
}

static void importLayerNormalization(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  int64_t axis = op.getInt("axis", -1);
  if (!x || !b.normalizeAxis(axis, x.rank()))
    return;
  if (!x.isFloat())
    return void(op.error() << "LayerNormalization of " << x.type() << " is not supported");
  double epsilon = op.getFloat("epsilon", 1e-5);
  auto [normalized, mean, variance] = b.t.normalize(b.materialize(widen(op, x)), llvm::to_vector(llvm::seq<int64_t>(axis, x.rank())), epsilon);
  V y = b.cast(V(normalized), x.element());
  if (op.has(1))
    y = b.mul(y, op.input(1));
  if (op.has(2))
    y = b.add(y, op.input(2));
  op.result(y);
  Type stashed = V(normalized).element();
  op.result(b.cast(V(mean), stashed), 1);
  if (op.wants(2))
    op.result(b.cast(b.reciprocal(b.sqrt(b.add(V(variance), epsilon))), stashed), 2);
}

static void importRmsNormalization(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  int64_t axis = op.getInt("axis", -1);
  if (!x || !b.normalizeAxis(axis, x.rank()))
    return;
  V wide = widen(op, x);
  V square = b.mean(b.mul(wide, wide), llvm::to_vector(llvm::seq<int64_t>(axis, x.rank())), true);
  V inverse = b.reciprocal(b.sqrt(b.add(square, op.getFloat("epsilon", 1e-5))));
  op.result(b.mul(b.cast(b.mul(wide, inverse), x.element()), op.input(1)));
  if (op.wants(1))
    op.result(inverse, 1);
}

static void importInstanceNormalization(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), scale = op.input(1), bias = op.input(2);
  if (!x || !scale || !bias)
    return;
  if (x.rank() < 3 || !x.isFloat())
    return void(op.error() << "InstanceNormalization of " << x.type() << " is not supported");
  Value normalized = b.t.normalize(b.materialize(x), llvm::to_vector(llvm::seq<int64_t>(2, x.rank())), op.getFloat("epsilon", 1e-5))[0];
  op.result(b.add(b.mul(V(normalized), along(b, scale, x, 1)), along(b, bias, x, 1)));
}

static void importGroupNormalization(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), scale = op.input(1), bias = op.input(2);
  int64_t groups = op.getInt("num_groups", 0);
  if (!x || !scale || !bias)
    return;
  if (x.rank() < 2 || !x.isFloat() || groups <= 0 || x.dim(1) % groups != 0)
    return void(op.error() << "GroupNormalization of " << x.type() << " in " << groups << " groups");
  SmallVector<int64_t> apart = {x.dim(0), groups, x.dim(1) / groups};
  llvm::append_range(apart, x.shape().drop_front(2));
  Value split = b.materialize(widen(op, b.reshape(x, apart)));
  int64_t rank = apart.size();
  V y = V(b.t.normalize(split, llvm::to_vector(llvm::seq<int64_t>(2, rank)), op.getFloat("epsilon", 1e-5))[0]);
  y = b.cast(y, x.element());
  if (op.version < 21) // scale and bias of a group
    y = b.reshape(b.add(b.mul(y, along(b, scale, y, 1)), along(b, bias, y, 1)), x.shape());
  else
    y = b.add(b.mul(b.reshape(y, x.shape()), along(b, scale, x, 1)), along(b, bias, x, 1));
  op.result(y);
}

/// The loss of each row from its label: rows [N, d...], classes last in `scores`.
static void importLoss(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), labels = op.input(1), weights = op.optional(2);
  std::string reduction = op.getString("reduction", "mean");
  if (!x || !labels)
    return;
  bool fromScores = op.type() == "SoftmaxCrossEntropyLoss";
  bool fits = x.isFloat() && !labels.isFloat() && x.rank() >= 2 && labels.rank() == x.rank() - 1 && x.dim(0) == labels.dim(0) &&
              x.shape().drop_front(2) == labels.shape().drop_front(1);
  if (!fits)
    return void(op.error() << op.type() << " of " << x.type() << " and labels " << labels.type());
  V scores = fromScores ? x : op.getLogSoftmaxScores(x, 1);
  SmallVector<int64_t> classesLast = {0};
  llvm::append_range(classesLast, llvm::seq<int64_t>(2, x.rank()));
  classesLast.push_back(1);

  V loss;
  if (scores) {
    loss = b.cast(V(b.t.crossEntropy(b.materialize(b.transpose(scores, classesLast)), b.materialize(labels))), x.element());
  } else {
    // -x[label]; the sum has one term.
    V rows = b.transpose(x, classesLast), classes = labels.known ? labels : V(b.t.index(labels.value, x.dim(1), /*fromEnd=*/false));
    V chosen = b.compare(Comparison::Equal, b.iota(labels.element(), rows.shape(), rows.rank() - 1), b.unsqueeze(classes, labels.rank()));
    loss = b.neg(b.sum(b.select(chosen, rows, b.scalar(rows, 0)), {rows.rank() - 1}, false));
  }

  V weight;
  if (op.hasAttribute("ignore_index")) {
    double ignored = static_cast<double>(op.getInt("ignore_index", 0));
    weight = b.cast(b.compare(Comparison::NotEqual, labels, b.scalar(labels, ignored)), x.element());
  }
  if (weights) {
    if (weights.rank() != 1 || weights.dim(0) != x.dim(1))
      return void(op.error() << op.type() << " of " << x.dim(1) << " classes with weights " << weights.type());
    // Outside labels read zero.
    V own = V(b.t.gather(b.materialize(b.cast(weights, x.element())), b.materialize(labels), 0));
    weight = weight ? b.mul(weight, own) : own;
  }
  if (weight)
    loss = b.mul(loss, weight);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, labels.rank()));
  if (reduction == "none")
    op.result(loss);
  else if (reduction == "sum")
    op.result(b.sum(loss, all, false));
  else if (reduction == "mean")
    op.result(weight ? b.div(b.sum(loss, all, false), b.sum(weight, all, false)) : b.mean(loss, all, false));
  else
    op.error() << op.type() << " has the unknown reduction '" << reduction << "'";
  if (fromScores && op.wants(1))
    op.result(b.logSoftmax(x, 1), 1);
}

void registerAttentionOnnx(OnnxRegistry &r);
void registerRecurrentOnnx(OnnxRegistry &r);

void para::registerCompositeOnnx(OnnxRegistry &r) {
  r.add({"Softmax", "LogSoftmax"}, 1, importSoftmax);
  r.add("BatchNormalization", 7, importBatchNormalization);
  r.add("LayerNormalization", 1, importLayerNormalization); // Exporters used it before version 17 had it.
  r.add("RMSNormalization", 23, importRmsNormalization);
  r.add("SimplifiedLayerNormalization", 1, importRmsNormalization);
  r.add("InstanceNormalization", 6, importInstanceNormalization);
  r.add("GroupNormalization", 18, importGroupNormalization);
  r.add({"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}, 12, importLoss);
  registerAttentionOnnx(r);
  registerRecurrentOnnx(r);
}
