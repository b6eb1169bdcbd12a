//===- Driver.h - The whole of para-opt --------------------------*- C++ -*-===//
#ifndef PARA_DRIVER_DRIVER_H
#define PARA_DRIVER_DRIVER_H

namespace para {
/// Runs para-opt: the pass tool on .mlir, the driver on .onnx. Returns the exit status (INTERFACE: 0 done, 1 the input is at
/// fault, 2 wrong usage, 3 it cannot fit or cannot be proved).
int runParaOpt(int argc, char **argv);
} // namespace para

#endif
