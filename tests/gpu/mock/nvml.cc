// A mock of libnvidia-ml.so.1.
#include "mock.h"

MOCK_API int nvmlInit() { return 0; }
MOCK_API int nvmlInit_v2() { return 0; }

MOCK_API int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  std::snprintf(version, size, "580.159.03");
  return 0;
}

MOCK_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}

MOCK_API const char* nvmlErrorString(int) { return "an error of the mock NVML"; }
