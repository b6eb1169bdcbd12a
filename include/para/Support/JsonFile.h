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

/// That an object of `owner` ("a machine") has no other keys than these. An error names the first one by name, and the key that was meant or all
/// that there are.
llvm::Error checkKeys(const llvm::json::Object &object, llvm::StringRef owner, llvm::ArrayRef<llvm::StringRef> keys);

/// The name that was meant: few edits away, and at least half of its letters as they were typed; empty if there is none.
llvm::StringRef findNearest(llvm::StringRef typed, llvm::ArrayRef<llvm::StringRef> names);

} // namespace para

#endif
