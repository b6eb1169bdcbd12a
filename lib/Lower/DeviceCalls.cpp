//===- DeviceCalls.cpp - What a GPU's thread can ask ----------------------===//
#include "DeviceCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace para;

Value DeviceCalls::call(StringRef name, ArrayRef<Value> arguments, Type result) {
  SmallVector<Type> types;
  for (Value v : arguments)
    types.push_back(v.getType());
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(module.getBody());
    func::FuncOp::create(b, name, b.getFunctionType(types, result ? TypeRange(result) : TypeRange())).setPrivate();
  }
  auto call = func::CallOp::create(b, name, result ? TypeRange(result) : TypeRange(), arguments);
  return result ? call.getResult(0) : Value();
}

Value DeviceCalls::thread() { return call("para_gpu_thread", {}, b.getI32Type()); }
Value DeviceCalls::block() { return call("para_gpu_block", {}, b.getI32Type()); }
Value DeviceCalls::sharedMemory() { return call("para_gpu_shared", {}, LLVM::LLVMPointerType::get(b.getContext())); }
void DeviceCalls::wait() { call("para_gpu_barrier", {}, nullptr); }
void DeviceCalls::wait(Value group) { call("para_gpu_group_barrier", {group}, nullptr); }

Value DeviceCalls::exchange(Value scalar, int64_t distance, Value group) {
  Type type = scalar.getType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  Value raw = isa<FloatType>(type) ? arith::BitcastOp::create(b, b.getIntegerType(bits), scalar).getResult() : scalar;
  Value far = arith::ConstantOp::create(b, b.getI32IntegerAttr(distance));
  auto move = [&](Value v) { return call("para_gpu_shuffle", {v, far, group}, i32); };
  if (bits == 64) {
    Value half = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
    Value low = move(arith::TruncIOp::create(b, i32, raw)), high = move(arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, raw, half)));
    raw = arith::OrIOp::create(b, arith::ExtUIOp::create(b, i64, low), arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, high), half));
  } else if (bits == 32) {
    raw = move(raw);
  } else {
    raw = arith::TruncIOp::create(b, raw.getType(), move(arith::ExtUIOp::create(b, i32, raw)));
  }
  return isa<FloatType>(type) ? arith::BitcastOp::create(b, type, raw).getResult() : raw;
}

Value DeviceCalls::multiply(ArrayRef<Value> left, ArrayRef<Value> right, Value before, Type type) {
  SmallVector<Value> arguments(left);
  llvm::append_range(arguments, right);
  arguments.push_back(before);
  return call(type.isBF16() ? "para_gpu_multiply_bf16" : "para_gpu_multiply_f16", arguments, before.getType());
}

SmallVector<Value> DeviceCalls::loadMatrices(Value row, bool transposed) {
  Value all = call(transposed ? "para_gpu_load_transposed" : "para_gpu_load_matrices", {row}, VectorType::get({4}, b.getI32Type()));
  SmallVector<Value> result;
  for (int64_t i = 0; i < 4; ++i)
    result.push_back(vector::ExtractOp::create(b, all, ArrayRef<int64_t>{i}));
  return result;
}
