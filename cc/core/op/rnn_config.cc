#include "cc/core/op/rnn_config.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cc/core/checked_math.h"
#include "cc/core/op/param_layout.h"

namespace rnn_ops {
namespace {

constexpr Activation kActivations[] = {Activation::kTanh,        Activation::kSigmoid,
                                       Activation::kHardSigmoid, Activation::kHardSigmoidKeras2,
                                       Activation::kRelu,        Activation::kLinear};
constexpr InputMode kInputModes[] = {InputMode::kLinear, InputMode::kSkip, InputMode::kAuto};
constexpr Direction kDirections[] = {Direction::kUnidirectional, Direction::kBidirectional};

RnnMode ValueOf(const CellFacts& facts) { return facts.mode; }
template <typename Enum>
Enum ValueOf(Enum value) {
  return value;
}

// `rows`: the values, or rows that have them.
template <typename Row, size_t kCount, typename Enum>
Status Parse(const char* attr, std::string_view text, const Row (&rows)[kCount], Enum* result) {
  std::string names;
  for (size_t k = 0; k < kCount; ++k) {
    const Enum value = ValueOf(rows[k]);
    if (text == Name(value)) {
      *result = value;
      return Status();
    }
    names += StrCat(k == 0 ? "'" : k + 1 < kCount ? ", '" : " or '", Name(value), "'");
  }
  return InvalidArgument(attr, " must be ", names, ", but it is '", text, "'.");
}

Status AtLeast(const char* what, int64_t value, int64_t least) {
  if (value >= least) return Status();
  return InvalidArgument(what, " must be at least ", least, ", but it is ", value, ".");
}

// The condition is written so that NaN is rejected.
Status CheckDropout(float dropout) {
  if (dropout >= 0.0f && dropout <= 1.0f) return Status();
  return InvalidArgument("dropout must be in [0, 1], but it is ", dropout, ".");
}

Status CheckNumProj(RnnMode mode, int64_t num_proj) {
  RNN_OPS_RETURN_IF_ERROR(AtLeast("num_proj", num_proj, 0));
  if (num_proj > 0 && mode != RnnMode::kLstm) {
    return InvalidArgument("num_proj must be 0 for rnn_mode='", Name(mode),
                           "', because only 'lstm' has a projection, but it is ", num_proj, ".");
  }
  return Status();
}

Status CheckActivations(RnnMode mode, Activation activation, Activation recurrent_activation) {
  if (!FactsOf(mode).chooses_activation && activation != Activation::kTanh) {
    return InvalidArgument("activation must be left at 'tanh' for rnn_mode='", Name(mode),
                           "', whose name states the activation, but it is '", Name(activation),
                           "'.");
  }
  if (!FactsOf(mode).has_recurrent_gates && recurrent_activation != Activation::kSigmoid) {
    return InvalidArgument("recurrent_activation must be left at 'sigmoid' for rnn_mode='",
                           Name(mode), "', which has no such gate, but it is '",
                           Name(recurrent_activation), "'.");
  }
  return Status();
}

// Whether `value` is not 0 but closer to 0 than the smallest normal number. Compares bits, because
// threads that flush denormal numbers, such as the threads of kernels, would compare the number as
// 0.
bool IsSubnormal(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= 0x7FFFFFFF;
  return bits != 0 && bits < 0x00800000;
}

Status TooSmall(const char* name) {
  return InvalidArgument(
      name,
      " must be at least 1.2e-38 away from 0, because kernels read smaller numbers "
      "as 0, but it is closer.");
}

// The condition is written so that NaN is rejected.
Status CheckClip(RnnMode mode, const char* name, float clip) {
  if (IsSubnormal(clip)) return TooSmall(name);
  if (!(clip >= 0.0f) || std::isinf(clip)) {
    return InvalidArgument(name, " must be 0 (no limit) or a positive number, but it is ", clip,
                           ".");
  }
  if (clip > 0.0f && mode != RnnMode::kLstm) {
    return InvalidArgument(name, " must be 0 for rnn_mode='", Name(mode),
                           "', because only 'lstm' has it, but it is ", clip, ".");
  }
  return Status();
}

// The condition is written so that NaN is rejected.
Status CheckZoneout(const RnnAttrs& attrs) {
  for (const auto& [name, rate] :
       {std::pair("zoneout_h", attrs.zoneout_h), std::pair("zoneout_c", attrs.zoneout_c)}) {
    if (IsSubnormal(rate)) return TooSmall(name);
    if (!(rate >= 0.0f && rate <= 1.0f)) {
      return InvalidArgument(name, " must be in [0, 1], but it is ", rate, ".");
    }
  }
  if (attrs.zoneout_h > 0 && !FactsOf(attrs.mode).has_zoneout) {
    return InvalidArgument("zoneout_h must be 0 for rnn_mode='", Name(attrs.mode),
                           "', because only 'lstm' and 'gru' have it, but it is ", attrs.zoneout_h,
                           ".");
  }
  if (attrs.zoneout_c > 0 && !(FactsOf(attrs.mode).has_zoneout && FactsOf(attrs.mode).has_c)) {
    return InvalidArgument("zoneout_c must be 0 for rnn_mode='", Name(attrs.mode),
                           "', because only 'lstm' has a cell state, but it is ", attrs.zoneout_c,
                           ".");
  }
  return Status();
}

// The condition is written so that NaN is rejected. WHY not 0: the initial h of a sequence is often
// all zeros, and zeros have no variance.
Status CheckEpsilon(float epsilon) {
  if (IsSubnormal(epsilon)) return TooSmall("layer_norm_epsilon");
  if (epsilon > 0.0f && !std::isinf(epsilon)) return Status();
  return InvalidArgument("layer_norm_epsilon must be a positive number, but it is ", epsilon, ".");
}

// An upper bound, in bytes, of all memory that the library allocates for a problem. The bound also
// covers sizes rounded up to vectors, and every temporary. An empty batch counts as one row.
CheckedSize BytesBound(const RnnConfig& c) {
  constexpr int64_t kBytes = sizeof(double);
  constexpr int64_t kPad = 64;    // elements by which rounding may increase a dimension
  constexpr int64_t kCopies = 4;  // a tensor, its gradient, packed copies
  const CheckedSize steps = CheckedSize(c.max_time) + 2;
  const CheckedSize rows = CheckedSize(c.batch) + kPad;
  const CheckedSize units = CheckedSize(std::max(c.num_units, c.num_proj)) + kPad;
  const CheckedSize pseudo_layers = CheckedSize(c.num_layers) * c.num_dirs();
  const CheckedSize gates = units * (c.num_gates() + 8);  // gates, states and their gradients
  const CheckedSize sequence =
      steps * rows * (CheckedSize(c.input_size) + kPad + pseudo_layers * gates);
  const CheckedSize padded_in =
      CheckedSize(c.input_size) + CheckedSize(c.num_dirs()) * units + kPad;
  const CheckedSize weights = pseudo_layers * gates * (padded_in + units);
  return kBytes * kCopies * (sequence + weights);
}

}  // namespace

// A header of packed weights may have any number for its mode.
const char* Name(RnnMode mode) {
  for (const CellFacts& facts : kCellFacts) {
    if (facts.mode == mode) return facts.name;
  }
  return "unknown";
}

const char* Name(Activation activation) {
  switch (activation) {
    case Activation::kTanh:
      return "tanh";
    case Activation::kSigmoid:
      return "sigmoid";
    case Activation::kHardSigmoid:
      return "hard_sigmoid";
    case Activation::kHardSigmoidKeras2:
      return "hard_sigmoid_keras2";
    case Activation::kRelu:
      return "relu";
    case Activation::kLinear:
      return "linear";
  }
  return "unknown";
}

const char* Name(InputMode mode) {
  switch (mode) {
    case InputMode::kLinear:
      return "linear_input";
    case InputMode::kSkip:
      return "skip_input";
    case InputMode::kAuto:
      return "auto_select";
  }
  return "unknown";
}

const char* Name(Direction direction) {
  switch (direction) {
    case Direction::kUnidirectional:
      return "unidirectional";
    case Direction::kBidirectional:
      return "bidirectional";
  }
  return "unknown";
}

Status ParseRnnMode(std::string_view text, RnnMode* mode) {
  return Parse("rnn_mode", text, kCellFacts, mode);
}

Status ParseActivation(const char* attr, std::string_view text, Activation* activation) {
  return Parse(attr, text, kActivations, activation);
}

Status ParseInputMode(std::string_view text, InputMode* mode) {
  return Parse("input_mode", text, kInputModes, mode);
}

Status ParseDirection(std::string_view text, Direction* direction) {
  return Parse("direction", text, kDirections, direction);
}

Status RnnAttrs::Validate() const {
  RNN_OPS_RETURN_IF_ERROR(CheckDropout(dropout));
  RNN_OPS_RETURN_IF_ERROR(CheckActivations(mode, activation, recurrent_activation));
  RNN_OPS_RETURN_IF_ERROR(CheckClip(mode, "cell_clip", cell_clip));
  RNN_OPS_RETURN_IF_ERROR(CheckClip(mode, "proj_clip", proj_clip));
  RNN_OPS_RETURN_IF_ERROR(CheckZoneout(*this));
  RNN_OPS_RETURN_IF_ERROR(CheckEpsilon(layer_norm_epsilon));
  return CheckNumProj(mode, num_proj);
}

Status RnnConfig::Validate() const {
  RNN_OPS_RETURN_IF_ERROR(RnnAttrs::Validate());
  RNN_OPS_RETURN_IF_ERROR(AtLeast("num_layers", num_layers, 1));
  RNN_OPS_RETURN_IF_ERROR(AtLeast("num_units", num_units, 1));
  RNN_OPS_RETURN_IF_ERROR(AtLeast("input_size", input_size, 1));
  RNN_OPS_RETURN_IF_ERROR(AtLeast("The number of time steps", max_time, 0));
  RNN_OPS_RETURN_IF_ERROR(AtLeast("The batch size", batch, 0));
  if (input_mode == InputMode::kAuto) {
    return Internal("input_mode='auto_select' has not been resolved.");
  }
  if (input_mode == InputMode::kSkip && input_size != num_units) {
    return InvalidArgument("input_mode='skip_input' needs an input size equal to the number of ",
                           "units, but the input size is ", input_size, " and the number of units ",
                           "is ", num_units, ".");
  }
  if (!BytesBound(*this).ok() || ParamsSize(*this) < 0) {
    return InvalidArgument("A recurrent network with num_layers = ", num_layers,
                           ", num_units = ", num_units, ", input_size = ", input_size,
                           ", num_proj = ", num_proj, ", direction = '", Name(direction), "', ",
                           max_time, " time steps and batch size ", batch,
                           " is too large: its tensors and work space must stay below 2^62 bytes.");
  }
  return Status();
}

Status MakeRnnConfig(const RnnAttrs& attrs, int64_t num_layers, int64_t num_units,
                     int64_t input_size, int64_t max_time, int64_t batch, RnnConfig* config) {
  RNN_OPS_RETURN_IF_ERROR(attrs.Validate());
  if (num_units > 0 && attrs.num_proj > num_units) {
    return InvalidArgument("num_proj must be at most the number of units, which is ", num_units,
                           ", but it is ", attrs.num_proj, ".");
  }
  RnnConfig c;
  static_cast<RnnAttrs&>(c) = attrs;
  if (c.input_mode == InputMode::kAuto) {
    c.input_mode = input_size == num_units ? InputMode::kSkip : InputMode::kLinear;
  }
  if (c.num_proj == num_units) c.num_proj = 0;
  c.num_layers = num_layers;
  c.num_units = num_units;
  c.input_size = input_size;
  c.max_time = max_time;
  c.batch = batch;
  RNN_OPS_RETURN_IF_ERROR(c.Validate());
  *config = c;
  return Status();
}

LayerConfig MakeLayerConfig(const RnnConfig& config, const CallTensors& tensors) {
  const auto has = [&tensors](Arg arg) { return tensors.in(arg) != nullptr; };
  LayerConfig c;
  static_cast<RnnConfig&>(c) = config;
  c.bias_rows = has(Arg::bias) ? FactsOf(config.mode).bias_rows : 0;
  c.has_peepholes = has(Arg::peepholes);
  c.has_layer_norm = has(Arg::layer_norm);
  c.input_masked = has(Arg::input_mask);
  c.recurrent_masked = has(Arg::recurrent_mask);
  c.zoneout_drawn = config.has_zoneout() && has(Arg::seed);
  return c;
}

}  // namespace rnn_ops
