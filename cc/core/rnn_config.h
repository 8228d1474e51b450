// What a recurrent network is, apart from the tensors: attributes, sizes, and what they imply.
#ifndef TF_RNN_OPS_CC_CORE_RNN_CONFIG_H_
#define TF_RNN_OPS_CC_CORE_RNN_CONFIG_H_

#include <cstdint>
#include <string_view>

#include "cc/core/rnn_mode.h"
#include "cc/core/status.h"

namespace rnn_ops {

// The numbers are cuDNN's.
enum class InputMode : int32_t { kLinear = 0, kSkip = 1, kAuto = 2 };
enum class Direction : int32_t { kUnidirectional = 1, kBidirectional = 2 };

Status ParseRnnMode(std::string_view text, RnnMode* mode);
// `attr`: the attribute's name, for the message.
Status ParseActivation(const char* attr, std::string_view text, Activation* activation);
Status ParseInputMode(std::string_view text, InputMode* mode);
Status ParseDirection(std::string_view text, Direction* direction);

// The names of the attributes' values: ParseRnnMode(Name(mode)) gives mode back.
const char* Name(RnnMode mode);
const char* Name(Activation activation);
const char* Name(InputMode mode);
const char* Name(Direction direction);

// The attributes of the CudnnRNN ops and of LayerRNN, as the graph gives them.
struct RnnAttrs {
  RnnMode mode = RnnMode::kLstm;
  Activation activation = Activation::kTanh;
  Activation recurrent_activation = Activation::kSigmoid;
  InputMode input_mode = InputMode::kLinear;
  Direction direction = Direction::kUnidirectional;
  float dropout = 0.0f;
  int64_t seed = 0;
  int64_t seed2 = 0;
  int64_t num_proj = 0;
  bool is_training = true;
  bool time_major = true;

  // What can be checked without any size: dropout in [0, 1], num_proj >= 0 and only with LSTM,
  // activations other than tanh and sigmoid only in modes that have them.
  Status Validate() const;
};

// One whole problem. Sizes are int64; Validate() guarantees that every product below fits.
struct RnnConfig {
  RnnMode mode = RnnMode::kLstm;
  Activation activation = Activation::kTanh;               // of the candidate, of c, of kVanilla
  Activation recurrent_activation = Activation::kSigmoid;  // of the other gates
  InputMode input_mode = InputMode::kLinear;               // kAuto is resolved by MakeRnnConfig
  Direction direction = Direction::kUnidirectional;
  int64_t num_layers = 1;  // L
  int64_t num_units = 0;   // H
  int64_t input_size = 0;  // I
  int64_t num_proj = 0;    // P; 0: none. num_proj == num_units is stored as 0, as cuDNN means it.
  int64_t max_time = 0;    // T
  int64_t batch = 0;       // B
  float dropout = 0.0f;
  bool is_training = true;
  bool time_major = true;

  int64_t num_dirs() const { return static_cast<int64_t>(direction); }         // D
  int64_t num_gates() const;                                                   // G: 4, 3 or 1
  int64_t hidden_size() const { return num_proj > 0 ? num_proj : num_units; }  // P or H
  int64_t num_pseudo_layers() const { return num_layers * num_dirs(); }        // L*D
  int64_t output_size() const { return num_dirs() * hidden_size(); }           // D*P or D*H
  int64_t layer_input_size(int64_t layer) const { return layer == 0 ? input_size : output_size(); }
  // True where the layer has no input weights.
  bool skips_input(int64_t layer) const { return layer == 0 && input_mode == InputMode::kSkip; }

  // Every size in range, skip_input only with I == H, projection in [0, H], and all products of
  // sizes that the library forms (tensors, parameters, reserve, scratch) below 2^62 bytes.
  Status Validate() const;
};

// Resolves kAuto and num_proj == num_units; sizes of 0 for T and B are allowed. Validates.
Status MakeRnnConfig(const RnnAttrs& attrs, int64_t num_layers, int64_t num_units,
                     int64_t input_size, int64_t max_time, int64_t batch, RnnConfig* config);

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_RNN_CONFIG_H_
