//===- SeparateMicrobatches.h - What a microbatch computes -------*- C++ -*-===//
//
// A step in M microbatches is the whole batch's step as far as its sums over the batch can be taken one microbatch after the other. This
// decides, on the annotated @main, what is computed when:
//   prepare   a sum over the batch that follows from data alone (the count of valid labels), before the first microbatch
//   update    what needs a finished sum and serves nothing within a microbatch (the loss plus a penalty), after the last
//   local     what a microbatch needs at once (batch statistics): each has its own, and so has a term of the loss made of them,
//             which counts by its share of the elements that another term divides by (valid labels), else of the batch's rows
//
// Example: mean cross entropy + 0.01 * balance loss: the first is that of the whole batch, the second the microbatches' mean weighted
// by their valid labels.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_PARTITION_SEPARATEMICROBATCHES_H
#define PARA_PARTITION_SEPARATEMICROBATCHES_H

#include "para/IR/ParaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace para {

/// Separates @main, annotated for `mesh`. Returns the node that first takes statistics of its microbatch alone, empty if there is
/// none: then the microbatches' gradient is the whole batch's. Fails, with an error at the op, where microbatches have no meaning.
mlir::FailureOr<std::string> separateMicrobatches(mlir::func::FuncOp main, MeshAttr mesh);

} // namespace para

#endif
