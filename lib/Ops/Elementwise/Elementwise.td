include "para/IR/ParaOps.td"

// An elementwise op is told by its scalar body and its gradient, both C++ expressions:
//   body      over the elements `x`, `y`, `z` and the builder `b`
//   gradients over the tensors `x`, `y`, `z`, the result `r`, its cotangent `g` and the TensorBuilder `t`; empty where
//             the op has none
class Para_ElementwiseOp<string mnemonic, dag operands, string body, list<string> gradients, list<Trait> traits = []>
    : Para_CoreOp<mnemonic, [Elementwise, DeclareOpInterfaceMethods<Para_Element>,
                             DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>] # traits> {
  let arguments = operands;
  code linearity = "";
  code bodyCode = body;
  list<string> gradientCode = gradients;
  code declareX = "[[maybe_unused]] ::mlir::Value x = emitter.operand(0, index);";
  code declareY = "";
  code declareZ = "";
  let extraClassDefinition = "::para::Structure $cppClass::getStructure() { return ::para::Structure::elementwise(*this, {" # linearity # "}); }\n"
    # "::mlir::Value $cppClass::emitElement(::para::ElementEmitter &emitter, unsigned, ::llvm::ArrayRef<::para::Coordinate> index) {\n"
    # "  [[maybe_unused]] auto &b = emitter.b;\n" # declareX # declareY # declareZ
    # "\n  return " # body # ";\n}\n"
    # "::llvm::LogicalResult $cppClass::buildGradient(::mlir::OpBuilder &builder, ::mlir::ValueRange cotangents, ::llvm::MutableArrayRef<::mlir::Value> gradients) {\n"
    # "  [[maybe_unused]] ::para::TensorBuilder t(getLoc(), builder);\n"
    # "  [[maybe_unused]] ::mlir::Value g = cotangents[0], r = getResult(), x = getOperation()->getOperand(0)" # !if(!gt(!size(operands), 1), ", y = getOperation()->getOperand(1)", "") # ";\n"
    # !interleave(!foreach(i, !range(!size(gradients)), "  gradients[" # i # "] = " # gradients[i] # ";\n"), "")
    # "  return ::mlir::success();\n}\n";
}

class Para_UnaryOp<string mnemonic, string body, list<string> gradients = [], TypeConstraint tensor = Para_Tensor>
    : Para_ElementwiseOp<mnemonic, (ins tensor:$input), body, gradients, [SameOperandsAndResultType]> {
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

/// Of floats only.
class Para_FloatUnaryOp<string mnemonic, string body, list<string> gradients = []> : Para_UnaryOp<mnemonic, body, gradients, Para_FloatTensor>;

class Para_BinaryOp<string mnemonic, string body, list<string> gradients = [], list<Trait> traits = [], TypeConstraint tensor = Para_Tensor>
    : Para_ElementwiseOp<mnemonic, (ins tensor:$lhs, tensor:$rhs), body, gradients,
                         [SameOperandsAndResultType] # traits> {
  let results = (outs Para_Tensor:$result);
  let declareY = "[[maybe_unused]] ::mlir::Value y = emitter.operand(1, index);";
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Para_NegOp : Para_UnaryOp<"neg", "scalar::neg(b, x)", ["t.neg(g)"]> {
  let summary = "Negation";
  let linearity = "::para::Linearity::Joint";
}
def Para_AbsOp : Para_UnaryOp<"abs", "scalar::abs(b, x)", ["t.mul(g, t.sign(x))"]> { let summary = "Absolute value"; }
def Para_SignOp : Para_UnaryOp<"sign", "scalar::sign(b, x)"> { let summary = "-1, 0 or 1"; }
def Para_FloorOp : Para_FloatUnaryOp<"floor", "::mlir::math::FloorOp::create(b, x)"> { let summary = "Largest integer not above"; }
def Para_ExpOp : Para_FloatUnaryOp<"exp", "::mlir::math::ExpOp::create(b, x)", ["t.mul(g, r)"]> { let summary = "Exponential"; }
def Para_LogOp : Para_FloatUnaryOp<"log", "::mlir::math::LogOp::create(b, x)", ["t.div(g, x)"]> { let summary = "Natural logarithm"; }
def Para_SqrtOp : Para_FloatUnaryOp<"sqrt", "::mlir::math::SqrtOp::create(b, x)", ["t.div(t.mul(g, t.like(x, 0.5)), r)"]> { let summary = "Square root"; }
def Para_TanhOp : Para_FloatUnaryOp<"tanh", "::mlir::math::TanhOp::create(b, x)", ["t.mul(g, t.sub(t.like(x, 1.0), t.mul(r, r)))"]> { let summary = "Hyperbolic tangent"; }
def Para_ErfOp : Para_FloatUnaryOp<"erf", "::mlir::math::ErfOp::create(b, x)",
    ["t.mul(t.mul(g, t.like(x, 1.1283791670955126)), t.exp(t.neg(t.mul(x, x))))"]> { let summary = "Error function"; }
def Para_SinOp : Para_FloatUnaryOp<"sin", "::mlir::math::SinOp::create(b, x)", ["t.mul(g, t.cos(x))"]> { let summary = "Sine"; }
def Para_CosOp : Para_FloatUnaryOp<"cos", "::mlir::math::CosOp::create(b, x)", ["t.neg(t.mul(g, t.sin(x)))"]> { let summary = "Cosine"; }
def Para_SigmoidOp : Para_FloatUnaryOp<"sigmoid", "scalar::sigmoid(b, x)", ["t.mul(g, t.mul(r, t.sub(t.like(x, 1.0), r)))"]> { let summary = "1 / (1 + exp(-x))"; }
def Para_ReluOp : Para_UnaryOp<"relu", "scalar::max(b, x, emitter.constant(getType().getElementType(), 0.0))",
    ["t.select(t.compare(Comparison::Greater, r, t.like(r, 0.0)), g, t.like(g, 0.0))"]> { let summary = "The larger of each element and zero"; }
def Para_NotOp : Para_UnaryOp<"not", "scalar::logicalNot(b, x)", [], Para_BoolTensor> { let summary = "Logical not"; }

def Para_AddOp : Para_BinaryOp<"add", "scalar::add(b, x, y)", ["g", "g"], [Commutative]> {
  let summary = "Sum";
  let linearity = "::para::Linearity::Joint, ::para::Linearity::Joint";
}
def Para_SubOp : Para_BinaryOp<"sub", "scalar::sub(b, x, y)", ["g", "t.neg(g)"]> {
  let summary = "Difference";
  let linearity = "::para::Linearity::Joint, ::para::Linearity::Joint";
}
def Para_MulOp : Para_BinaryOp<"mul", "scalar::mul(b, x, y)", ["t.mul(g, y)", "t.mul(g, x)"], [Commutative]> {
  let summary = "Product; of bools: and";
  let linearity = "::para::Linearity::Alone, ::para::Linearity::Alone";
}
def Para_DivOp : Para_BinaryOp<"div", "scalar::div(b, x, y)", ["t.div(g, y)", "t.neg(t.div(t.mul(g, r), y))"]> {
  let linearity = "::para::Linearity::Alone, ::para::Linearity::None";
  let summary = "Quotient; of integers: towards zero";
}
def Para_MaxOp : Para_BinaryOp<"max", "scalar::max(b, x, y)",
    ["t.select(t.compare(Comparison::GreaterEqual, x, y), g, t.like(g, 0.0))",
     "t.select(t.compare(Comparison::GreaterEqual, x, y), t.like(g, 0.0), g)"]> { let summary = "The larger; of bools: or"; }
def Para_MinOp : Para_BinaryOp<"min", "scalar::min(b, x, y)",
    ["t.select(t.compare(Comparison::LessEqual, x, y), g, t.like(g, 0.0))",
     "t.select(t.compare(Comparison::LessEqual, x, y), t.like(g, 0.0), g)"]> { let summary = "The smaller; of bools: and"; }
def Para_PowOp : Para_BinaryOp<"pow", "::mlir::math::PowFOp::create(b, x, y)",
    ["t.powGradientBase(g, x, y)", "t.powGradientExponent(g, r, x, y)"], [], Para_FloatTensor> {
  let summary = "x to the power y";
}

def Para_CompareOp : Para_ElementwiseOp<"compare", (ins Para_ComparisonAttr:$predicate, Para_Tensor:$lhs, Para_Tensor:$rhs),
    "scalar::compare(b, getPredicate(), x, y)", [],
    [AllTypesMatch<["lhs", "rhs"]>, DeclareOpInterfaceMethods<Para_IndexUse, ["getTestedValue"]>]> {
  let summary = "Elementwise comparison";
  let results = (outs Para_BoolTensor:$result);
  let declareY = "[[maybe_unused]] ::mlir::Value y = emitter.operand(1, index);";
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Para_SelectOp : Para_ElementwiseOp<"select", (ins Para_BoolTensor:$condition, Para_Tensor:$then, Para_Tensor:$otherwise),
    "::mlir::arith::SelectOp::create(b, x, y, z)",
    ["nullptr", "t.select(x, g, t.like(g, 0.0))", "t.select(x, t.like(g, 0.0), g)"],
    [AllTypesMatch<["then", "otherwise", "result"]>, DeclareOpInterfaceMethods<Para_IndexUse, ["traceToOperand"]>]> {
  let summary = "`then` where the condition holds, else `otherwise`";
  let linearity = "::para::Linearity::None, ::para::Linearity::Joint, ::para::Linearity::Joint";
  let results = (outs Para_Tensor:$result);
  let declareY = "[[maybe_unused]] ::mlir::Value y = emitter.operand(1, index);";
  let declareZ = "[[maybe_unused]] ::mlir::Value z = emitter.operand(2, index);";
  let assemblyFormat = "$condition `,` $then `,` $otherwise attr-dict `:` type($condition) `,` type($then)";
}

def Para_CastOp : Para_ElementwiseOp<"cast", (ins Para_Tensor:$input),
    "scalar::cast(b, x, getType().getElementType())",
    ["::mlir::isa<::mlir::FloatType>(getInput().getType().getElementType()) ? t.cast(g, getInput().getType().getElementType()) : ::mlir::Value()"],
    [DeclareOpInterfaceMethods<Para_IndexUse, ["traceToOperand"]>, DeclareOpInterfaceMethods<Para_Precision>]> {
  let summary = "Conversion of element type";
  let hasFolder = 1;
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Para_AddNOp : Para_CoreOp<"add_n", [Elementwise, Commutative, SameOperandsAndResultType, DeclareOpInterfaceMethods<Para_Element>,
                                        DeclareOpInterfaceMethods<Para_Derivative, ["buildGradient"]>]> {
  let summary = "Sum of any number of tensors; the order of its terms is free";
  let arguments = (ins Variadic<Para_Tensor>:$inputs);
  let results = (outs Para_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($result)";
  let extraClassDefinition = [{
    ::para::Structure $cppClass::getStructure() { 
      return ::para::Structure::elementwise(*this, ::llvm::SmallVector<::para::Linearity>(getNumOperands(), ::para::Linearity::Joint));
    }
  }];
}
