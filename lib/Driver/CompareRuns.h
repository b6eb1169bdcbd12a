//===- CompareRuns.h - Whether two runs computed the same ----------*- C++ -*-===//
//
// What two programs of one model have left behind, tensor by tensor. Differences count in parts of the tensor's largest element. Gradients that are
// small beside the whole gradient are compared beside its norm; optimizers that divide by them make steps of full size of what is then perhaps
// noise (the bias of attention's keys), so what is made of them may be apart as far as they may be, and of noise is not compared at all.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_DRIVER_COMPARERUNS_H
#define PARA_LIB_DRIVER_COMPARERUNS_H

#include "core/Array.h"
#include "core/Manifest.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace para {

/// What a run has left: by name, whole tensors, as `--dump-grads` (after the first step) and `--dump-state` (after the last) have them.
struct RunResult {
  std::vector<double> losses; ///< a step each; NaN where there is none
  runtime::ArrayMap gradients, state;

  /// `metrics` is the text of `--metrics`, a line a step.
  llvm::Error readLosses(llvm::StringRef metrics);
};

/// One element that is not the same.
struct Difference {
  std::string tensor;           ///< "the gradient of 'wte.weight'"
  std::vector<int64_t> element; ///< of the whole tensor
  std::string holder;           ///< "rank 2", of the ranks that have parts of it; empty where all have all
  double here = 0, serial = 0;
  double relative = 0; ///< |here - serial| over the largest element; infinity where only one of them is a number
};

struct RunComparison {
  int64_t losses = 0, gradients = 0, parameters = 0, states = 0, outputs = 0; ///< tensors that were compared
  int64_t noise = 0;                                                            ///< elements of parameters whose gradient is noise, which are not compared
  Difference worst;
  int64_t numDiffering = 0;        ///< tensors with an element above the bound
  std::optional<Difference> first; ///< the worst element of the first of them, in the order in which a step computes them

  int64_t getNumTensors() const { return losses + gradients + parameters + states + outputs; }
};

/// The runs of a program for several ranks, whose manifest it is, and of the serial one. Floats may differ by `bound`, other elements by nothing.
/// Fails where there is nothing to compare: the runs do not have the same tensors, or the serial one has a loss or an output that is no number.
llvm::Expected<RunComparison> compareRuns(const runtime::Manifest &manifest, const RunResult &here, const RunResult &serial, double bound);

} // namespace para

#endif
