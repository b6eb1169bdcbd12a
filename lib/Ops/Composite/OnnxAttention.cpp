//===- OnnxAttention.cpp - ONNX attention and rotary embeddings -----------===//

#include "para/Import/OnnxOp.h"

#include <cmath>

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

/// [batch, seq, heads * width] as [batch, heads, seq, width].
static V splitHeads(OnnxOp &op, V x, int64_t heads) {
  if (heads <= 0 || x.dim(2) % heads != 0)
    return op.error() << op.type() << " of " << x.type() << " with " << heads << " heads", V();
  return op.b.transpose(op.b.reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

/// Keys or values of fewer heads, each repeated for the queries that share it.
static V repeatHeads(OnnxOp &op, V x, int64_t heads) {
  B &b = op.b;
  if (!x || x.dim(1) == heads)
    return x;
  if (x.dim(1) == 0 || heads % x.dim(1) != 0)
    return op.error() << heads << " query heads cannot share " << x.dim(1) << " key heads", V();
  int64_t shared = heads / x.dim(1);
  V spread = b.broadcastTo(b.unsqueeze(x, 2), {x.dim(0), x.dim(1), shared, x.dim(2), x.dim(3)});
  return b.reshape(spread, {x.dim(0), heads, x.dim(2), x.dim(3)});
}

static V lowest(OnnxOp &op, V like) {
  const llvm::fltSemantics &semantics = cast<FloatType>(like.element()).getFloatSemantics();
  APFloat value = APFloat::getLargest(semantics, /*Negative=*/true);
  bool lost;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return op.b.scalar(like, value.convertToDouble());
}

static void importAttention(OnnxOp &op) {
  B &b = op.b;
  V q = op.input(0), k = op.input(1), v = op.input(2), mask = op.optional(3);
  if (!q || !k || !v)
    return;
  bool flat = q.rank() == 3;
  if ((q.rank() != 4 && !flat) || k.rank() != q.rank() || v.rank() != q.rank() || !q.isFloat())
    return void(op.error() << "Attention of " << q.type() << ", " << k.type() << " and " << v.type());
  if (flat) {
    q = splitHeads(op, q, op.getInt("q_num_heads", 0));
    k = splitHeads(op, k, op.getInt("kv_num_heads", 0));
    v = splitHeads(op, v, op.getInt("kv_num_heads", 0));
    if (!q || !k || !v)
      return;
  }
  int64_t past = 0;
  if (op.has(4) && op.has(5)) {
    past = op.input(4).rank() == 4 ? op.input(4).dim(2) : 0;
    k = b.concat({op.input(4), k}, 2);
    v = b.concat({op.input(5), v}, 2);
  }
  op.result(k, 1);
  op.result(v, 2);
  V keys = repeatHeads(op, k, q.dim(1)), values = repeatHeads(op, v, q.dim(1));
  if (!keys || !values)
    return;
  int64_t queries = q.dim(2), total = keys.dim(2);
  double root = std::sqrt(op.getFloat("scale", 1.0 / std::sqrt(static_cast<double>(q.dim(3)))));
  V scores = b.matmul(b.mul(q, root), b.transpose(b.mul(keys, root), {0, 1, 3, 2}));
  double cap = op.getFloat("softcap", 0.0);
  if (op.getInt("qk_matmul_output_mode", 0) == 0)
    op.result(scores, 3);
  if (cap != 0.0)
    scores = b.mul(b.tanh(b.mul(scores, 1.0 / cap)), cap);
  V allowed;
  if (mask && mask.isBool())
    allowed = mask;
  else if (mask)
    scores = b.add(scores, mask);
  if (op.getInt("is_causal", 0)) {
    Type i64 = b.t.builder.getI64Type();
    V row = b.iota(i64, {queries, 1}, 0), column = b.iota(i64, {1, total}, 1);
    V causal = b.compare(Comparison::LessEqual, column, b.add(row, static_cast<double>(past)));
    allowed = allowed ? b.mul(allowed, causal) : causal;
  }
  // The lowest finite number and not infinity: a row that sees nothing gets zeros, and its gradient is no NaN.
  if (allowed)
    scores = b.select(allowed, scores, lowest(op, q));
  if (!scores || scores.rank() != 4)
    return;
  V weights = b.softmax(scores, 3);
  if (mask && mask.isBool())
    weights = b.select(allowed, weights, b.scalar(weights, 0));
  V y = b.matmul(weights, values);
  if (flat && y)
    y = b.reshape(b.transpose(y, {0, 2, 1, 3}), {q.dim(0), queries, q.dim(1) * values.dim(3)});
  op.result(y);
}

static void importRotaryEmbedding(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), cos = op.input(1), sin = op.input(2), places = op.optional(3);
  if (!x || !cos || !sin)
    return;
  bool flat = x.rank() == 3, interleaved = op.getInt("interleaved", 0);
  V heads = flat ? splitHeads(op, x, op.getInt("num_heads", 0)) : x;
  if (!heads)
    return;
  if (heads.rank() != 4)
    return void(op.error() << "RotaryEmbedding of " << x.type());
  int64_t width = heads.dim(3), turned = op.getInt("rotary_embedding_dim", 0);
  turned = turned > 0 ? turned : width;
  if (turned % 2 != 0 || turned > width)
    return void(op.error() << "RotaryEmbedding turns " << turned << " of " << width << " numbers");
  if (places) {
    cos = b.gather(cos, places, 0);
    sin = b.gather(sin, places, 0);
  }
  if (!cos || !sin || cos.rank() != 3)
    return void(b.hasFailed() ? void() : void(op.error() << "RotaryEmbedding with tables " << cos.type()));
  cos = b.unsqueeze(cos, 1); // over the heads
  sin = b.unsqueeze(sin, 1);
  V part = b.sliceDim(heads, 3, 0, turned), rest = turned < width ? b.sliceDim(heads, 3, turned, width - turned) : V();
  int64_t half = turned / 2;
  V low, high;
  if (interleaved) {
    low = b.sliceDim(part, 3, 0, half, 2);
    high = b.sliceDim(part, 3, 1, half, 2);
  } else {
    low = b.sliceDim(part, 3, 0, half);
    high = b.sliceDim(part, 3, half, half);
  }
  V real = b.sub(b.mul(low, cos), b.mul(high, sin)), imaginary = b.add(b.mul(low, sin), b.mul(high, cos));
  if (!real || !imaginary)
    return;
  V y = interleaved ? b.reshape(b.concat({b.unsqueeze(real, 4), b.unsqueeze(imaginary, 4)}, 4), part.shape()) : b.concat({real, imaginary}, 3);
  if (rest)
    y = b.concat({y, rest}, 3);
  op.result(flat ? b.reshape(b.transpose(y, {0, 2, 1, 3}), x.shape()) : y);
}

void registerAttentionOnnx(OnnxRegistry &r);
void registerAttentionOnnx(OnnxRegistry &r) {
  r.add("Attention", 23, importAttention);
  r.add("RotaryEmbedding", 23, importRotaryEmbedding);
}
