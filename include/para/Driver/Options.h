//===- Options.h - What para-opt was asked to do -----------------*- C++ -*-===//
#ifndef PARA_DRIVER_OPTIONS_H
#define PARA_DRIVER_OPTIONS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace para {

/// A flag as it was given: "--ranks", "4", "--ranks 4".
struct GivenFlag {
  std::string name, value, typed;
};

/// The flags of the driver; one field a row of the table in lib/Driver/Flags.cpp, which also makes `--help`.
struct DriverOptions {
  std::string input, output, emit = "exe", target = "host", precision, loss, optimizer = "adamw", lrSchedule = "constant", plan = "auto";
  std::string fuse = "stream,attention"; ///< kernels of the program that is simulated
  std::string execution = "compiled"; ///< how that program is run: Execution.h
  std::string machine, schedule, recompute, planOut, report, traceOut, progress = "auto";
  std::vector<std::string> arch = {"sm_80", "sm_90", "sm_100"};
  llvm::StringMap<int64_t> dims;
  std::map<std::string, int64_t> widths; ///< bytes of an element by its use, where the precision does not say
  std::map<std::string, int64_t> mesh;
  std::map<std::string, std::string> shards;
  /// Not flags, but of the model's annotations, beside ranks, mesh and shards: the configuration's name, and Plan::stages.
  std::string configuration;
  std::map<std::string, int64_t> stages;
  std::vector<std::string> trainable, freeze, runFlags;
  std::vector<std::string> arguments;    ///< as they were typed
  std::vector<GivenFlag> given;          ///< in their order
  std::vector<std::string> notes;        ///< for the user, of flags that are taken otherwise than they look
  std::vector<std::string> explainFiles; ///< two plans that are to be compared, or none
  double clipNorm = 0, clipValue = 0, lossScale = 65536;
  int64_t microbatches = 0, ranks = 0;
  int zero = -1;
  bool train = false, explain = false, simulate = false, json = false, run = false, verbose = false, timing = false;
  bool sequenceParallel = false, noSequenceParallel = false, evenStages = false, keepGradients = false, calibrate = false, ignoreAnnotations = false, help = false, version = false;
  bool verify = false;        ///< --verify
  std::string verifyData;     ///< the file of its samples; empty: random ones
  bool hasOwnPrecision = false; ///< no flag gives it, all parameters of the model are of it
  bool reportKernels = false; ///< --report=kernels
  bool reportMemory = false;  ///< --report=memory, which stops as --simulate does

  bool isGiven(llvm::StringRef flag) const;
  /// The flag as it was typed last, for messages.
  std::string show(llvm::StringRef flag) const;
  /// Whether it is told what is under way.
  bool isWatched() const;
};

/// Reads the command line; the error is a sentence for the user (exit status 2).
llvm::Expected<DriverOptions> parseDriverOptions(llvm::ArrayRef<const char *> arguments);
/// The text of --help.
std::string getDriverHelp();

} // namespace para

#endif
