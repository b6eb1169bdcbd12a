//===- Checkpoint.h - Saving and restoring a run ----------------*- C++ -*-===//
//
// DIR/step-000100/model.safetensors     parameters and running statistics, global, by model name
//                 optimizer.safetensors NAME/m, NAME/v, ...
//                 state.json            {"step": 100, ...}, written last
//
// A checkpoint is written under a temporary name and renamed when it is complete, and holds nothing of the plan: any plan
// loads it.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_CHECKPOINT_H
#define PARA_RUNTIME_CORE_CHECKPOINT_H

#include "TensorStore.h"

namespace para::runtime {

struct RunState {
  int64_t step = 0; ///< steps done
  int64_t seed = 0;
  std::string shuffle = "none";
};

/// Tries whether checkpoints can be written to a folder, so that a run does not end by finding that they cannot.
Status prepareCheckpoints(const std::string &directory);

/// Collective; `path` becomes the directory of the checkpoint.
Status saveCheckpoint(const std::string &directory, const RunState &state, const Manifest &manifest, World &world,
                      TensorStore &store, std::string &path);

/// What --load found. Files stay mapped until this goes.
struct Checkpoint {
  std::string path;
  ArrayMap model, optimizer;
  bool hasState = false; ///< false: weights only
  RunState state;
};

/// The newest complete checkpoint in `path`, or the checkpoint or the .safetensors file that `path` itself is.
Status openCheckpoint(const std::string &path, Checkpoint &checkpoint);

/// Sets a tensor of this rank's stage; false if the checkpoint does not have it.
Status restoreTensor(const Checkpoint &checkpoint, const Tensor &tensor, TensorStore &store, bool &wasFound);

} // namespace para::runtime

#endif
