#ifndef PARA_INTERFACES_COLLECTIVE_TD
#define PARA_INTERFACES_COLLECTIVE_TD

include "mlir/IR/OpBase.td"

def Para_Collective : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ Communication between the ranks along mesh axes. }];
  let methods = [
    InterfaceMethod<"Axes of the communicator; empty for point to point.", "::llvm::SmallVector<::llvm::StringRef>", "getCommunicatorAxes">,
    InterfaceMethod<"Elements that one rank of `n` sends by the textbook algorithm, as a fraction of the larger side's elements.",
      "double", "getSentElements", (ins "int64_t":$n)>
  ];
}

#endif
