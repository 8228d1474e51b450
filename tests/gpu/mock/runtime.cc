// A mock of libcudart.so.12. TensorFlow's own kernels register with it and do nothing.
#include "mock.h"

MOCK_API void** __cudaRegisterFatBinary(void*) {
  static void* handles[4];
  return handles;
}

MOCK_API int cudaGetDeviceCount(int* count) {
  *count = 1;
  return 0;
}

MOCK_API int cudaRuntimeGetVersion(int* version) {
  *version = 12050;
  return 0;
}

MOCK_API int cudaDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

MOCK_API int cudaGetDevice(int* device) {
  *device = 0;
  return 0;
}

MOCK_API const char* cudaGetErrorString(int) { return "an error of the mock runtime"; }

MOCK_API const char* cudaGetErrorName(int) { return "cudaErrorMock"; }

MOCK_API int cudaGetFuncBySymbol(void** function, const void*) {
  static char kernel[64];
  *function = kernel;
  return 0;
}

// ---- Values that TensorFlow computes launch shapes from ----

MOCK_API int cudaDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kMaxThreadsPerBlock = 1;
  constexpr int kWarpSize = 10;
  constexpr int kMultiprocessors = 16;
  constexpr int kMaxThreadsPerMultiprocessor = 39;
  switch (attribute) {
    case kMaxThreadsPerBlock:
      *value = 1024;
      break;
    case kWarpSize:
      *value = 32;
      break;
    case kMultiprocessors:
      *value = 132;
      break;
    case kMaxThreadsPerMultiprocessor:
      *value = 2048;
      break;
    default:
      *value = 0;
  }
  return 0;
}

MOCK_API int cudaFuncGetAttributes(void* attributes, const void*) {
  // The first fields of cudaFuncAttributes.
  struct {
    size_t shared_bytes, constant_bytes, local_bytes;
    int max_threads_per_block, registers, ptx_version, binary_version;
  } const fields = {0, 0, 0, 1024, 32, 90, 90};
  std::memcpy(attributes, &fields, sizeof(fields));
  return 0;
}

MOCK_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 1;
  return 0;
}

MOCK_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                    size_t, unsigned) {
  *blocks = 1;
  return 0;
}
