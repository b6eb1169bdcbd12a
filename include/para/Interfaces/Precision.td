#ifndef PARA_INTERFACES_PRECISION_TD
#define PARA_INTERFACES_PRECISION_TD

include "mlir/IR/OpBase.td"

def Para_Precision : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ What an op does with 16-bit floats, where it is not plain arithmetic; see Precision.h. }];
  let methods = [
    InterfaceMethod<"Which operands it takes as they are stored.", "::para::PrecisionRule", "getPrecisionRule">,
    InterfaceMethod<"Of a composite: whether a result is f32 whatever the operands are, as statistics and losses are.", "bool", "isWideResult",
      (ins "unsigned":$result), "", [{ return false; }]>,
    InterfaceMethod<"Of a product: whether its result may be f32 while its operands are narrow.", "bool", "accumulatesWide", (ins), "", [{ return false; }]>
  ];
}

#endif
