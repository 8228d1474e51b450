// The kernel tables of an object that emulates CPUs, see Note [Emulation] in cc/cpu/simd/isa.h.
#pragma once

#include <cstdint>

#include "cc/cpu/dispatch/kernel_table.h"

namespace rnn_ops::cpu::testing {

// One table for each emulated CPU. The names of the tables end in "-emulated". Calls of different
// tables of one object must not overlap.
struct EmulatedTables {
  int32_t count;
  const KernelTable* tables;
};

}  // namespace rnn_ops::cpu::testing

// `native`: the kernels of the same level. The object of AVX2 has only the kernels of int8 weights,
// so its tables pass other calls to `native`. The object of AVX-512 ignores `native`.
extern "C" rnn_ops::cpu::testing::EmulatedTables tf_rnn_ops_emulated_tables(
    const rnn_ops::cpu::KernelTable* native);
