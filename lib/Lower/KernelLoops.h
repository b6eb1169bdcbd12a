//===- KernelLoops.h - The loops of a kernel -----------------------*- C++ -*-===//
#ifndef PARA_LOWER_KERNELLOOPS_H
#define PARA_LOWER_KERNELLOOPS_H

#include "KernelEmitter.h"

#include "para/Lower/Rt.h"

namespace para {

/// Which loop carries lanes. Across: an outer loop, so that a kernel works on many rows at once and reductions need no sum over
/// lanes. Within: an inner loop of each pass.
struct LaneChoice {
  bool across = false;
  int outerLoop = -1;                ///< Across
  llvm::SmallVector<int> innerLoops; ///< Within: by pass, -1 for none
  int64_t lanes = 1, unroll = 1;
  /// Across: the chunks of lanes are the slowest part of the launch, so that what is gathered is used while it is in cache.
  bool chunksFirst = false;
};

class KernelLoops {
public:
  KernelLoops(rt::KernelOp kernel, FactsCache &facts, const KernelTarget &target);
  /// Writes the function in front of the kernel and notes its extent.
  void emit();

private:
  struct Recorded {
    llvm::SmallVector<MemoryAccess> accesses;
    int64_t ops = 0;
  };
  void collapse();
  void choose();
  double costOf(const Recorded &pass, unsigned loop, int64_t extent, int64_t points);
  std::vector<Recorded> tryOut();
  void emitRow(KernelEmitter &emitter, llvm::ArrayRef<mlir::Value> outerValues, mlir::Value laneBase, bool isTail);
  void emitPass(KernelEmitter &emitter, unsigned number, mlir::Value laneBase, bool isTail);
  /// Loops from `depth` of the pass inwards; accumulators go in and come out.
  llvm::SmallVector<mlir::Value> emitInner(KernelEmitter &emitter, const KernelPass &pass, unsigned depth, llvm::SmallVector<mlir::Value> accumulators,
                                           mlir::Value laneBase, bool isTail);
  /// The body at the loops: adds terms to the accumulators of `variant`, stores outputs.
  void emitBody(KernelEmitter &emitter, const KernelPass &pass, llvm::MutableArrayRef<mlir::Value> accumulators, unsigned variant);
  void storeOutput(KernelEmitter &emitter, const KernelPass &pass, mlir::Value v, mlir::Value element, bool scratch);
  mlir::Value tailMask(int64_t rest);
  mlir::Value constantOf(mlir::Type type, mlir::TypedAttr value);
  int64_t variantsOf(const KernelPass &pass) const;

  rt::KernelOp kernel;
  FactsCache &facts;
  const KernelTarget &target;
  mlir::ImplicitLocOpBuilder b;
  KernelBody body;
  LaneChoice choice;
  unsigned passNumber = 0;
  llvm::SmallVector<llvm::DenseMap<mlir::Value, mlir::Value>> rowValues; ///< by variant
  llvm::SmallVector<std::string> numbers;
  mlir::Value argumentPointer;
  mlir::Block *entry = nullptr;
};

} // namespace para

#endif
