//===- Exit.h - What para-opt ends with -------------------------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_EXIT_H
#define PARA_LIB_DRIVER_EXIT_H

namespace para {

/// `kInputAtFault`: the model, or a program that differs from it; `kRefused`: what was asked for does not fit.
enum Exit { kDone = 0, kInputAtFault = 1, kWrongUsage = 2, kRefused = 3 };

} // namespace para

#endif
