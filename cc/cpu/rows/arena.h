// Splits one block of memory into arrays. Without a block the arena only measures, so the same code
// computes a size and uses the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cc/core/check.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

class Arena {
 public:
  static constexpr int64_t kAlignment = 64;

  Arena() = default;
  explicit Arena(void* base) : base_(static_cast<char*>(base)) {}

  // An arena that clears the gaps between the arrays. For memory that is an output of an op:
  // otherwise the gaps would show old memory.
  static Arena WithClearGaps(void* base) {
    Arena arena(base);
    arena.clears_gaps_ = true;
    return arena;
  }

  // An array of n elements, 64-byte aligned. The pointer is invalid while measuring.
  template <typename T>
  T* Take(int64_t n) {
    const int64_t offset = used_;
    if (n == 0) return At<T>(offset);  // most arrays of most calls
    int64_t bytes = 0;
    if (n < 0 || __builtin_mul_overflow(n, static_cast<int64_t>(sizeof(T)), &bytes) ||
        bytes > kMax - kAlignment - used_) {
      overflow_ = true;
      return At<T>(0);
    }
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (clears_gaps_) std::memset(base_ + offset + bytes, 0, used_ - offset - bytes);
    return At<T>(offset);
  }

  template <typename T>
  void Take(T** array, int64_t n) {
    *array = Take<T>(n);
  }

  // Skips `bytes` bytes of arrays that another arena allocates, a multiple of the alignment. The
  // bytes were measured to fit.
  void Skip(int64_t bytes) {
    RNN_DCHECK(bytes >= 0 && bytes % kAlignment == 0);
    used_ += bytes;
  }

  bool measuring() const { return base_ == nullptr; }
  // The number of bytes taken, or -1 if it exceeds 2^62.
  int64_t bytes() const { return overflow_ ? -1 : used_; }

 private:
  template <typename T>
  T* At(int64_t offset) const {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(base_) + offset);
  }

  static constexpr int64_t kMax = int64_t{1} << 62;
  char* base_ = nullptr;
  int64_t used_ = 0;
  bool overflow_ = false;
  bool clears_gaps_ = false;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
