// Compiles only if driver_min.h agrees with NVIDIA's header.
#include <cuda.h>

#include <type_traits>

#include "cc/gpu/libraries/driver_min.h"

#define CHECK_VALUE(name, value) static_assert(name == value, "differs: " #name);
RNN_OPS_CUDA_RESULTS(CHECK_VALUE)
RNN_OPS_CUDA_DEVICE_ATTRIBUTES(CHECK_VALUE)
RNN_OPS_CUDA_FUNCTION_ATTRIBUTES(CHECK_VALUE)
RNN_OPS_CUDA_CAPTURE_STATUSES(CHECK_VALUE)

constexpr bool Same(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// cuda.h makes the plain name a macro for the symbol if the two differ.
#define TEXT(name) #name
#define EXPANDED_TEXT(name) TEXT(name)
#define CHECK_FUNCTION(name, symbol, parameters)                                         \
  static_assert(std::is_same<CUresult(CUDAAPI*) parameters, decltype(&::symbol)>::value, \
                "differs: " #symbol);                                                    \
  static_assert(Same(EXPANDED_TEXT(cu##name), #symbol), "another symbol: cu" #name);
RNN_OPS_CUDA_FUNCTIONS(CHECK_FUNCTION)
RNN_OPS_CUDA_NEWER_FUNCTIONS(CHECK_FUNCTION)

static_assert(RNN_OPS_MEMHOSTALLOC_PORTABLE == CU_MEMHOSTALLOC_PORTABLE, "differs");
static_assert(RNN_OPS_MEMHOSTALLOC_DEVICEMAP == CU_MEMHOSTALLOC_DEVICEMAP, "differs");
static_assert(sizeof(CUresult) == 4 && sizeof(CUdeviceptr) == sizeof(void*), "another size");
