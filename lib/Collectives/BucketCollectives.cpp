#include "para/Collectives/Passes.h"
#include "para/IR/Program.h"
#include "para/Interfaces/Collective.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace para;

namespace para {
#define GEN_PASS_DEF_BUCKETCOLLECTIVESPASS
#include "para/Collectives/Passes.h.inc"
} // namespace para

namespace {
int64_t bytesOf(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8u);
  }
  return bytes;
}

struct BucketCollectivesPass : para::impl::BucketCollectivesPassBase<BucketCollectivesPass> {
  using BucketCollectivesPassBase::BucketCollectivesPassBase;

  struct Bucket {
    SmallVector<Operation *> ops;
    int64_t bytes = 0;
  };

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        runOnBlock(block);
  }

  void runOnBlock(Block &block) {
    llvm::MapVector<Attribute, SmallVector<Bucket>> buckets;
    Builder builder(&getContext());
    for (Operation &op : block) {
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      Attribute key = collective ? collective.getBucketKey() : Attribute();
      if (!key)
        continue;
      key = builder.getArrayAttr({key, op.getAttr("para.phase"), op.getAttr("para.stage")});
      int64_t size = bytesOf(&op);
      auto fits = [&](Bucket &bucket) {
        return bucket.bytes + size <= bytes && llvm::all_of(op.getOperands(), [&](Value operand) {
                 Operation *producer = operand.getDefiningOp();
                 return !producer || producer->isBeforeInBlock(bucket.ops.front());
               });
      };
      auto &list = buckets[key];
      auto it = llvm::find_if(list, fits);
      Bucket &bucket = it != list.end() ? *it : list.emplace_back();
      bucket.ops.push_back(&op);
      bucket.bytes += size;
    }
    for (auto &[key, list] : buckets)
      for (Bucket &bucket : list)
        if (bucket.ops.size() > 1)
          replace(bucket.ops);
  }

  void replace(ArrayRef<Operation *> ops) {
    OpBuilder builder(ops.front());
    Operation *whole = cast<CollectiveOpInterface>(ops.front()).buildBucket(builder, ops);
    for (StringRef name : {"para.phase", "para.stage"})
      if (Attribute attr = ops.front()->getAttr(name))
        whole->setAttr(name, attr);
    unsigned next = 0;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        result.replaceAllUsesWith(whole->getResult(next++));
    for (Operation *op : ops)
      op->erase();
  }
};
} // namespace
