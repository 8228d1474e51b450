// The floating point environment of a thread that computes for an op.
#pragma once

#include <cstdint>

namespace rnn_ops {

// While an object lives, its thread rounds to nearest, reads and writes denormal numbers as zero,
// and traps no floating point exception.
//
// WHY: TensorFlow's pool threads flush denormal numbers, but the thread that calls an op may have
// another environment, for example the thread of Session.run or of a C++ program. Scheduling
// decides which thread computes which result, so results are bit-identical only if all threads have
// the same environment.
class ScopedFloatEnvironment {
 public:
#if defined(__x86_64__)
  // WHY the comparisons: writing the register takes as long as a small layer, and threads of audio
  // and of TensorFlow flush denormal numbers anyway.
  ScopedFloatEnvironment() : before_(__builtin_ia32_stmxcsr()) {
    if (differs()) __builtin_ia32_ldmxcsr(kControl);
  }
  // Keeps the exception flags that were raised in the meantime, like any other computation.
  ~ScopedFloatEnvironment() {
    if (differs()) __builtin_ia32_ldmxcsr(before_ | (__builtin_ia32_stmxcsr() & kFlags));
  }
#elif defined(__aarch64__)
  ScopedFloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    const uint64_t flush_to_zero = uint64_t{1} << 24;
    asm volatile("msr fpcr, %0" ::"r"(flush_to_zero));
  }
  ~ScopedFloatEnvironment() { asm volatile("msr fpcr, %0" ::"r"(before_)); }
#else
#error "No floating point environment is written for this architecture."
#endif
  ScopedFloatEnvironment(const ScopedFloatEnvironment&) = delete;
  ScopedFloatEnvironment& operator=(const ScopedFloatEnvironment&) = delete;

 private:
#if defined(__aarch64__)
  uint64_t before_;
#else
  static constexpr uint32_t kFlags = 0x3f;
  // All exceptions masked, flush to zero, denormals are zero, round to nearest.
  static constexpr uint32_t kControl = 0x1f80 | 0x8000 | 0x0040;
  bool differs() const { return (before_ & ~kFlags) != kControl; }

  uint32_t before_;
#endif
};

}  // namespace rnn_ops
