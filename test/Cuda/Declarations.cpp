// Compares each entry of runtime/cuda/Symbols.h with NVIDIA's headers: as many parameters, each passed in the same way.
#include "cuda/Symbols.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <nccl.h>
#include <type_traits>

/// Pointers to pointers, enums to integers of their size: what the calling convention sees.
template <typename T> constexpr bool isWord = std::is_pointer_v<T> || std::is_integral_v<T> || std::is_enum_v<T>;
template <typename Mine, typename Theirs> constexpr bool passedAlike() {
  if (std::is_pointer_v<Mine> != std::is_pointer_v<Theirs>)
    return false;
  if (isWord<Mine> && isWord<Theirs>)
    return sizeof(Mine) == sizeof(Theirs);
  return std::is_class_v<Mine> && std::is_class_v<Theirs> && sizeof(Mine) == sizeof(Theirs);
}
template <typename R, typename... P, typename S, typename... Q> constexpr bool same(R (*)(P...), S (*)(Q...)) {
  if constexpr (sizeof...(P) != sizeof...(Q))
    return false;
  else
    return passedAlike<R, S>() && (passedAlike<P, Q>() && ...);
}

using namespace para::runtime::cuda;
#define PARA_COMPARE(result, name, symbol, parameters) static_assert(same(static_cast<result(*) parameters>(nullptr), static_cast<decltype(&::name)>(nullptr)), symbol);
PARA_DRIVER_SYMBOLS(PARA_COMPARE)
PARA_BLAS_SYMBOLS(PARA_COMPARE)
PARA_DNN_SYMBOLS(PARA_COMPARE)
PARA_NCCL_SYMBOLS(PARA_COMPARE)
PARA_NCCL_LATER_SYMBOLS(PARA_COMPARE)

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(sizeof(BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(BlasChoice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(BlasChoice, workspaceBytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(sizeof(DnnChoice) == sizeof(cudnnConvolutionFwdAlgoPerf_t) && sizeof(DnnChoice) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t));
static_assert(sizeof(DnnChoice) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t));
static_assert(offsetof(DnnChoice, memory) == offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(DnnChoice, determinism) == offsetof(cudnnConvolutionFwdAlgoPerf_t, determinism));

// The numbers that are written out in runtime/cuda and runtime/rehearsal.
static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_64F == 70 && CUDA_R_32F == 0 && CUDA_R_64F == 1 && CUDA_R_16F == 2 && CUDA_R_16BF == 14);
static_assert(CUBLASLT_MATMUL_DESC_TRANSA == 3 && CUBLASLT_MATMUL_DESC_TRANSB == 4 && CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1);
static_assert(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT == 5 && CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET == 6);
static_assert(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1 && CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK == 3);
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES == 5 && CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES == 8);
static_assert(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE == 2);
static_assert(CUDNN_DATA_FLOAT == 0 && CUDNN_DATA_DOUBLE == 1 && CUDNN_DATA_HALF == 2 && CUDNN_DATA_BFLOAT16 == 9);
static_assert(CUDNN_TENSOR_NCHW == 0 && CUDNN_CROSS_CORRELATION == 1 && CUDNN_FMA_MATH == 3 && CUDNN_DETERMINISTIC == 1);
static_assert(ncclUint8 == 1 && ncclInt32 == 2 && ncclInt64 == 4 && ncclFloat16 == 6 && ncclFloat32 == 7 && ncclFloat64 == 8 && ncclBfloat16 == 9);
static_assert(ncclSum == 0 && ncclMax == 2 && ncclMin == 3 && ncclInProgress == 7 && NCCL_SPLIT_NOCOLOR == -1);
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75 && CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
static_assert(CUDA_ERROR_NOT_READY == 600 && CUDA_ERROR_OUT_OF_MEMORY == 2 && CU_STREAM_NON_BLOCKING == 1 && CU_EVENT_DISABLE_TIMING == 2);
static_assert(CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);
static_assert(CUDA_ERROR_INVALID_VALUE == 1 && CUDA_ERROR_INVALID_IMAGE == 200 && CUDA_ERROR_NOT_FOUND == 500);
static_assert(CUBLAS_STATUS_INVALID_VALUE == 7 && CUBLAS_STATUS_NOT_SUPPORTED == 15 && CUDNN_STATUS_BAD_PARAM == 2000 && CUDNN_STATUS_NOT_SUPPORTED == 3000);
static_assert(ncclInt8 == 0 && ncclUint32 == 3 && ncclUint64 == 5 && ncclProd == 1 && ncclInvalidArgument == 4 && ncclInvalidUsage == 5 && ncclRemoteError == 6);
static_assert(CU_STREAM_CAPTURE_MODE_GLOBAL == 0 && CU_STREAM_CAPTURE_MODE_THREAD_LOCAL == 1 && CU_STREAM_CAPTURE_MODE_RELAXED == 2);
