#ifndef PARA_INTERFACES_COLLECTIVE_TD
#define PARA_INTERFACES_COLLECTIVE_TD

include "mlir/IR/OpBase.td"

def Para_Collective : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ Communication between the ranks along mesh axes. }];
  let methods = [
    InterfaceMethod<"Axes of the communicator; empty for point to point.", "::llvm::SmallVector<::llvm::StringRef>", "getCommunicatorAxes">,
    InterfaceMethod<"Elements that one rank of `n` sends by the textbook algorithm, as a fraction of the larger side's elements.",
      "double", "getSentElements", (ins "int64_t":$n)>,
    InterfaceMethod<"Ops with equal keys can be one message; null for ops that stand alone.", "::mlir::Attribute", "getBucketKey", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<"Builds one op that does what `ops` of one key do; its results are theirs in order.", "::mlir::Operation *", "buildBucket",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Operation *>":$ops), "", [{ return nullptr; }]>
  ];
}

#endif
