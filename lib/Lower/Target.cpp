//===- Target.cpp - What kernels depend on of the machine -----------------===//
#include "Target.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace para;

KernelTarget KernelTarget::host() {
  KernelTarget target;
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  target.dealsNeighbours = features.lookup("avx2");
  target.vectorBytes = features.lookup("avx512f") ? 64 : features.lookup("avx2") ? 32 : 16;
  return target;
}

KernelTarget KernelTarget::gpu() {
  KernelTarget target;
  target.vectorBytes = 16;
  target.mostScratchBytes = 80 << 10; // a block may have 99 KiB of every GPU since sm_80; sums take some
  target.grainWork = 1;
  target.hasBlocks = true;
  return target;
}
