// The tensors of the ops.
#pragma once

#include <cstdint>
#include <string_view>

namespace rnn_ops {

// X(name) for the name that a tensor has in the graph. The gradient of an input is an output with
// the name of that input.
// clang-format off
#define RNN_OPS_ARGS(X) \
  /* CudnnRNN and LayerRNN */ \
  X(input) X(input_h) X(input_c) X(params) X(kernel) X(recurrent_kernel) X(bias) X(projection) \
  X(peepholes) X(layer_norm) X(sequence_lengths) X(input_mask) X(recurrent_mask) X(seed) \
  X(kernel_scale) X(recurrent_kernel_scale) X(projection_scale) X(packed) X(output) X(output_h) X(output_c) X(output_backprop) X(output_h_backprop) \
  X(output_c_backprop) X(reserve_space) X(host_reserved) \
  /* LinearRecurrence */ \
  X(cell_input) X(h_by_gates) X(c_by_gates) X(h_by_h) X(h_by_c) X(c_by_h) X(c_by_c) \
  X(cell_output) \
  /* BlockLSTMV2 */ \
  X(seq_len_max) X(x) X(cs_prev) X(h_prev) X(w) X(wci) X(wcf) X(wco) X(b) \
  X(i) X(cs) X(f) X(o) X(ci) X(co) X(h) X(cs_grad) X(h_grad)
// clang-format on

enum class Arg : uint8_t {
#define RNN_OPS_ENUMERATOR(name) name,
  RNN_OPS_ARGS(RNN_OPS_ENUMERATOR)
#undef RNN_OPS_ENUMERATOR
};

constexpr std::string_view kArgNames[] = {
#define RNN_OPS_NAME(name) #name,
    RNN_OPS_ARGS(RNN_OPS_NAME)
#undef RNN_OPS_NAME
};

#undef RNN_OPS_ARGS

constexpr int kNumArgs = sizeof(kArgNames) / sizeof(kArgNames[0]);

constexpr int Index(Arg arg) { return static_cast<int>(arg); }
constexpr std::string_view Name(Arg arg) { return kArgNames[Index(arg)]; }

}  // namespace rnn_ops
