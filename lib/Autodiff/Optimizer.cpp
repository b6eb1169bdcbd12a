#include "para/Autodiff/Optimizer.h"

using namespace mlir;
using namespace para;

namespace {
using Values = SmallVector<Value>;

/// The gradient with weight decay added to it, for the optimizers whose decay is coupled.
Value coupled(UpdateContext &c) { return c.decays ? c.t.add(c.gradient, c.t.mul(c.spread("weight_decay"), c.parameter)) : c.gradient; }

Value descend(UpdateContext &c, Value from, Value direction) { return c.t.sub(from, c.t.mul(c.spread("lr"), direction)); }

/// number * old + (1 - number) * x
Value average(UpdateContext &c, StringRef number, Value old, Value x) {
  return c.t.add(c.t.mul(c.spread(number), old), c.t.mul(c.complement(number), x));
}

Value decayed(UpdateContext &c) {
  if (!c.decays)
    return c.parameter;
  Value product = c.t.mul(c.number("lr"), c.number("weight_decay"));
  return c.t.mul(c.parameter, c.spread(c.t.sub(c.t.like(product, 1.0), product)));
}

Values sgd(UpdateContext &c) { return {descend(c, c.parameter, coupled(c))}; }

Values momentum(UpdateContext &c) {
  Value buffer = c.t.add(c.t.mul(c.spread("momentum"), c.states[0]), coupled(c));
  return {descend(c, c.parameter, buffer), buffer};
}

Values nesterov(UpdateContext &c) {
  Value g = coupled(c);
  Value buffer = c.t.add(c.t.mul(c.spread("momentum"), c.states[0]), g);
  return {descend(c, c.parameter, c.t.add(g, c.t.mul(c.spread("momentum"), buffer))), buffer};
}

/// Moments and the bias-corrected step m / (sqrt(v) + eps), in PyTorch's order of operations.
struct Moments {
  Value m, v;
  Moments(UpdateContext &c, Value g) : m(average(c, "beta1", c.states[0], g)), v(average(c, "beta2", c.states[1], c.t.mul(g, g))) {}
  Value denominator(UpdateContext &c) {
    Value root = c.spread(c.t.sqrt(c.number("bias_correction2")));
    return c.t.add(c.t.div(c.t.sqrt(v), root), c.spread("eps"));
  }
  Value apply(UpdateContext &c, Value from) {
    Value rate = c.spread(c.t.div(c.number("lr"), c.number("bias_correction1")));
    return c.t.sub(from, c.t.mul(rate, c.t.div(m, denominator(c))));
  }
};

Values adam(UpdateContext &c) {
  Moments moments(c, coupled(c));
  return {moments.apply(c, c.parameter), moments.m, moments.v};
}

Values adamw(UpdateContext &c) {
  Moments moments(c, c.gradient);
  return {moments.apply(c, decayed(c)), moments.m, moments.v};
}

Values adagrad(UpdateContext &c) {
  Value g = coupled(c);
  Value sum = c.t.add(c.states[0], c.t.mul(g, g));
  return {descend(c, c.parameter, c.t.div(g, c.t.add(c.t.sqrt(sum), c.spread("eps")))), sum};
}

Values rmsprop(UpdateContext &c) {
  Value g = coupled(c);
  Value v = average(c, "alpha", c.states[0], c.t.mul(g, g));
  Value step = c.t.div(g, c.t.add(c.t.sqrt(v), c.spread("eps")));
  Value buffer = c.t.add(c.t.mul(c.spread("momentum"), c.states[1]), step);
  return {descend(c, c.parameter, buffer), v, buffer};
}

Values lamb(UpdateContext &c) {
  Moments moments(c, c.gradient);
  Value corrected = c.t.div(moments.m, c.spread("bias_correction1"));
  Value step = c.t.div(corrected, moments.denominator(c));
  if (c.decays)
    step = c.t.add(step, c.t.mul(c.spread("weight_decay"), c.parameter));
  auto norm = [&](Value x) {
    return c.t.sqrt(c.t.reduceSum(c.t.mul(x, x), llvm::to_vector(llvm::seq<int64_t>(0, TensorBuilder::rank(x)))));
  };
  Value weights = norm(c.parameter), steps = norm(step);
  Value zero = c.t.like(weights, 0.0), one = c.t.like(weights, 1.0);
  Value usable = c.t.mul(c.t.compare(Comparison::Greater, weights, zero), c.t.compare(Comparison::Greater, steps, zero));
  Value trust = c.t.select(usable, c.t.div(weights, c.t.select(usable, steps, one)), one);
  return {descend(c, c.parameter, c.t.mul(c.t.broadcastScalar(trust, step), step)), moments.m, moments.v};
}

Values lion(UpdateContext &c) {
  Value direction = c.t.sign(average(c, "beta1", c.states[0], c.gradient));
  return {descend(c, decayed(c), direction), average(c, "beta2", c.states[0], c.gradient)};
}

ArrayRef<Optimizer> getOptimizers() {
  using Numbers = SmallVector<std::pair<StringRef, double>>;
  static const Numbers adamNumbers = {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.0},
                                      {"bias_correction1", 0}, {"bias_correction2", 0}};
  auto with = [](Numbers numbers, StringRef key, double value) {
    for (auto &[name, number] : numbers)
      if (name == key)
        number = value;
    return numbers;
  };
  static const Numbers momentumNumbers = {{"lr", 1e-2}, {"momentum", 0.9}, {"weight_decay", 0.0}};
  static const Optimizer optimizers[] = {
      {"sgd", {{"lr", 1e-2}, {"weight_decay", 0.0}}, {}, sgd},
      {"momentum", momentumNumbers, {"momentum"}, momentum},
      {"nesterov", momentumNumbers, {"momentum"}, nesterov},
      {"adam", adamNumbers, {"m", "v"}, adam},
      {"adamw", with(adamNumbers, "weight_decay", 0.01), {"m", "v"}, adamw},
      {"adagrad", {{"lr", 1e-2}, {"eps", 1e-10}, {"weight_decay", 0.0}}, {"sum"}, adagrad},
      {"rmsprop", {{"lr", 1e-2}, {"alpha", 0.99}, {"eps", 1e-8}, {"momentum", 0.0}, {"weight_decay", 0.0}}, {"v", "momentum"}, rmsprop},
      {"lamb", with(with(adamNumbers, "eps", 1e-6), "weight_decay", 0.01), {"m", "v"}, lamb},
      {"lion", {{"lr", 1e-4}, {"beta1", 0.9}, {"beta2", 0.99}, {"weight_decay", 0.01}}, {"m"}, lion},
  };
  return optimizers;
}
} // namespace

const Optimizer *para::findOptimizer(StringRef name) {
  for (const Optimizer &optimizer : getOptimizers())
    if (optimizer.name == name)
      return &optimizer;
  return nullptr;
}

SmallVector<StringRef> para::getOptimizerNames() {
  return llvm::map_to_vector(getOptimizers(), [](const Optimizer &optimizer) { return optimizer.name; });
}
