//===- Convolution.h - Library convolutions ---------------------*- C++ -*-===//
#ifndef PARA_RUNTIME_HOST_CONVOLUTION_H
#define PARA_RUNTIME_HOST_CONVOLUTION_H

#include "para/Runtime/para_runtime.h"

#include <memory>
#include <string>
#include <unordered_map>

namespace para::runtime {

/// oneDNN primitives with the reorders between the program's plain layouts and the blocked ones the primitive chose.
class ConvolutionCache {
public:
  ConvolutionCache();
  ~ConvolutionCache();
  struct Entry;
  /// Null with `cause` set when oneDNN refuses.
  Entry *find(const para_convolution_desc *desc, std::string &cause);

private:
  std::unordered_map<const para_convolution_desc *, std::unique_ptr<Entry>> entries;
};

/// Plain loops for f64: every kind, groups and dilation. Each result is summed by one thread in a fixed order.
void convolveDirect(int64_t threads, const para_convolution_desc &desc, double *x, double *w, double *y);

int64_t inputElements(const para_convolution_desc &desc);
int64_t weightElements(const para_convolution_desc &desc);
int64_t outputElements(const para_convolution_desc &desc);

} // namespace para::runtime

#endif
