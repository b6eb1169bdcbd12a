//===- Phases.h - When phases run -------------------------------*- C++ -*-===//
//
// A rank runs actions: a phase of one chunk of the model, of one microbatch. `para.phase` of an op says in which it takes part.
// The model's stages lie on the ranks of the pipeline one by one or, with several chunks on each rank, as `para.places` of the
// module says: the pipeline's rank of each stage. `para.stage` is the model's stage; of ops in a rank's program it is the rank.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IR_PHASES_H
#define PARA_IR_PHASES_H

#include "para/IR/ParaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace para {

/// More chunks than any model has layers.
constexpr int64_t kMostChunks = 1024;

/// Whether ops of the phase run once a step and not once a microbatch.
inline bool runsOnce(Phase phase) { return phase == Phase::Setup || phase == Phase::Update; }

/// Whether the phase is a microbatch's way through the model and back: those of several take turns.
inline bool isPass(Phase phase) { return phase == Phase::Forward || phase == Phase::Backward || phase == Phase::Weight; }

/// A phase of one chunk of the model.
struct ChunkPhase {
  Phase phase = Phase::Prepare;
  int64_t chunk = 0; ///< 0 unless the phase is a pass
  bool operator==(const ChunkPhase &other) const { return phase == other.phase && chunk == other.chunk; }
  bool operator!=(const ChunkPhase &other) const { return !(*this == other); }
  /// In an order in which a microbatch may come to them: backward passes run from the last chunk to the first.
  bool operator<(const ChunkPhase &other) const {
    auto place = [](const ChunkPhase &of) { return of.phase == Phase::Forward ? of.chunk : -of.chunk; };
    return phase != other.phase ? phase < other.phase : place(*this) < place(other);
  }
};

/// Whether, of one microbatch (or of the step), all of `first` runs before any of `then`. Neither of two need be before the other: gradients
/// of a late chunk's weights and of an early chunk's activations are not.
inline bool precedes(ChunkPhase first, ChunkPhase then) {
  bool isOpen = first.phase == Phase::Backward && then.phase == Phase::Weight && then.chunk > first.chunk;
  return first < then && !isOpen;
}

/// "forward", with its chunk unless that is the first.
std::string describePhase(ChunkPhase phase);

/// What is written on an op; Forward of chunk 0 if nothing is.
ChunkPhase getChunkPhase(mlir::Operation *op);
inline ChunkPhase getChunkPhase(mlir::Attribute attribute) {
  auto phase = mlir::cast<PhaseAttr>(attribute);
  return {phase.getValue(), phase.getChunk()};
}
inline PhaseAttr getAttr(ChunkPhase phase, mlir::MLIRContext *ctx) { return PhaseAttr::get(ctx, phase.phase, phase.chunk); }

/// An entry of `para.schedule`.
struct ScheduledPhase {
  ChunkPhase phase;
  int64_t microbatch;
};
/// `para.schedule` of a rank's program: what it runs, in order. Empty if it has none.
llvm::SmallVector<ScheduledPhase> readSchedule(mlir::func::FuncOp function);

/// Where a stage of the model lies.
struct StagePlace {
  int64_t rank, chunk; ///< of the pipeline, and which of the stages on that rank
};
/// Places of all stages of the model, in its order, on the ranks of the mesh's axis `pipeline`.
llvm::SmallVector<StagePlace> getPlaces(mlir::ModuleOp module);

} // namespace para

#endif
