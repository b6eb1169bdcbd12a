//===- KernelScatter.h - Rows added to a table, on a GPU -----------*- C++ -*-===//
#ifndef PARA_LOWER_KERNELSCATTER_H
#define PARA_LOWER_KERNELSCATTER_H

#include "mlir/IR/BuiltinOps.h"

namespace para {

/// Adds the kernels for the `rt.scatter_add` ops of the program, `para_scatter_order_INDEX` and `para_scatter_DTYPE_INDEX` (runtime/README.md).
/// Fails with an error where there is no code for an op's types.
mlir::LogicalResult emitScatters(mlir::ModuleOp program);

} // namespace para

#endif
