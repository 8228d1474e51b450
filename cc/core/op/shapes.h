// Derives the sizes of a call and the shapes of its outputs from the shapes of the inputs of an op.
// Shape functions pass partly unknown shapes and kernels pass complete shapes, so shape functions
// and kernels reject the same inputs.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
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

// The form "[3, ?]" for messages.
std::string ToString(const PartialShape& shape);

// The sizes found so far; kUnknownDim if a size is unknown.
struct RnnDims {
  int64_t max_time = kUnknownDim;       // T
  int64_t batch = kUnknownDim;          // B
  int64_t input_size = kUnknownDim;     // I
  int64_t num_units = kUnknownDim;      // H
  int64_t pseudo_layers = kUnknownDim;  // L*D
  int64_t params_size = kUnknownDim;    // of CudnnRNN; computed if all others are known
  int64_t num_proj = 0;                 // P of LayerRNN; 0 if there is none or the attribute has it
};

struct CallShapes {
  RnnDims dims;
  // In CudnnRNN and LayerRNN: the validated problem, with the smallest possible values for unknown
  // sizes.
  RnnConfig config;
  std::vector<PartialShape> outputs;
};

// `inputs`: the shapes of all inputs of the op. `attrs`: an attribute that the op lacks has its
// default value. Returns InvalidArgument if the shapes are invalid for every value of the unknown
// sizes.
Status InferShapes(const OpSpec& op, const RnnAttrs& attrs, const std::vector<PartialShape>& inputs,
                   CallShapes* result);

// True if the shape is [0], which marks an optional tensor as absent.
bool IsAbsent(const PartialShape& shape);

// Whether a call reads this input: false if the input is absent or belongs to another mode.
bool IsUsed(const TensorSpec& input, const RnnAttrs& attrs, const PartialShape& shape);

// Whether an output, or the gradient of an input, is a scalar 0 instead of a result.
bool IsZero(const TensorSpec& output, const RnnAttrs& attrs);

// ---- Values, and sizes that need a complete problem ----

// The value of every length that an XLA call receives if T or B of a tensor, which are known only
// when the compiled function runs, differ from T or B of the sequence.
constexpr int32_t kOtherSizes = std::numeric_limits<int32_t>::min();

// Returns InvalidArgument with an explanation if `length` is kOtherSizes.
Status CheckRunTimeSizes(int64_t length);

// Checks that every entry of sequence_lengths is in [0, T], and sets *sum to their sum.
Status ValidateSequenceLengths(const int32_t* lengths, int64_t batch, int64_t max_time,
                               int64_t* sum);

// Sets `lengths`, [B], to a checked copy of `given`, or to T if `given` is null, and *sum to the
// sum of the lengths. The kernel reads the copy, so it reads the checked values even if another
// thread changes `given`.
Status CopySequenceLengths(const int32_t* given, int64_t batch, int64_t max_time, int32_t* lengths,
                           int64_t* sum);

// The number of elements of `element_bytes` that hold `bytes` of reserve space, rounded up. Returns
// -1 if `bytes` is negative, which means that the size overflowed.
int64_t ReserveElements(int64_t bytes, int64_t element_bytes);

// Returns InvalidArgument unless reserve_space is a vector of `elements` elements.
Status CheckReserveSpace(const PartialShape& reserve_space, int64_t elements);

// Sets the sizes of a BlockLSTMV2 call to the sizes that InferShapes found. Checks that seq_len_max
// is in [0, T].
Status MakeBlockLstmConfig(const RnnDims& dims, int64_t seq_len_max, BlockLstmConfig* config);

}  // namespace rnn_ops
