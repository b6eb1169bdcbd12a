//===- Values.h - What flags may be given -------------------------*- C++ -*-===//
//
// Checks of values that no model is needed for, so that wrong usage is told before anything is read. Errors are sentences for the user,
// without the flag's name.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_LIB_DRIVER_VALUES_H
#define PARA_LIB_DRIVER_VALUES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace para {

/// NAME:key=value,... of --optimizer: its numbers exist and are in their ranges.
llvm::Error checkOptimizer(llvm::StringRef text);
/// --loss: the keys of a criterion. Whether an output has the name is known with the model.
llvm::Error checkLoss(llvm::StringRef text);
/// --lr-schedule as the manifest has it.
llvm::Expected<llvm::json::Object> describeSchedule(llvm::StringRef text);
llvm::Error checkPatterns(llvm::StringRef text);
/// auto, a recipe or the name of a plan file.
llvm::Error checkPlanName(llvm::StringRef text);
llvm::Error checkMesh(const std::map<std::string, int64_t> &mesh);
llvm::Expected<std::vector<std::string>> parseArch(llvm::StringRef text);

} // namespace para

#endif
