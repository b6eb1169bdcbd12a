//===- Launcher.h - Starting and finding the ranks --------------*- C++ -*-===//
//
// Four ways into a job: one rank, which needs nothing; ranks of our own on this host (fork and exec of this program, over
// shared memory, watched by the parent); under an MPI launcher, which the back end joins; and variables of other launchers
// (torchrun, srun; Rendezvous.h), over shared memory when all ranks are on one host and over TCP else.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CORE_LAUNCHER_H
#define PARA_RUNTIME_CORE_LAUNCHER_H

#include "World.h"

namespace para::runtime {

enum class LaunchKind { Single, Parent, Child, Mpi, Variables };

/// What the environment says. `ranks` is the mesh size.
LaunchKind detectLaunch(int64_t ranks);

/// Starts `ranks` copies of this program and waits for all; the exit status of the job. A second SIGINT ends it at once.
int superviseRanks(int64_t ranks, int64_t communicators, int64_t threads, char **argv);

/// Joins as a single rank, a child of superviseRanks, or by a launcher's variables.
struct JoinOptions {
  int64_t ranks = 1, lines = 0;   ///< lines: Manifest::lines
  bool needsSharedMemory = false; ///< ranks that do not share a host cannot exchange data without MPI
};
Status joinShared(LaunchKind kind, const JoinOptions &options, std::unique_ptr<World> &world);

/// GNU's OpenMP spins for milliseconds at the end of a parallel region, which on a machine with other work costs a time
/// slice each time. It reads how long from the environment when it is loaded: sets that and starts this program again.
/// Returns when there is nothing to do, as when the user has chosen.
void limitThreadSpinning(char **argv);

/// After this, SIGINT and SIGTERM (SIGUSR1, SIGUSR2 from launchers that forward only those) set a flag; to one rank or to all, the job stops.
void installStopHandlers();
/// 0, SIGINT or SIGTERM.
int stopRequested();

} // namespace para::runtime

#endif
