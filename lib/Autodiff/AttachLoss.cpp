#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Ops/TensorBuilder.h"
#include "para/Support/Spec.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_ATTACHLOSSPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
bool isFloat(Value value) { return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()); }
bool isScalar(Value value) { return isFloat(value) && cast<RankedTensorType>(value.getType()).getNumElements() == 1; }

/// A criterion over the model's scores; makes the loss of rank 0.
struct Criterion {
  TensorBuilder t;
  func::FuncOp main;
  Value scores;
  const Spec &spec;

  /// The input called `name`, made if the model has none.
  FailureOr<Value> input(StringRef name, ArrayRef<int64_t> shape, Type elementType) {
    if (name.empty())
      return main.emitError() << "--loss=" << spec.name << " needs the name of its input (" << spec.name << ":" << (spec.name == "cross-entropy" ? "labels" : "target") << "=NAME)";
    auto type = RankedTensorType::get(shape, elementType);
    if (int index = getArgIndex(main, name); index >= 0) {
      auto found = cast<RankedTensorType>(main.getArgument(index).getType());
      if (found.getShape() != shape || isa<FloatType>(found.getElementType()) != isa<FloatType>(elementType))
        return main.emitError() << "input '" << name << "' is " << found << ", --loss=" << spec.name << " needs " << type;
      return Value(main.getArgument(index));
    }
    BlockArgument argument = addArgument(main, type, "input", name, t.loc);
    if (main->hasAttr("para.batch") && !shape.empty())
      main.setArgAttr(argument.getArgNumber(), "para.batch_dim", t.builder.getI64IntegerAttr(0));
    return Value(argument);
  }

  Value mean(Value x) { return t.reduceMean(x, llvm::to_vector(llvm::seq<int64_t>(0, TensorBuilder::rank(x)))); }

  FailureOr<Value> crossEntropy() {
    if (TensorBuilder::rank(scores) < 1)
      return main.emitError("cross-entropy needs scores with classes along the last dimension");
    auto ignore = spec.getNumber("ignore", -100), smoothing = spec.getNumber("smoothing", 0);
    if (!ignore || !smoothing)
      return main.emitError() << llvm::toString(joinErrors(ignore.takeError(), smoothing.takeError()));
    auto labels = input(spec.getText("labels"), TensorBuilder::shape(scores).drop_back(), t.builder.getI64Type());
    if (failed(labels))
      return failure();
    Value loss = t.crossEntropy(scores, *labels);
    if (*smoothing != 0) {
      int64_t last = TensorBuilder::rank(scores) - 1;
      Value uniform = t.neg(t.reduceMean(t.logSoftmax(scores, last), {last}));
      loss = t.add(t.mul(loss, t.like(loss, 1 - *smoothing)), t.mul(uniform, t.like(uniform, *smoothing)));
    }
    Value valid = t.cast(t.compare(Comparison::NotEqual, *labels, t.like(*labels, *ignore)), TensorBuilder::type(scores).getElementType());
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, TensorBuilder::rank(loss)));
    return t.div(t.reduceSum(t.mul(loss, valid), all), t.reduceSum(valid, all));
  }

  FailureOr<Value> build() {
    if (spec.name == "cross-entropy")
      return crossEntropy();
    auto target = input(spec.getText("target"), TensorBuilder::shape(scores), TensorBuilder::type(scores).getElementType());
    if (failed(target))
      return failure();
    Value difference = t.sub(scores, *target);
    if (spec.name == "mse")
      return mean(t.mul(difference, difference));
    if (spec.name == "l1")
      return mean(t.abs(difference));
    // On scores before the sigmoid: max(x, 0) - x y + log(1 + exp(-|x|)), which does not overflow.
    Value tail = t.log(t.add(t.like(scores, 1.0), t.exp(t.neg(t.abs(scores)))));
    return mean(t.add(t.sub(t.relu(scores), t.mul(scores, *target)), tail));
  }
};

struct AttachLossPass : para::impl::AttachLossPassBase<AttachLossPass> {
  using AttachLossPassBase::AttachLossPassBase;

  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main) || failed(attach(*main)))
      signalPassFailure();
  }

  LogicalResult attach(func::FuncOp main) {
    auto spec = Spec::parse(loss);
    if (!spec)
      return main.emitError() << llvm::toString(spec.takeError());
    SmallVector<ProgramResult> results = getResults(main), kept;
    SmallVector<unsigned> candidates;
    bool isCriterion = StringSwitch<bool>(spec->name).Cases({"cross-entropy", "bce", "mse", "l1"}, true).Default(false);
    for (auto [index, result] : llvm::enumerate(results)) {
      if (getResultKind(main, index) != "output") {
        kept.push_back(result);
        continue;
      }
      bool named = !loss.empty() && !isCriterion;
      if (named ? getResultName(main, index) == spec->name : isCriterion ? isFloat(result.value) : isScalar(result.value))
        candidates.push_back(index);
    }
    if (candidates.size() != 1)
      return complain(main, *spec, isCriterion, candidates.size());
    Value value = results[candidates[0]].value;
    if (!isCriterion && !isScalar(value))
      return main.emitError() << "output '" << spec->name << "' is not a float scalar and cannot be the loss";
    OpBuilder builder(main.getBody().front().getTerminator());
    TensorBuilder t(value.getLoc(), builder);
    std::string name = getResultName(main, candidates[0]).str();
    if (isCriterion) {
      auto built = Criterion{t, main, value, *spec}.build();
      if (failed(built))
        return failure();
      value = *built;
      name = "loss";
    }
    value = t.reshape(value, {});
    kept.insert(kept.begin(), makeResult(value, "output", name));
    setResults(main, kept);
    return success();
  }

  LogicalResult complain(func::FuncOp main, const Spec &spec, bool isCriterion, size_t found) {
    InFlightDiagnostic error = main.emitError();
    if (loss.empty())
      error << "the model has " << found << " scalar float outputs: name the loss with --loss=OUTPUT, or attach one with --loss=cross-entropy:labels=NAME";
    else if (isCriterion)
      error << "--loss=" << spec.name << " needs a model with one float output, this one has " << found;
    else
      error << "--loss=" << spec.name << " is no output of the model";
    error << "; outputs:";
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      if (getResultKind(main, index) == "output")
        error << " " << getResultName(main, index);
    return error;
  }
};
} // namespace
