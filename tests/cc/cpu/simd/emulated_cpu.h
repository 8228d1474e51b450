// The CPU of a test object, see Note [Emulation] in isa.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The instructions that no level requires.
enum EmulatedUnit : uint32_t { kEmulatedBf16 = 1, kEmulatedAmx = 2, kEmulatedVnni = 4 };

// The set of EmulatedUnit that the CPU has. A test may change it between calls.
inline std::atomic<uint32_t>& EmulatedCpu() {
  static std::atomic<uint32_t> units{0};
  return units;
}

inline bool EmulatedCpuHas(EmulatedUnit unit) {
  return (EmulatedCpu().load(std::memory_order_relaxed) & unit) != 0;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
