#include "LossScale.h"
#include "para/Autodiff/Optimizer.h"
#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Support/Spec.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_APPLYOPTIMIZERPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
struct Gradient {
  int argument;
  Value value;
};

struct ApplyOptimizerPass : para::impl::ApplyOptimizerPassBase<ApplyOptimizerPass> {
  using ApplyOptimizerPassBase::ApplyOptimizerPassBase;

  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main) || failed(apply(*main)))
      signalPassFailure();
  }

  LogicalResult apply(func::FuncOp main) {
    builder = OpBuilder(&getContext());
    auto spec = Spec::parse(optimizer);
    if (!spec)
      return main.emitError() << llvm::toString(spec.takeError());
    const Optimizer *rule = findOptimizer(spec->name);
    if (!rule)
      return main.emitError() << "no optimizer is called '" << spec->name << "'; there are " << llvm::join(getOptimizerNames(), ", ");
    LossScale scale(main);
    if (failed(addNumbers(main, *rule, *spec, scale)))
      return failure();
    auto noDecay = Patterns::parse(spec->getText("no_decay"));
    if (!noDecay)
      return main.emitError() << llvm::toString(noDecay.takeError());

    SmallVector<ProgramResult> results;
    SmallVector<Gradient> gradients;
    builder.setInsertionPoint(main.getBody().front().getTerminator());
    for (auto [index, result] : llvm::enumerate(getResults(main))) {
      if (getResultKind(main, index) == "gradient") {
        TensorBuilder t(placeOf(getResultName(main, index)), builder);
        result.value = scale ? scale.unscale(t, result.value) : result.value;
        gradients.push_back({getArgIndex(main, getResultName(main, index)), result.value});
      }
      if (!gradients.empty() && gradients.back().argument < 0)
        return main.emitError() << "result " << index << " is the gradient of '" << getResultName(main, index) << "', which is no argument";
      if (getResultKind(main, index) != "gradient" || keepGradients)
        results.push_back(result);
    }
    if (gradients.empty())
      return main.emitError() << "has no gradients: para-differentiate comes first";
    Location place = placeOf("optimizer");
    Value norm = clip(main, gradients, place);
    results.push_back(makeResult(norm, "output", "grad_norm"));
    TensorBuilder whole(placeOf("loss_scale"), builder);
    Value counts = scale ? LossScale::isFinite(whole, norm) : Value();
    if (Value step = numbers.lookup("step"))
      for (auto [number, beta] : {std::pair<StringRef, StringRef>("bias_correction1", "beta1"), {"bias_correction2", "beta2"}})
        numbers[number] = scale.correctBias(whole, numbers.lookup(beta), step);

    bool anyDecay = numberDefault(main, "weight_decay") != 0;
    for (Gradient &gradient : gradients) {
      std::string name = getArgName(main, gradient.argument).str();
      Location loc = placeOf(name);
      UpdateContext context{TensorBuilder(loc, builder), main.getArgument(gradient.argument), gradient.value, {},
                            anyDecay && !noDecay->match(name), [&](StringRef number) { return numbers.lookup(number); }};
      for (StringRef state : rule->states) {
        BlockArgument argument = addArgument(main, gradient.value.getType(), "state", name + "/" + state.str(), loc);
        main.setArgAttr(argument.getArgNumber(), "para.initial", builder.getF64FloatAttr(0));
        main.setArgAttr(argument.getArgNumber(), "para.state_of", builder.getStringAttr(name));
        context.states.push_back(argument);
      }
      SmallVector<Value> updated = rule->update(context);
      SmallVector<Value> old{context.parameter};
      llvm::append_range(old, context.states);
      for (auto [fresh, before] : llvm::zip_equal(updated, old))
        fresh = counts ? LossScale::choose(context.t, counts, fresh, before) : fresh;
      results.push_back(makeResult(updated[0], "update", name, name));
      for (auto [state, value] : llvm::zip(rule->states, llvm::drop_begin(updated)))
        results.push_back(makeResult(value, "update", name + "/" + state.str(), name + "/" + state.str()));
    }
    if (counts)
      scale.update(whole, counts, results);
    setResults(main, results);
    main->setAttr("para.optimizer", builder.getStringAttr(rule->name));
    return success();
  }

  Location placeOf(StringRef name) { return withPhase(NameLoc::get(builder.getStringAttr(name)), Phase::Update); }

  /// Makes the optimizer's numbers arguments, with the values given by the user as defaults. Where steps are skipped the program counts them by
  /// itself: it is given the number of the step in place of what follows from it.
  LogicalResult addNumbers(func::FuncOp main, const Optimizer &rule, const Spec &spec, const LossScale &scale) {
    for (const auto &[entry, text] : spec.values)
      if (StringRef key = entry; key != "no_decay" && llvm::none_of(rule.numbers, [key](auto &number) { return number.first == key; })) {
        auto names = llvm::map_to_vector(rule.numbers, [](auto &number) { return number.first; });
        return main.emitError() << "optimizer " << rule.name << " has no number '" << key << "'; it has " << llvm::join(names, ", ");
      }
    auto scalar = RankedTensorType::get({}, builder.getF64Type());
    for (auto [name, otherwise] : rule.numbers) {
      auto value = spec.getNumber(name, otherwise);
      if (!value)
        return main.emitError() << llvm::toString(value.takeError());
      bool isDerived = scale && name.starts_with("bias_correction");
      StringRef given = isDerived ? "step" : name;
      if (numbers.count(given))
        continue;
      BlockArgument argument = addArgument(main, scalar, "hyper", given, NameLoc::get(builder.getStringAttr(given)));
      main.setArgAttr(argument.getArgNumber(), "para.default", builder.getF64FloatAttr(*value));
      numbers[given] = argument;
    }
    return success();
  }

  double numberDefault(func::FuncOp main, StringRef name) {
    int index = getArgIndex(main, name);
    auto value = index < 0 ? FloatAttr() : main.getArgAttrOfType<FloatAttr>(index, "para.default");
    return value ? value.getValueAsDouble() : 0;
  }

  /// The global norm before clipping; replaces the gradients by the clipped ones. Sums of squares run in f32 at least.
  Value clip(func::FuncOp main, MutableArrayRef<Gradient> gradients, Location place) {
    SmallVector<Value> squares;
    for (Gradient &gradient : gradients) {
      TensorBuilder t(withPhase(NameLoc::get(builder.getStringAttr(getArgName(main, gradient.argument))), Phase::Update), builder);
      Type element = TensorBuilder::type(gradient.value).getElementType();
      if (element.getIntOrFloatBitWidth() < 32)
        element = builder.getF32Type();
      Value g = t.cast(gradient.value, element);
      squares.push_back(t.reduceSum(t.mul(g, g), llvm::to_vector(llvm::seq<int64_t>(0, TensorBuilder::rank(g)))));
    }
    TensorBuilder t(place, builder);
    Value norm = t.sqrt(t.addN(squares));
    Value scale;
    if (clipNorm > 0) {
      Value ratio = t.div(t.like(norm, clipNorm), t.add(norm, t.like(norm, 1e-6)));
      scale = t.min(ratio, t.like(ratio, 1.0));
    }
    for (Gradient &gradient : gradients) {
      TensorBuilder own(withPhase(NameLoc::get(builder.getStringAttr(getArgName(main, gradient.argument))), Phase::Update), builder);
      if (scale)
        gradient.value = own.mul(gradient.value, own.broadcastScalar(own.cast(scale, TensorBuilder::type(gradient.value).getElementType()), gradient.value));
      if (clipValue > 0)
        gradient.value = own.max(own.min(gradient.value, own.like(gradient.value, clipValue)), own.like(gradient.value, -clipValue));
    }
    return norm;
  }

  OpBuilder builder{static_cast<MLIRContext *>(nullptr)}; // a pass has its context only when it runs
  llvm::StringMap<Value> numbers;
};
} // namespace
