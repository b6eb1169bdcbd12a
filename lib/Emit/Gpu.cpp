//===- Gpu.cpp - Kernels for NVIDIA GPUs ----------------------------------===//
#include "Internal.h"

#include "para/Lower/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"

#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace mlir;
using namespace para;

std::unique_ptr<llvm::TargetMachine> para::makeGpuMachine(StringRef arch, std::string &problem) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    return nullptr;
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  int number = 0;
  bool isNumber = arch.starts_with("sm_") && !arch.drop_front(3).getAsInteger(10, number);
  if (!isNumber || number < 80 || !known->isCPUStringValid(arch)) {
    problem = "no code can be made for the GPU `" + arch.str() + "`: give sm_80 or a later one, as in --arch=sm_80,sm_90";
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, arch, "", llvm::TargetOptions(), std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

llvm::Error para::checkArch(StringRef arch) {
  std::string problem;
  return makeGpuMachine(arch, problem) ? llvm::Error::success() : llvm::createStringError(llvm::inconvertibleErrorCode(), problem);
}

/// Bodies of the functions by which kernels ask for their place in the block and meet its other threads.
static void defineDevice(llvm::Module &module) {
  llvm::IRBuilder<> ir(module.getContext());
  auto define = [&](StringRef name, llvm::function_ref<llvm::Value *(llvm::Function *)> make) {
    llvm::Function *function = module.getFunction(name);
    if (!function || !function->isDeclaration())
      return;
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    function->addFnAttr(llvm::Attribute::Convergent);
    ir.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
    llvm::Value *result = make(function);
    function->getReturnType()->isVoidTy() ? ir.CreateRetVoid() : ir.CreateRet(result);
    for (llvm::User *user : function->users())
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(user))
        call->setConvergent();
  };
  using namespace llvm::Intrinsic;
  define("para_gpu_thread", [&](llvm::Function *) { return ir.CreateIntrinsic(nvvm_read_ptx_sreg_tid_x, {}); });
  define("para_gpu_block", [&](llvm::Function *) { return ir.CreateIntrinsic(nvvm_read_ptx_sreg_ctaid_x, {}); });
  define("para_gpu_barrier", [&](llvm::Function *) { return ir.CreateIntrinsic(nvvm_barrier_cta_sync_aligned_all, {ir.getInt32(0)}); });
  define("para_gpu_group_barrier", [&](llvm::Function *f) { return ir.CreateIntrinsic(nvvm_bar_warp_sync, {f->getArg(0)}); });
  define("para_gpu_shuffle", [&](llvm::Function *f) {
    return ir.CreateIntrinsic(nvvm_shfl_sync_bfly_i32, {f->getArg(2), f->getArg(0), f->getArg(1), ir.getInt32(31)});
  });
  for (bool isHalf : {false, true})
    define(isHalf ? "para_gpu_multiply_f16" : "para_gpu_multiply_bf16", [&](llvm::Function *f) {
      SmallVector<llvm::Value *> arguments;
      auto *pair = llvm::FixedVectorType::get(ir.getHalfTy(), 2);
      for (unsigned i = 0; i < 6; ++i)
        arguments.push_back(isHalf ? ir.CreateBitCast(f->getArg(i), pair) : f->getArg(i));
      for (unsigned i = 0; i < 4; ++i)
        arguments.push_back(ir.CreateExtractElement(f->getArg(6), i));
      llvm::Value *four = ir.CreateIntrinsic(isHalf ? nvvm_mma_m16n8k16_row_col_f32_f32 : nvvm_mma_m16n8k16_row_col_bf16, arguments);
      llvm::Value *result = llvm::PoisonValue::get(f->getReturnType());
      for (unsigned i = 0; i < 4; ++i)
        result = ir.CreateInsertElement(result, ir.CreateExtractValue(four, i), i);
      return result;
    });
  for (bool isTransposed : {false, true})
    define(isTransposed ? "para_gpu_load_transposed" : "para_gpu_load_matrices", [&](llvm::Function *f) {
      llvm::Type *shared = llvm::PointerType::get(module.getContext(), 3);
      llvm::Value *four = ir.CreateIntrinsic(isTransposed ? nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16 : nvvm_ldmatrix_sync_aligned_m8n8_x4_b16, {shared},
                                             {ir.CreateAddrSpaceCast(f->getArg(0), shared)});
      llvm::Value *result = llvm::PoisonValue::get(f->getReturnType());
      for (unsigned i = 0; i < 4; ++i)
        result = ir.CreateInsertElement(result, ir.CreateExtractValue(four, i), i);
      return result;
    });
  define("para_gpu_shared", [&](llvm::Function *f) {
    // What the launch says it needs.
    auto *type = llvm::ArrayType::get(ir.getInt8Ty(), 0);
    auto *memory = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, "para_shared", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/3);
    memory->setAlignment(llvm::Align(16));
    return ir.CreateAddrSpaceCast(memory, f->getReturnType());
  });
}

void para::scalarizeMasks(llvm::Module &kernels, llvm::TargetMachine *machine) {
  llvm::PassBuilder passes(machine);
  llvm::ModulePassManager scalarize;
  scalarize.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizeMaskedMemIntrinPass()));
  runPasses(kernels, passes, [&] { return std::move(scalarize); });
}

llvm::StringMap<int64_t> para::getThreads(ModuleOp program) {
  llvm::StringMap<int64_t> threads;
  for (auto kernel : program.getOps<rt::KernelOp>())
    threads[kernel.getFunctionAttr().getValue()] = *kernel.getBlock();
  for (auto func : program.getOps<func::FuncOp>())
    if (auto count = func->getAttrOfType<IntegerAttr>(rt::threadsAttrName))
      threads[func.getName()] = count.getInt();
  return threads;
}

void para::optimizeForGpu(llvm::Module &kernels, llvm::TargetMachine &machine, ModuleOp program) {
  kernels.setTargetTriple(machine.getTargetTriple());
  kernels.setDataLayout(machine.createDataLayout());
  llvm::StringMap<int64_t> threads = getThreads(program);
  for (llvm::Function &function : kernels) {
    if (function.isDeclaration())
      continue;
    function.setCallingConv(llvm::CallingConv::PTX_Kernel);
    function.addFnAttr("nvvm.maxntid", std::to_string(threads.lookup(function.getName())));
    // Else ptxas rather spills a register or two than let a multiprocessor have fewer blocks.
    function.addFnAttr("nvvm.minctasm", "1");
  }
  defineDevice(kernels);
  // Masks are constants for the most part: straight lines of loads, whose addresses are then known to be global.
  scalarizeMasks(kernels, &machine);
  optimize(kernels, machine, true);
}
