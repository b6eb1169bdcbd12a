//===- KernelReport.h - What --report=kernels prints ---------------*- C++ -*-===//
#ifndef PARA_DRIVER_KERNELREPORT_H
#define PARA_DRIVER_KERNELREPORT_H

#include "para/Cost/Machine.h"
#include "para/Lower/KernelTable.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace para {

/// The launches of a step by kernel, with sums by family. `machine` null: without seconds. `type` is what products are computed in.
void printKernels(llvm::ArrayRef<KernelRow> rows, const Machine *machine, CostType type, llvm::raw_ostream &os);
llvm::json::Value kernelsToJson(llvm::ArrayRef<KernelRow> rows, const Machine *machine, CostType type);

} // namespace para

#endif
