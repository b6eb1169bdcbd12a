//===- Output.h - Files that are there whole or not at all -------*- C++ -*-===//
//
// What is made for a user appears under its name only when it is complete: it is written beside that name and renamed. Devices and pipes
// are written as they are. Every error is one sentence that names the path and the cause.
//
// Example: if (llvm::Error error = writeOutput("plan.json", text)) ...
//
//===----------------------------------------------------------------------===//
#ifndef PARA_SUPPORT_OUTPUT_H
#define PARA_SUPPORT_OUTPUT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace para {

/// A file that others write (a linker) or that is written in pieces. Without `commit` it leaves nothing behind.
class PendingFile {
public:
  static llvm::Expected<PendingFile> create(llvm::StringRef path);
  PendingFile(PendingFile &&other);
  PendingFile &operator=(PendingFile &&) = delete;
  ~PendingFile();

  /// Where the bytes go until they are complete.
  llvm::StringRef getPath() const { return temporary; }
  /// Gives the file its name; into a device or pipe it is copied.
  llvm::Error commit();

private:
  PendingFile() = default;
  std::string shown, target, temporary;
  bool renames = true;
};

/// Writes all of `bytes` to the file `path`, or to standard output where that is "-".
llvm::Error writeOutput(llvm::StringRef path, llvm::StringRef bytes);
/// From now on a reader of the standard output that leaves (`| head`) does not end the process: what is made besides is made.
void outliveReaders();
/// What was printed with llvm::outs() has come out, or its reader has left; to be asked before the exit status is 0.
llvm::Error flushStandardOutput();

} // namespace para

#endif
