//===- Rehearsal.h - CUDA's libraries on the processor ----------*- C++ -*-===//
//
// The back end of CUDA runs unchanged over four tables of functions (cuda/Symbols.h). Here they are served by the processor, as strictly
// as CUDA's rules allow: nothing runs before it must, streams overtake one another wherever nothing orders them, device memory is
// out of the host's reach, and every access is held against those that it may run beside (Machine.h, Memory.h, Communicator.h).
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_REHEARSAL_REHEARSAL_H
#define PARA_RUNTIME_REHEARSAL_REHEARSAL_H

#include "cuda/Symbols.h"
#include "para/Runtime/para_runtime.h"

#include <cstdint>
#include <string>

namespace para::runtime::rehearsal {

/// The rank that is rehearsed, as the back end knows it.
class Rank {
public:
  virtual ~Rank() = default;
  /// What it enqueues at the moment, by the model's name; never null.
  virtual const char *op() const = 0;
  /// Tells the user, once for the job.
  virtual void report(const char *op, const std::string &cause) = 0;
  /// Whether another rank has failed and told of it.
  virtual bool othersFailed() const = 0;
  virtual cuda::Address arena() const = 0;
  /// The number that the compiler gave the collective that it enqueues.
  virtual int32_t sequence() const = 0;
  virtual int64_t rank() const = 0;
  virtual int64_t ranksOnHost() const = 0;
};

/// From here on the tables are served from here. `program` has the kernels for the processor.
void start(Rank *rank, const para_program *program);
bool isOn();

void fill(cuda::Driver &driver);
void fill(cuda::Blas &blas);
void fill(cuda::Dnn &dnn);
void fill(cuda::Nccl &nccl);

/// Tells what is wrong and ends this rank with status 1; the others follow.
[[noreturn]] void fail(const char *op, const std::string &cause);

/// The rank that `start` was given.
const Rank &rankOf();
const para_program &programOf();
/// Numbers from the seed (PARA_REHEARSE_SEED) and the rank: the same in each run.
uint64_t random();
uint64_t seed();
/// How many steps tasks have made so far, and whether one has been at it for a while. From any thread.
uint64_t moves();
bool isBusy();
/// Formats as printf does.
std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace para::runtime::rehearsal

#endif
