#ifndef PARA_INTERFACES_DERIVATIVE_TD
#define PARA_INTERFACES_DERIVATIVE_TD

include "mlir/IR/OpBase.td"

def Para_Derivative : OpInterface<"DerivativeOpInterface"> {
  let cppNamespace = "::para";
  let description = [{
    The reverse-mode rule of an op, made of ordinary ops. An op without gradient (comparisons, index arithmetic) leaves all
    entries null, which is the default.
  }];
  let methods = [
    InterfaceMethod<[{
        Writes the cotangent of each operand to `gradients` (one entry an operand, null where there is none), given the
        cotangents of the results (null where a result has none; at least one is there). Fails, with an error emitted at the
        op, where the rule does not hold for these attributes.
      }], "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$cotangents,
           "::llvm::MutableArrayRef<::mlir::Value>":$gradients), "", [{ return ::mlir::success(); }]>
  ];
}

def Para_Decomposable : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::para";
  let description = [{
    An op that stands for a formula over the core set. It exists so that its derivative can be told in one piece; the pass
    `para-decompose` replaces it after differentiation, so that planning and everything later see the core set only.
  }];
  let methods = [
    InterfaceMethod<"Builds the formula; one value per result.", "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif
