//===- KernelLoops.h - The loops of a kernel -----------------------*- C++ -*-===//
#ifndef PARA_LOWER_KERNELLOOPS_H
#define PARA_LOWER_KERNELLOOPS_H

#include "DeviceCalls.h"
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
  /// On a GPU, where rows are no multiple of the lanes: vectors begin where memory is aligned, and so up to lanes - 1 elements before a row.
  /// Across for the whole kernel, within by pass.
  llvm::SmallVector<bool> shifted;
  bool isShifted(unsigned pass) const { return pass < shifted.size() && shifted[pass]; }
  /// Across: the chunks of lanes are the slowest part of the launch, so that what is gathered is used while it is in cache.
  bool chunksFirst = false;
};

/// How the threads of a GPU's block share work: each of `parts` parts of the launch is done by `members` threads, among which a
/// loop of each pass is dealt out. Within: the members of a part are neighbours; across: its lanes' neighbours are, so that in
/// both cases neighbouring threads touch neighbouring memory.
struct BlockChoice {
  int64_t parts = 1, members = 1;
  int64_t turns = 1; ///< parts that each block does one after another: no more rows are under way at once than the cache holds
  llvm::SmallVector<int> split; ///< by pass: the inner loop that is dealt out, -1 for none
  int64_t threads() const { return parts * members; }
};

class KernelLoops {
public:
  /// `alignments`: what the launch's addresses are multiples of, by buffer.
  KernelLoops(rt::KernelOp kernel, FactsCache &facts, const KernelTarget &target, llvm::ArrayRef<int64_t> alignments = {});
  /// Writes the function in front of the kernel and notes its extent. `describes`: notes what it does as `rt.facts`, too.
  void emit(bool describes = false);

private:
  struct Recorded {
    llvm::SmallVector<int64_t> extents;
    llvm::SmallVector<MemoryAccess> accesses;
    int64_t ops = 0;
  };
  void emitHost();
  void bindBuffers(KernelEmitter &emitter, llvm::function_ref<mlir::Value(unsigned)> buffer);
  /// Extents of the launch: a part is a row, or with lanes across rows a chunk of them.
  llvm::SmallVector<int64_t> partsOf() const;
  /// The part with the number `id`.
  void emitPart(KernelEmitter &emitter, mlir::Value id);
  void finish(llvm::StringRef name, int64_t extent);
  /// KernelFacts.cpp: family, operations and bytes.
  void describe(const KernelEmitter &emitter);
  llvm::StringRef familyOf();
  std::vector<PassLoops> loopsOf() const;

  // KernelBlocks.cpp
  void chooseBlocks();
  int64_t chooseTurns();
  /// Of how many rows the cache holds all that the kernel reads and writes of them, beside what it reads for all rows (large tables aside);
  /// INT64_MAX if no pass reads again what one before it has read.
  int64_t rowsInCache() const;
  /// Rows of the launch that a GPU has under way at once, at most.
  int64_t rowsUnderWay();
  void emitBlocks();
  void emitTurns(KernelEmitter &emitter, mlir::Value block);
  /// What is dealt out to the members of blocks: strips if there are any, each to all members of a block, else the launch's parts.
  int64_t blocksOfLaunch() const;
  // KernelInstances.cpp: one launch for many tensors.
  bool isMerged() { return kernel.getInstances().has_value(); }
  /// What of the instances is a number of their own (LaunchKind in MergeLaunches.h).
  bool varies(llvm::StringRef what) const;
  bool isElementwise() const { return varies("elements"); }
  /// Blocks of each instance.
  llvm::SmallVector<int64_t> blocksOfInstances();
  /// Finds the instance of the block and binds its buffers; the block's number within it, as i64.
  mlir::Value enterInstance(KernelEmitter &emitter, mlir::Value block);
  /// The elements of a block of an instance.
  void emitElements(KernelEmitter &emitter, mlir::Value block);

  int splitOf(unsigned pass) const { return block.members > 1 ? block.split[pass] : -1; }
  int64_t scratchBytes() const;
  int64_t scratchBytes(mlir::Value kept) const;
  int64_t sumBytes() const;
  mlir::Value placeOf(KernelEmitter &emitter, mlir::Value part, int64_t offset);
  /// Sums of all members out of each one's, one value a reduction of the pass.
  void combineMembers(const KernelPass &pass, llvm::MutableArrayRef<mlir::Value> sums);
  mlir::Value exchange(mlir::Value scalar, int64_t distance);
  mlir::Value sumSlot(int64_t reduction, mlir::Value number, mlir::Type type);
  void waitForMembers();
  /// Where this thread stores what the pass computes; null: everywhere.
  mlir::Value storeCondition(unsigned pass);

  // KernelStrips.cpp: sums over strips of rows.
  void emitStrip(KernelEmitter &emitter, mlir::Value strip, mlir::Value part);
  /// Adds the elements at the loops to the sums of the pass.
  void addToStripSums(KernelEmitter &emitter, const KernelPass &pass);
  void storeStripSums(KernelEmitter &emitter, mlir::Value strip);
  void forStripSums(llvm::function_ref<void(mlir::Operation *)> visit) const;
  int64_t stripSumBytes() const; ///< of one part
  bool rowsMeet() const;         ///< whether a row's threads have to wait for those of the row that the block had before

  // KernelOnline.cpp: a row's maximum and sums of exponentials below it in one pass.
  void findOnline();
  bool isOnline(unsigned pass) const { return online.count(pass); }
  /// The pass whose sums pass `first` makes with its maximum; null for none.
  const KernelPass *onlineAfter(unsigned first) const;
  /// Instead of a pass's body: the maximum so far, and the sums of a later pass scaled to it.
  void addOnline(KernelEmitter &emitter, const KernelPass &pass, llvm::MutableArrayRef<mlir::Value> accumulators);
  /// The sums of pass `number`, which an earlier pass has made: all of them scaled to the maximum of the row.
  void finishOnline(KernelEmitter &emitter, unsigned number);
  mlir::Value termAt(KernelEmitter &emitter, const KernelPass &pass, mlir::Operation *op);
  /// The only term of a sum that is not zero, or zero if it lies outside of the row.
  mlir::Value onlyTerm(KernelEmitter &emitter, const KernelPass &pass, mlir::Operation *op);
  mlir::Value foldLanes(ReductionKind kind, mlir::Value v);

  // KernelShift.cpp: rows that begin anywhere.
  void chooseShifts(llvm::ArrayRef<Recorded> recorded);
  /// The number of the first element of the row among all elements of a tensor with these loops.
  LinearForm rowBegin(int64_t rowSize) const;
  /// How many elements in front of the row its first aligned vector begins.
  mlir::Value shiftOf(KernelEmitter &emitter, int64_t rowSize);
  /// Emits `make` for a vector at `base` of a row of at least as many elements as there are lanes: with all lanes, or with those inside of the
  /// row.
  llvm::SmallVector<mlir::Value> emitEdged(KernelEmitter &emitter, mlir::Value rowSize, mlir::Value base, llvm::ArrayRef<mlir::Value> accumulators,
                                           llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::SmallVector<mlir::Value>)> make);
  void shiftScratch(KernelEmitter &emitter, unsigned pass);

  void collapse();
  void choose();
  double costOf(const Recorded &pass, unsigned loop, int64_t extent, int64_t points);
  /// `unrolled`: passes that may be unrolled at their first point.
  std::vector<Recorded> tryOut(bool unrolled = false);
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
  /// A window's loops are few: unrolled, what they say of coordinates and guards is known when compiling.
  bool mayUnroll(const KernelPass &pass) const;
  /// Sets the inner loops to point `number` of the pass.
  void fixInner(KernelEmitter &emitter, const KernelPass &pass, int64_t number);
  /// Coordinates with the loops that are fixed replaced.
  llvm::SmallVector<mlir::AffineExpr> atPoint(llvm::SmallVector<mlir::AffineExpr> index) const;

  rt::KernelOp kernel;
  FactsCache &facts;
  const KernelTarget &target;
  mlir::ImplicitLocOpBuilder b;
  DeviceCalls device;
  KernelBody body;
  LaneChoice choice;
  BlockChoice block;
  /// Passes whose sums an earlier one makes with its maximum.
  struct OnlineSums {
    unsigned first;                     ///< that pass
    llvm::SmallVector<bool> hasOneTerm; ///< by reduction
  };
  std::map<unsigned, OnlineSums> online;
  llvm::SmallVector<mlir::Value> carried; ///< of these: a thread's maximum and its sums
  bool describes = false;
  std::vector<MemoryStream> streams;
  llvm::SmallVector<int64_t> alignments;
  mlir::Value instanceExtent; ///< elements, rows or terms of the instance, where these vary
  mlir::Value edge;     ///< lanes inside of a row that vectors do not begin with; null: all are, or the last vector alone has others
  llvm::MapVector<mlir::Value, mlir::Value> unshifted; ///< where scratch begins
  llvm::DenseMap<mlir::Value, mlir::Value> stripSums; ///< where they are while a strip is gone through
  mlir::Value thread, member, active, sharedMemory; ///< of a block; `member` as i64, null where it is alone
  unsigned passNumber = 0;
  llvm::SmallVector<mlir::AffineExpr> fixed; ///< the loops, with those that are unrolled replaced; empty for none
  llvm::SmallVector<llvm::DenseMap<mlir::Value, mlir::Value>> rowValues; ///< by variant
  llvm::SmallVector<std::string> numbers;
  mlir::Value argumentPointer;
  mlir::Block *entry = nullptr;
};

} // namespace para

#endif
