//===- Environment.h - What the environment tells a program -----*- C++ -*-===//
//
// One table of all variables that are ours, with what each can be. They are read again whenever they are asked for: nothing is kept. What launchers
// set (RANK, SLURM_PROCID and their like) is Launcher.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_ENVIRONMENT_H
#define PARA_RUNTIME_CORE_ENVIRONMENT_H

#include "Status.h"

namespace para::runtime {

enum class Setting {
  Rehearse,             ///< PARA_REHEARSE
  RehearseSeed,         ///< PARA_REHEARSE_SEED
  RehearseTimeout,      ///< PARA_REHEARSE_TIMEOUT, seconds
  CommunicationTimeout, ///< PARA_COMMUNICATION_TIMEOUT, seconds; 0: for ever
  CudaGraphs,           ///< PARA_CUDA_GRAPHS
  RegisterBuffers,      ///< PARA_REGISTER_BUFFERS
  Bind,                 ///< PARA_BIND
  RendezvousTimeout,    ///< PARA_RENDEZVOUS_TIMEOUT, seconds
};

/// Fails with a sentence for the first variable that is set to what it cannot be. An empty one is not set.
Status checkEnvironment();
/// What the variable says, or its default; also its default where it says what it cannot.
double numberOf(Setting setting);
uint64_t seedOf(Setting setting);
inline bool isOn(Setting setting) { return numberOf(setting) != 0; }
const char *nameOf(Setting setting);

} // namespace para::runtime

#endif
