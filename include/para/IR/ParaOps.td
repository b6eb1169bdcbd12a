#ifndef PARA_IR_PARAOPS_TD
#define PARA_IR_PARAOPS_TD

include "para/IR/ParaDialect.td"
include "para/IR/ParaAttrs.td"
include "para/Interfaces/Structure.td"
include "para/Interfaces/Derivative.td"
include "para/Interfaces/Element.td"
include "para/Interfaces/IndexUse.td"
include "para/Interfaces/Precision.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// The element types of the runtime; `isElementType` says the same in C++.
defvar floats = [F16, BF16, F32, F64];
defvar ints = [I1, I8, I16, I32, I64];
class Para_StaticTensor<list<Type> types> : RankedTensorOf<types, [HasStaticShapePred], "tensor of static shape">;
def Para_Tensor : Para_StaticTensor<!listconcat(floats, ints)>;
def Para_FloatTensor : Para_StaticTensor<floats>;
def Para_IntTensor : Para_StaticTensor<ints>;
def Para_BoolTensor : Para_StaticTensor<[I1]>;

/// An op of the core set: structure and derivative are told by every one.
class Para_CoreOp<string mnemonic, list<Trait> traits = []> : Para_Op<mnemonic, [
    Pure, DeclareOpInterfaceMethods<Para_Structure>] # traits>;

#endif
