// Compiles only if cublas_min.h agrees with NVIDIA's header.
#include <cublas_v2.h>

#include "cc/gpu/libraries/cublas_min.h"

#define CHECK_VALUE(name, value) static_assert(name == value, "differs: " #name);
RNN_OPS_CUBLAS_STATUSES(CHECK_VALUE)
RNN_OPS_CUBLAS_OPERATIONS(CHECK_VALUE)
RNN_OPS_CUBLAS_MATH_MODES(CHECK_VALUE)
RNN_OPS_CUBLAS_COMPUTE_TYPES(CHECK_VALUE)
RNN_OPS_CUBLAS_ALGORITHMS(CHECK_VALUE)
RNN_OPS_CUDA_DATA_TYPES(CHECK_VALUE)

// An initialization instead of decltype, because cuBLAS overloads some names in C++.
#define CHECK_FUNCTION(result, name, symbol, parameters) \
  constexpr result(*k##name) parameters = &::symbol;     \
  static_assert(k##name != nullptr, #symbol);
RNN_OPS_CUBLAS_FUNCTIONS(CHECK_FUNCTION)

static_assert(sizeof(cublasStatus_t) == 4 && sizeof(cudaDataType) == 4, "another enum size");
