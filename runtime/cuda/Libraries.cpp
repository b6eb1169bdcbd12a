//===- Libraries.cpp - Loads NVIDIA's libraries -------------------------------===//
#include "Libraries.h"

#include "rehearsal/Rehearsal.h"

#include <dlfcn.h>
#include <initializer_list>

namespace para::runtime::cuda {

static void *openFirst(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
  return nullptr;
}

template <typename Function> static bool find(void *library, const char *symbol, Function &function, std::string &missing) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (!function && missing.empty())
    missing = symbol;
  return function != nullptr;
}

#define PARA_FIND_SYMBOL(result, name, symbol, parameters) find(library, symbol, into.name, missing);

static Status tooOld(const char *what, const std::string &missing, const char *needed) {
  return Status::error(std::string("this machine's ") + what + " is too old: it has no " + missing + "; " + needed +
                       " or later is needed");
}

Status loadDriver(Driver &into) {
  if (rehearsal::isOn())
    return rehearsal::fill(into), Status::success();
  void *library = openFirst({"libcuda.so.1", "libcuda.so"});
  if (!library)
    return Status::error("this program was compiled for CUDA, and libcuda.so.1 (the NVIDIA driver) is not there: run it on "
                         "a machine with an NVIDIA GPU, rehearse it here with PARA_REHEARSE=1, or compile with --target=host");
  std::string missing;
  PARA_DRIVER_SYMBOLS(PARA_FIND_SYMBOL)
  if (!missing.empty())
    return tooOld("NVIDIA driver", missing, "one for CUDA 12.0");
  int version = 0;
  if (into.cuDriverGetVersion(&version) == 0 && version < 12000)
    return Status::error(format("this machine's NVIDIA driver is for CUDA %d.%d; one for CUDA 12.0 or later is needed",
                                version / 1000, version % 1000 / 10));
  return Status::success();
}

Status loadBlas(Blas &into) {
  if (rehearsal::isOn())
    return rehearsal::fill(into), Status::success();
  void *library = openFirst({"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!library)
    return Status::error("libcublasLt.so.13 or .12 (cuBLASLt, of the CUDA toolkit) is not there: it computes this program's "
                         "matrix products; install it or put its folder into LD_LIBRARY_PATH");
  std::string missing;
  PARA_BLAS_SYMBOLS(PARA_FIND_SYMBOL)
  if (!missing.empty())
    return tooOld("cuBLASLt", missing, "that of CUDA 12.0");
  constexpr size_t least = 120000;
  size_t version = into.cublasLtGetVersion();
  if (version >= least)
    return Status::success();
  return Status::error(format("this machine's cuBLASLt is %zu.%zu; 12.0 or later is needed", version / 10000, version / 100 % 100));
}

Status loadDnn(Dnn &into) {
  if (rehearsal::isOn())
    return rehearsal::fill(into), Status::success();
  void *library = openFirst({"libcudnn.so.9"});
  if (!library)
    return Status::error("libcudnn.so.9 (cuDNN 9) is not there: it computes this program's convolutions; install it or put "
                         "its folder into LD_LIBRARY_PATH");
  std::string missing;
  PARA_DNN_SYMBOLS(PARA_FIND_SYMBOL)
  if (!missing.empty())
    return tooOld("cuDNN", missing, "version 9");
  constexpr size_t least = 90000, leastOfEight = 1000;
  size_t version = into.cudnnGetVersion(); // 8.9.7 is 8907, 9.1.0 is 90100
  size_t major = version < least ? version / leastOfEight : version / 10000, minor = version < least ? version / 100 % 10 : version / 100 % 100;
  return version >= least ? Status::success() : Status::error(format("this machine's cuDNN is %zu.%zu; 9.0 or later is needed", major, minor));
}

Status loadNccl(Nccl &into) {
  if (rehearsal::isOn())
    return rehearsal::fill(into), Status::success();
  void *library = openFirst({"libnccl.so.2"});
  if (!library)
    return Status::error("libnccl.so.2 (NCCL) is not there: ranks talk by it; install it or put its folder into "
                         "LD_LIBRARY_PATH");
  std::string missing;
  PARA_NCCL_SYMBOLS(PARA_FIND_SYMBOL)
  std::string absent;
  std::swap(absent, missing);
  PARA_NCCL_LATER_SYMBOLS(PARA_FIND_SYMBOL)
  std::swap(absent, missing);
  int version = 0;
  if (missing.empty() && into.ncclGetVersion(&version) == 0 && version >= 21800)
    return Status::success();
  return missing.empty() ? Status::error(format("this machine's NCCL is %d.%d; 2.18 or later is needed", version / 10000,
                                                version % 10000 / 100))
                         : tooOld("NCCL", missing, "2.18");
}

} // namespace para::runtime::cuda
