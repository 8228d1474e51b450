// The configuration of a recurrent network from the attributes and sizes of a call.
#pragma once

#include <cstdint>
#include <string_view>

#include "cc/core/op/rnn_types.h"
#include "cc/core/status.h"

namespace rnn_ops {

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

}  // namespace rnn_ops
