//===- JsonFile.h - JSON that users give -------------------------*- C++ -*-===//
//
// Example: auto plan = readJsonFile("plan", "plan.json"); an error reads "the plan 'plan.json' is not JSON: ...".
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SUPPORT_JSONFILE_H
#define PARA_SUPPORT_JSONFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace para {

/// The JSON of a file that a user gave as `what` ("plan"). An error names it; nesting is bounded, since the parser recurses.
llvm::Expected<llvm::json::Value> readJsonFile(llvm::StringRef what, llvm::StringRef path);

} // namespace para

#endif
