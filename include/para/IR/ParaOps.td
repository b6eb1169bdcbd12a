#ifndef PARA_IR_PARAOPS_TD
#define PARA_IR_PARAOPS_TD

include "para/IR/ParaDialect.td"
include "para/IR/ParaAttrs.td"
include "para/Interfaces/Structure.td"
include "para/Interfaces/Derivative.td"
include "para/Interfaces/Element.td"
include "para/Interfaces/IndexUse.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Para_Tensor : RankedTensorOf<[AnyFloat, AnySignlessInteger]>;
def Para_FloatTensor : RankedTensorOf<[AnyFloat]>;
def Para_IntTensor : RankedTensorOf<[AnySignlessInteger]>;
def Para_BoolTensor : RankedTensorOf<[I1]>;

/// An op of the core set: structure and derivative are told by every one.
class Para_CoreOp<string mnemonic, list<Trait> traits = []> : Para_Op<mnemonic, [
    Pure, DeclareOpInterfaceMethods<Para_Structure>] # traits>;

#endif
