// A pretend libcudart.so.12: TensorFlow's own kernels register with it and do nothing.
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

MOCK_API const char* cudaGetErrorString(int) { return "an error of the pretend runtime"; }

MOCK_API const char* cudaGetErrorName(int) { return "cudaErrorMock"; }

MOCK_API int cudaGetFuncBySymbol(void** function, const void*) {
  static char kernel[64];
  *function = kernel;
  return 0;
}
