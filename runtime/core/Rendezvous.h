//===- Rendezvous.h - Ranks that find one another over TCP ------*- C++ -*-===//
//
// Launchers that start a process a rank without MPI tell each its number: torchrun and its like by RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE,
// srun by SLURM_PROCID, SLURM_STEP_NUM_TASKS and SLURM_LOCALID. Where they are on several hosts, rank 0 listens at MASTER_ADDR:MASTER_PORT (without
// them at the first node of SLURM's list, at a port that follows from the job's number), and all others come to it. What they say to each other is
// little: NCCL's name for the job, checkpoints, the numbers that a step ends with, and, on a connection of its own, that a rank has failed.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_RENDEZVOUS_H
#define PARA_RUNTIME_CORE_RENDEZVOUS_H

#include "World.h"

namespace para::runtime {

/// What a launcher tells a rank.
struct LaunchVariables {
  int64_t rank = -1, size = 0;        ///< rank -1: nobody tells
  int64_t local = -1, localSize = -1; ///< on its host; -1: not told
  std::string address, port;          ///< of rank 0; may be empty
  const char *rankName = "RANK", *sizeName = "WORLD_SIZE";
};
/// From the environment. SLURM's are read only in a step of srun's with several tasks.
LaunchVariables readLaunchVariables();

/// The first host of a list as SLURM writes it: "node01" of "node[01-04,07],other", "a-2-x" of "a-[2,5]-x".
std::string firstHost(const std::string &list);

/// Meets the other ranks. `hash` is of the program: all must run the same one.
Status joinByTcp(const LaunchVariables &variables, uint64_t hash, std::unique_ptr<World> &world);

} // namespace para::runtime

#endif
