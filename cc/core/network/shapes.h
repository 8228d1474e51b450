// What the shapes of an op's inputs say about the call: its sizes and the shapes of its outputs.
// Shape functions ask with partly unknown shapes, kernels with complete ones, so both refuse the
// same inputs.
#ifndef TF_RNN_OPS_CC_CORE_NETWORK_SHAPES_H_
#define TF_RNN_OPS_CC_CORE_NETWORK_SHAPES_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/network/op_spec.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/status.h"

namespace rnn_ops {

constexpr int64_t kUnknownDim = -1;

// A shape whose rank or dimensions may be unknown.
struct PartialShape {
  bool known_rank = false;
  std::vector<int64_t> dims;  // kUnknownDim where unknown

  static PartialShape Unknown() { return {}; }
  static PartialShape Of(std::vector<int64_t> dims) { return {true, std::move(dims)}; }
};

// As "[3, ?]" in messages.
std::string ToString(const PartialShape& shape);

// Sizes found so far, kUnknownDim where unknown.
struct RnnDims {
  int64_t max_time = kUnknownDim;       // T
  int64_t batch = kUnknownDim;          // B
  int64_t input_size = kUnknownDim;     // I
  int64_t num_units = kUnknownDim;      // H
  int64_t pseudo_layers = kUnknownDim;  // L*D
  int64_t params_size = kUnknownDim;    // of CudnnRNN: from the sizes when all are known
  int64_t num_proj = 0;                 // P of LayerRNN; 0: none, or what the attribute says
};

struct CallShapes {
  RnnDims dims;
  // Of CudnnRNN and LayerRNN: the problem, validated, with unknown sizes as small as they can be.
  RnnConfig config;
  std::vector<PartialShape> outputs;
};

// `inputs`: of all inputs of the op. `attrs` has the defaults of attributes that the op lacks.
// InvalidArgument for shapes that no completion of what is unknown could make valid.
Status InferShapes(const OpSpec& op, const RnnAttrs& attrs, const std::vector<PartialShape>& inputs,
                   CallShapes* result);

// True for [0], which stands for an optional tensor that is not given.
bool IsAbsent(const PartialShape& shape);

// Whether a call reads this input: not where it is absent or of another mode.
bool IsUsed(const TensorSpec& input, const RnnAttrs& attrs, const PartialShape& shape);

// Whether an output, or the gradient of an input, is a mere zero whatever is computed.
bool IsZero(const TensorSpec& output, const RnnAttrs& attrs);

// ---- Values and sizes that need a complete problem ----

// What XLA's calls are given as every length where T or B of a tensor, which only a run tells, is
// not that of the sequence.
constexpr int32_t kOtherSizes = std::numeric_limits<int32_t>::min();

// InvalidArgument of a length that says so.
Status CheckRunTimeSizes(int64_t length);

// sequence_lengths: every entry in [0, T].
Status ValidateSequenceLengths(const int32_t* lengths, int64_t batch, int64_t max_time);

// Sets `lengths`, [B], to a checked copy of `given`, or to T where that is null: so what was
// checked is what the kernel reads.
Status TakeSequenceLengths(const int32_t* given, int64_t batch, int64_t max_time, int32_t* lengths);

// Elements of `element_bytes` that hold `bytes` of reserve space, rounded up; -1 of a negative
// number, which stands for too many.
int64_t ReserveElements(int64_t bytes, int64_t element_bytes);

// InvalidArgument unless reserve_space is a vector of `elements`.
Status CheckReserveSpace(const PartialShape& reserve_space, int64_t elements);

// Sets the sizes of a BlockLSTMV2 call to those that InferShapes found. Checks that seq_len_max is
// in [0, T].
Status MakeBlockLstmConfig(const RnnDims& dims, int64_t seq_len_max, BlockLstmConfig* config);

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_NETWORK_SHAPES_H_
