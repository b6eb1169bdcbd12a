#include "para/Schedule/WeightGradients.h"

#include "para/IR/Program.h"
#include "para/Interfaces/Library.h"

using namespace mlir;
using namespace para;

bool para::isHeavy(Operation *op) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  std::optional<LibraryCall> call = library ? library.getLibraryCall() : std::nullopt;
  return call && (call->kind == LibraryCall::Matmul || call->kind == LibraryCall::Convolution || call->kind == LibraryCall::ScatterAdd);
}

llvm::DenseSet<Operation *> para::findWeightGradients(Block &block) {
  llvm::DenseSet<Operation *> found;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (getPhase(&op) != Phase::Backward || op.use_empty())
      continue;
    if (llvm::all_of(op.getUsers(), [&](Operation *user) { return getPhase(user) != Phase::Backward || (!isHeavy(user) && found.contains(user)); }))
      found.insert(&op);
  }
  return found;
}
