//===- EmitKernels.cpp - Kernels as functions over vectors ----------------===//
#include "KernelLoops.h"

#include "para/Lower/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_EMITKERNELSPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
struct EmitKernelsPass : public para::impl::EmitKernelsPassBase<EmitKernelsPass> {
  void runOnOperation() override {
    KernelTarget target = KernelTarget::host();
    SmallVector<rt::KernelOp> kernels(getOperation().getOps<rt::KernelOp>());
    FactsCache facts;
    for (rt::KernelOp kernel : kernels) {
      if (kernel.getFunction())
        continue;
      KernelLoops(kernel, facts, target).emit();
    }
    for (rt::KernelOp kernel : kernels) {
      Region &body = kernel.getBody();
      body.dropAllReferences();
      body.getBlocks().clear();
    }
    // A product and the sum that takes it may be one operation. Expansions of functions come later and are not touched.
    getOperation().walk([](Operation *op) {
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
        op->setAttr("fastmath", arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::contract));
    });
  }
};
} // namespace
