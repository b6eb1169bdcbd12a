//===- Convolution.h - Convolutions by cuDNN --------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_CUDA_CONVOLUTION_H
#define PARA_RUNTIME_CUDA_CONVOLUTION_H

#include "Context.h"

namespace para::runtime::cuda {

class Convolutions {
public:
  explicit Convolutions(para_context *ctx) : ctx(ctx) {}
  ~Convolutions();
  Status create();
  para_status run(int32_t stream, const para_convolution_desc &desc, void *x, void *w, void *y, const char *op);

private:
  struct Entry {
    para_convolution_desc desc;
    Handle x = nullptr, w = nullptr, y = nullptr, convolution = nullptr;
    int algorithm = 0;
    int64_t workspaceBytes = 0;
    bool isMade = false;
  };
  bool make(Entry &entry, std::string &cause);
  /// The fastest algorithm that gives the same result each time.
  bool choose(Entry &entry, std::string &cause);
  void release(Entry &entry);
  para_context *ctx;
  Dnn dnn;
  Handle handle = nullptr;
  std::unordered_map<const para_convolution_desc *, Entry> entries;
};

} // namespace para::runtime::cuda

#endif
