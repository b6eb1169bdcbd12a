//===- Scratch.h - Work that leaves nothing behind -----------------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_SCRATCH_H
#define PARA_LIB_DRIVER_SCRATCH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace para {

/// Does `work` in a process of its own, with an empty folder that is gone afterwards, and returns its exit status. Whatever ends `work` (an
/// error, lack of memory, a signal to this process), the programs that it has started end, too, and the folder goes; of a signal this process
/// then ends as well. `flag` is whose work it is, for messages: "--verify".
int runInScratch(llvm::StringRef flag, llvm::function_ref<int(llvm::StringRef folder)> work);

} // namespace para

#endif
