//===- Symbols.h - What is used of NVIDIA's libraries -----------*- C++ -*-===//
//
// One table a library: result, name, exported name, parameters. The libraries are loaded when the program runs, so that neither
// building para nor linking a program needs CUDA. test/Cuda/declarations.test compares the tables with NVIDIA's headers.
//
//===----------------------------------------------------------------------===//
#ifndef PARA_RUNTIME_CUDA_SYMBOLS_H
#define PARA_RUNTIME_CUDA_SYMBOLS_H

#include <cstddef>
#include <cstdint>

namespace para::runtime::cuda {

// Handles are pointers to what only the libraries know; enums are ints; device addresses are integers.
using Handle = void *;
using Address = unsigned long long;
struct NcclId {
  char bytes[128];
};

#define PARA_DRIVER_SYMBOLS(X)                                                                                         \
  X(int, cuInit, "cuInit", (unsigned))                                                                                 \
  X(int, cuDriverGetVersion, "cuDriverGetVersion", (int *))                                                            \
  X(int, cuGetErrorString, "cuGetErrorString", (int, const char **))                                                   \
  X(int, cuDeviceGetCount, "cuDeviceGetCount", (int *))                                                                \
  X(int, cuDeviceGet, "cuDeviceGet", (int *, int))                                                                     \
  X(int, cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                                       \
  X(int, cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, int))                                               \
  X(int, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                                              \
  X(int, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Handle *, int))                                        \
  X(int, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int))                                             \
  X(int, cuCtxSetCurrent, "cuCtxSetCurrent", (Handle))                                                                 \
  X(int, cuMemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                                        \
  X(int, cuMemAlloc, "cuMemAlloc_v2", (Address *, size_t))                                                             \
  X(int, cuMemFree, "cuMemFree_v2", (Address))                                                                         \
  X(int, cuMemAllocHost, "cuMemAllocHost_v2", (void **, size_t))                                                       \
  X(int, cuMemFreeHost, "cuMemFreeHost", (void *))                                                                     \
  X(int, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (Address, const void *, size_t, Handle))                           \
  X(int, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, Address, size_t, Handle))                                 \
  X(int, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (Address, Address, size_t, Handle))                                \
  X(int, cuMemsetD8Async, "cuMemsetD8Async", (Address, unsigned char, size_t, Handle))                                 \
  X(int, cuMemsetD32Async, "cuMemsetD32Async", (Address, unsigned, size_t, Handle))                                    \
  X(int, cuMemsetD2D8Async, "cuMemsetD2D8Async", (Address, size_t, unsigned char, size_t, size_t, Handle))             \
  X(int, cuStreamCreate, "cuStreamCreate", (Handle *, unsigned))                                                       \
  X(int, cuStreamDestroy, "cuStreamDestroy_v2", (Handle))                                                              \
  X(int, cuStreamQuery, "cuStreamQuery", (Handle))                                                                     \
  X(int, cuStreamSynchronize, "cuStreamSynchronize", (Handle))                                                         \
  X(int, cuStreamWaitEvent, "cuStreamWaitEvent", (Handle, Handle, unsigned))                                           \
  X(int, cuEventCreate, "cuEventCreate", (Handle *, unsigned))                                                         \
  X(int, cuEventDestroy, "cuEventDestroy_v2", (Handle))                                                                \
  X(int, cuEventRecord, "cuEventRecord", (Handle, Handle))                                                             \
  X(int, cuEventElapsedTime, "cuEventElapsedTime", (float *, Handle, Handle))                                          \
  X(int, cuStreamBeginCapture, "cuStreamBeginCapture_v2", (Handle, int))                                               \
  X(int, cuStreamEndCapture, "cuStreamEndCapture", (Handle, Handle *))                                                 \
  X(int, cuGraphGetNodes, "cuGraphGetNodes", (Handle, Handle *, size_t *))                                             \
  X(int, cuGraphInstantiate, "cuGraphInstantiateWithFlags", (Handle *, Handle, unsigned long long))                    \
  X(int, cuGraphLaunch, "cuGraphLaunch", (Handle, Handle))                                                             \
  X(int, cuGraphDestroy, "cuGraphDestroy", (Handle))                                                                   \
  X(int, cuGraphExecDestroy, "cuGraphExecDestroy", (Handle))                                                           \
  X(int, cuModuleLoadDataEx, "cuModuleLoadDataEx", (Handle *, const void *, unsigned, int *, void **))                 \
  X(int, cuModuleUnload, "cuModuleUnload", (Handle))                                                                   \
  X(int, cuModuleGetFunction, "cuModuleGetFunction", (Handle *, Handle, const char *))                                 \
  X(int, cuFuncSetAttribute, "cuFuncSetAttribute", (Handle, int, int))                                                 \
  X(int, cuLaunchKernel, "cuLaunchKernel",                                                                             \
    (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **))

#define PARA_BLAS_SYMBOLS(X)                                                                                           \
  X(size_t, cublasLtGetVersion, "cublasLtGetVersion", ())                                                              \
  X(const char *, cublasLtGetStatusString, "cublasLtGetStatusString", (int))                                           \
  X(int, cublasLtCreate, "cublasLtCreate", (Handle *))                                                                 \
  X(int, cublasLtDestroy, "cublasLtDestroy", (Handle))                                                                 \
  X(int, cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate", (Handle *, int, int))                                   \
  X(int, cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy", (Handle))                                             \
  X(int, cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute", (Handle, int, const void *, size_t))        \
  X(int, cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate", (Handle *, int, uint64_t, uint64_t, int64_t))       \
  X(int, cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy", (Handle))                                         \
  X(int, cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute", (Handle, int, const void *, size_t))    \
  X(int, cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate", (Handle *))                                 \
  X(int, cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy", (Handle))                                 \
  X(int, cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute",                                 \
    (Handle, int, const void *, size_t))                                                                               \
  X(int, cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic",                                             \
    (Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, BlasChoice *, int *))                                \
  X(int, cublasLtMatmul, "cublasLtMatmul",                                                                             \
    (Handle, Handle, const void *, const void *, Handle, const void *, Handle, const void *, const void *, Handle,     \
     void *, Handle, const BlasAlgorithm *, void *, size_t, Handle))

#define PARA_DNN_SYMBOLS(X)                                                                                            \
  X(size_t, cudnnGetVersion, "cudnnGetVersion", ())                                                                    \
  X(const char *, cudnnGetErrorString, "cudnnGetErrorString", (int))                                                   \
  X(int, cudnnCreate, "cudnnCreate", (Handle *))                                                                       \
  X(int, cudnnDestroy, "cudnnDestroy", (Handle))                                                                       \
  X(int, cudnnSetStream, "cudnnSetStream", (Handle, Handle))                                                           \
  X(int, cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor", (Handle *))                                       \
  X(int, cudnnDestroyTensorDescriptor, "cudnnDestroyTensorDescriptor", (Handle))                                       \
  X(int, cudnnSetTensorNdDescriptor, "cudnnSetTensorNdDescriptor", (Handle, int, int, const int *, const int *))       \
  X(int, cudnnCreateFilterDescriptor, "cudnnCreateFilterDescriptor", (Handle *))                                       \
  X(int, cudnnDestroyFilterDescriptor, "cudnnDestroyFilterDescriptor", (Handle))                                       \
  X(int, cudnnSetFilterNdDescriptor, "cudnnSetFilterNdDescriptor", (Handle, int, int, int, const int *))               \
  X(int, cudnnCreateConvolutionDescriptor, "cudnnCreateConvolutionDescriptor", (Handle *))                             \
  X(int, cudnnDestroyConvolutionDescriptor, "cudnnDestroyConvolutionDescriptor", (Handle))                             \
  X(int, cudnnSetConvolutionNdDescriptor, "cudnnSetConvolutionNdDescriptor",                                           \
    (Handle, int, const int *, const int *, const int *, int, int))                                                    \
  X(int, cudnnSetConvolutionGroupCount, "cudnnSetConvolutionGroupCount", (Handle, int))                                \
  X(int, cudnnSetConvolutionMathType, "cudnnSetConvolutionMathType", (Handle, int))                                    \
  X(int, cudnnGetConvolutionForwardAlgorithm_v7, "cudnnGetConvolutionForwardAlgorithm_v7",                             \
    (Handle, Handle, Handle, Handle, Handle, int, int *, DnnChoice *))                                                 \
  X(int, cudnnGetConvolutionBackwardDataAlgorithm_v7, "cudnnGetConvolutionBackwardDataAlgorithm_v7",                   \
    (Handle, Handle, Handle, Handle, Handle, int, int *, DnnChoice *))                                                 \
  X(int, cudnnGetConvolutionBackwardFilterAlgorithm_v7, "cudnnGetConvolutionBackwardFilterAlgorithm_v7",               \
    (Handle, Handle, Handle, Handle, Handle, int, int *, DnnChoice *))                                                 \
  X(int, cudnnConvolutionForward, "cudnnConvolutionForward",                                                           \
    (Handle, const void *, Handle, const void *, Handle, const void *, Handle, int, void *, size_t, const void *,      \
     Handle, void *))                                                                                                  \
  X(int, cudnnConvolutionBackwardData, "cudnnConvolutionBackwardData",                                                 \
    (Handle, const void *, Handle, const void *, Handle, const void *, Handle, int, void *, size_t, const void *,      \
     Handle, void *))                                                                                                  \
  X(int, cudnnConvolutionBackwardFilter, "cudnnConvolutionBackwardFilter",                                             \
    (Handle, const void *, Handle, const void *, Handle, const void *, Handle, int, void *, size_t, const void *,      \
     Handle, void *))

#define PARA_NCCL_SYMBOLS(X)                                                                                           \
  X(int, ncclGetVersion, "ncclGetVersion", (int *))                                                                    \
  X(const char *, ncclGetErrorString, "ncclGetErrorString", (int))                                                     \
  X(const char *, ncclGetLastError, "ncclGetLastError", (Handle))                                                      \
  X(int, ncclGetUniqueId, "ncclGetUniqueId", (NcclId *))                                                               \
  X(int, ncclCommInitRank, "ncclCommInitRank", (Handle *, int, NcclId, int))                                           \
  X(int, ncclCommSplit, "ncclCommSplit", (Handle, int, int, Handle *, void *))                                         \
  X(int, ncclCommDestroy, "ncclCommDestroy", (Handle))                                                                 \
  X(int, ncclCommAbort, "ncclCommAbort", (Handle))                                                                     \
  X(int, ncclCommGetAsyncError, "ncclCommGetAsyncError", (Handle, int *))                                              \
  X(int, ncclGroupStart, "ncclGroupStart", ())                                                                         \
  X(int, ncclGroupEnd, "ncclGroupEnd", ())                                                                             \
  X(int, ncclAllReduce, "ncclAllReduce", (const void *, void *, size_t, int, int, Handle, Handle))                     \
  X(int, ncclAllGather, "ncclAllGather", (const void *, void *, size_t, int, Handle, Handle))                          \
  X(int, ncclReduceScatter, "ncclReduceScatter", (const void *, void *, size_t, int, int, Handle, Handle))             \
  X(int, ncclSend, "ncclSend", (const void *, size_t, int, int, Handle, Handle))                                       \
  X(int, ncclRecv, "ncclRecv", (void *, size_t, int, int, Handle, Handle))

/// Since NCCL 2.19; null where it has none.
#define PARA_NCCL_LATER_SYMBOLS(X)                                                                                     \
  X(int, ncclMemAlloc, "ncclMemAlloc", (void **, size_t))                                                              \
  X(int, ncclMemFree, "ncclMemFree", (void *))                                                                         \
  X(int, ncclCommRegister, "ncclCommRegister", (Handle, void *, size_t, Handle *))                                     \
  X(int, ncclCommDeregister, "ncclCommDeregister", (Handle, Handle))

/// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
struct BlasAlgorithm {
  uint64_t data[8];
};
struct BlasChoice {
  BlasAlgorithm algorithm;
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};
/// cudnnConvolutionFwdAlgoPerf_t, and those of the gradients, which look the same.
struct DnnChoice {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, mathType;
  int reserved[3];
};

#define PARA_DECLARE_SYMBOL(result, name, symbol, parameters) result(*name) parameters = nullptr;
struct Driver {
  PARA_DRIVER_SYMBOLS(PARA_DECLARE_SYMBOL)
};
struct Blas {
  PARA_BLAS_SYMBOLS(PARA_DECLARE_SYMBOL)
};
struct Dnn {
  PARA_DNN_SYMBOLS(PARA_DECLARE_SYMBOL)
};
struct Nccl {
  PARA_NCCL_SYMBOLS(PARA_DECLARE_SYMBOL)
  PARA_NCCL_LATER_SYMBOLS(PARA_DECLARE_SYMBOL)
};
#undef PARA_DECLARE_SYMBOL

} // namespace para::runtime::cuda

#endif
