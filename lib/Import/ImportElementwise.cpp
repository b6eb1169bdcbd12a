//===- ImportElementwise.cpp - Elementwise formulas that fold -------------===//

#include "para/Import/ImportBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace para {

using V = ImportValue;

std::optional<double> ImportValue::splat() const {
  if (!known || countElements(shape()) == 0 || known->getCompactCount() != 1)
    return std::nullopt;
  const std::vector<Scalar> *data = known->data();
  if (!data)
    return std::nullopt;
  Scalar value = (*data)[known->offset];
  return known->isFloat() ? value.f : static_cast<double>(value.i);
}

std::optional<SmallVector<int64_t>> ImportBuilder::commonShape(Values values) {
  SmallVector<int64_t> shape;
  for (const V &value : values) {
    if (!check(value))
      return std::nullopt;
    ArrayRef<int64_t> other = value.shape();
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (size_t i = 0; i < other.size(); ++i) {
      int64_t &size = shape[shape.size() - other.size() + i];
      if (size == 1)
        size = other[i];
      else if (other[i] != 1 && other[i] != size) {
        InFlightDiagnostic diagnostic = error() << "operands of shapes";
        for (const V &operand : values)
          diagnostic << " " << printShape(operand.shape());
        diagnostic << " do not broadcast";
        return std::nullopt;
      }
    }
  }
  if (!checkShape(shape))
    return std::nullopt;
  return shape;
}

Value ImportBuilder::emitElementwise(Values operands, Dims shape, const EmitFn &emit) {
  SmallVector<Value> values;
  for (const V &operand : operands)
    // A splat is one constant at any shape.
    values.push_back(operand.known && operand.splat() ? materialize(broadcastTo(operand, shape)) : t.broadcastTo(materialize(operand), shape));
  return emit(values);
}

V ImportBuilder::elementwise(Values operands, Type element, ScalarFn compute, EmitFn emit) {
  std::optional<SmallVector<int64_t>> shape = commonShape(operands);
  if (!shape)
    return {};
  if (!llvm::all_of(operands, [](const V &x) { return x.known != nullptr; }))
    return emitElementwise(operands, *shape, emit);

  // Computed on the part of the shape along which any operand moves.
  SmallVector<Known> views;
  for (const V &operand : operands)
    views.push_back(broadcastTo(operand, *shape).known);
  SmallVector<int64_t> sizes(*shape);
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size > 0 && llvm::all_of(views, [&, d = dim](const Known &x) { return x->strides[d] == 0; }))
      size = 1;
  auto type = RankedTensorType::get(sizes, element);
  Known result = KnownTensor::lazy(type, views, [views, sizes, element, compute](std::vector<Scalar> &out) {
    SmallVector<SmallVector<int64_t>> strides;
    SmallVector<int64_t> offsets;
    SmallVector<const std::vector<Scalar> *> inputs;
    for (const Known &x : views) {
      strides.push_back(x->strides);
      offsets.push_back(x->offset);
      inputs.push_back(x->data());
    }
    SmallVector<Scalar> arguments(views.size());
    forEachOffset(sizes, strides, offsets, [&] {
      for (size_t i = 0; i < inputs.size(); ++i)
        arguments[i] = (*inputs[i])[offsets[i]];
      out.push_back(roundTo(element, compute(arguments.data())));
    });
  });
  SmallVector<V> sources;
  for (const V &operand : operands) {
    Known source = operand.known;
    if (isConstant(*source))
      source = source->compact();
    while (source->broadcastOf)
      source = source->broadcastOf;
    sources.push_back(source);
  }
  result->emit = [this, sources, sizes, emit] {
    SmallVector<int64_t> common = *commonShape(sources);
    common.insert(common.begin(), sizes.size() - common.size(), 1);
    Value value = emitElementwise(sources, common, emit);
    // A dimension may still be repeated in the IR that is not in the view.
    return common == sizes ? value : t.slice(value, SmallVector<int64_t>(sizes.size(), 0), sizes);
  };
  return broadcastTo(result, *shape);
}

V ImportBuilder::unaryFloat(V x, double (*compute)(double), Value (TensorBuilder::*emit)(Value)) {
  if (!check(x))
    return {};
  if (!x.isFloat())
    return error() << "needs a floating point operand, not " << x.type(), V();
  return elementwise(x, x.element(), [compute](const Scalar *s) { return Scalar::ofFloat(compute(s->f)); },
                     [this, emit](ArrayRef<Value> v) { return (t.*emit)(v[0]); });
}

V ImportBuilder::binary(V x, V y, double (*floats)(double, double), int64_t (*ints)(int64_t, int64_t),
                        Value (TensorBuilder::*emit)(Value, Value)) {
  if (!check(x) || !check(y))
    return {};
  if (x.element() != y.element())
    return error() << "operands have element types " << x.element() << " and " << y.element(), V();
  // A bias is added to rows as the product before it left them: see beforeMerge().
  V rows = y.rank() <= 1 ? beforeMerge(x) : V(), others = x.rank() <= 1 ? beforeMerge(y) : V();
  if (rows || others) {
    V result = binary(rows ? rows : x, others ? others : y, floats, ints, emit);
    return result ? reshape(result, rows ? x.shape() : y.shape()) : result;
  }
  bool isFloat = x.isFloat();
  return elementwise({x, y}, x.element(), [=](const Scalar *s) {
    return isFloat ? Scalar::ofFloat(floats(s[0].f, s[1].f)) : Scalar::ofInt(ints(s[0].i, s[1].i));
  }, [this, emit](ArrayRef<Value> v) { return (t.*emit)(v[0], v[1]); });
}

V ImportBuilder::floor(V x) { return unaryFloat(x, std::floor, &TensorBuilder::floor); }
V ImportBuilder::exp(V x) { return unaryFloat(x, std::exp, &TensorBuilder::exp); }
V ImportBuilder::log(V x) { return unaryFloat(x, std::log, &TensorBuilder::log); }
V ImportBuilder::sqrt(V x) { return unaryFloat(x, std::sqrt, &TensorBuilder::sqrt); }
V ImportBuilder::tanh(V x) { return unaryFloat(x, std::tanh, &TensorBuilder::tanh); }
V ImportBuilder::erf(V x) { return unaryFloat(x, std::erf, &TensorBuilder::erf); }
V ImportBuilder::sin(V x) { return unaryFloat(x, std::sin, &TensorBuilder::sin); }
V ImportBuilder::cos(V x) { return unaryFloat(x, std::cos, &TensorBuilder::cos); }
V ImportBuilder::sigmoid(V x) {
  return unaryFloat(x, +[](double v) { return 1.0 / (1.0 + std::exp(-v)); }, &TensorBuilder::sigmoid);
}
V ImportBuilder::ceil(V x) { return neg(floor(neg(x))); }
V ImportBuilder::reciprocal(V x) { return div(scalar(x, 1.0), x); }
V ImportBuilder::square(V x) { return mul(x, x); }

V ImportBuilder::round(V x) {
  // Halves go to the even neighbour: f = floor(x), d = x - f.
  V f = floor(x), d = sub(x, f), half = scalar(x, 0.5);
  V odd = compare(Comparison::NotEqual, f, mul(floor(mul(f, 0.5)), 2.0));
  V up = max(compare(Comparison::Greater, d, half), min(compare(Comparison::Equal, d, half), odd));
  return select(up, add(f, 1.0), f);
}

static int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }

static V unaryAny(ImportBuilder &b, V x, llvm::function_ref<V()> integer, llvm::function_ref<V()> floating) {
  return !x ? V() : x.isFloat() ? floating() : integer();
}

V ImportBuilder::neg(V x) {
  return unaryAny(*this, x, [&] {
    return elementwise(x, x.element(), [](const Scalar *s) { return Scalar::ofInt(wrap(0 - static_cast<uint64_t>(s->i))); },
                       [this](ArrayRef<Value> v) { return t.neg(v[0]); });
  }, [&] { return unaryFloat(x, +[](double v) { return -v; }, &TensorBuilder::neg); });
}
V ImportBuilder::abs(V x) {
  return unaryAny(*this, x, [&] {
    return elementwise(x, x.element(), [](const Scalar *s) {
      return s->i < 0 ? Scalar::ofInt(wrap(0 - static_cast<uint64_t>(s->i))) : *s;
    }, [this](ArrayRef<Value> v) { return t.abs(v[0]); });
  }, [&] { return unaryFloat(x, std::fabs, &TensorBuilder::abs); });
}
V ImportBuilder::sign(V x) {
  return unaryAny(*this, x, [&] {
    return elementwise(x, x.element(), [](const Scalar *s) { return Scalar::ofInt((s->i > 0) - (s->i < 0)); },
                       [this](ArrayRef<Value> v) { return t.sign(v[0]); });
  }, [&] { return unaryFloat(x, +[](double v) { return std::isnan(v) ? v : (v > 0) - (v < 0); }, &TensorBuilder::sign); });
}
V ImportBuilder::relu(V x) {
  return unaryAny(*this, x, [&] { return max(x, 0.0); },
                  [&] { return unaryFloat(x, +[](double v) { return v < 0 ? 0.0 : v; }, &TensorBuilder::relu); });
}

V ImportBuilder::logicalNot(V x) {
  if (!check(x))
    return {};
  if (!x.isBool())
    return error() << "needs a bool operand, not " << x.type(), V();
  return elementwise(x, x.element(), [](const Scalar *s) { return Scalar::ofInt(!s->i); },
                     [this](ArrayRef<Value> v) { return t.logicalNot(v[0]); });
}

/// The other operand, where one is a known neutral element; null where neither is.
V ImportBuilder::dropNeutral(V x, V y, double neutral, bool bothSides) {
  if (!check(x) || !check(y) || x.element() != y.element())
    return {};
  auto keeps = [&](const V &kept, const V &other) {
    return other.splat() == neutral && other.rank() <= kept.rank() && commonShapeIs(kept, other);
  };
  return keeps(x, y) ? x : bothSides && keeps(y, x) ? y : V();
}

bool ImportBuilder::commonShapeIs(V x, V y) {
  ArrayRef<int64_t> tail = x.shape().take_back(y.rank());
  return llvm::all_of(llvm::zip_equal(tail, y.shape()), [](auto pair) { return std::get<1>(pair) == 1 || std::get<0>(pair) == std::get<1>(pair); });
}

V ImportBuilder::add(V x, V y) {
  if (V same = dropNeutral(x, y, 0.0, true))
    return same;
  return binary(x, y, +[](double a, double b) { return a + b; },
                +[](int64_t a, int64_t b) { return wrap(uint64_t(a) + uint64_t(b)); }, &TensorBuilder::add);
}
V ImportBuilder::sub(V x, V y) {
  if (V same = dropNeutral(x, y, 0.0, false))
    return same;
  return binary(x, y, +[](double a, double b) { return a - b; },
                +[](int64_t a, int64_t b) { return wrap(uint64_t(a) - uint64_t(b)); }, &TensorBuilder::sub);
}
V ImportBuilder::mul(V x, V y) {
  if (V same = dropNeutral(x, y, 1.0, true))
    return same;
  return binary(x, y, +[](double a, double b) { return a * b; },
                +[](int64_t a, int64_t b) { return wrap(uint64_t(a) * uint64_t(b)); }, &TensorBuilder::mul);
}
V ImportBuilder::div(V x, V y) {
  if (V same = dropNeutral(x, y, 1.0, false))
    return same;
  return binary(x, y, +[](double a, double b) { return a / b; }, +[](int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? wrap(0 - uint64_t(a)) : a / b;
  }, &TensorBuilder::div);
}
V ImportBuilder::max(V x, V y) {
  return binary(x, y, +[](double a, double b) { return std::isnan(a) || a > b ? a : b; },
                +[](int64_t a, int64_t b) { return a > b ? a : b; }, &TensorBuilder::max);
}
V ImportBuilder::min(V x, V y) {
  return binary(x, y, +[](double a, double b) { return std::isnan(a) || a < b ? a : b; },
                +[](int64_t a, int64_t b) { return a < b ? a : b; }, &TensorBuilder::min);
}

V ImportBuilder::pow(V x, V y) {
  if (!check(x) || !check(y))
    return {};
  std::optional<double> exponent = y.splat();
  if (exponent && y.rank() <= x.rank() && countElements(y.shape()) == 1) {
    if (*exponent == 1.0)
      return x;
    if (*exponent == 2.0)
      return mul(x, x);
    if (*exponent == 3.0)
      return mul(mul(x, x), x);
    if (*exponent == 0.5 && x.isFloat())
      return sqrt(x);
    if (*exponent == -1.0 && x.isFloat())
      return reciprocal(x);
  }
  if (!x.isFloat()) {
    Type element = x.element(), f64 = Float64Type::get(element.getContext());
    if (x.known && y.known)
      return cast(pow(cast(x, f64), cast(y, f64)), element);
    return error() << "integer powers are supported for exponents 1, 2 and 3", V();
  }
  return binary(x, cast(y, x.element()), std::pow, nullptr, &TensorBuilder::pow);
}

V ImportBuilder::compare(Comparison predicate, V x, V y) {
  if (!check(x) || !check(y))
    return {};
  if (x.element() != y.element())
    return error() << "operands have element types " << x.element() << " and " << y.element(), V();
  bool isFloat = x.isFloat();
  return elementwise({x, y}, IntegerType::get(x.element().getContext(), 1), [=](const Scalar *s) {
    auto test = [&](auto a, auto b) {
      switch (predicate) {
      case Comparison::Equal: return a == b;
      case Comparison::NotEqual: return a != b;
      case Comparison::Less: return a < b;
      case Comparison::LessEqual: return a <= b;
      case Comparison::Greater: return a > b;
      case Comparison::GreaterEqual: return a >= b;
      }
      return false;
    };
    return Scalar::ofInt(isFloat ? test(s[0].f, s[1].f) : test(s[0].i, s[1].i));
  }, [this, predicate](ArrayRef<Value> v) { return t.compare(predicate, v[0], v[1]); });
}

V ImportBuilder::isNan(V x) { return compare(Comparison::NotEqual, x, x); }

V ImportBuilder::select(V condition, V then, V otherwise) {
  if (!check(condition) || !check(then) || !check(otherwise))
    return {};
  if (!condition.isBool())
    return error() << "the condition is no bool: " << condition.type(), V();
  if (then.element() != otherwise.element())
    return error() << "operands have element types " << then.element() << " and " << otherwise.element(), V();
  if (std::optional<double> always = condition.splat())
    if (std::optional<SmallVector<int64_t>> shape = commonShape({condition, then, otherwise}))
      return broadcastTo(*always ? then : otherwise, *shape);
  return elementwise({condition, then, otherwise}, then.element(), [](const Scalar *s) { return s[0].i ? s[1] : s[2]; },
                     [this](ArrayRef<Value> v) { return t.select(v[0], v[1], v[2]); });
}

V ImportBuilder::cast(V x, Type element) {
  if (!check(x) || x.element() == element)
    return x;
  Type from = x.element();
  return elementwise(x, element, [=](const Scalar *s) { return convert(from, element, s[0]); },
                     [this, element](ArrayRef<Value> v) { return t.cast(v[0], element); });
}

} // namespace para
