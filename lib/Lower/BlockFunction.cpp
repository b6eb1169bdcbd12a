//===- BlockFunction.cpp - A kernel as what a thread of a block does ------===//
#include "BlockFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace para;

BlockFunction::BlockFunction(ImplicitLocOpBuilder &b, rt::KernelOp kernel, unsigned buffers) : b(b), kernel(kernel) {
  b.setInsertionPoint(kernel);
  SmallVector<Type> types(buffers, LLVM::LLVMPointerType::get(b.getContext()));
  func = func::FuncOp::create(b, kernel.getSymName().str() + "_block", b.getFunctionType(types, {}));
  b.setInsertionPointToStart(func.addEntryBlock());
}

Value BlockFunction::number(StringRef name) {
  Value &v = known[name];
  if (!v) {
    v = entry()->addArgument(b.getI64Type(), kernel.getLoc());
    names.push_back(name.str());
  }
  return v;
}

void BlockFunction::finish(int64_t blocks, int64_t threads, int64_t sharedBytes) {
  b.setInsertionPointToEnd(entry());
  func::ReturnOp::create(b);
  func.setFunctionType(b.getFunctionType(entry()->getArgumentTypes(), {}));
  kernel.setNumbersAttr(b.getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end())));
  kernel.setFunctionAttr(FlatSymbolRefAttr::get(func.getSymNameAttr()));
  kernel.setExtentAttr(b.getI64IntegerAttr(blocks));
  kernel.setBlockAttr(b.getI64IntegerAttr(threads));
  kernel.setSharedBytesAttr(b.getI64IntegerAttr(sharedBytes));
}
