//===- VerifyLimits.h - What can be verified on this computer -------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_VERIFYLIMITS_H
#define PARA_LIB_DRIVER_VERIFYLIMITS_H

#include "llvm/ADT/Twine.h"

namespace para {

/// Prints an error of --verify; returns the status.
int failVerify(const llvm::Twine &message, int status);

/// Says that `what` does not fit into the memory that is free here, if so; the exit status (3, or 0).
int checkVerifyMemory(const llvm::Twine &what, double bytes);

} // namespace para

#endif
