#include "LossScale.h"

#include <limits>

using namespace mlir;
using namespace para;

static constexpr StringLiteral scaleName = "loss_scale", goodName = "loss_scale/good_steps", skippedName = "loss_scale/skipped_steps";
static constexpr double growth = 2, backoff = 0.5, growthInterval = 2000; // PyTorch's
static constexpr double least = 0x1p-24; ///< Its inverse is finite, and so are gradients once the steps are: at zero none would ever be again.

void LossScale::add(func::FuncOp main, double initial) {
  Builder builder(main.getContext());
  for (auto [name, value] : {std::pair(StringRef(scaleName), initial), {StringRef(goodName), 0.0}, {StringRef(skippedName), 0.0}}) {
    BlockArgument argument = addArgument(main, RankedTensorType::get({}, builder.getF32Type()), "state", name, NameLoc::get(builder.getStringAttr(scaleName)));
    main.setArgAttr(argument.getArgNumber(), "para.initial", builder.getF64FloatAttr(value));
    main.setArgAttr(argument.getArgNumber(), "para.optional", builder.getUnitAttr());
  }
}

LossScale::LossScale(func::FuncOp main) {
  auto find = [&](StringRef name) {
    int index = getArgIndex(main, name);
    return index >= 0 && getArgKind(main, index) == "state" ? Value(main.getArgument(index)) : Value();
  };
  scale = find(scaleName), goodSteps = find(goodName), skippedSteps = find(skippedName);
}

Value LossScale::seed(TensorBuilder &t, Value loss) const { return t.cast(scale, TensorBuilder::type(loss).getElementType()); }

Value LossScale::unscale(TensorBuilder &t, Value gradient) const {
  Value inverse = t.cast(t.div(t.like(scale, 1.0), scale), TensorBuilder::type(gradient).getElementType());
  return t.mul(gradient, t.broadcastScalar(inverse, gradient));
}

Value LossScale::isFinite(TensorBuilder &t, Value norm) { // of NaN, nothing is true
  return t.compare(Comparison::LessEqual, norm, t.like(norm, std::numeric_limits<float>::max()));
}

Value LossScale::choose(TensorBuilder &t, Value counts, Value updated, Value old) { return t.select(t.broadcastScalar(counts, updated), updated, old); }

Value LossScale::correctBias(TensorBuilder &t, Value number, Value step) const {
  Value counted = t.sub(t.add(step, t.like(step, 1.0)), t.cast(skippedSteps, TensorBuilder::type(step).getElementType()));
  // The first step may be skipped: nothing is divided by zero, and what comes of it is not taken.
  return t.sub(t.like(number, 1.0), t.pow(number, t.max(counted, t.like(counted, 1.0))));
}

void LossScale::update(TensorBuilder &t, Value counts, SmallVectorImpl<ProgramResult> &results) const {
  Value one = t.like(goodSteps, 1.0), zero = t.like(goodSteps, 0.0), good = t.add(goodSteps, one), grown = t.mul(scale, t.like(scale, growth));
  Value isLong = t.compare(Comparison::GreaterEqual, good, t.like(good, growthInterval));
  Value next = t.select(isLong, t.select(isFinite(t, grown), grown, scale), scale);
  Value less = t.max(t.mul(scale, t.like(scale, backoff)), t.like(scale, least));
  results.push_back(makeResult(t.select(counts, next, less), "update", scaleName, scaleName));
  results.push_back(makeResult(t.select(counts, t.select(isLong, zero, good), zero), "update", goodName, goodName));
  results.push_back(makeResult(t.select(counts, skippedSteps, t.add(skippedSteps, one)), "update", skippedName, skippedName));
}
