//===- Kernels.cpp - What kernels a stage's program becomes ---------------===//
#include "para/Lower/Kernels.h"

#include "OpFacts.h"

#include "para/Lower/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace para;

static double productOfSizes(ArrayRef<int64_t> sizes) {
  double product = 1;
  for (int64_t size : sizes)
    product *= double(size);
  return product;
}

/// Of an input the part that is read: a slice takes its elements only, a repetition takes each once.
static double bytesRead(BlockArgument argument, FactsCache &facts) {
  double bytes = 0, all = double(bytesOf(argument));
  for (Operation *user : argument.getUsers())
    bytes += facts.get(user).move ? double(bytesOf(user->getResult(0))) : all;
  return std::min(bytes, all);
}

static FormedKernel describe(rt::FusedOp fused, FactsCache &facts) {
  FormedKernel kernel(fused.getLoc());
  Block &body = fused.getBody().front();
  for (BlockArgument argument : body.getArguments())
    kernel.bytes += bytesRead(argument, facts);
  for (Value result : fused.getResults())
    kernel.bytes += double(bytesOf(result));
  for (Operation &op : body.without_terminator())
    kernel.work += double(facts.get(&op).work) * productOfSizes(facts.get(&op).loops);
  return kernel;
}

static FormedKernel describe(rt::CallOp call) {
  FormedKernel kernel(call.getLoc());
  DictionaryAttr desc = call.getDesc();
  kernel.width = call.getInputs().empty() ? kernel.width : elementBytes(call.getInputs()[0].getType());
  auto list = [&](StringRef name) { return desc.getAs<DenseI64ArrayAttr>(name).asArrayRef(); };
  for (ValueRange values : {ValueRange(call.getInputs()), ValueRange(call.getResults())})
    for (Value value : values)
      kernel.bytes += double(bytesOf(value));
  if (call.getCallee() == "matmul") {
    kernel.kind = FormedKernel::Product;
    kernel.batch = int64_t(productOfSizes(list("batch")));
    kernel.m = list("mnk")[0], kernel.n = list("mnk")[1], kernel.k = list("mnk")[2];
    kernel.flops = 2 * double(kernel.batch) * double(kernel.m) * double(kernel.n) * double(kernel.k);
    kernel.summedBytes = desc.contains("accumulate") ? double(bytesOf(call.getResult(0))) : 0;
    kernel.bytes += kernel.summedBytes;
  } else if (call.getCallee() == "convolution") {
    kernel.kind = FormedKernel::Convolution;
    int64_t groups = desc.getAs<IntegerAttr>("groups").getInt();
    kernel.flops = 2 * productOfSizes(list("nck")) * productOfSizes(list("out")) * productOfSizes(list("window")) / double(groups);
  } else if (call.getCallee() == "scatter_add") {
    kernel.kind = FormedKernel::Scatter;
  } else {
    kernel.kind = desc.contains("peer") ? FormedKernel::Message : FormedKernel::Collective;
  }
  return kernel;
}

FailureOr<FormedKernels> para::formKernels(ModuleOp module) {
  OpBuilder builder(module.getContext());
  OwningOpRef<ModuleOp> copy = ModuleOp::create(builder, module.getLoc());
  copy->getOperation()->setAttrs(module->getAttrDictionary());
  builder.setInsertionPointToStart(copy->getBody());
  for (auto func : module.getOps<func::FuncOp>())
    if (func.getName() != "main") // all stages together
      builder.clone(*func);
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(createFormCallsPass());
  pm.addPass(createSplitReductionsPass());
  pm.addPass(createFormKernelsPass());
  if (failed(pm.run(*copy)))
    return failure();
  FormedKernels result;
  for (auto func : copy->getOps<func::FuncOp>()) {
    FactsCache facts;
    for (Operation &op : func.getBody().front().without_terminator()) {
      auto fused = dyn_cast<rt::FusedOp>(op);
      auto call = dyn_cast<rt::CallOp>(op);
      if (!fused && !call)
        continue;
      result[func.getName()].push_back(fused ? describe(fused, facts) : describe(call));
      result[func.getName()].back().phase = getChunkPhase(&op);
    }
  }
  return result;
}
