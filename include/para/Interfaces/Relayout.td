#ifndef PARA_INTERFACES_RELAYOUT_TD
#define PARA_INTERFACES_RELAYOUT_TD

include "mlir/IR/OpBase.td"

def Para_Relayout : OpInterface<"RelayoutOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ An op that may change how a value lies on the ranks and not what it is; see Relayout.h. }];
  let methods = [InterfaceMethod<"What the op does to the layout.", "::para::Relayout", "getRelayout">];
}

#endif
