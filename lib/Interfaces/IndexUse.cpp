#include "para/Interfaces/IndexUse.h"

#include "llvm/ADT/STLExtras.h"

#include "para/Interfaces/IndexUse.cpp.inc"

using namespace para;

TensorPart TensorPart::whole(llvm::ArrayRef<int64_t> shape) {
  return {llvm::SmallVector<int64_t>(shape.size(), 0), llvm::SmallVector<int64_t>(shape)};
}

bool TensorPart::isWhole(llvm::ArrayRef<int64_t> shape) const {
  return sizes == shape && llvm::all_of(offsets, [](int64_t offset) { return offset == 0; });
}

bool TensorPart::isEmpty() const { return llvm::is_contained(sizes, 0); }
