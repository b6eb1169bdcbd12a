//===- Worker.h - One rank of a running program -----------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CORE_WORKER_H
#define PARA_RUNTIME_CORE_WORKER_H

#include "Checkpoint.h"
#include "Data.h"
#include "Flags.h"
#include "Hyper.h"
#include "Metrics.h"

namespace para::runtime {

/// Everything a rank has once it runs: its device, its tensors, its segments. All methods are called by all ranks together.
class Worker {
public:
  Worker(const Manifest &manifest, const Flags &flags, const para_program &program, World &world);

  /// Device, segments, initial tensors.
  Status start();
  /// Runs what the flags ask for; `exitCode` is 128 + signal when one ended the run.
  Status train(int &exitCode);
  Status infer(int &exitCode);
  Status writeTrace();

private:
  // Worker.cpp
  /// That what is written when the run ends can be; --metrics and --save are opened before the first step.
  Status checkOutputs();
  Status checkFilesApart();
  Status resolveSegments();
  Status loadTensors();
  Status startTensor(const Tensor &tensor, const Checkpoint *checkpoint);
  Status initializeParameter(const Tensor &tensor);
  Status readSource(const Tensor &tensor);
  /// Empty where the bytes are in the program.
  std::string pathOf(const TensorSource &source) const;
  /// Fills the inputs. With several ranks an error in the data is kept for `exchange`, where all learn of it.
  Status feed(Dataset &data, int64_t position);
  Status writeHyper(int64_t step);
  struct Bound {
    const para_segment *segment;
    int64_t microbatch, slot;
  };
  Status bind(const std::vector<Action> &actions, std::vector<Bound> &bound);
  Status runActions(const std::vector<Bound> &actions);
  /// Every rank's small report to rank 0, and its answer whether to stop. Fails on all ranks where the data of one are at fault.
  Status exchange(StepRecord &record, int64_t bytesSent, int &stopSignal);
  /// For --dump-state: parameters, states and the outputs of the last step.
  Status dumpState();
  /// For --verbose: how this rank's steps ran, and what its device took.
  void tellOfDevice() const;
  Status readMeasured(const std::string &name, Measured &measured);

  // Trainer.cpp
  Status openData(Dataset &data, Dataset &validation, int64_t &totalSteps);
  Status validationLoss(Dataset &validation, StepRecord &of);
  Status saveNow(int64_t stepsDone);
  Status summarize(const StepRecord &last, const std::vector<double> &seconds, int64_t totalSteps);

  // Inference.cpp
  Status writeOutputs();

  bool isFirst() const { return world.rank() == 0; }
  const Manifest &manifest;
  const Flags &flags;
  const para_program &program;
  World &world;
  Hyper hyper;
  Trace trace;
  std::unique_ptr<Device> device;
  std::unique_ptr<TensorStore> store;
  std::vector<Bound> step, evaluation;
  int64_t firstStep = 0, lastSaved = -1;
  int64_t skippedSteps = 0;
  Status dataFault = Status::success();
  std::string lastSavedPath;
  RunState runState;
};

} // namespace para::runtime

#endif
