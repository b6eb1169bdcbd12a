//===- Rehearsal.cpp - A GPU's kernels, called by the host ----------------===//
#include "Internal.h"

#include "para/Lower/Rt.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace para;

/// Whether threads of the kernel wait for one another.
static bool waits(const llvm::Function &kernel) {
  for (const llvm::BasicBlock &block : kernel)
    for (const llvm::Instruction &instruction : block)
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->getCalledFunction())
        for (StringRef name : {"para_gpu_barrier", "para_gpu_group_barrier", "para_gpu_shuffle"})
          if (call->getCalledFunction()->getName() == name)
            return true;
  return false;
}

void para::addRehearsals(llvm::Module &kernels, ModuleOp program) {
  llvm::StringMap<std::pair<int64_t, int64_t>> known;
  for (auto kernel : program.getOps<rt::KernelOp>())
    known[kernel.getFunctionAttr().getValue()] = {*kernel.getBlock(), *kernel.getSharedBytes()};
  llvm::IRBuilder<> ir(kernels.getContext());
  auto *ptr = ir.getPtrTy();
  auto *i64 = ir.getInt64Ty();
  auto *i32 = ir.getInt32Ty();
  auto rehearse = kernels.getOrInsertFunction("para_rehearse_blocks", ir.getVoidTy(), ptr, i64, i64, i32, i32, i32, ptr);
  SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : kernels)
    if (!function.isDeclaration() && (known.count(function.getName()) || function.getName().starts_with("para_scatter_")))
      functions.push_back(&function);
  for (llvm::Function *function : functions) {
    // One thread: its arguments out of the launch's list.
    auto *one = llvm::Function::Create(llvm::FunctionType::get(ir.getVoidTy(), {ptr}, false), llvm::GlobalValue::InternalLinkage,
                                       function->getName() + "_thread", kernels);
    ir.SetInsertPoint(llvm::BasicBlock::Create(kernels.getContext(), "", one));
    SmallVector<llvm::Value *> arguments;
    for (auto &argument : function->args())
      arguments.push_back(ir.CreateLoad(argument.getType(), ir.CreateConstGEP1_64(i64, one->getArg(0), argument.getArgNo())));
    ir.CreateCall(function, arguments);
    ir.CreateRetVoid();
    // A range of blocks, as the host's runtime calls kernels.
    auto it = known.find(function->getName());
    auto [threads, shared] = it == known.end() ? std::pair<int64_t, int64_t>(scatterThreads, 16) : it->second;
    auto *range = llvm::Function::Create(llvm::FunctionType::get(ir.getVoidTy(), {i64, i64, ptr}, false), llvm::GlobalValue::ExternalLinkage,
                                         function->getName() + "_cpu", kernels);
    ir.SetInsertPoint(llvm::BasicBlock::Create(kernels.getContext(), "", range));
    ir.CreateCall(rehearse, {one, range->getArg(0), range->getArg(1), llvm::ConstantInt::get(i32, threads), llvm::ConstantInt::get(i32, shared),
                             llvm::ConstantInt::get(i32, waits(*function)), range->getArg(2)});
    ir.CreateRetVoid();
  }
}
