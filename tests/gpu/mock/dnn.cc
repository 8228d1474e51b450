// Functions of cuDNN that XLA calls before it compiles, in addition to the cuDNN mock of the C++
// tests.
#include "mock.h"

// property: 0 is the major version, 1 the minor version, 2 the patch level.
MOCK_API int cudnnGetProperty(int property, int* value) {
  *value = property == 0 ? 9 : 99;
  return mock::Log("cudnnGetProperty", 0);
}
