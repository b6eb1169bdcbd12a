//===- Order.h - What a device program puts in order -------------*- C++ -*-===//
#ifndef PARA_TEST_CUDA_ORDER_H
#define PARA_TEST_CUDA_ORDER_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

namespace para::test {

/// A call of the runtime that touches memory: its op, and how many calls of the op came before.
using Call = std::pair<mlir::Operation *, int64_t>;

/// For each call of two steps those that are certainly done before it begins, by streams, events and waits of its rank alone, as
/// para_runtime.h has them: derived from the program by itself, without the rehearsal.
std::map<Call, std::set<Call>> findOrder(mlir::ModuleOp program);

} // namespace para::test

#endif
