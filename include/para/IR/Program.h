//===- Program.h - Arguments, results and phases of a program ---*- C++ -*-===//
//
// The names of the attributes by which stages understand each other, and helpers over them. Arguments and results of @main (and
// later of each stage's function) carry `para.kind` and `para.name`:
//   arguments: input, parameter, buffer (running statistics), state (of the optimizer), hyper (a number of the optimizer)
//   an input which is used as indices has `para.index_ranges`, the values that it may have
//   results:   output, update (with `para.updates`, the argument that it overwrites), gradient
//
//===----------------------------------------------------------------------===//
#ifndef PARA_IR_PROGRAM_H
#define PARA_IR_PROGRAM_H

#include "para/IR/ParaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace para {

/// The function @main, or an error.
mlir::FailureOr<mlir::func::FuncOp> getMain(mlir::ModuleOp module);

llvm::StringRef getArgKind(mlir::func::FuncOp func, unsigned index);
llvm::StringRef getArgName(mlir::func::FuncOp func, unsigned index);
llvm::StringRef getResultKind(mlir::func::FuncOp func, unsigned index);
llvm::StringRef getResultName(mlir::func::FuncOp func, unsigned index);
/// Index of the argument called `name`, or -1.
int getArgIndex(mlir::func::FuncOp func, llvm::StringRef name);

/// Appends an argument with its kind and name.
mlir::BlockArgument addArgument(mlir::func::FuncOp func, mlir::Type type, llvm::StringRef kind, llvm::StringRef name, mlir::Location loc);

/// A result to be: value and attributes.
struct ProgramResult {
  mlir::Value value;
  mlir::DictionaryAttr attributes;
};
ProgramResult makeResult(mlir::Value value, llvm::StringRef kind, llvm::StringRef name, llvm::StringRef updates = "");
llvm::SmallVector<ProgramResult> getResults(mlir::func::FuncOp func);
/// Replaces all results of the function.
void setResults(mlir::func::FuncOp func, llvm::ArrayRef<ProgramResult> results);

/// The model's own name for where an op comes from; empty if it has none.
llvm::StringRef getNodeName(mlir::Location loc);
/// The model's name of the tensor that an op's result is; empty if it is none of a node's outputs. On an op's location since import.
llvm::StringRef getTensorName(mlir::Location loc);
/// The same place, marked with a phase; a mark that is there is replaced.
mlir::Location withPhase(mlir::Location loc, Phase phase);
/// The phase marked on a location, if any.
std::optional<Phase> getMarkedPhase(mlir::Location loc);
/// The phase written on an op by `para-tag-phases`; Forward if there is none.
Phase getPhase(mlir::Operation *op);

} // namespace para

#endif
