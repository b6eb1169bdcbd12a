//===- KernelFacts.h - What a kernel does, for reports -------------*- C++ -*-===//
#ifndef PARA_LOWER_KERNELFACTS_H
#define PARA_LOWER_KERNELFACTS_H

#include "KernelStreams.h"

#include "para/Lower/Rt.h"

namespace para {

/// The products that a kernel makes, as one: so many of m x k by k x n.
struct KernelProduct {
  int64_t batch = 0, m = 0, n = 0, k = 0;
  bool onTensorCores = false;
};

/// Notes as `rt.facts` of a kernel: its family, the model's nodes, operations, and bytes by buffer.
void noteFacts(rt::KernelOp kernel, llvm::StringRef family, llvm::ArrayRef<mlir::Attribute> nodes, double flops, llvm::ArrayRef<BufferTraffic> traffic,
               const KernelProduct &product = {});

} // namespace para

#endif
