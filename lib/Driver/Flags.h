//===- Flags.h - The table of para-opt's flags --------------------*- C++ -*-===//
//
// A row a flag: how it is written, what it sets, and what else must be asked for before it does anything. Help, reading and the check of
// flags beside each other all follow from the table.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_DRIVER_FLAGS_H
#define PARA_LIB_DRIVER_FLAGS_H

#include "para/Driver/Options.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>

namespace para {

enum class Takes { Nothing, Value, OptionalValue };

/// What must be asked for beside a flag. A flag whose needs are not met would change nothing, and is refused.
enum class Need {
  Training, ///< a step that trains
  Gpu,      ///< code for GPUs
  Planning, ///< a stage that has a plan
  Choice,   ///< a plan to be chosen and taken, not two that are compared
  Program,  ///< that does not stop at prices
  Prices,   ///< of a machine, by the race over the folded model
  Pricing,  ///< such prices and no program
  Numbers,  ///< something that has numbers for machines
};

struct Flag {
  llvm::StringRef name, value, help;
  Takes takes;
  std::function<llvm::Error(DriverOptions &, llvm::StringRef)> set;
  llvm::SmallVector<Need, 2> needs = {};
  llvm::StringRef use = "";                          ///< what is told where the first need is not met; empty: the need's own words
  llvm::SmallVector<llvm::StringRef, 2> neutral = {}; ///< values that ask for nothing
  bool isList = false;                               ///< given again it adds; else the last one counts
};

llvm::ArrayRef<Flag> getFlags();
/// The flag of that name, or null.
const Flag *findFlag(llvm::StringRef name);

/// What flags say to each other: each has its needs, and no two contradict.
llvm::Error checkTogether(const DriverOptions &options);
/// Why an annotated model cannot say what a schedule of several chunks a rank does.
std::string explainChunksInOnnx(llvm::StringRef schedule);
/// Of flags that ask for a result before which others stop, as sentences for the user: scripts give them in any case.
std::vector<std::string> findIdleOutputs(const DriverOptions &options);

} // namespace para

#endif
