//===- KernelFacts.cpp - What a kernel does, for reports ------------------===//
#include "KernelFacts.h"

#include "KernelLoops.h"

#include "para/IR/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace para;

void para::noteFacts(rt::KernelOp kernel, StringRef family, ArrayRef<Attribute> nodes, double flops, ArrayRef<BufferTraffic> traffic,
                     const KernelProduct &product) {
  Builder b(kernel.getContext());
  auto number = [&](StringRef name, int64_t value) { return b.getNamedAttr(name, b.getI64IntegerAttr(value)); };
  int64_t moved = 0, least = 0;
  SmallVector<Attribute> buffers;
  for (const BufferTraffic &buffer : traffic) {
    moved += buffer.loaded + buffer.stored;
    least += buffer.leastLoaded + buffer.leastStored;
    buffers.push_back(b.getDictionaryAttr({number("loaded", buffer.loaded), number("stored", buffer.stored),
                                           number("least", buffer.leastLoaded + buffer.leastStored), number("instruction", buffer.instruction),
                                           b.getNamedAttr("narrow", b.getStringAttr(buffer.narrow))}));
  }
  kernel->setAttr("rt.facts", b.getDictionaryAttr({b.getNamedAttr("family", b.getStringAttr(family)), b.getNamedAttr("nodes", b.getArrayAttr(nodes)),
                                                   b.getNamedAttr("flops", b.getF64FloatAttr(flops)), number("moved", moved), number("least", least),
                                                   b.getNamedAttr("product", b.getDenseI64ArrayAttr({product.batch, product.m, product.n, product.k})),
                                                   b.getNamedAttr("tensor_cores", b.getBoolAttr(product.onTensorCores)),
                                                   b.getNamedAttr("buffers", b.getArrayAttr(buffers))}));
}

/// By what the kernel is made of, whatever ops of a model it comes from.
StringRef KernelLoops::familyOf() {
  bool isMove = true, isDynamic = false, hasMax = false, hasRowInput = false, hasLabels = false;
  for (Operation &op : body.block->without_terminator()) {
    const OpFacts &f = facts.get(&op);
    bool isGenerator = f.accesses.empty();
    isMove &= f.move || isGenerator;
    isDynamic |= llvm::any_of(f.accesses, [](const OpAccess &access) { return access.dynamic; });
    hasMax |= f.reduction && cast<ElementOpInterface>(op).getCombiner() == ReductionKind::Max;
  }
  bool hasExp = false, hasLog = false, hasRoot = false, hasSums = false, returns = false;
  std::prev(Block::iterator(kernel))->walk([&](Operation *op) {
    hasExp |= isa<math::ExpOp>(op);
    hasLog |= isa<math::LogOp>(op);
    hasRoot |= isa<math::SqrtOp>(op);
  });
  for (const KernelPass &pass : body.passes) {
    returns |= hasSums && !pass.inner.empty(); // to the row, with what it is known of all of it
    hasSums |= !pass.reductions.empty();
  }
  for (BlockArgument v : body.block->getArguments()) {
    bool isRow = body.rows > 1 && sizeOf(v) == body.rows;
    (isa<FloatType>(getElementTypeOrSelf(v.getType())) ? hasRowInput : hasLabels) |= isRow;
  }
  if (!hasSums)
    return isDynamic ? "gather" : isMove ? "transpose" : "elementwise";
  if (hasExp && (hasLog || hasLabels))
    return "cross-entropy";
  if (hasMax && hasExp)
    return "softmax";
  if (!returns)
    return "reduction";
  return hasRoot || hasRowInput ? "norm" : "softmax";
}

std::vector<PassLoops> KernelLoops::loopsOf() const {
  unsigned outer = body.outer.size();
  SmallVector<unsigned> launch;
  for (unsigned i = 0; i < outer; ++i)
    if (!choice.across || static_cast<int>(i) != choice.outerLoop)
      launch.push_back(i);
  if (choice.across)
    launch.insert(choice.chunksFirst ? launch.begin() : launch.end(), choice.outerLoop);
  std::vector<PassLoops> result;
  for (auto [number, pass] : llvm::enumerate(body.passes)) {
    PassLoops loops;
    loops.extents.assign(body.outer.begin(), body.outer.end());
    llvm::append_range(loops.extents, pass.inner);
    loops.order = launch;
    loops.outer = outer;
    int lanes = choice.across ? -1 : choice.innerLoops[number];
    for (unsigned i = 0; i < pass.inner.size(); ++i)
      if (static_cast<int>(i) != lanes)
        loops.order.push_back(outer + i);
    if (lanes >= 0)
      loops.order.push_back(outer + lanes);
    result.push_back(loops);
  }
  if (body.strips) { // The sums of a strip, stored one after another.
    int64_t columns = 1;
    forStripSums([&](Operation *op) { columns = std::max(columns, shapeOf(op->getResult(0)).back()); });
    result.push_back({{body.strips, columns}, {0, 1}, 1});
  }
  return result;
}

void KernelLoops::describe(const KernelEmitter &emitter) {
  SmallVector<Value> pointers;
  SmallVector<int64_t> sizes;
  auto note = [&](Value v) {
    pointers.push_back(emitter.pointers.lookup(v));
    sizes.push_back(sizeOf(v));
  };
  for (BlockArgument v : body.block->getArguments())
    note(v);
  for (Value v : body.outputs)
    note(v);
  // Of all instances.
  double times = 1;
  if (isMerged()) {
    int64_t sum = 0;
    for (Attribute row : kernel.getInstancesAttr())
      sum += cast<DenseI64ArrayAttr>(row).asArrayRef().front();
    int64_t own = varies("terms") ? productOf(body.passes[0].inner) : productOf(body.outer);
    times = sum > 0 ? static_cast<double>(sum) / static_cast<double>(own) : static_cast<double>(kernel.getInstances()->size());
  }
  auto all = [&](int64_t bytes) { return static_cast<int64_t>(times * static_cast<double>(bytes)); };
  std::vector<BufferTraffic> traffic = measureTraffic(streams, loopsOf(), pointers, sizes, target.hasBlocks ? rowsUnderWay() : 0);
  for (BufferTraffic &buffer : traffic) // eight lanes of f32 are two accesses of a GPU
    buffer.instruction = std::min<int64_t>(buffer.instruction, target.vectorBytes);
  for (BufferTraffic &buffer : traffic)
    for (int64_t *bytes : {&buffer.loaded, &buffer.stored, &buffer.leastLoaded, &buffer.leastStored})
      *bytes = all(*bytes);
  double flops = 0;
  llvm::SetVector<Attribute> nodes;
  for (Operation &op : body.block->without_terminator()) {
    const OpFacts &f = facts.get(&op);
    flops += static_cast<double>(f.work) * static_cast<double>(productOf(f.loops));
    if (StringRef name = getNodeName(op.getLoc()); !name.empty() && !f.accesses.empty())
      nodes.insert(b.getStringAttr(name));
  }
  noteFacts(kernel, familyOf(), nodes.getArrayRef(), times * flops, traffic);
}
