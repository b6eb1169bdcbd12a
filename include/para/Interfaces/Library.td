#ifndef PARA_INTERFACES_LIBRARY_TD
#define PARA_INTERFACES_LIBRARY_TD

include "mlir/IR/OpBase.td"

def Para_Library : OpInterface<"LibraryOpInterface"> {
  let cppNamespace = "::para";
  let description = [{ An op that is, or may be, one call of the runtime instead of a kernel; see Library.h. }];
  let methods = [
    InterfaceMethod<"The call; none where the runtime lacks it for these types and a kernel is made from the elements.",
      "::std::optional<::para::LibraryCall>", "getLibraryCall">
  ];
}

#endif
