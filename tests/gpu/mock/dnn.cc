// The functions of cuDNN that XLA calls before it compiles, in addition to the C++ tests' mock.
#include "mock.h"

// 0: the major version, 1: the minor version, 2: the patch level.
MOCK_API int cudnnGetProperty(int property, int* value) {
  *value = property == 0 ? 9 : 99;
  return mock::Log("cudnnGetProperty", 0);
}
