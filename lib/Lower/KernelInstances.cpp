//===- KernelInstances.cpp - One launch for many tensors ------------------===//
//
// A block finds in a table of constants which of the instances it works for, and where that has its buffers.
//
//===----------------------------------------------------------------------===//
#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace para;

/// Vectors that a thread of an elementwise kernel works on, one after the other: the search of the instance is shared by them.
static constexpr int64_t rounds = 4;
/// Columns of the table in front of the offsets.
static constexpr int64_t firstBlock = 0, extentColumn = 1, firstOffset = 2;

bool KernelLoops::varies(StringRef what) const {
  auto attr = kernel->getAttrOfType<StringAttr>("rt.varies");
  return attr && attr.getValue() == what;
}

SmallVector<int64_t> KernelLoops::blocksOfInstances() {
  SmallVector<int64_t> blocks;
  for (Attribute row : kernel.getInstancesAttr()) {
    int64_t extent = cast<DenseI64ArrayAttr>(row).asArrayRef().front();
    if (isElementwise())
      blocks.push_back(llvm::divideCeil(extent, block.threads() * choice.lanes * rounds));
    else
      blocks.push_back(varies("rows") ? llvm::divideCeil(extent, block.parts) : blocksOfLaunch());
  }
  return blocks;
}

Value KernelLoops::enterInstance(KernelEmitter &emitter, Value id) {
  ArrayRef<int64_t> varying = *kernel.getVarying();
  SmallVector<int64_t> blocks = blocksOfInstances(), values;
  int64_t columns = firstOffset + varying.size(), rows = llvm::PowerOf2Ceil(blocks.size()), before = 0;
  for (auto [row, count] : llvm::zip_equal(kernel.getInstancesAttr(), blocks)) {
    values.push_back(before);
    llvm::append_range(values, cast<DenseI64ArrayAttr>(row).asArrayRef());
    before += count;
  }
  for (int64_t row = blocks.size(); row < rows; ++row) { // No block is behind these.
    values.push_back(INT64_MAX);
    values.append(columns - 1, 0);
  }
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  std::string name = kernel.getSymName().str() + "_table";
  {
    OpBuilder::InsertionGuard keep(b);
    b.setInsertionPointToStart(kernel->getParentOfType<ModuleOp>().getBody());
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type());
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI64Type(), values.size()), /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           DenseElementsAttr::get(type, ArrayRef<int64_t>(values)), /*alignment=*/16);
  }
  Value table = LLVM::AddressOfOp::create(b, pointer, name);
  auto entryAt = [&](Value row, int64_t column) -> Value {
    Value at = arith::AddIOp::create(b, arith::MulIOp::create(b, row, emitter.integer(columns)), emitter.integer(column));
    return LLVM::LoadOp::create(b, b.getI64Type(), LLVM::GEPOp::create(b, pointer, b.getI64Type(), table, ArrayRef<LLVM::GEPArg>{at}), 8);
  };
  id = arith::ExtUIOp::create(b, b.getI64Type(), id);
  Value row = emitter.integer(0);
  if (llvm::all_equal(blocks)) {
    row = arith::DivUIOp::create(b, id, emitter.integer(blocks[0]));
    id = arith::RemUIOp::create(b, id, emitter.integer(blocks[0]));
  } else { // The last row whose first block is not behind this.
    for (int64_t step = rows / 2; step >= 1; step /= 2) {
      Value further = arith::AddIOp::create(b, row, emitter.integer(step));
      Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, entryAt(further, firstBlock), id);
      row = arith::SelectOp::create(b, isThere, further, row);
    }
    id = arith::SubIOp::create(b, id, entryAt(row, firstBlock));
  }
  instanceExtent = entryAt(row, extentColumn);
  Value arena = entry->getArgument(0);
  unsigned shared = 1;
  bindBuffers(emitter, [&](unsigned i) -> Value {
    auto it = llvm::find(varying, static_cast<int64_t>(i));
    Value at = entry->getArgument(0);
    if (it == varying.end())
      at = entry->getArgument(shared++);
    else
      at = LLVM::GEPOp::create(b, pointer, b.getI8Type(), arena, ArrayRef<LLVM::GEPArg>{entryAt(row, firstOffset + (it - varying.begin()))});
    if (i < alignments.size())
      emitter.alignments[at] = alignments[i];
    return at;
  });
  return id;
}

void KernelLoops::emitElements(KernelEmitter &emitter, Value id) {
  Value lane = arith::ExtUIOp::create(b, b.getI64Type(), thread);
  Value from = arith::MulIOp::create(b, id, emitter.integer(rounds * block.threads()));
  auto loop = scf::ForOp::create(b, emitter.integer(0), emitter.integer(rounds), emitter.integer(1));
  b.setInsertionPointToStart(loop.getBody());
  Value vector = arith::AddIOp::create(b, from, arith::MulIOp::create(b, loop.getInductionVar(), emitter.integer(block.threads())));
  Value base = arith::MulIOp::create(b, arith::AddIOp::create(b, vector, lane), emitter.integer(choice.lanes));
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, base, instanceExtent);
  b.setInsertionPointToStart(scf::IfOp::create(b, TypeRange{}, isInside, /*withElseRegion=*/false).thenBlock());
  bool isWhole = llvm::all_of(kernel.getInstancesAttr(), [&](Attribute row) { return cast<DenseI64ArrayAttr>(row).asArrayRef().front() % choice.lanes == 0; });
  if (isWhole || choice.lanes == 1)
    return emitRow(emitter, {base}, base, false);
  Value end = arith::AddIOp::create(b, base, emitter.integer(choice.lanes));
  auto branch = scf::IfOp::create(b, TypeRange{}, arith::CmpIOp::create(b, arith::CmpIPredicate::ule, end, instanceExtent), /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  emitRow(emitter, {base}, base, false);
  b.setInsertionPointToStart(branch.elseBlock());
  // One by one: few are left, and the code for lanes of which some are there would be long.
  auto rest = scf::ForOp::create(b, base, instanceExtent, emitter.integer(1));
  b.setInsertionPointToStart(rest.getBody());
  int64_t lanes = std::exchange(choice.lanes, 1);
  emitRow(emitter, {rest.getInductionVar()}, rest.getInductionVar(), false);
  choice.lanes = lanes;
}
