//===- Libraries.h - Loads NVIDIA's libraries -------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CUDA_LIBRARIES_H
#define PARA_RUNTIME_CUDA_LIBRARIES_H

#include "Symbols.h"
#include "core/Status.h"

namespace para::runtime::cuda {

/// Each fails with one sentence: what is missing, for what it is needed, and what helps. A library stays for the process's life. In a
/// rehearsal (rehearsal/Rehearsal.h) none is loaded.
Status loadDriver(Driver &driver);
Status loadBlas(Blas &blas);
Status loadDnn(Dnn &dnn);
Status loadNccl(Nccl &nccl);

} // namespace para::runtime::cuda

#endif
