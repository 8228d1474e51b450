// The part of cuBLAS's C API that this library calls, so that the build needs no NVIDIA header.
// tests/gpu/host/check_cublas_abi.cc compares these lists with cublas_v2.h at compile time.
#pragma once

#include <cstddef>
#include <cstdint>

// Each list: V(enumerator, value).
#define RNN_OPS_CUBLAS_STATUSES(V)      \
  V(CUBLAS_STATUS_SUCCESS, 0)           \
  V(CUBLAS_STATUS_NOT_INITIALIZED, 1)   \
  V(CUBLAS_STATUS_ALLOC_FAILED, 3)      \
  V(CUBLAS_STATUS_INVALID_VALUE, 7)     \
  V(CUBLAS_STATUS_EXECUTION_FAILED, 13) \
  V(CUBLAS_STATUS_NOT_SUPPORTED, 15)

#define RNN_OPS_CUBLAS_OPERATIONS(V) \
  V(CUBLAS_OP_N, 0)                  \
  V(CUBLAS_OP_T, 1)

#define RNN_OPS_CUBLAS_MATH_MODES(V) \
  V(CUBLAS_DEFAULT_MATH, 0)          \
  V(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, 16)

#define RNN_OPS_CUBLAS_COMPUTE_TYPES(V) \
  V(CUBLAS_COMPUTE_32F, 68)             \
  V(CUBLAS_COMPUTE_64F, 70)             \
  V(CUBLAS_COMPUTE_32F_FAST_TF32, 77)

#define RNN_OPS_CUBLAS_ALGORITHMS(V) V(CUBLAS_GEMM_DEFAULT, -1)

#define RNN_OPS_CUDA_DATA_TYPES(V) \
  V(CUDA_R_32F, 0)                 \
  V(CUDA_R_64F, 1)                 \
  V(CUDA_R_16F, 2)                 \
  V(CUDA_R_16BF, 14)

#ifndef CUBLAS_VERSION  // NVIDIA's header defines CUBLAS_VERSION and the types
#define RNN_OPS_ENUMERATOR(name, value) name = value,
extern "C" {
typedef struct CUstream_st* cudaStream_t;
typedef struct cublasContext* cublasHandle_t;
typedef enum { RNN_OPS_CUBLAS_STATUSES(RNN_OPS_ENUMERATOR) } cublasStatus_t;
typedef enum { RNN_OPS_CUBLAS_OPERATIONS(RNN_OPS_ENUMERATOR) } cublasOperation_t;
typedef enum { RNN_OPS_CUBLAS_MATH_MODES(RNN_OPS_ENUMERATOR) } cublasMath_t;
typedef enum { RNN_OPS_CUBLAS_COMPUTE_TYPES(RNN_OPS_ENUMERATOR) } cublasComputeType_t;
typedef enum { RNN_OPS_CUBLAS_ALGORITHMS(RNN_OPS_ENUMERATOR) } cublasGemmAlgo_t;
typedef enum cudaDataType_t { RNN_OPS_CUDA_DATA_TYPES(RNN_OPS_ENUMERATOR) } cudaDataType;
}
#undef RNN_OPS_ENUMERATOR
#endif  // CUBLAS_VERSION

// F(result, name, symbol, parameters): cublas##name, which the library exports as `symbol`.
// The functions with _64 accept sizes beyond int32, and exist in cuBLAS 12 and 13.
#define RNN_OPS_CUBLAS_FUNCTIONS(F)                                                                \
  F(const char*, GetStatusName, cublasGetStatusName, (cublasStatus_t))                             \
  F(const char*, GetStatusString, cublasGetStatusString, (cublasStatus_t))                         \
  F(cublasStatus_t, Create, cublasCreate_v2, (cublasHandle_t*))                                    \
  F(cublasStatus_t, Destroy, cublasDestroy_v2, (cublasHandle_t))                                   \
  F(cublasStatus_t, GetVersion, cublasGetVersion_v2, (cublasHandle_t, int*))                       \
  F(cublasStatus_t, SetStream, cublasSetStream_v2, (cublasHandle_t, cudaStream_t))                 \
  F(cublasStatus_t, SetWorkspace, cublasSetWorkspace_v2,                                           \
    (cublasHandle_t, void* workspace, size_t bytes))                                               \
  F(cublasStatus_t, SetMathMode, cublasSetMathMode, (cublasHandle_t, cublasMath_t))                \
  F(cublasStatus_t, GemmEx_64, cublasGemmEx_64,                                                    \
    (cublasHandle_t, cublasOperation_t trans_a, cublasOperation_t trans_b, int64_t m, int64_t n,   \
     int64_t k, const void* alpha, const void* a, cudaDataType a_type, int64_t lda, const void* b, \
     cudaDataType b_type, int64_t ldb, const void* beta, void* c, cudaDataType c_type,             \
     int64_t ldc, cublasComputeType_t, cublasGemmAlgo_t))                                          \
  F(cublasStatus_t, GemmStridedBatchedEx_64, cublasGemmStridedBatchedEx_64,                        \
    (cublasHandle_t, cublasOperation_t trans_a, cublasOperation_t trans_b, int64_t m, int64_t n,   \
     int64_t k, const void* alpha, const void* a, cudaDataType a_type, int64_t lda,                \
     long long int stride_a, const void* b, cudaDataType b_type, int64_t ldb,                      \
     long long int stride_b, const void* beta, void* c, cudaDataType c_type, int64_t ldc,          \
     long long int stride_c, int64_t count, cublasComputeType_t, cublasGemmAlgo_t))
