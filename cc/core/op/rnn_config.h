// The configuration of a recurrent network: from the attributes and sizes of a call, and the
// reading of its attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cc/core/op/call_tensors.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_types.h"
#include "cc/core/status.h"

namespace rnn_ops {

// The configuration of a recurrent network from the attributes and sizes of a call.

Status ParseRnnMode(std::string_view text, RnnMode* mode);
// `attr`: the name of the attribute, for the error message.
Status ParseActivation(const char* attr, std::string_view text, Activation* activation);
Status ParseInputMode(std::string_view text, InputMode* mode);
Status ParseDirection(std::string_view text, Direction* direction);

// The names of the values of attributes: ParseRnnMode(Name(mode)) returns `mode`.
const char* Name(RnnMode mode);
const char* Name(Activation activation);
const char* Name(InputMode mode);
const char* Name(Direction direction);

// Resolves kAuto and num_proj == num_units. T and B may be 0. Validates the result, including that
// num_proj is at most H.
Status MakeRnnConfig(const RnnAttrs& attrs, int64_t num_layers, int64_t num_units,
                     int64_t input_size, int64_t max_time, int64_t batch, RnnConfig* config);

// Adds the properties that follow from the tensors of a call of LayerRNN.
LayerConfig MakeLayerConfig(const RnnConfig& config, const CallTensors& tensors);

// Reads the attributes of an op from any container.

// `get(name, value)` sets *value (a std::string, int64_t, float or bool) and returns a Status.
// Attributes that the op does not have are not changed. Checks every condition that needs no sizes.
template <typename Get>
Status ReadAttrs(const AttrSet& has, const Get& get, RnnAttrs* attrs) {
  const auto parse = [&get](const char* name, auto parser, auto* value) {
    std::string text;
    RNN_OPS_RETURN_IF_ERROR(get(name, &text));
    return parser(text, value);
  };
  const auto parse_activation = [&get](const char* name, Activation* value) {
    std::string text;
    RNN_OPS_RETURN_IF_ERROR(get(name, &text));
    return ParseActivation(name, text, value);
  };
  RNN_OPS_RETURN_IF_ERROR(parse("rnn_mode", ParseRnnMode, &attrs->mode));
  if (has.stack) {
    RNN_OPS_RETURN_IF_ERROR(parse("input_mode", ParseInputMode, &attrs->input_mode));
    RNN_OPS_RETURN_IF_ERROR(parse("direction", ParseDirection, &attrs->direction));
  }
  if (has.activations) {
    RNN_OPS_RETURN_IF_ERROR(parse_activation("activation", &attrs->activation));
    RNN_OPS_RETURN_IF_ERROR(parse_activation("recurrent_activation", &attrs->recurrent_activation));
  }
  if (has.clips) {
    RNN_OPS_RETURN_IF_ERROR(get("cell_clip", &attrs->cell_clip));
    RNN_OPS_RETURN_IF_ERROR(get("proj_clip", &attrs->proj_clip));
  }
  if (has.zoneout) {
    RNN_OPS_RETURN_IF_ERROR(get("zoneout_h", &attrs->zoneout_h));
    RNN_OPS_RETURN_IF_ERROR(get("zoneout_c", &attrs->zoneout_c));
  }
  if (has.layer_norm) {
    RNN_OPS_RETURN_IF_ERROR(get("layer_norm_epsilon", &attrs->layer_norm_epsilon));
  }
  if (has.dropout) RNN_OPS_RETURN_IF_ERROR(get("dropout", &attrs->dropout));
  if (has.seeds) {
    RNN_OPS_RETURN_IF_ERROR(get("seed", &attrs->seed));
    RNN_OPS_RETURN_IF_ERROR(get("seed2", &attrs->seed2));
  }
  if (has.num_proj) RNN_OPS_RETURN_IF_ERROR(get("num_proj", &attrs->num_proj));
  if (has.is_training == AttrSet::kAttr) {
    RNN_OPS_RETURN_IF_ERROR(get("is_training", &attrs->is_training));
  } else {
    attrs->is_training = has.is_training == AttrSet::kAlways;
  }
  if (has.time_major) RNN_OPS_RETURN_IF_ERROR(get("time_major", &attrs->time_major));
  return attrs->Validate();
}

}  // namespace rnn_ops
