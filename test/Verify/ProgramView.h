//===- ProgramView.h - What is alive and what is equal in a program --------===//
//
// The argument, independent of the proofs, that a mutation means something: it changes an op that some result depends on, and replaces
// no value by one that is the same expression.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_TEST_VERIFY_PROGRAMVIEW_H
#define PARA_TEST_VERIFY_PROGRAMVIEW_H

#include "para/IR/Program.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

namespace para::test {

class ProgramView {
public:
  explicit ProgramView(mlir::ModuleOp module);

  /// Ops on which some result depends, stage by stage in program order.
  std::vector<mlir::Operation *> ops;
  std::vector<mlir::func::FuncOp> stages;
  MeshAttr mesh;

  /// Equal for values that are the same expression over arguments, wherever they are computed.
  int number(mlir::Value value);
  /// What `number` of the op's first result would be with other operands.
  int number(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  /// The send that a receive matches, or null.
  mlir::Operation *getSend(mlir::Operation *recv);
  mlir::Operation *getRecv(mlir::Operation *send);
  /// Whether `value` depends on `on`, across stages.
  bool depends(mlir::Value value, mlir::Value on);

private:
  using Key = std::tuple<int64_t, int64_t, int64_t>; // from, to, tag
  std::map<Key, mlir::Operation *> sends, recvs;
  std::map<std::string, int> numbers;
  llvm::DenseMap<mlir::Value, int> known;
};

bool isNamed(mlir::Operation *op, llvm::StringRef name);
int64_t getInteger(mlir::Operation *op, llvm::StringRef name);

} // namespace para::test

#endif
