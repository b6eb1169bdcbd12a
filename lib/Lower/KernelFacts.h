//===- KernelFacts.h - What a kernel does, for reports -------------*- C++ -*-===//
#ifndef PARA_LOWER_KERNELFACTS_H
#define PARA_LOWER_KERNELFACTS_H

#include "KernelStreams.h"

#include "para/Lower/Rt.h"

namespace para {

/// Notes as `rt.facts` of a kernel: its family, the model's nodes, operations, and bytes by buffer.
void noteFacts(rt::KernelOp kernel, llvm::StringRef family, llvm::ArrayRef<mlir::Attribute> nodes, double flops, llvm::ArrayRef<BufferTraffic> traffic);

} // namespace para

#endif
