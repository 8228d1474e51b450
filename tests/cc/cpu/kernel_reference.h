// What the CPU kernels should compute: float64, one scalar at a time, one row of the batch after
// the other, from the equations of the op's documentation. Shares nothing with cc/cpu but the
// problem structs.
#ifndef TF_RNN_OPS_TESTS_CC_CPU_KERNEL_REFERENCE_H_
#define TF_RNN_OPS_TESTS_CC_CPU_KERNEL_REFERENCE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "cc/cpu/kernel_args.h"

namespace rnn_ops {
namespace cpu {
namespace reference {

using Vec = std::vector<double>;

// Tensors of the stack, shaped as in kernel_args.h.
struct RnnValues {
  Vec x, h0, c0, params;      // inputs of forward and backward
  Vec dy, dh_n, dc_n;         // inputs of backward
  Vec y, h_n, c_n;            // outputs of forward
  Vec dx, dh0, dc0, dparams;  // outputs of backward
  // With kKerasWeights, in place of params and dparams.
  Vec kernel, recurrent_kernel, bias, projection, peepholes, layer_norm, input_mask, recurrent_mask;
  Vec dkernel, drecurrent_kernel, dbias, dprojection, dpeepholes, dlayer_norm;
  // Input of the reference: y as backward is given it, which of a 16-bit op is rounded. Empty: y.
  Vec given_y;
  // From the reference: how near a pre-activation came to where its function's slope jumps, as that
  // of relu does at zero.
  double nearest = std::numeric_limits<double>::infinity();
};

struct RnnElements {
  int64_t x, y, h, c, params;
  int64_t kernel, recurrent_kernel, bias, projection, peepholes, layer_norm, input_mask,
      recurrent_mask;
};
RnnElements ElementsOf(const RnnProblem& problem);
// The same of a problem with kKerasWeights.
RnnElements LayerElementsOf(const RnnProblem& problem);

// Fills all outputs.
void RunStack(const RnnProblem& problem, RnnValues* values);
// What RunStack does for a problem with kKerasWeights, once the outputs are 0.
void RunLayer(const RnnProblem& problem, RnnValues* values);

// Tensors of the block LSTM.
struct BlockLstmValues {
  Vec x, cs_prev, h_prev, w, wci, wcf, wco, b;  // inputs of forward and backward
  Vec cs_grad, h_grad;                          // inputs of backward
  Vec i, cs, f, o, ci, co, h;                   // outputs of forward
  Vec x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad;
};

void RunBlockLstm(const BlockLstmProblem& problem, BlockLstmValues* values);

// Tensors of the linear recurrence, named as the op's; those that are absent are empty.
struct LinearValues {
  Vec input, cell_input, recurrent_kernel;
  Vec h_by_gates, c_by_gates, h_by_h, h_by_c, c_by_h, c_by_c;
  Vec output, cell_output;
};

void RunLinearRecurrence(const LinearRecurrenceProblem& problem, LinearValues* values);

}  // namespace reference
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_CC_CPU_KERNEL_REFERENCE_H_
