#ifndef PARA_INTERFACES_INDEXUSE_TD
#define PARA_INTERFACES_INDEXUSE_TD

include "mlir/IR/OpBase.td"

def Para_IndexUse : OpInterface<"IndexUseOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ What an op makes of integers that may be indices; see IndexUse.h. The defaults say: nothing that is known. }];
  let methods = [
    InterfaceMethod<"The values which elements of operand `operand` may have, if the op itself uses them as indices.",
      "::std::optional<::para::IndexRange>", "getIndexRange", (ins "unsigned":$operand), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<"The constant that elements of operand `operand` are tested to be equal to, or not to be.",
      "::std::optional<int64_t>", "getTestedValue", (ins "unsigned":$operand), "", [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Turns a part of the result into the part of operand `operand` which it consists of, unchanged; it may be empty. False where
        other elements would be in it, or elements may be missing for another reason than where they are.
      }], "bool", "traceToOperand", (ins "unsigned":$operand, "::para::TensorPart &":$part), "", [{ return false; }]>
  ];
}

#endif
