// The properties of a recurrent network except its tensors. Plain data, so kernels for every
// instruction set read the same layout.
#pragma once

#include <cstdint>

#include "cc/core/op/layer_norm_rows.h"

namespace rnn_ops {

class Status;

// The numbers are cuDNN's, except the last two, which only LayerRNN has.
enum class RnnMode : int32_t {
  kRelu = 0,
  kTanh = 1,
  kLstm = 2,
  kGru = 3,
  kGruResetBefore = 4,
  kVanilla = 5,  // one gate with any activation
};

// The facts of a mode that all its cells share, for shapes, the checks of attributes and kernels.
// tests/ops/test_cell_facts.py compares Python with them.
struct CellFacts {
  RnnMode mode;
  const char* name;          // the value of the attribute rnn_mode
  int32_t gates;             // G
  int32_t bias_rows;         // the rows of LayerRNN's bias
  bool has_c;                // a second state
  bool chooses_activation;   // the attribute `activation` says it; otherwise the mode's name
  bool has_recurrent_gates;  // gates with the function `recurrent_activation`
  bool has_zoneout;
  bool in_cudnn;
};

// In the order of the enumerators.
constexpr CellFacts kCellFacts[] = {
    {RnnMode::kRelu, "rnn_relu", 1, 1, false, false, false, false, true},
    {RnnMode::kTanh, "rnn_tanh", 1, 1, false, false, false, false, true},
    {RnnMode::kLstm, "lstm", 4, 1, true, true, true, true, true},
    {RnnMode::kGru, "gru", 3, 2, false, true, true, true, true},
    {RnnMode::kGruResetBefore, "gru_reset_before", 3, 1, false, true, true, false, false},
    {RnnMode::kVanilla, "rnn", 1, 1, false, true, false, false, false},
};

constexpr const CellFacts& FactsOf(RnnMode mode) { return kCellFacts[static_cast<int32_t>(mode)]; }

constexpr bool AreInOrder() {
  int32_t number = 0;
  for (const CellFacts& facts : kCellFacts) {
    if (facts.mode != static_cast<RnnMode>(number++)) return false;
  }
  return true;
}
static_assert(AreInOrder(), "FactsOf() finds a mode by its number");

enum class Activation : int32_t {
  kTanh = 0,
  kSigmoid = 1,
  kHardSigmoid = 2,        // x / 6 + 1/2 between 0 and 1, of Keras 3
  kHardSigmoidKeras2 = 3,  // x / 5 + 1/2 between 0 and 1, of Keras 1 and 2
  kRelu = 4,
  kLinear = 5,
};

// The numbers are cuDNN's.
enum class InputMode : int32_t { kLinear = 0, kSkip = 1, kAuto = 2 };

// The number of directions.
enum class Direction : int32_t { kUnidirectional = 1, kBidirectional = 2 };

// The largest I, S and H of int8 weights: a sum of products of int8 must fit 32 bits.
constexpr int64_t kMaxQuantizedSize = 2147483647 / (127 * 128);

// The attributes of the CudnnRNN ops and of LayerRNN, with the values of the graph.
struct RnnAttrs {
  RnnMode mode = RnnMode::kLstm;
  Activation activation = Activation::kTanh;               // of the candidate, of c, of kVanilla
  Activation recurrent_activation = Activation::kSigmoid;  // of the other gates
  InputMode input_mode = InputMode::kLinear;
  Direction direction = Direction::kUnidirectional;
  float cell_clip = 0.0f;  // the maximum of |c|; 0: no clipping
  float proj_clip = 0.0f;  // the maximum of |h| with projection; 0: no clipping
  float zoneout_h = 0.0f;  // the fraction of the old h that is kept, or its chance to be kept
  float zoneout_c = 0.0f;  // the fraction of the old c that is kept, or its chance to be kept
  float layer_norm_epsilon = 1e-3f;  // added to the variances of layer normalization
  float dropout = 0.0f;
  int64_t seed = 0;
  int64_t seed2 = 0;
  int64_t num_proj = 0;  // P; 0: none
  bool is_training = true;
  bool time_major = true;

  int64_t num_dirs() const { return static_cast<int64_t>(direction); }  // D
  int64_t num_gates() const { return FactsOf(mode).gates; }             // G
  constexpr bool has_zoneout() const { return zoneout_h > 0.0f || zoneout_c > 0.0f; }

  // Checks that need no sizes: dropout in [0, 1]; num_proj >= 0 and only with LSTM; clips >= 0 and
  // only with LSTM. Zoneout must be in [0, 1] and 0 in modes without that state, and the epsilon
  // must be > 0. Activations other than tanh and sigmoid are valid only in modes that use them.
  Status Validate() const;
};

// A whole problem: attributes and sizes. input_mode is not kAuto. An attribute num_proj ==
// num_units is stored as 0, because cuDNN treats it as no projection. Validate() guarantees that
// every product below fits int64.
struct RnnConfig : RnnAttrs {
  int64_t num_layers = 1;  // L
  int64_t num_units = 0;   // H
  int64_t input_size = 0;  // I
  int64_t max_time = 0;    // T
  int64_t batch = 0;       // B

  int64_t hidden_size() const { return num_proj > 0 ? num_proj : num_units; }  // P or H
  int64_t num_pseudo_layers() const { return num_layers * num_dirs(); }        // L*D
  int64_t output_size() const { return num_dirs() * hidden_size(); }           // D*P or D*H
  int64_t layer_input_size(int64_t layer) const { return layer == 0 ? input_size : output_size(); }
  // True if the layer has no input weights.
  bool skips_input(int64_t layer) const { return layer == 0 && input_mode == InputMode::kSkip; }

  // Checks that every size is in range, that I == H with skip_input, and that all products of sizes
  // that the library computes (tensors, parameters, reserve space, scratch) are below 2^62 bytes.
  Status Validate() const;
};

// A problem of LayerRNN: with what depends on the tensors that a call has.
struct LayerConfig : RnnConfig {
  int32_t bias_rows = 0;        // 0: none, 1, or 2 (GRU: an input and a recurrent bias)
  bool has_peepholes = false;   // of LSTM
  bool has_layer_norm = false;  // of LSTM
  bool input_masked = false;
  bool recurrent_masked = false;
  bool zoneout_drawn = false;  // masks of zoneout are drawn, instead of a mix by the rates
};

// A whole problem of BlockLSTMV2 or of its gradient. MakeBlockLstmConfig() checks the sizes.
struct BlockLstmConfig {
  bool use_peephole = false;
  float cell_clip = 0.0f;  // <= 0: off. The gradient ignores the clipping
  int64_t max_time = 0;    // T
  int64_t batch = 0;       // B
  int64_t input_size = 0;  // I
  int64_t num_units = 0;   // H
  int64_t seq_len = 0;     // in [0, T]; later steps are not computed

  // True if there is nothing to compute: every output is zero.
  bool empty() const { return batch == 0 || seq_len == 0; }
};

}  // namespace rnn_ops
