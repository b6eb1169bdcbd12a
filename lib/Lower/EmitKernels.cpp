//===- EmitKernels.cpp - Kernels as functions over vectors ----------------===//
#include "KernelLoops.h"
#include "KernelScatter.h"
#include "KernelTiles.h"

#include "para/Lower/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_EMITKERNELSPASS
#include "para/Lower/Passes.h.inc"
} // namespace para

namespace {
/// What the addresses of a kernel's buffers are multiples of, over all its launches. The arena itself is well aligned.
llvm::StringMap<SmallVector<int64_t>> alignmentsOf(ModuleOp module) {
  llvm::StringMap<SmallVector<int64_t>> result;
  auto align = [](int64_t &known, Attribute attr) {
    auto address = cast<rt::AddressAttr>(attr);
    for (int64_t step : {address.getOffset(), address.getBlock(), address.getSlot()})
      known = std::gcd(known, step);
  };
  module.walk([&](rt::LaunchOp launch) {
    SmallVector<int64_t> &list = result[launch.getKernel()];
    auto kernel = module.lookupSymbol<rt::KernelOp>(launch.getKernel());
    if (!kernel || !kernel.getInstances()) {
      list.resize(launch.getBuffers().size(), 64);
      for (auto [known, attr] : llvm::zip_equal(list, launch.getBuffers()))
        align(known, attr);
      return;
    }
    ArrayRef<int64_t> varying = *kernel.getVarying();
    list.resize(varying.size() + launch.getBuffers().size() - 1, 64);
    for (Attribute row : kernel.getInstancesAttr())
      for (auto [i, offset] : llvm::zip_equal(varying, cast<DenseI64ArrayAttr>(row).asArrayRef().drop_front()))
        list[i] = std::gcd(list[i], offset);
    auto shared = launch.getBuffers().begin() + 1;
    for (unsigned i = 0; i < list.size(); ++i)
      if (!llvm::is_contained(varying, i))
        align(list[i], *shared++);
  });
  return result;
}

struct EmitKernelsPass : public para::impl::EmitKernelsPassBase<EmitKernelsPass> {
  using EmitKernelsPassBase::EmitKernelsPassBase;
  void runOnOperation() override {
    KernelTarget machine = target == "host" ? KernelTarget::host() : KernelTarget::gpu();
    llvm::StringMap<SmallVector<int64_t>> alignments = alignmentsOf(getOperation());
    SmallVector<rt::KernelOp> kernels(getOperation().getOps<rt::KernelOp>());
    FactsCache facts;
    for (rt::KernelOp kernel : kernels) {
      if (kernel.getFunction())
        continue;
      SmallVector<int64_t> known = alignments.lookup(kernel.getSymName());
      if (kernel->hasAttr(TileSpace::attrName))
        KernelTiles(kernel, facts, known).emit(describe);
      else
        KernelLoops(kernel, facts, machine, known).emit(describe);
    }
    for (rt::KernelOp kernel : kernels) {
      Region &body = kernel.getBody();
      body.dropAllReferences();
      body.getBlocks().clear();
    }
    if (machine.hasBlocks && failed(emitScatters(getOperation())))
      return signalPassFailure();
    // A product and the sum that takes it may be one operation. Expansions of functions come later and are not touched.
    getOperation().walk([](Operation *op) {
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
        op->setAttr("fastmath", arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::contract));
    });
  }
};
} // namespace
