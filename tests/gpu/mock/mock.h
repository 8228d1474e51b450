// Shared code of the mock libraries. "Device" memory is host memory, and every stream runs its work
// at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define MOCK_API extern "C" __attribute__((visibility("default")))

namespace mock {

// If MOCK_CUDA_LOG is set, prints the name, to find functions that TensorFlow calls and that are
// not implemented yet.
inline int Log(const char* name, int code) {
  static const bool on = std::getenv("MOCK_CUDA_LOG") != nullptr;
  if (on) std::fprintf(stderr, "[mock] %s\n", name);
  return code;
}

inline int AllocatePages(void** memory, size_t bytes) {
  constexpr size_t kPage = 4096;
  *memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  return *memory != nullptr ? 0 : 2;  // CUDA_ERROR_OUT_OF_MEMORY
}

}  // namespace mock
