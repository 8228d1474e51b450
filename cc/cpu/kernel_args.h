// The arguments of the CPU kernels. They contain only plain data, because they cross the boundary
// between the main library and the shared object of an instruction set (docs/design.md, "One wheel
// for every CPU").
#pragma once

#include <cstdint>

#include "cc/core/op/call_tensors.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_types.h"

namespace rnn_ops::cpu {

// The threads of a call and their costs.
struct ThreadBudget {
  int32_t count;    // number of threads, including the caller
  int32_t wake_ns;  // cost of waking the first thread; the caller runs jobs below twice this itself
  int32_t meet_ns;  // cost of a barrier at the end of a step, for each thread
};

// Threads as a callback: runs fn(arg, i) for each i in [0, n), then returns. `worth_threads`: the
// number of threads that should be awake for the job, including the caller. With 1 the caller runs
// the whole job.
struct ParallelFor {
  void* context;
  ThreadBudget threads;
  void (*run)(void* context, int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i),
              void* arg);
};

// The size of reserve_space; 0 in inference and for ops without reserve_space.
struct ReserveSizes {
  int64_t bytes;
  int64_t longest_bytes;  // if every sequence has T steps
};

// The memory of a call besides its tensors. -1: more than 2^62 bytes.
struct MemorySizes {
  int64_t scratch_bytes;  // for this call only
  ReserveSizes reserve;
};

// 64-byte aligned. Null if the size is 0.
struct MemoryBlocks {
  void* scratch;
  void* reserve;
};

// Memory as a callback. A kernel calls it once, after planning and before it accesses any tensor.
// If the callback returns false, the kernel returns kStopped.
struct MemorySource {
  void* context;
  bool (*allocate)(void* context, const MemorySizes& sizes, MemoryBlocks* blocks);
};

// The return values of a kernel.
enum KernelResult : int32_t {
  kDone = 0,
  kOtherReserve = 1,  // the reserve space belongs to another problem
  kStopped = 2,       // the memory callback returned false
  kOtherLengths = 3,  // the plan was made for other lengths
};

// One call of a kernel. The shapes of the tensors are in the tables of the ops
// (core/op/op_spec.cc). The tensors must not overlap.
template <typename Problem>
struct CallArgs {
  Problem problem;
  ParallelFor parallel;
  MemorySource memory;
  const CallTensors* tensors;
};

enum WeightLayout : int32_t {
  kOpaqueWeights = 0,  // params, see docs/raw-ops.md
  kKerasWeights = 1,   // kernel, recurrent_kernel and so on of one layer; L = D = 1
};

// The lengths of the sequences of a call. One scan checks and adds them.
struct SequenceLengths {
  const int32_t* steps = nullptr;  // [B], each in [0, T]; null: all T
  int64_t sum = 0;                 // R
};

// A validated problem and the properties of one call.
struct RnnProblem : LayerConfig {
  Dtype dtype = kFloat32;
  uint32_t dropout_key[2] = {};
  SequenceLengths lengths;
  // The fields of LayerConfig are set only with kKerasWeights. Peepholes and the weights of layer
  // normalization are not packed. Drawn masks of zoneout come from dropout_key.
  WeightLayout weight_layout = kOpaqueWeights;
  // The weights have been packed by rnn_pack. Only in inference.
  bool weights_packed = false;
  // Whether bfloat16 tensors may be multiplied as bfloat16 if the CPU supports it. Otherwise the
  // products are computed in float32.
  bool bf16_products = false;
  // The matrices are int8 with a scale for each column. Only in inference, with kKerasWeights and T
  // of at most 32 bits, and without the rare modes of simd/operand.h.
  bool int8_weights = false;
};

// A call of an op of the CudnnRNN family or of LayerRNN. The gates of Keras's weights are in the
// order of Keras: LSTM i, f, c, o; GRU z, r, h.
//
// The forward pass writes the reserve space in training. The backward pass needs a problem with
// is_training and reads the dropout_key from the reserve space. The backward pass does not change
// the reserve space, so it can run several times.
//
// rnn_pack packs the weights of inference without a call. It reads only the weights and ignores T,
// B, the lengths and is_training of its problem.
struct RnnArgs : CallArgs<RnnProblem> {
  // 64-byte aligned, PackedFormat::bytes. rnn_pack writes the panels. With weights_packed a
  // forward pass reads the panels instead of params or of the matrices and bias of a layer. With
  // has_layer_norm the forward pass also reads the bias.
  void* panels;
};

// The elements of packed weights.
enum PackedElement : int32_t {
  kPackedArithmetic = 0,     // the type of the arithmetic
  kPackedBFloat16Pairs = 1,  // an element is two bfloat16 values
  kPackedInt8Quads = 2,      // an element is four int8 values
  kPackedHalves = 3,         // the type of the arithmetic, in halves of panels
};

// The panels of a network. They do not depend on a call.
struct PackedFormat {
  int64_t bytes;  // -1: see MemorySizes
  PackedElement element;
};

// BlockLSTMV2. Steps t >= seq_len are not computed, and their outputs are zero.
struct BlockLstmProblem : BlockLstmConfig {
  Dtype dtype = kFloat32;
};

using BlockLstmArgs = CallArgs<BlockLstmProblem>;

// The derivative of a loop over time. See Note [Linear recurrence].
struct LinearRecurrenceProblem {
  Dtype dtype;         // kFloat32 or kFloat64
  int32_t num_states;  // 1, or 2 with a cell state
  bool transposed;     // compute the adjoint, from the last step to the first
  bool has_gates;      // the tensors by_gates of some state and the weights are present
  int64_t num_gates;   // G
  int64_t num_units;   // H
  int64_t max_time;    // T
  int64_t batch;       // B
};

using LinearRecurrenceArgs = CallArgs<LinearRecurrenceProblem>;

// The functions of single elements, as in keras.activations.
enum class ElementFunction : int32_t {
  kRelu,
  kTanh,
  kSigmoid,
  kHardSigmoid,
  kExponential,
  kSoftplus,
  kSoftsign,
  kElu,
  kSelu,
  kSilu,
  kHardSilu,
  kGelu,
  kMish,
};

// A function with its parameters.
struct Elementwise {
  ElementFunction function;
  float alpha;      // of kElu, and the slope of kRelu below the threshold
  float threshold;  // of kRelu
  float largest;    // of kRelu
};

// A dense layer: each row of the output is a row of the input times the kernel, plus the bias. The
// kernel and the bias are packed once. A kernel is float32, or int8 with a scale for each column.
struct DenseArgs {
  int64_t rows;
  int64_t depth;             // K
  int64_t columns;           // N
  const void* const* input;  // [rows] pointers to K values, or to what quantize_row() wrote
  float* const* output;      // [rows] pointers to N values
  void* packed;              // 64-byte aligned
  bool one_row;              // whether the batch is one row, which determines the rounding
};

// The packed weights of a DenseArgs.
struct DenseFormat {
  int64_t bytes;
  int64_t panels;     // the parts into which a product may be divided
  int64_t row_bytes;  // of an input row
};

}  // namespace rnn_ops::cpu
