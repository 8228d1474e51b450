// The random key of the dropout masks of a call.
#pragma once

#include <cstdint>

#include "cc/core/op/dropout.h"
#include "cc/core/status.h"
#include "cc/xla/handlers/tensors.h"

namespace rnn_ops::ffi {

inline bool HasDropout(const RnnAttrs& attrs) { return attrs.is_training && attrs.dropout > 0; }

// `seed`: [2] on the host, from an op that has the seed as an input. Null: the key depends on the
// attributes seed and seed2, and on the number of this call among the calls with its call_site.
Status DrawDropoutKey(const Tensors& call, const int64_t* seed, DropoutKey* key);

}  // namespace rnn_ops::ffi
