//===- Matmul.h - Library matrix products -----------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_MATMUL_H
#define PARA_RUNTIME_HOST_MATMUL_H

#include "para/Runtime/para_runtime.h"

#include <memory>
#include <unordered_map>

namespace para::runtime {

/// oneDNN primitives by the address of their description, which compiled code keeps constant; a description that changed
/// at the same address is noticed.
class MatmulCache {
public:
  MatmulCache();
  ~MatmulCache();
  struct Entry;
  /// Null with `cause` set when oneDNN refuses.
  Entry *find(const para_matmul_desc *desc, int64_t threads, std::string &cause);

private:
  std::unordered_map<const para_matmul_desc *, std::unique_ptr<Entry>> entries;
};

/// Drops batch dimensions of 1, joins neighbours that are contiguous in all operands, and folds a batch over which b does
/// not vary into the rows.
para_matmul_desc simplify(const para_matmul_desc &desc);

} // namespace para::runtime

#endif
