// The random key of the dropout masks of a call.
#ifndef TF_RNN_OPS_CC_FFI_DROPOUT_H_
#define TF_RNN_OPS_CC_FFI_DROPOUT_H_

#include <cstdint>

#include "cc/core/op/dropout.h"
#include "cc/core/status.h"
#include "cc/xla/handlers/tensors.h"

namespace rnn_ops {
namespace ffi {

inline bool HasDropout(const RnnAttrs& attrs) { return attrs.is_training && attrs.dropout > 0; }

// `seed`: [2] on the host, from an op that has the seed as an input. Null: the key depends on the
// attributes seed and seed2, and on the number of this call among the calls with its call_site.
Status DrawDropoutKey(const Tensors& call, const int64_t* seed, DropoutKey* key);

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_DROPOUT_H_
