//===- Manifest.h - What the runtime is told of a program ----------*- C++ -*-===//
#ifndef PARA_LOWER_MANIFEST_H
#define PARA_LOWER_MANIFEST_H

#include "para/IR/Phases.h"

#include "mlir/IR/BuiltinOps.h"

namespace para {

/// The name of a stage's segment for a phase: "stage0.forward", or "stage0.chunk1.forward".
std::string segmentName(int64_t stage, ChunkPhase phase);

/// Writes the manifest (runtime/README.md) as `rt.manifest` of the module: what `para.manifest` holds, and tensors, arenas,
/// communicators and actions of the stage functions, which have their places by now.
mlir::LogicalResult writeManifest(mlir::ModuleOp module, mlir::ArrayAttr communicators, llvm::StringRef target);

} // namespace para

#endif
