// The arguments of the CPU kernels: plain data only, because they cross the boundary between the
// main library and the shared object of an instruction set (docs/design.md, "One wheel for every
// CPU").
#ifndef TF_RNN_OPS_CC_CPU_KERNEL_ARGS_H_
#define TF_RNN_OPS_CC_CPU_KERNEL_ARGS_H_

#include <cstdint>

#include "cc/core/network/call_tensors.h"
#include "cc/core/network/dtype.h"
#include "cc/core/network/rnn_types.h"

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

// The memory that a call takes beside its tensors. -1: more than 2^62 bytes.
struct MemorySizes {
  int64_t scratch_bytes;  // for this call alone
  int64_t reserve_bytes;  // of reserve_space; 0 in inference, and of other ops
};

// 64-byte aligned. Null where the size is 0.
struct MemoryBlocks {
  void* scratch;
  void* reserve;
};

// Memory as a callback, which a kernel calls once, when it has planned and before it reads or
// writes any tensor. Returns false where the call is to end, with kStopped.
struct MemorySource {
  void* context;
  bool (*take)(void* context, const MemorySizes& sizes, MemoryBlocks* blocks);
};

// What a kernel returns.
enum KernelResult : int32_t {
  kDone = 0,
  kOtherReserve = 1,  // the reserve space is not of this problem
  kStopped = 2,       // by the source of memory
};

// One call of a kernel. The tables of the ops (core/network/op_spec.cc) have the shapes of the
// tensors, of which none may overlap another.
template <typename Problem>
struct CallArgs {
  Problem problem;
  ParallelFor parallel;
  MemorySource memory;
  CallTensors tensors;
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

// A call of an op of the CudnnRNN family or of LayerRNN. Gates of Keras's weights are in Keras's
// order: LSTM i, f, c, o; GRU z, r, h. A forward pass writes the reserve space in training. A
// backward pass, whose problem has is_training, takes the dropout_key from it and only reads it, so
// that a second one is right. rnn_pack packs the weights of inference apart from a call: it reads
// weights alone, and T, B, the lengths and is_training of its problem do not matter.
struct RnnArgs : CallArgs<RnnProblem> {
  // 64-byte aligned, RnnNetwork::packed_bytes: what rnn_pack writes and, with weights_packed, a
  // forward pass reads in place of params or of the matrices and bias of a layer (with
  // has_layer_norm it reads the bias all the same).
  void* panels;
};

// What packed weights hold.
enum PackedElement : int32_t {
  kPackedArithmetic = 0,     // the type of the arithmetic
  kPackedBFloat16Pairs = 1,  // two bfloat16 each
};

// What is asked of a network apart from its calls.
struct RnnNetwork {
  int64_t longest_reserve_bytes;  // in training, where every row has T steps; -1 as in MemorySizes
  int64_t packed_bytes;           // likewise
  int32_t packed_element;         // PackedElement
};

// BlockLSTMV2. Steps t >= seq_len are not computed; their outputs are set to zero.
struct BlockLstmProblem : BlockLstmConfig {
  Dtype dtype = kFloat32;
};

using BlockLstmArgs = CallArgs<BlockLstmProblem>;

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

using LinearRecurrenceArgs = CallArgs<LinearRecurrenceProblem>;

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_KERNEL_ARGS_H_
