// The tensors of a call in float32.
#ifndef TF_RNN_OPS_CC_CPU_PASS_WIDEN_H_
#define TF_RNN_OPS_CC_CPU_PASS_WIDEN_H_

#include <cstdint>

#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/rows/narrow.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Whether the products of a problem run on pairs of bfloat16 (Note [Pairs]). What is rare computes
// in float32: a second product in each step, peepholes, skip_input, masks. The batch has no say,
// because packed weights do not know it.
inline bool UsesPairs(const RnnProblem& p) {
  return p.bf16_products && p.dtype == kBFloat16 && p.num_proj == 0 && FormatOf(p).pairs &&
         !p.skips_input(0) && !p.input_masked && !p.recurrent_masked &&
         CpuPairUnit() != PairUnit::kNone;
}

// All tensors but those that `pass` takes as they are.
template <typename Narrow, typename Pass>
CallTensors Widen(const CallTensors& tensors, const Pass& pass, Widened<Narrow>& widened) {
  CallTensors wide = tensors;
  for (int k = 0; k < kNumArgs; ++k) {
    const Arg arg = static_cast<Arg>(k);
    const int64_t n = tensors.elements(arg);
    if (n == 0 || pass.TakesAsIs(arg)) continue;
    if (const void* in = tensors.in(arg)) wide.SetInput(arg, widened.In(in, n), n);
    if (void* out = tensors.out(arg)) wide.SetOutput(arg, widened.Out(out, n), n);
  }
  return wide;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_WIDEN_H_
