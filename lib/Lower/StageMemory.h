//===- StageMemory.h - The arena of a stage ------------------------*- C++ -*-===//
//
// Where values live. Arguments, outputs and what lasts for a step have places of their own. What a microbatch makes in one segment
// and needs in a later one lies in a slot; there are as many slots as microbatches are under way at once. With one slot all of
// that and the temporaries share bytes by lifetime. Where a rank has several chunks of the model each has slots of its own, which its
// microbatches take in turn.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LOWER_STAGEMEMORY_H
#define PARA_LOWER_STAGEMEMORY_H

#include "MemoryPlanner.h"
#include "OpFacts.h"
#include "UnderWay.h"

#include "para/IR/Phases.h"
#include "para/Lower/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

namespace para {

struct StageAction {
  ChunkPhase phase;
  int64_t microbatch, slot = 0;
};

class StageMemory {
public:
  /// `hasBlocks`: small values of the update share no bytes, so that launches may change places (MergeLaunches.h).
  StageMemory(mlir::func::FuncOp func, int64_t microbatches, FactsCache &facts, bool hasBlocks);
  mlir::LogicalResult run();

private:
  enum class Place { Fixed, Step, Slot, Temporary };
  struct Buffer {
    Place place;
    int64_t bytes; ///< of all
    int64_t first, last;
    int64_t block = 0; ///< step from microbatch to microbatch
    int64_t chunk = 0; ///< that makes it
    int64_t offset = -1;
    int64_t ring = 0; ///< blocks are used in turn
  };
  struct Where {
    int buffer;
    int64_t offset; ///< within it
  };

  void readSchedule();
  void assignSlots();
  /// Several chunks take turns with several microbatches, not always in the same order.
  bool hasRings() const { return chunks > 1 && microbatches > 1; }
  /// For how long each microbatch holds what passes keep in the slots of a chunk, or of all.
  struct Holding {
    std::vector<int64_t> first, last; ///< actions, by microbatch; -1 where it holds nothing
    int64_t depth = 0;                ///< of messages from there
  };
  Holding findHolding(std::optional<int64_t> chunk);
  void assignRings();
  void placeArguments();
  void placeResults();
  void placeValues();
  bool shareInput(mlir::Operation *op, mlir::Value result);
  void placeBucket(rt::CallOp call);

  // Messages (StageMessages.cpp).
  /// Messages of `v` that may be under way at once; 0 if it is not sent.
  int64_t getDepth(mlir::Value v);
  /// Microbatches from one that writes `v` to the next that writes the same bytes, at least.
  int64_t getDistance(mlir::Value v);
  /// Notes with each message where it is waited for.
  void placeWaits();
  mlir::LogicalResult checkMessages();

  void pack();
  mlir::LogicalResult verify();
  void annotate();

  int newBuffer(Place place, int64_t bytes, int64_t first, int64_t last);
  /// So many blocks of the buffer's size instead of one.
  void makeRing(int buffer, int64_t depth);
  /// From when on the results of `op` have their place; `depth` as of getDepth. What a microbatch sends may be under way in earlier phases of
  /// the next one that has its place, which must not write there: it is waited for in the phase that makes it.
  int64_t getFirst(mlir::Operation *op, int64_t depth);
  /// What is sent may be under way until it is written again.
  int64_t lastUse(mlir::Value v);
  /// When the wait for a call on the communication stream stands.
  int64_t completionOf(rt::CallOp call);
  bool isAccumulated(mlir::Value v);
  /// By another chunk than the one that makes it.
  bool isUsedElsewhere(mlir::Value v);
  Place placeOf(mlir::Value v);
  bool perMicrobatch(Phase phase) const { return !runsOnce(phase); }
  /// The op reads argument `v` only at the element that it writes, or not at all.
  bool writesInPlace(mlir::Operation *op, mlir::Value v, unsigned result);
  bool isStacked(mlir::DictionaryAttr attributes);
  rt::AddressAttr addressOf(Where where);
  /// First byte, in the arena, of what lies there for a microbatch.
  int64_t getOffset(Where where, const StageAction &action);

  mlir::func::FuncOp func;
  int64_t microbatches;
  FactsCache &facts;
  bool hasBlocks;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> limits; ///< of messages under way
  struct Wait {
    rt::CallOp send;
    ChunkPhase phase; ///< before which it is waited for
    int64_t back;     ///< the message of so many microbatches ago
  };
  std::vector<Wait> waits;
  std::vector<StageAction> actions;
  int64_t chunks = 1; ///< of the model, on this rank
  int64_t slots = 1, slotBytes = 0, slotBase = 0, arenaBytes = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> time;
  std::vector<Buffer> buffers;
  llvm::MapVector<mlir::Value, Where> places;
  struct Copy {
    ChunkPhase phase;
    mlir::Value from;
    Where to;
    int64_t bytes;
  };
  std::vector<Copy> copies;
};

} // namespace para

#endif
