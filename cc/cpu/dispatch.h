// Chooses the kernels for this machine: cpuid first, then the variant's shared object.
#ifndef TF_RNN_OPS_CC_CPU_DISPATCH_H_
#define TF_RNN_OPS_CC_CPU_DISPATCH_H_

#include <string>

#include "cc/cpu/kernel_table.h"

namespace rnn_ops {
namespace cpu {

// The table in use. Chosen once, on first call, thread-safe. The environment variable
// TF_RNN_OPS_CPU_ISA (baseline, avx2 or avx512) asks for a lower level than the best.
const KernelTable& Kernels();

// Whether bfloat16 tensors may be multiplied as bfloat16: unless the environment variable
// TF_RNN_OPS_BF16_PRODUCTS is 0.
bool AllowsBf16Products();

// What was chosen and why, in one line; empty `why` when nothing was out of the ordinary.
struct DispatchReport {
  std::string isa;
  std::string why;
};
const DispatchReport& Dispatch();

// Where a warning about the choice goes: to stderr, unless a framework has a log of its own. To be
// set before the first call of Kernels() or Dispatch().
void SetWarningSink(void (*sink)(const std::string& text));

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_DISPATCH_H_
