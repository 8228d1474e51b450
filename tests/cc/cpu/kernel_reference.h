// The reference of the CPU kernels: float64, one scalar at a time, one sequence of the batch after
// another, from the equations of the op's documentation. It shares only the problem structs with
// cc/cpu.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu::reference {

using Vec = std::vector<double>;

// Tensors of the stack, with the shapes of kernel_args.h.
struct RnnValues {
  Vec x, h0, c0, params;      // inputs of forward and backward
  Vec dy, dh_n, dc_n;         // inputs of backward
  Vec y, h_n, c_n;            // outputs of forward
  Vec dx, dh0, dc0, dparams;  // outputs of backward
  // With kKerasWeights, instead of params and dparams.
  Vec kernel, recurrent_kernel, bias, projection, peepholes, layer_norm, input_mask, recurrent_mask;
  Vec dkernel, drecurrent_kernel, dbias, dprojection, dpeepholes, dlayer_norm;
  // With int8 weights, of which the matrices above are the integers.
  Vec kernel_scale, recurrent_kernel_scale, projection_scale;
  // Input of the reference: the y that the backward pass reads, which a 16-bit op has rounded. With
  // int8 weights, the y from which the next step continues. Empty: use y.
  Vec given_y;
  // Output of the reference with int8 weights: what rounding the row of a second product the other
  // way can change in y.
  Vec slack;
  // Output of the reference: the smallest distance of a pre-activation from a jump in the slope of
  // its function, such as 0 for relu.
  double nearest = std::numeric_limits<double>::infinity();
};

// Refers to `lengths`.
inline SequenceLengths LengthsOf(const std::vector<int32_t>& lengths) {
  return {lengths.data(), std::accumulate(lengths.begin(), lengths.end(), int64_t{0})};
}

struct RnnElements {
  int64_t x, y, h, c, params;
  int64_t kernel, recurrent_kernel, bias, projection, peepholes, layer_norm, input_mask,
      recurrent_mask;
  int64_t kernel_scale, recurrent_kernel_scale, projection_scale;
};
RnnElements ElementsOf(const RnnProblem& problem);
// The numbers of elements of a problem with kKerasWeights.
RnnElements LayerElementsOf(const RnnProblem& problem);

// The numbers of a unit and step in the reserve space of a mode.
int64_t KeptValuesOf(RnnMode mode);

// Computes all outputs.
void RunStack(const RnnProblem& problem, RnnValues* values);
// The part of RunStack for a problem with kKerasWeights. The outputs must be 0 before.
void RunLayer(const RnnProblem& problem, RnnValues* values);

// Tensors of the block LSTM.
struct BlockLstmValues {
  Vec x, cs_prev, h_prev, w, wci, wcf, wco, b;  // inputs of forward and backward
  Vec cs_grad, h_grad;                          // inputs of backward
  Vec i, cs, f, o, ci, co, h;                   // outputs of forward
  Vec x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad;
};

void RunBlockLstm(const BlockLstmProblem& problem, BlockLstmValues* values);

// Tensors of the linear recurrence, with the names of the op. Absent tensors are empty.
struct LinearValues {
  Vec input, cell_input, recurrent_kernel;
  Vec h_by_gates, c_by_gates, h_by_h, h_by_c, c_by_h, c_by_c;
  Vec output, cell_output;
};

void RunLinearRecurrence(const LinearRecurrenceProblem& problem, LinearValues* values);

}  // namespace rnn_ops::cpu::reference
