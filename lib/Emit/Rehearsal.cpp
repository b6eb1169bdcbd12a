//===- Rehearsal.cpp - A GPU's kernels for the processor -------------------===//
//
// A program for CUDA carries its kernels for the processor too: what one thread does, with every access to memory told to the rehearsal,
// which says where the bytes are (runtime/rehearsal/Blocks.h). Device addresses themselves cannot be touched.
//
//===----------------------------------------------------------------------===//
#include "Internal.h"

#include "para/Lower/Rt.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace para;

/// Whether threads of the kernel wait for one another.
static bool waits(const llvm::Function &kernel) {
  for (const llvm::BasicBlock &block : kernel)
    for (const llvm::Instruction &instruction : block)
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->getCalledFunction())
        for (StringRef name : {"para_gpu_barrier", "para_gpu_group_barrier", "para_gpu_shuffle", "para_gpu_multiply", "para_gpu_load_"})
          if (call->getCalledFunction()->getName().starts_with(name))
            return true;
  return false;
}

void para::addThreadFunctions(llvm::Module &kernels, ModuleOp program, std::vector<ThreadKernel> &list) {
  llvm::StringMap<int64_t> threads = getThreads(program);
  llvm::IRBuilder<> ir(kernels.getContext());
  SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : kernels)
    if (!function.isDeclaration() && threads.count(function.getName()))
      functions.push_back(&function);
  for (llvm::Function *function : functions) {
    auto *type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy()}, false);
    auto *one = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, function->getName() + "_thread", kernels);
    one->setVisibility(llvm::GlobalValue::HiddenVisibility);
    ir.SetInsertPoint(llvm::BasicBlock::Create(kernels.getContext(), "", one));
    SmallVector<llvm::Value *> arguments;
    for (auto &argument : function->args())
      arguments.push_back(ir.CreateLoad(argument.getType(), ir.CreateConstGEP1_64(ir.getInt64Ty(), one->getArg(0), argument.getArgNo())));
    ir.CreateCall(function, arguments);
    ir.CreateRetVoid();
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    list.push_back({function->getName().str(), int64_t(function->arg_size()), threads.lookup(function->getName()), waits(*function)});
  }
}

/// What tensor cores do, by the rehearsal: operands and results go through memory of the thread.
static void defineTensorCores(llvm::Module &module) {
  llvm::IRBuilder<> ir(module.getContext());
  for (bool isTransposed : {false, true}) {
    llvm::Function *function = module.getFunction(isTransposed ? "para_gpu_load_transposed" : "para_gpu_load_matrices");
    if (!function || !function->isDeclaration())
      continue;
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    ir.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
    llvm::Type *type = function->getReturnType();
    llvm::Value *row = ir.CreateAlloca(type);
    ir.CreateStore(ir.CreateAlignedLoad(type, function->getArg(0), llvm::Align(16)), row); // this thread's, and an access like others
    ir.CreateCall(module.getOrInsertFunction("para_gpu_deal_rows", ir.getVoidTy(), ir.getPtrTy(), ir.getInt32Ty()), {row, ir.getInt32(isTransposed)});
    ir.CreateRet(ir.CreateLoad(type, row));
  }
  for (bool isHalf : {false, true}) {
    llvm::Function *function = module.getFunction(isHalf ? "para_gpu_multiply_f16" : "para_gpu_multiply_bf16");
    if (!function || !function->isDeclaration())
      continue;
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    ir.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
    llvm::Value *operands = ir.CreateAlloca(ir.getInt32Ty(), ir.getInt32(6)), *sums = ir.CreateAlloca(function->getReturnType());
    for (unsigned i = 0; i < 6; ++i)
      ir.CreateStore(function->getArg(i), ir.CreateConstGEP1_64(ir.getInt32Ty(), operands, i));
    ir.CreateStore(function->getArg(6), sums);
    auto multiply = module.getOrInsertFunction("para_gpu_multiply", ir.getVoidTy(), ir.getPtrTy(), ir.getPtrTy(), ir.getInt32Ty());
    ir.CreateCall(multiply, {operands, sums, ir.getInt32(isHalf)});
    ir.CreateRet(ir.CreateLoad(function->getReturnType(), sums));
  }
}

/// Memory of the thread itself, its arguments, and tables.
static bool isOwn(const llvm::Value *pointer, const llvm::Function &function) {
  // One of a vector of addresses that lanes have made of one.
  while (pointer) {
    if (auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(pointer))
      pointer = extract->getVectorOperand();
    else if (auto *place = llvm::dyn_cast<llvm::GEPOperator>(pointer); place && place->getType()->isVectorTy())
      pointer = place->getPointerOperand();
    else if (pointer->getType()->isVectorTy())
      pointer = llvm::getSplatValue(pointer);
    else
      break;
  }
  if (!pointer)
    return false;
  SmallVector<const llvm::Value *> objects;
  llvm::getUnderlyingObjects(pointer, objects, /*LI=*/nullptr, /*MaxLookup=*/0);
  return llvm::all_of(objects, [&](const llvm::Value *object) {
    return llvm::isa<llvm::AllocaInst, llvm::GlobalValue>(object) || (object == function.getArg(0) && function.getName().ends_with("_thread"));
  });
}

/// Puts what the rehearsal says into the place of each address.
static void followAccesses(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getDataLayout();
  llvm::IRBuilder<> ir(function.getContext());
  auto follow = [&](llvm::Instruction *at, llvm::Use &address, llvm::Value *bytes, llvm::Align alignment, int writes) {
    if (isOwn(address.get(), function))
      return;
    ir.SetInsertPoint(at);
    auto access = function.getParent()->getOrInsertFunction("para_rehearse_access", ir.getPtrTy(), ir.getPtrTy(), ir.getInt64Ty(), ir.getInt32Ty(), ir.getInt32Ty());
    address.set(ir.CreateCall(access, {address.get(), bytes, ir.getInt32(alignment.value()), ir.getInt32(writes)}));
  };
  SmallVector<llvm::Instruction *> all;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    all.push_back(&instruction);
  auto bytesOf = [&](llvm::Type *type) { return ir.getInt64(layout.getTypeStoreSize(type)); };
  for (llvm::Instruction *instruction : all) {
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(instruction))
      follow(load, load->getOperandUse(0), bytesOf(load->getType()), load->getAlign(), false);
    else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(instruction))
      follow(store, store->getOperandUse(1), bytesOf(store->getValueOperand()->getType()), store->getAlign(), store->isAtomic() ? 2 : 1);
    else if (auto *transfer = llvm::dyn_cast<llvm::MemTransferInst>(instruction)) {
      follow(transfer, transfer->getRawDestUse(), transfer->getLength(), transfer->getDestAlign().valueOrOne(), true);
      follow(transfer, transfer->getRawSourceUse(), transfer->getLength(), transfer->getSourceAlign().valueOrOne(), false);
    } else if (auto *fill = llvm::dyn_cast<llvm::MemSetInst>(instruction))
      follow(fill, fill->getRawDestUse(), fill->getLength(), fill->getDestAlign().valueOrOne(), true);
    else
      assert((!llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) && "no kernel updates memory by atomics");
  }
  function.removeFnAttr(llvm::Attribute::Memory);
  for (llvm::Argument &argument : function.args())
    for (auto kind : {llvm::Attribute::ReadOnly, llvm::Attribute::WriteOnly, llvm::Attribute::ReadNone})
      argument.removeAttr(kind);
}

void para::optimizeForRehearsal(llvm::Module &kernels, llvm::TargetMachine &machine) {
  defineTensorCores(kernels);
  scalarizeMasks(kernels, nullptr); // others would not be followed
  optimize(kernels, machine, true);
  scalarizeMasks(kernels, nullptr);
  for (llvm::Function &function : kernels)
    if (!function.isDeclaration())
      followAccesses(function);
}
