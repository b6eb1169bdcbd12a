//===- Program.cpp - Segments and manifest as an LLVM module --------------===//
#include "Internal.h"

#include "para/IR/Program.h"
#include "para/Lower/Rt.h"
#include "para/Runtime/para_runtime.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <cstring>

using namespace mlir;
using namespace para;

namespace {
class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, llvm::LLVMContext &context, const EmitOptions &options, StringRef image, ArrayRef<ThreadKernel> threadKernels)
      : source(module), isHost(options.target == "host"), image(image), threadKernels(threadKernels),
        out(std::make_unique<llvm::Module>("para", context)), ir(context), ptr(ir.getPtrTy()), i64(ir.getInt64Ty()), i32(ir.getInt32Ty()) {
    auto count = module->getAttrOfType<IntegerAttr>("para.microbatches");
    microbatches = count ? count.getInt() : 1;
    mesh = module->getAttrOfType<MeshAttr>("para.mesh");
    for (auto kernel : module.getOps<rt::KernelOp>())
      kernels[kernel.getSymName()] = kernel;
  }

  std::unique_ptr<llvm::Module> run() {
    std::vector<llvm::Constant *> segments;
    auto *entry = llvm::StructType::get(out->getContext(), {ptr, ptr});
    for (auto segment : source.getOps<rt::SegmentOp>())
      segments.push_back(llvm::ConstantStruct::get(entry, {text(segment.getSymName()), buildSegment(segment)}));
    auto *table = llvm::ArrayType::get(entry, segments.size());
    auto *list = new llvm::GlobalVariable(*out, table, true, llvm::GlobalValue::InternalLinkage, llvm::ConstantArray::get(table, segments), "segments");
    StringRef manifest = source->getAttrOfType<StringAttr>("rt.manifest").getValue();
    auto *type = llvm::StructType::get(out->getContext(), {i32, i32, ptr, i64, ptr, ptr, i64, ptr, i64});
    llvm::Constant *fields[] = {llvm::ConstantInt::get(i32, PARA_ABI_VERSION), llvm::ConstantInt::get(i32, segments.size()), text(manifest),
                                llvm::ConstantInt::get(i64, manifest.size()), list,
                                image.empty() ? llvm::ConstantPointerNull::get(ptr) : bytes(image), llvm::ConstantInt::get(i64, image.size()), buildThreadKernels(),
                                llvm::ConstantInt::get(i64, threadKernels.size())};
    new llvm::GlobalVariable(*out, type, true, llvm::GlobalValue::ExternalLinkage, llvm::ConstantStruct::get(type, fields), "para_main_program");
    return std::move(out);
  }

private:
  llvm::Constant *buildThreadKernels() {
    auto *entry = llvm::StructType::get(out->getContext(), {ptr, ptr, i32, i32, i32});
    std::vector<llvm::Constant *> list;
    for (const ThreadKernel &kernel : threadKernels) {
      auto *function = llvm::cast<llvm::Function>(out->getOrInsertFunction(kernel.name + "_thread", ir.getVoidTy(), ptr).getCallee());
      function->setVisibility(llvm::GlobalValue::HiddenVisibility);
      list.push_back(llvm::ConstantStruct::get(entry, {text(kernel.name), function, llvm::ConstantInt::get(i32, kernel.numArgs),
                                                       llvm::ConstantInt::get(i32, kernel.mostThreads), llvm::ConstantInt::get(i32, kernel.waits)}));
    }
    auto *table = llvm::ArrayType::get(entry, list.size());
    return new llvm::GlobalVariable(*out, table, true, llvm::GlobalValue::InternalLinkage, llvm::ConstantArray::get(table, list), "thread_kernels");
  }

  llvm::Constant *text(StringRef value) {
    llvm::Constant *&known = strings[value];
    if (!known) {
      llvm::Constant *data = llvm::ConstantDataArray::getString(out->getContext(), value);
      auto *global = new llvm::GlobalVariable(*out, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "text");
      global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
      known = global;
    }
    return known;
  }

  /// A struct of the runtime's interface as constant bytes.
  template <typename T>
  llvm::Constant *bytesOf(const T &value) {
    return bytes(StringRef(reinterpret_cast<const char *>(&value), sizeof(T)));
  }

  llvm::Constant *bytes(StringRef raw) {
    llvm::Constant *&known = structs[raw];
    if (!known) {
      llvm::Constant *data = llvm::ConstantDataArray::getString(out->getContext(), raw, /*AddNull=*/false);
      auto *global = new llvm::GlobalVariable(*out, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "desc");
      global->setAlignment(llvm::Align(8));
      known = global;
    }
    return known;
  }

  llvm::Constant *kernelOf(rt::KernelOp kernel) {
    return kernelOf(kernel.getFunctionAttr().getValue(), kernel.getGrain().value_or(1), kernel.getBlock().value_or(0), kernel.getSharedBytes().value_or(0));
  }

  llvm::Constant *kernelOf(StringRef name, int64_t grain, int64_t block, int64_t shared) {
    llvm::Constant *&known = kernelConstants[name];
    if (!known) {
      llvm::Constant *function = llvm::ConstantPointerNull::get(ptr);
      if (isHost)
        function = llvm::cast<llvm::Constant>(out->getOrInsertFunction(name, ir.getVoidTy(), i64, i64, ptr).getCallee());
      auto *type = llvm::StructType::get(out->getContext(), {ptr, ptr, i64, i32, i32});
      llvm::Constant *fields[] = {text(name), function, llvm::ConstantInt::get(i64, grain), llvm::ConstantInt::get(i32, block), llvm::ConstantInt::get(i32, shared)};
      known = new llvm::GlobalVariable(*out, type, true, llvm::GlobalValue::PrivateLinkage, llvm::ConstantStruct::get(type, fields), "kernel");
    }
    return known;
  }

  llvm::Value *integer(int64_t v) { return llvm::ConstantInt::get(i64, v); }
  llvm::Value *small(int64_t v) { return llvm::ConstantInt::get(i32, v); }

  llvm::Value *scaled(llvm::Value *x, int64_t factor) { return factor == 1 ? x : ir.CreateMul(x, integer(factor)); }

  llvm::Value *address(Attribute attr) {
    auto a = cast<rt::AddressAttr>(attr);
    llvm::Value *offset = integer(a.getOffset());
    if (a.getBlock())
      offset = ir.CreateAdd(offset, scaled(a.getRing() ? ir.CreateURem(microbatch, integer(a.getRing())) : microbatch, a.getBlock()));
    if (a.getSlot())
      offset = ir.CreateAdd(offset, scaled(slot, a.getSlot()));
    return ir.CreatePtrAdd(arena, offset);
  }

  llvm::Value *coordinate(StringRef axis) {
    if (axis == "microbatch")
      return microbatch;
    for (auto [i, name] : llvm::enumerate(mesh ? mesh.getAxes().getValue() : ArrayRef<Attribute>()))
      if (cast<StringAttr>(name).getValue() == axis)
        return ir.CreateCall(out->getOrInsertFunction("para_coordinate", i64, ptr, i32), {context, small(i)});
    return integer(0);
  }

  /// Calls and leaves the segment if the status is not zero.
  void call(StringRef name, ArrayRef<llvm::Value *> arguments) {
    SmallVector<llvm::Type *> types;
    for (llvm::Value *v : arguments)
      types.push_back(v->getType());
    auto callee = out->getOrInsertFunction(name, llvm::FunctionType::get(i32, types, false));
    llvm::Value *result = ir.CreateCall(callee, arguments);
    auto *next = llvm::BasicBlock::Create(out->getContext(), "", function);
    status->addIncoming(result, ir.GetInsertBlock());
    ir.CreateCondBr(ir.CreateICmpEQ(result, small(0)), next, leave);
    ir.SetInsertPoint(next);
  }

  llvm::Function *buildSegment(rt::SegmentOp segment) {
    auto *type = llvm::FunctionType::get(i32, {ptr, i64, i64}, false);
    function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, segment.getSymName(), *out);
    context = function->getArg(0), microbatch = function->getArg(1), slot = function->getArg(2);
    auto *entry = llvm::BasicBlock::Create(out->getContext(), "", function);
    leave = llvm::BasicBlock::Create(out->getContext(), "leave", function);
    ir.SetInsertPoint(leave);
    status = ir.CreatePHI(i32, 8);
    ir.CreateRet(status);
    ir.SetInsertPoint(entry);
    size_t most = 1;
    for (Operation &op : segment.getBody().front())
      if (auto launch = dyn_cast<rt::LaunchOp>(op))
        most = std::max(most, launch.getBuffers().size() + kernels[launch.getKernel()].getNumbers().size());
    arguments = ir.CreateAlloca(llvm::ArrayType::get(i64, most));
    arena = ir.CreateCall(out->getOrInsertFunction("para_arena", ptr, ptr), {context});
    for (Operation &op : segment.getBody().front())
      emit(&op);
    status->addIncoming(small(0), ir.GetInsertBlock());
    ir.CreateBr(leave);
    leave->moveAfter(&function->back());
    return function;
  }

  int64_t get(Operation *op, StringRef name) { return op->getAttrOfType<IntegerAttr>(name).getInt(); }
  ArrayRef<int64_t> getList(Operation *op, StringRef name) { return op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef(); }

  void emit(Operation *op) {
    llvm::Constant *name = text(getNodeName(op->getLoc()));
    llvm::Value *stream = small(get(op, "stream"));
    SmallVector<llvm::Value *> buffers;
    for (Attribute attr : op->getAttrOfType<ArrayAttr>("buffers"))
      buffers.push_back(address(attr));
    if (auto launch = dyn_cast<rt::LaunchOp>(op)) {
      rt::KernelOp kernel = kernels[launch.getKernel()];
      SmallVector<llvm::Value *> values;
      for (llvm::Value *buffer : buffers)
        values.push_back(ir.CreatePtrToInt(buffer, i64));
      for (Attribute axis : kernel.getNumbers())
        values.push_back(coordinate(cast<StringAttr>(axis).getValue()));
      for (auto [i, v] : llvm::enumerate(values))
        ir.CreateStore(v, ir.CreateConstGEP1_64(i64, arguments, i));
      call("para_launch", {context, stream, kernelOf(kernel), integer(*kernel.getExtent()), arguments, small(values.size()), name});
    } else if (isa<rt::MatmulOp>(op)) {
      matmul(op, stream, buffers, name);
    } else if (isa<rt::ConvolutionOp>(op)) {
      convolution(op, stream, buffers, name);
    } else if (isa<rt::ScatterAddOp>(op)) {
      scatter(op, stream, buffers, name);
    } else if (isa<rt::CopyOp>(op)) {
      call("para_copy", {context, stream, buffers[1], buffers[0], integer(get(op, "bytes")), name});
    } else if (isa<rt::AllReduceOp, rt::AllGatherOp, rt::ReduceScatterOp, rt::AllToAllOp>(op)) {
      llvm::Value *sequence = small(get(op, "sequence"));
      if (int64_t step = get(op, "per_microbatch"))
        sequence = ir.CreateTrunc(ir.CreateAdd(integer(get(op, "sequence")), scaled(microbatch, step)), i32);
      SmallVector<llvm::Value *> list{context, stream, small(get(op, "communicator")), sequence, buffers[0], buffers[1], integer(get(op, "count")), small(get(op, "dtype"))};
      if (isa<rt::AllReduceOp, rt::ReduceScatterOp>(op))
        list.push_back(small(get(op, "reduction")));
      list.push_back(name);
      call(("para_" + op->getName().stripDialect()).str(), list);
    } else if (isa<rt::SendOp, rt::RecvOp>(op)) {
      llvm::Value *tag = ir.CreateAdd(integer(get(op, "tag") * microbatches), microbatch);
      call(isa<rt::SendOp>(op) ? "para_send" : "para_recv",
           {context, stream, small(get(op, "axis")), integer(get(op, "peer")), tag, buffers[0], integer(get(op, "bytes")), name});
    } else if (isa<rt::WaitOp>(op)) {
      llvm::Value *before = microbatch;
      if (int64_t back = get(op, "back")) { // the first ones of a step wait for those that had their buffers last in the step before
        llvm::Value *rounds = ir.CreateUDiv(ir.CreateSub(integer(microbatches - 1), microbatch), integer(back));
        before = ir.CreateSelect(ir.CreateICmpULT(microbatch, integer(back)), ir.CreateAdd(microbatch, scaled(rounds, back)), ir.CreateSub(microbatch, integer(back)));
      }
      call("para_wait", {context, stream, ir.CreateAdd(integer(get(op, "tag") * microbatches), before), name});
    } else if (isa<rt::EventRecordOp>(op)) {
      call("para_event_record", {context, stream, small(get(op, "event"))});
    } else if (isa<rt::EventWaitOp>(op)) {
      call("para_event_wait", {context, stream, small(get(op, "event"))});
    }
  }

  void matmul(Operation *op, llvm::Value *stream, ArrayRef<llvm::Value *> buffers, llvm::Constant *name) {
    para_matmul_desc desc;
    std::memset(&desc, 0, sizeof desc);
    desc.dtype = get(op, "dtype"), desc.c_dtype = get(op, "c_dtype");
    auto fill = [](int64_t *to, ArrayRef<int64_t> from) { std::copy(from.begin(), from.end(), to); };
    desc.batch_rank = getList(op, "batch").size();
    fill(desc.batch, getList(op, "batch"));
    fill(desc.a_batch_stride, getList(op, "a_batch"));
    fill(desc.b_batch_stride, getList(op, "b_batch"));
    fill(desc.c_batch_stride, getList(op, "c_batch"));
    ArrayRef<int64_t> mnk = getList(op, "mnk"), strides = getList(op, "strides");
    desc.m = mnk[0], desc.n = mnk[1], desc.k = mnk[2];
    desc.a_row_stride = strides[0], desc.a_column_stride = strides[1];
    desc.b_row_stride = strides[2], desc.b_column_stride = strides[3], desc.c_row_stride = strides[4];
    desc.alpha = 1;
    llvm::Value *which = bytesOf(desc);
    if (op->hasAttr("accumulate")) {
      desc.beta = 1;
      which = ir.CreateSelect(ir.CreateICmpEQ(microbatch, integer(0)), which, bytesOf(desc));
    }
    call("para_matmul", {context, stream, which, buffers[0], buffers[1], buffers[2], name});
  }

  void convolution(Operation *op, llvm::Value *stream, ArrayRef<llvm::Value *> buffers, llvm::Constant *name) {
    para_convolution_desc desc;
    std::memset(&desc, 0, sizeof desc);
    desc.kind = get(op, "kind"), desc.dtype = get(op, "dtype"), desc.groups = get(op, "groups");
    desc.spatial = getList(op, "in").size();
    desc.n = getList(op, "nck")[0], desc.c = getList(op, "nck")[1], desc.k = getList(op, "nck")[2];
    auto fill = [&](int64_t *to, StringRef list) { llvm::copy(getList(op, list), to); };
    fill(desc.in, "in"), fill(desc.out, "out"), fill(desc.window, "window"), fill(desc.stride, "stride");
    fill(desc.dilation, "dilation"), fill(desc.pad_low, "pad_low"), fill(desc.pad_high, "pad_high");
    call("para_convolution", {context, stream, bytesOf(desc), buffers[0], buffers[1], buffers[2], name});
  }

  void scatter(Operation *op, llvm::Value *stream, ArrayRef<llvm::Value *> buffers, llvm::Constant *name) {
    call("para_zero", {context, stream, buffers[2], integer(get(op, "bytes")), name});
    llvm::Value *first = integer(0);
    int64_t unit = std::max<int64_t>(1, get(op, "unit")), range = (get(op, "size") + unit - 1) / unit;
    for (Attribute axis : op->getAttrOfType<ArrayAttr>("axes")) {
      StringRef axisName = cast<StringAttr>(axis).getValue();
      int64_t parts = axisName == "microbatch" ? microbatches : mesh ? mesh.getSize(axisName) : 1;
      range = (range + parts - 1) / parts;
      first = ir.CreateAdd(first, scaled(coordinate(axisName), range * unit));
    }
    call("para_scatter_add", {context, stream, small(get(op, "dtype")), small(get(op, "index_dtype")), integer(get(op, "positions")),
                              integer(get(op, "width")), first, integer(get(op, "rows")), buffers[0], buffers[1], buffers[2], name});
  }

  ModuleOp source;
  bool isHost;
  StringRef image;
  ArrayRef<ThreadKernel> threadKernels;
  std::unique_ptr<llvm::Module> out;
  llvm::IRBuilder<> ir;
  llvm::PointerType *ptr;
  llvm::IntegerType *i64, *i32;
  int64_t microbatches;
  MeshAttr mesh;
  llvm::StringMap<rt::KernelOp> kernels;
  llvm::StringMap<llvm::Constant *> strings, structs, kernelConstants;
  llvm::Function *function = nullptr;
  llvm::BasicBlock *leave = nullptr;
  llvm::PHINode *status = nullptr;
  llvm::Value *context = nullptr, *microbatch = nullptr, *slot = nullptr, *arena = nullptr, *arguments = nullptr;
};
} // namespace

std::unique_ptr<llvm::Module> para::buildProgram(ModuleOp module, llvm::LLVMContext &context, const EmitOptions &options, StringRef image,
                                                 ArrayRef<ThreadKernel> threadKernels) {
  return ProgramBuilder(module, context, options, image, threadKernels).run();
}
