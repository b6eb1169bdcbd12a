//===- Calls.h - Builds runtime calls over tensors ----------------*- C++ -*-===//
#ifndef PARA_LOWER_CALLS_H
#define PARA_LOWER_CALLS_H

#include "Matmul.h"
#include "OpFacts.h"

#include "para/IR/ParaDialect.h"
#include "para/Lower/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <tuple>

namespace para {

class CallBuilder {
public:
  /// `onGpu`: of a library that knows one stride of a batch, and pads both sides of a dimension alike; operands and results are laid out for it.
  CallBuilder(mlir::ModuleOp module, mlir::func::FuncOp func, bool onGpu);
  mlir::LogicalResult run();

private:
  using Call = LibraryCall;
  mlir::LogicalResult form(mlir::Operation *op, const Call &call);
  bool formMatmul(mlir::Operation *op, const Call &call);
  /// A product that is no call sums in f32, as calls do.
  void sumWide(mlir::Operation *op);
  void formConvolution(mlir::Operation *op, const Call &call);
  void formScatter(mlir::Operation *op, const Call &call);
  mlir::LogicalResult formCollective(mlir::Operation *op, const Call &call);
  void formAllReduce(mlir::Operation *op, const Call &call);
  mlir::LogicalResult formMessage(mlir::Operation *op, const Call &call);
  void absorbAccumulate(mlir::Operation *op);

  /// A copy of `v` with its dimensions in another order, as a view of `v`; and one that was made before.
  View pack(mlir::Operation *op, mlir::Value v, llvm::ArrayRef<int64_t> order);
  std::optional<View> findPacked(mlir::Value v);
  /// Views of the operands in which the dimensions of the batch have one stride; false where that would repeat an operand.
  bool joinBatches(mlir::Operation *op, const Call &call, View &a, View &b);
  // CallsRows.cpp: rows that lie apart.
  /// Moves the rows of an operand apart, for all its users, if that helps the product and does not hurt them; false if nothing was done.
  bool spreadRows(const MatmulPlan &plan, const View &a, const View &b);
  bool spreadRows(mlir::Value base, int64_t columns);
  /// Sets the plan's stride for a result whose rows lie apart; false if they do not.
  bool spreadResult(MatmulPlan &plan, mlir::Value result);
  /// Of a matrix with rows that lie apart the columns that count, in another shape.
  mlir::Value ownRows(mlir::Value spread, int64_t columns, llvm::ArrayRef<int64_t> shape, mlir::Operation *like);
  /// Whether the users of the value can read it with gaps between rows.
  bool mayLieApart(mlir::Value v);
  /// A buffer and where in it a contiguous value starts; the value itself where it is no contiguous view.
  std::pair<mlir::Value, int64_t> contiguous(mlir::Value v);
  rt::CallOp create(mlir::Operation *at, llvm::StringRef callee, mlir::ValueRange inputs, llvm::ArrayRef<int64_t> offsets,
                    mlir::TypeRange results, llvm::ArrayRef<mlir::NamedAttribute> desc);
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::ArrayRef<int64_t> value);
  /// Tags the ops made since `before` with the phase of `op`.
  void tagSince(mlir::Operation *before, mlir::Operation *op);
  void eraseDead();

  mlir::ModuleOp module;
  mlir::func::FuncOp func;
  MeshAttr mesh;
  int64_t microbatches;
  bool onGpu;
  /// Copies by the elements that they hold: a buffer, where they begin in it, and strides with sizes, largest first.
  using Elements = std::tuple<void *, int64_t, std::vector<std::pair<int64_t, int64_t>>>;
  struct Packed {
    mlir::Value value;
    std::map<std::pair<int64_t, int64_t>, int64_t> strides; ///< in the copy
  };
  static Elements elementsOf(const View &view, llvm::ArrayRef<int64_t> shape);
  std::map<Elements, Packed> packed;
  FactsCache facts;
  /// Erased at the end: facts are kept by address.
  llvm::SmallVector<mlir::Operation *> obsolete;
  mlir::OpBuilder builder;
};

} // namespace para

#endif
