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

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        runOnBlock(block);
  }

  void runOnBlock(Block &block) {
    // Those whose operands are there first go first.
    struct Candidate {
      unsigned available; ///< behind all that makes an operand
      Operation *op;
    };
    llvm::MapVector<Attribute, SmallVector<Candidate>> candidates;
    llvm::DenseMap<Operation *, unsigned> index;
    Builder builder(&getContext());
    for (auto [i, op] : llvm::enumerate(block)) {
      index[&op] = i;
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      Attribute key = collective ? collective.getBucketKey() : Attribute();
      if (!key)
        continue;
      unsigned available = 0;
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp())
          available = std::max(available, index.lookup(producer) + 1);
      candidates[builder.getArrayAttr({key, op.getAttr("para.phase"), op.getAttr("para.stage")})].push_back({available, &op});
    }
    SmallVector<SmallVector<Operation *>> buckets;
    for (auto &[key, list] : candidates) {
      llvm::stable_sort(list, [](const Candidate &a, const Candidate &b) { return a.available < b.available; });
      SmallVector<Operation *> bucket;
      int64_t filled = 0;
      unsigned first = 0; // where the bucket will stand
      for (const Candidate &next : list) {
        int64_t size = bytesOf(next.op);
        if (!bucket.empty() && (filled + size > bytes || next.available > std::min(first, index[next.op]))) {
          buckets.push_back(std::move(bucket));
          bucket.clear();
          filled = 0;
        }
        first = bucket.empty() ? index[next.op] : std::min(first, index[next.op]);
        bucket.push_back(next.op);
        filled += size;
      }
      buckets.push_back(std::move(bucket));
    }
    for (ArrayRef<Operation *> bucket : buckets)
      if (bucket.size() > 1)
        replace(bucket);
  }

  void replace(ArrayRef<Operation *> ops) {
    Operation *first = *llvm::min_element(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    OpBuilder builder(first);
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
