//===- Names.h - Flags that name a part of the model ---------------*- C++ -*-===//
#ifndef PARA_LIB_DRIVER_NAMES_H
#define PARA_LIB_DRIVER_NAMES_H

#include "para/Driver/Options.h"
#include "para/Import/ModelOutline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace para {

/// That each pattern of --trainable and --freeze is of a parameter. Reports all that are not, with what they are instead.
mlir::LogicalResult checkParameterNames(mlir::func::FuncOp main, const ModelOutline &outline, const DriverOptions &options);

/// That `stages` are of nodes which the program has. Reports all that are not.
mlir::LogicalResult checkStages(mlir::func::FuncOp main, const ModelOutline &outline, const std::map<std::string, int64_t> &stages, llvm::StringRef source);

/// That `shards` are of values that the program has and that can be cut so. Reports all that are not, with what they are instead, or what was
/// perhaps meant. `main` may lack what training adds: states, and the input of the loss. `source` is how they were given: "--shard", or a plan file.
mlir::LogicalResult checkShards(mlir::func::FuncOp main, const ModelOutline &outline, const DriverOptions &options, const std::map<std::string, std::string> &shards,
                                llvm::StringRef source);

} // namespace para

#endif
