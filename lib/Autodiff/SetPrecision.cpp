#include "para/Autodiff/Passes.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Precision.h"
#include "para/Ops/TensorBuilder.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_SETPRECISIONPASS
#include "para/Autodiff/Passes.h.inc"
} // namespace para

namespace {
FloatType elementOf(Value value) { return cast<FloatType>(getElementTypeOrSelf(value.getType())); }
RankedTensorType withElement(Type type, Type element) { return RankedTensorType::get(cast<RankedTensorType>(type).getShape(), element); }

/// A value in both types; each is made when it is first asked for.
struct Known {
  enum Status {
    Neutral, ///< f32 that was there before: a master, an input, a constant. Says nothing of what is made of it
    Wide,    ///< made in f32, as sums are
    Narrow,  ///< stored in 16 bits
  };
  Value wide, narrow;
  Status status = Neutral;
  bool isStored = false; ///< of a trained parameter or an input which is to be of 16 bits: products take it so
};

class Narrowing {
public:
  /// `given`: what all values are stored in; null: narrow ones as they are declared, and the others in f32.
  Narrowing(func::FuncOp main, FloatType given, bool train) : main(main), given(given), train(train), builder(main.getContext()), f32(builder.getF32Type()) {}

  void run() {
    Block &body = main.getBody().front();
    auto ops = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
    auto note = [this](Value value) {
      if (isNarrow(value.getType()))
        declared[value] = elementOf(value);
    };
    llvm::for_each(body.getArguments(), note);
    for (Operation *op : ops)
      llvm::for_each(op->getResults(), note);
    for (BlockArgument argument : body.getArguments())
      take(argument);
    llvm::for_each(ops, [this](Operation *op) { visit(op); });
    SmallVector<Type> results = finish(body.getTerminator());
    if (!train)
      storeNarrow();
    main.setType(builder.getFunctionType(body.getArgumentTypes(), results));
  }

private:
  /// What the op's values are stored in; null if the model says f32 of all of them.
  FloatType getNarrow(Operation *op) {
    if (given)
      return given;
    for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value value : values)
        if (FloatType type = declared.lookup(value))
          return type;
    return {};
  }

  void take(BlockArgument argument) {
    if (!isNarrowOrF32(argument.getType()))
      return;
    unsigned index = argument.getArgNumber();
    StringRef kind = getArgKind(main, index);
    bool isTrained = bool(main.getArgAttr(index, "para.trainable"));
    if (isNarrow(argument.getType()) && isTrained && train) // its master
      argument.setType(withElement(argument.getType(), f32));
    Known &known = this->known[argument];
    known.isStored = (isTrained || kind == "input") && (given || declared.contains(argument));
    if (!isNarrow(argument.getType())) {
      known.wide = argument;
      return;
    }
    known.status = Known::Narrow;
    known.narrow = argument;
    if (given && elementOf(argument) != given) {
      builder.setInsertionPointToStart(argument.getOwner());
      known.narrow = TensorBuilder(argument.getLoc(), builder).cast(argument, given);
    }
  }

  Value wideOf(Value value) {
    Known &known = this->known[value];
    if (!known.wide)
      known.wide = TensorBuilder(place(value), builder).cast(known.narrow, f32);
    return known.wide;
  }

  Value narrowOf(Value value, FloatType narrow) {
    Value made = known[value].narrow;
    if (made && elementOf(made) == narrow)
      return made;
    if (made) // a model may have both types: from one to the other goes by way of f32
      return TensorBuilder(place(value), builder).cast(wideOf(value), narrow);
    Operation *op = value.getDefiningOp();
    if (op && getPrecisionRule(op) == PrecisionRule::Moves) { // what is moved is rounded: a product looks through moves, but not through casts
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(isNarrowOrF32(operand.getType()) ? narrowOf(operand, narrow) : operand);
      Operation *copy = builder.clone(*op);
      copy->setOperands(operands);
      setFloatElement(copy, narrow);
      made = copy->getResult(0);
    } else {
      made = TensorBuilder(place(value), builder).cast(known[value].wide, narrow);
      if (!given && !declared.contains(value)) // the rounding that the model asks for, of what is f32 for all others
        made.getDefiningOp()->setAttr("para.apart", builder.getUnitAttr());
    }
    return known[value].narrow = made;
  }

  void setOperands(Operation *op, ArrayRef<Value> operands) {
    for (auto [operand, value] : llvm::zip_equal(op->getOpOperands(), operands))
      operand.set(value);
  }
  /// The operands in one type; null: f32.
  void convert(Operation *op, FloatType narrow) {
    setOperands(op, llvm::map_to_vector(op->getOperands(), [&](Value operand) {
                  return !isNarrowOrF32(operand.getType()) ? operand : narrow ? narrowOf(operand, narrow) : wideOf(operand);
                }));
  }

  void keep(Operation *op, Known::Status status, bool isStored = false) {
    for (OpResult result : op->getResults())
      if (isNarrowOrF32(result.getType())) {
        Known &known = this->known[result];
        known.status = status;
        known.isStored = isStored;
        (status == Known::Narrow ? known.narrow : known.wide) = result;
      }
  }

  /// Of a cast: that of the node which made the value, or of the first which takes a master, for that is where a copy of it is of use.
  Location place(Value value) { return value.getDefiningOp() || !current ? value.getLoc() : current->getLoc(); }

  void visit(Operation *op) {
    current = op;
    builder.setInsertionPoint(op);
    SmallVector<Value> floats = llvm::filter_to_vector(op->getOperands(), [](Value operand) { return isNarrowOrF32(operand.getType()); });
    bool decides = llvm::any_of(op->getResultTypes(), isNarrowOrF32);
    if (floats.empty() && !decides)
      return;
    auto is = [&](Known::Status status) { return llvm::any_of(floats, [&](Value v) { return known[v].status == status; }); };
    bool anyNarrow = is(Known::Narrow), allNeutral = !anyNarrow && !is(Known::Wide);
    bool isStored = llvm::any_of(floats, [&](Value v) { return known[v].isStored; });
    FloatType narrow = getNarrow(op);
    switch (getPrecisionRule(op)) {
    case PrecisionRule::Converts:
      return convertCast(op);
    case PrecisionRule::Looks:
      if (!(allNeutral && isStored)) {
        convert(op, anyNarrow ? narrow : FloatType());
        setFloatElement(op, anyNarrow ? narrow : f32);
        return keep(op, anyNarrow ? Known::Narrow : allNeutral ? Known::Neutral : Known::Wide);
      }
      // The whole of a table is not rounded for what is taken of it.
      convert(op, {});
      setFloatElement(op, f32);
      return round(op, narrow);
    case PrecisionRule::Moves:
      convert(op, anyNarrow ? narrow : FloatType());
      setFloatElement(op, anyNarrow ? narrow : f32);
      return keep(op, anyNarrow ? Known::Narrow : allNeutral ? Known::Neutral : Known::Wide, isStored);
    case PrecisionRule::Multiplies: {
      bool staysWide = !anyNarrow && !isStored; // of numbers of places, say
      bool givesWide = staysWide || !(given || declared.contains(op->getResult(0)));
      convert(op, staysWide ? FloatType() : narrow);
      setFloatElement(op, givesWide ? f32 : narrow);
      return keep(op, givesWide ? Known::Wide : Known::Narrow);
    }
    case PrecisionRule::Composite:
      convert(op, anyNarrow ? narrow : FloatType());
      setFloatElement(op, anyNarrow ? narrow : f32);
      for (OpResult result : op->getResults()) {
        bool isWide = !anyNarrow || cast<PrecisionOpInterface>(op).isWideResult(result.getResultNumber());
        if (isWide)
          result.setType(withElement(result.getType(), f32));
        Known &known = this->known[result];
        known.status = isWide ? Known::Wide : Known::Narrow;
        (isWide ? known.wide : known.narrow) = result;
      }
      return;
    case PrecisionRule::Sums:
    case PrecisionRule::Arithmetic:
      break;
    }
    convert(op, {});
    setFloatElement(op, f32);
    if (anyNarrow && getPrecisionRule(op) == PrecisionRule::Arithmetic)
      return round(op, narrow);
    keep(op, floats.empty() && op->getNumOperands() == 0 ? Known::Neutral : Known::Wide);
  }

  /// Results are f32 and from here on stored in 16 bits. What rounds needlessly is dropped by para-place-roundings.
  void round(Operation *op, FloatType narrow) {
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults())
      if (isNarrowOrF32(result.getType())) {
        Known &known = this->known[result];
        known.status = Known::Narrow;
        known.narrow = TensorBuilder(result.getLoc(), builder).cast(result, narrow);
        known.wide = nullptr;
      }
  }

  void convertCast(Operation *op) {
    Value from = op->getOperand(0), to = op->getResult(0);
    Type target = getElementTypeOrSelf(to.getType());
    if (isNarrowOrF32(from.getType()) && isNarrowOrF32(target)) { // the type says how the value is meant to be kept
      Known made;
      made.status = isNarrow(target) ? Known::Narrow : Known::Wide;
      (isNarrow(target) ? made.narrow : made.wide) = isNarrow(target) ? narrowOf(from, given ? given : cast<FloatType>(target)) : wideOf(from);
      known[to] = made;
      known.try_emplace(isNarrow(target) ? made.narrow : made.wide, made);
      replaced.push_back(op);
      return;
    }
    convert(op, {});
    setFloatElement(op, f32);
    keep(op, Known::Wide);
  }

  /// Results have the types that they were declared with; in training f32, for one of them is the loss, which may be scaled. Returns the types.
  SmallVector<Type> finish(Operation *terminator) {
    current = nullptr;
    builder.setInsertionPoint(terminator);
    SmallVector<Type> types(main.getResultTypes());
    for (auto [type, operand] : llvm::zip_equal(types, terminator->getOpOperands())) {
      if (!isNarrowOrF32(type))
        continue;
      if (train)
        type = withElement(type, f32);
      operand.set(isNarrow(type) ? narrowOf(operand.get(), cast<FloatType>(getElementTypeOrSelf(type))) : wideOf(operand.get()));
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
      if (isOpTriviallyDead(&op)) // a move of what is taken narrow alone
        op.erase();
    return types;
  }

  /// Without training there are no masters: a parameter of which only the rounding is used, or that of rows which are looked up, is kept so.
  void storeNarrow() {
    for (BlockArgument argument : main.getArguments()) {
      if (getArgKind(main, argument.getArgNumber()) != "parameter" || !getElementTypeOrSelf(argument.getType()).isF32() || argument.use_empty())
        continue;
      FloatType narrow; // the first user's
      auto rounds = [&](Operation *user) {
        if (getPrecisionRule(user) != PrecisionRule::Converts || !isNarrow(user->getResult(0).getType()))
          return false;
        if (!narrow)
          narrow = elementOf(user->getResult(0));
        return elementOf(user->getResult(0)) == narrow;
      };
      auto looks = [&](Operation *user) {
        bool isTable = getPrecisionRule(user) == PrecisionRule::Looks && llvm::count(user->getOperands(), argument) == 1 && user->getOperand(0) == argument;
        return isTable && !user->use_empty() && llvm::all_of(user->getUsers(), rounds);
      };
      if (!llvm::all_of(argument.getUsers(), [&](Operation *user) { return rounds(user) || looks(user); }))
        continue;
      argument.setType(withElement(argument.getType(), narrow));
      for (Operation *user : llvm::to_vector(argument.getUsers())) {
        if (getPrecisionRule(user) == PrecisionRule::Looks) {
          setFloatElement(user, narrow);
          dropRoundings(user->getResult(0));
        }
      }
      dropRoundings(argument);
    }
  }

  /// Of a value that is narrow now.
  static void dropRoundings(Value value) {
    for (Operation *user : llvm::to_vector(value.getUsers()))
      if (getPrecisionRule(user) == PrecisionRule::Converts) {
        user->getResult(0).replaceAllUsesWith(value);
        user->erase();
      }
  }

  func::FuncOp main;
  FloatType given;
  bool train;
  OpBuilder builder;
  FloatType f32;
  Operation *current = nullptr;
  llvm::DenseMap<Value, FloatType> declared; ///< of narrow values
  llvm::DenseMap<Value, Known> known;
  SmallVector<Operation *> replaced;
};

struct SetPrecisionPass : para::impl::SetPrecisionPassBase<SetPrecisionPass> {
  using SetPrecisionPassBase::SetPrecisionPassBase;

  void runOnOperation() override {
    auto main = getMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    FloatType given = llvm::StringSwitch<FloatType>(precision).Case("bf16", BFloat16Type::get(context)).Case("f16", Float16Type::get(context)).Default({});
    if (!given && !precision.empty()) {
      main->emitError() << "no precision of 16 bits is called '" << precision << "'; there are bf16, f16";
      return signalPassFailure();
    }
    if (given || hasNarrow(*main))
      Narrowing(*main, given, train).run();
  }

  static bool hasNarrow(func::FuncOp main) {
    return llvm::any_of(main.getArgumentTypes(), isNarrow) ||
           llvm::any_of(main.getBody().front(), [](Operation &op) { return llvm::any_of(op.getResultTypes(), isNarrow); });
  }
};
} // namespace
