// The arguments of the CPU kernels: plain data only, because they cross the boundary between the
// main library and the shared object of an instruction set (docs/design.md, "One wheel for every
// CPU").
#ifndef TF_RNN_OPS_CC_CPU_KERNEL_ARGS_H_
#define TF_RNN_OPS_CC_CPU_KERNEL_ARGS_H_

#include <cstdint>

#include "cc/core/dtype.h"
#include "cc/core/rnn_types.h"

namespace rnn_ops {
namespace cpu {

// The threads of a call, and what they cost.
struct ThreadBudget {
  int32_t count;    // the caller included
  int32_t wake_ns;  // of waking the first; a job of less than twice this stays with the caller
  int32_t meet_ns;  // of a meeting at the end of a step, for each thread that takes part
};

// Threads as a callback: runs fn(arg, i) for each i in [0, n), then returns. Threads that sleep are
// woken for as many as the job is worth, the caller included; at 1 the caller runs it alone.
struct ParallelFor {
  void* context;
  ThreadBudget threads;
  void (*run)(void* context, int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i),
              void* arg);
};

enum WeightLayout : int32_t {
  kOpaqueWeights = 0,  // params, see docs/param-layout.md
  kKerasWeights = 1,   // kernel, recurrent_kernel and so on of one layer; L = D = 1
};

// A validated problem, and what a call of it is.
struct RnnProblem : RnnConfig {
  Dtype dtype = kFloat32;
  uint32_t dropout_key[2] = {};
  const int32_t* lengths = nullptr;  // [B], each in [0, T]
  WeightLayout weight_layout = kOpaqueWeights;
  // With kKerasWeights.
  int32_t bias_rows = 0;        // 0: none, 1, or 2 (GRU: of the input and of the recurrent product)
  bool has_peepholes = false;   // of LSTM; they are not packed
  bool has_layer_norm = false;  // likewise
  bool input_masked = false;
  bool recurrent_masked = false;
  bool zoneout_drawn = false;  // what is kept is drawn from dropout_key, not mixed by the rates
  // The weights come as rnn_pack left them; only in inference.
  bool weights_packed = false;
  // Whether bfloat16 tensors may be multiplied as bfloat16 where the CPU can, or else in float32.
  bool bf16_products = false;
};

// The weights with kKerasWeights; null where there are none. Gates are in Keras's order: LSTM i, f,
// c, o; GRU z, r, h.
struct LayerWeights {
  const void* kernel;            // [I, G*H]
  const void* recurrent_kernel;  // [S, G*H]
  const void* bias;              // [bias_rows, G*H]
  const void* projection;        // [H, P]
  const void* peepholes;         // [3, H], of i, f and o
  const void* layer_norm;  // [18, H]: gammas and betas of x * W and of h * R, for i, f, c and o
                           // each, then gamma and beta of c
  // What x and h are multiplied by before the product of each gate, the same at every step.
  const void* input_mask;      // [G, B, I]
  const void* recurrent_mask;  // [G, B, S]
};

// S below: P with projection, otherwise H. A tensor marked (B first if batch major) swaps its first
// two dimensions when time_major is false. No tensor may overlap another.
struct RnnForwardArgs {
  RnnProblem problem;
  ParallelFor parallel;
  void* scratch;       // 64-byte aligned, rnn_forward_sizes().scratch_bytes
  const void* x;       // [T, B, I] (B first if batch major)
  const void* h0;      // [L*D, B, S] (B first if batch major)
  const void* c0;      // [L*D, B, H] (B first if batch major); LSTM only, otherwise unused
  const void* params;  // [params_size], with kOpaqueWeights
  LayerWeights layer;
  const void* packed;  // with weights_packed in place of params and the matrices and bias of layer
                       // (with has_layer_norm the bias is read all the same); 64-byte aligned
  void* y;             // [T, B, D*S] (B first if batch major)
  void* h_n;           // as h0
  void* c_n;           // as c0; LSTM only
  void* reserve;       // 64-byte aligned, reserve_bytes; null when not training
};

// Packing the weights of inference apart from a call. T, B, the lengths and is_training of the
// problem do not matter.
struct RnnPackArgs {
  RnnProblem problem;
  ParallelFor parallel;
  void* scratch;       // 64-byte aligned, rnn_pack_sizes().scratch_bytes
  const void* params;  // with kOpaqueWeights
  LayerWeights layer;  // with kKerasWeights; the masks are not read
  void* packed;        // 64-byte aligned, rnn_pack_sizes().packed_bytes
};

struct RnnBackwardArgs {
  RnnProblem problem;  // is_training must be true; dropout_key is read from the reserve
  ParallelFor parallel;
  void* scratch;
  const void* x;
  const void* h0;
  const void* c0;
  const void* params;
  LayerWeights layer;
  const void* y;        // the forward pass's output
  const void* dy;       // as y
  const void* dh_n;     // as h_n
  const void* dc_n;     // as c_n; LSTM only
  const void* reserve;  // as the forward pass left it; not written, so a second backward is right
  void* dx;             // as x
  void* dh0;            // as h0
  void* dc0;            // as c0; LSTM only
  void* dparams;        // as params, with kOpaqueWeights
  // With kKerasWeights:
  void* dkernel;            // as kernel
  void* drecurrent_kernel;  // as recurrent_kernel
  void* dbias;              // as bias
  void* dprojection;        // as projection
  void* dpeepholes;         // as peepholes
  void* dlayer_norm;        // as layer_norm
};

// The sizes that the caller allocates. -1 in a field: the size does not fit in 62 bits.
struct RnnSizes {
  int64_t scratch_bytes;
  int64_t reserve_bytes;
};

// What packed weights hold.
enum PackedElement : int32_t {
  kPackedArithmetic = 0,     // the type of the arithmetic
  kPackedBFloat16Pairs = 1,  // two bfloat16 each
};

struct RnnPackSizes {
  int64_t scratch_bytes;
  int64_t packed_bytes;
  int32_t element;  // PackedElement
};

// BlockLSTMV2. Steps t >= seq_len are not computed; their outputs are set to zero.
struct BlockLstmProblem : BlockLstmConfig {
  Dtype dtype = kFloat32;
};

struct BlockLstmForwardArgs {
  BlockLstmProblem problem;
  ParallelFor parallel;
  void* scratch;
  const void* x;        // [T, B, I]
  const void* cs_prev;  // [B, H]
  const void* h_prev;   // [B, H]
  const void* w;        // [I + H, 4*H], columns i, f, ci, o
  const void* wci;      // [H]
  const void* wcf;      // [H]
  const void* wco;      // [H]
  const void* b;        // [4*H]
  void* i;              // [T, B, H], as the six below
  void* cs;
  void* f;
  void* o;
  void* ci;
  void* co;
  void* h;
};

struct BlockLstmBackwardArgs {
  BlockLstmProblem problem;
  ParallelFor parallel;
  void* scratch;
  const void *x, *cs_prev, *h_prev, *w, *wci, *wcf, *wco, *b;  // as in forward
  const void *i, *cs, *f, *o, *ci, *co, *h;                    // [T, B, H]
  const void *cs_grad, *h_grad;                                // [T, B, H]
  void* x_grad;                                                // [T, B, I]
  void* cs_prev_grad;                                          // [B, H]
  void* h_prev_grad;                                           // [B, H]
  void* w_grad;                                                // [I + H, 4*H]
  void* wci_grad;  // [H]; zeros without peephole, as the two below
  void* wcf_grad;  // [H]
  void* wco_grad;  // [H]
  void* b_grad;    // [4*H]
};

// The derivative of a loop over time. See Note [Linear recurrence].
struct LinearRecurrenceProblem {
  Dtype dtype;         // kFloat32 or kFloat64
  int32_t num_states;  // 1, or 2 with a cell state
  bool transposed;     // the adjoint, from the last step to the first
  bool has_gates;      // by_gates of some state and weights are given
  int64_t num_gates;   // G
  int64_t num_units;   // H
  int64_t max_time;    // T
  int64_t batch;       // B
};

// Of state 0, h, and state 1, c.
struct LinearRecurrenceArgs {
  LinearRecurrenceProblem problem;
  ParallelFor parallel;
  void* scratch;
  const void* input[2];        // [T, B, H]
  const void* by_gates[2];     // [T, B, G*H], the derivative by h_prev * weights; null: 0
  const void* by_state[2][2];  // [T, B, H], of the first state by the second at t - 1; null: 0
  const void* weights;         // [H, G*H]
  void* output[2];             // [T, B, H]
};

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_KERNEL_ARGS_H_
