//===- Onnx.cpp - ONNX operators that work element by element -------------===//

#include "para/Import/OnnxOp.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace para;

using V = ImportValue;
using B = ImportBuilder;

template <V (B::*Formula)(V)>
static void unary(OnnxOp &op) { op.result((op.b.*Formula)(op.input(0))); }

template <V (B::*Formula)(V, V)>
static void binary(OnnxOp &op) { op.result((op.b.*Formula)(op.input(0), op.input(1))); }

template <V (B::*Formula)(V, V)>
static void variadic(OnnxOp &op) {
  V result = op.input(0);
  for (size_t i = 1; i < op.numInputs(); ++i)
    result = (op.b.*Formula)(result, op.input(i));
  op.result(result);
}

template <Comparison Predicate>
static void compare(OnnxOp &op) { op.result(op.b.compare(Predicate, op.input(0), op.input(1))); }

/// x where x > 0, else f(min(x, 0)): the argument is clamped so that the branch not taken stays finite.
static V positiveOr(B &b, V x, llvm::function_ref<V(V)> f) {
  return x ? b.select(b.compare(Comparison::Greater, x, b.scalar(x, 0)), x, f(b.min(x, 0.0))) : V();
}

/// log(1 + exp(x)) = x - log(sigmoid(x)) = -log(sigmoid(-x)).
static V softplus(B &b, V x) {
  if (!x)
    return {};
  V high = b.sub(x, b.log(b.sigmoid(b.max(x, 0.0)))), low = b.neg(b.log(b.sigmoid(b.neg(b.min(x, 0.0)))));
  return b.select(b.compare(Comparison::Greater, x, b.scalar(x, 0)), high, low);
}

static V gelu(B &b, V x, bool tanh) {
  if (!tanh)
    return b.mul(b.mul(x, 0.5), b.add(b.erf(b.mul(x, M_SQRT1_2)), 1.0));
  V inner = b.mul(b.add(x, b.mul(b.mul(b.mul(x, x), x), 0.044715)), std::sqrt(2.0 / M_PI));
  return b.mul(b.mul(x, 0.5), b.add(b.tanh(inner), 1.0));
}

static void importMean(OnnxOp &op) {
  V total = op.input(0);
  for (size_t i = 1; i < op.numInputs(); ++i)
    total = op.b.add(total, op.input(i));
  op.result(op.b.mul(total, 1.0 / static_cast<double>(op.numInputs())));
}

static void importMod(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), y = op.input(1);
  if (!x || !y)
    return;
  bool truncated = op.getInt("fmod", 0);
  V quotient = b.div(x, y);
  if (!x.isFloat()) {
    V rest = b.sub(x, b.mul(quotient, y)), zero = b.scalar(x, 0);
    if (!truncated) { // The rest has the sign of y.
      V differ = b.compare(Comparison::Less, b.mul(b.sign(rest), b.sign(y)), zero);
      rest = b.select(differ, b.add(rest, y), rest);
    }
    return op.result(rest);
  }
  V whole = truncated ? b.mul(b.sign(quotient), b.floor(b.abs(quotient))) : b.floor(quotient);
  op.result(b.sub(x, b.mul(whole, y)));
}

static void importClip(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), low, high;
  if (!x)
    return;
  if (op.version < 11) {
    if (op.hasAttribute("min"))
      low = b.scalar(x, op.getFloat("min", 0));
    if (op.hasAttribute("max"))
      high = b.scalar(x, op.getFloat("max", 0));
  } else {
    low = op.optional(1);
    high = op.optional(2);
  }
  if (low)
    x = b.max(x, low);
  op.result(high ? b.min(x, high) : x);
}

static void importLeakyRelu(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  V slope = op.type() == "PRelu" ? op.input(1) : b.scalar(x, op.getFloat("alpha", 0.01));
  if (x)
    op.result(b.select(b.compare(Comparison::Less, x, b.scalar(x, 0)), b.mul(x, slope), x));
}

static void importElu(OnnxOp &op) {
  B &b = op.b;
  StringRef type = op.type();
  double alpha = op.getFloat("alpha", type == "Selu" ? 1.67326319217681884765625 : 1.0);
  double gamma = type == "Selu" ? op.getFloat("gamma", 1.05070102214813232421875) : 1.0;
  double inside = type == "Celu" ? 1.0 / alpha : 1.0;
  V result = positiveOr(b, op.input(0), [&](V x) { return b.mul(b.add(b.exp(b.mul(x, inside)), -1.0), alpha); });
  op.result(gamma == 1.0 ? result : b.mul(result, gamma));
}

static V hardSigmoid(B &b, V x, double alpha, double beta) { return b.min(b.max(b.add(b.mul(x, alpha), beta), 0.0), 1.0); }
static void importHardSigmoid(OnnxOp &op) {
  op.result(hardSigmoid(op.b, op.input(0), op.getFloat("alpha", 0.2), op.getFloat("beta", 0.5)));
}
static void importHardSwish(OnnxOp &op) {
  V x = op.input(0);
  op.result(op.b.mul(x, hardSigmoid(op.b, x, 1.0 / 6.0, 0.5)));
}
static void importThresholdedRelu(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0);
  op.result(b.select(b.compare(Comparison::Greater, x, b.scalar(x, op.getFloat("alpha", 1.0))), x, b.scalar(x, 0)));
}
static void importSoftplus(OnnxOp &op) { op.result(softplus(op.b, op.input(0))); }
static void importMish(OnnxOp &op) {
  V x = op.input(0);
  op.result(op.b.mul(x, op.b.tanh(softplus(op.b, x))));
}
static void importSwish(OnnxOp &op) {
  V x = op.input(0);
  double alpha = op.getFloat("alpha", op.type() == "QuickGelu" ? 1.702 : 1.0);
  op.result(op.b.mul(x, op.b.sigmoid(alpha == 1.0 ? x : op.b.mul(x, alpha))));
}
static void importSoftsign(OnnxOp &op) {
  V x = op.input(0);
  op.result(op.b.div(x, op.b.add(op.b.abs(x), 1.0)));
}
static void importGelu(OnnxOp &op) {
  // Microsoft's BiasGelu and FastGelu have a bias as second operand.
  V x = op.input(0);
  if (op.has(1))
    x = op.b.add(x, op.input(1));
  op.result(gelu(op.b, x, op.type() == "FastGelu" || op.getString("approximate", "none") == "tanh"));
}

static void importHyperbolic(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), up = b.exp(x), down = b.exp(b.neg(x));
  op.result(b.mul(op.type() == "Sinh" ? b.sub(up, down) : b.add(up, down), 0.5));
}
static void importTan(OnnxOp &op) { op.result(op.b.div(op.b.sin(op.input(0)), op.b.cos(op.input(0)))); }

static void importLogic(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), y = op.input(1);
  if (!x || !y)
    return;
  if (!x.isBool() || !y.isBool())
    return void(op.error() << op.type() << " is supported for bools only, not " << x.type());
  StringRef type = op.type();
  op.result(type.ends_with("And") ? b.mul(x, y) : type.ends_with("Xor") ? b.compare(Comparison::NotEqual, x, y) : b.max(x, y));
}

static void importIsInf(OnnxOp &op) {
  B &b = op.b;
  V x = op.input(0), limit = b.scalar(x, std::numeric_limits<double>::infinity());
  bool negative = op.getInt("detect_negative", 1), positive = op.getInt("detect_positive", 1);
  if (!negative && !positive)
    return op.result(b.compare(Comparison::Less, x, x));
  V seen = negative && positive ? b.abs(x) : negative ? b.neg(x) : x;
  op.result(b.compare(Comparison::Equal, seen, limit));
}

static void importWhere(OnnxOp &op) { op.result(op.b.select(op.input(0), op.input(1), op.input(2))); }

static void importCast(OnnxOp &op) {
  if (Type element = op.elementType(op.getInt("to", 0)))
    op.result(op.b.cast(op.input(0), element));
}
static void importCastLike(OnnxOp &op) {
  if (V like = op.input(1))
    op.result(op.b.cast(op.input(0), like.element()));
}

static void importIdentity(OnnxOp &op) { op.result(op.input(0)); }

static void importDropout(OnnxOp &op) {
  V x = op.input(0);
  if (!x)
    return;
  if (op.version >= 12) {
    std::optional<double> ratio = op.number(1, 0.5), training = op.number(2, 0.0);
    if (!ratio || !training)
      return;
    if (*training != 0.0 && *ratio != 0.0)
      return void(op.error() << "Dropout with ratio " << *ratio << " in training mode is not supported; export with ratio 0");
  }
  op.result(x);
  op.result(op.b.splat(IntegerType::get(x.element().getContext(), 1), x.shape(), 1), 1);
}

void para::registerElementwiseOnnx(OnnxRegistry &r) {
  r.add("Neg", 1, unary<&B::neg>);
  r.add("Abs", 1, unary<&B::abs>);
  r.add("Sign", 9, unary<&B::sign>);
  r.add("Floor", 1, unary<&B::floor>);
  r.add("Ceil", 1, unary<&B::ceil>);
  r.add("Round", 11, unary<&B::round>);
  r.add("Exp", 1, unary<&B::exp>);
  r.add("Log", 1, unary<&B::log>);
  r.add("Sqrt", 1, unary<&B::sqrt>);
  r.add("Reciprocal", 1, unary<&B::reciprocal>);
  r.add("Tanh", 1, unary<&B::tanh>);
  r.add("Erf", 9, unary<&B::erf>);
  r.add("Sin", 7, unary<&B::sin>);
  r.add("Cos", 7, unary<&B::cos>);
  r.add("Tan", 7, importTan);
  r.add({"Sinh", "Cosh"}, 9, importHyperbolic);
  r.add("Sigmoid", 1, unary<&B::sigmoid>);
  r.add("Relu", 1, unary<&B::relu>);
  r.add("Not", 1, unary<&B::logicalNot>);
  r.add("IsNaN", 9, unary<&B::isNan>);
  r.add("IsInf", 10, importIsInf);
  // Before version 7 operands broadcast by other rules.
  r.add("Add", 7, binary<&B::add>);
  r.add("Sub", 7, binary<&B::sub>);
  r.add("Mul", 7, binary<&B::mul>);
  r.add("Div", 7, binary<&B::div>);
  r.add("Pow", 7, binary<&B::pow>);
  r.add("Mod", 10, importMod);
  r.add("Max", 6, variadic<&B::max>);
  r.add("Min", 6, variadic<&B::min>);
  r.add("Sum", 6, variadic<&B::add>);
  r.add("Mean", 6, importMean);
  r.add("Equal", 7, compare<Comparison::Equal>);
  r.add("Less", 7, compare<Comparison::Less>);
  r.add("Greater", 7, compare<Comparison::Greater>);
  r.add("LessOrEqual", 12, compare<Comparison::LessEqual>);
  r.add("GreaterOrEqual", 12, compare<Comparison::GreaterEqual>);
  r.add({"And", "Or", "Xor"}, 7, importLogic);
  r.add({"BitwiseAnd", "BitwiseOr", "BitwiseXor"}, 18, importLogic);
  r.add("Where", 9, importWhere);
  r.add("Cast", 6, importCast);
  r.add("CastLike", 15, importCastLike);
  r.add("Identity", 1, importIdentity);
  r.add("Dropout", 7, importDropout);
  r.add("Clip", 6, importClip);
  r.add("LeakyRelu", 1, importLeakyRelu);
  r.add("PRelu", 7, importLeakyRelu);
  r.add({"Elu", "Selu"}, 1, importElu);
  r.add("Celu", 12, importElu);
  r.add("HardSigmoid", 1, importHardSigmoid);
  r.add("HardSwish", 14, importHardSwish);
  r.add("ThresholdedRelu", 10, importThresholdedRelu);
  r.add("Softplus", 1, importSoftplus);
  r.add("Softsign", 1, importSoftsign);
  r.add("Mish", 18, importMish);
  r.add({"Swish", "SiLU"}, 7, importSwish);
  r.add("Gelu", 20, importGelu);
  for (StringRef type : {"Gelu", "BiasGelu", "FastGelu"})
    r.add(type, 1, importGelu, "com.microsoft");
  r.add("QuickGelu", 1, importSwish, "com.microsoft");
}
