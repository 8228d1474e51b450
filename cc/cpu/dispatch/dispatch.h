// Chooses the kernels for this machine: first by cpuid, then by loading the variant's shared
// object.
#pragma once

#include <string>

#include "cc/cpu/dispatch/kernel_table.h"

namespace rnn_ops::cpu {

// The kernel table in use. Chosen at the first call; thread-safe. The environment variable
// TF_RNN_OPS_CPU_ISA (baseline, avx2 or avx512) selects a lower level than the best.
const KernelTable& Kernels();

// Whether bfloat16 tensors may be multiplied as bfloat16. False if the environment variable
// TF_RNN_OPS_BF16_PRODUCTS is 0.
bool AllowsBf16Products();

// The chosen instruction set and the reason, in one line. `why` is empty in the normal case.
struct DispatchReport {
  std::string isa;
  std::string why;
};
const DispatchReport& Dispatch();

}  // namespace rnn_ops::cpu
