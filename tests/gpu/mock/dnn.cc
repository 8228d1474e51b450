// What XLA asks of cuDNN before it compiles, beside the stand-in of the C++ tests.
#include "mock.h"

// 0: the major version, 1: the minor one, 2: the patch level.
MOCK_API int cudnnGetProperty(int property, int* value) {
  *value = property == 0 ? 9 : 99;
  return mock::Log("cudnnGetProperty", 0);
}
