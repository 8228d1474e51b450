#include "cc/ffi/dropout.h"

#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "cc/core/dropout_reset.h"

namespace rnn_ops {
namespace ffi {

Status DrawDropoutKey(const Tensors& call, const int64_t* seed, DropoutKey* key) {
  if (seed != nullptr) {
    *key = MakeDropoutKey(seed[0], seed[1], /*call=*/0);
    return Status();
  }
  bool resets = false;
  RNN_OPS_RETURN_IF_ERROR(
      ParseResetRndGenState(std::getenv("TF_CUDNN_RESET_RND_GEN_STATE"), &resets));
  if (resets) {
    *key = MakeDropoutKey(call.attrs().seed, call.attrs().seed2, /*call=*/0);
    return Status();
  }
  int64_t call_site = 0;
  RNN_OPS_RETURN_IF_ERROR(call.Attr("call_site", &call_site));
  // WHY a count here: a custom call has no object that lives from execution to execution.
  static std::mutex mutex;
  static auto* const counts = new std::unordered_map<int64_t, uint64_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  *key = MakeDropoutKey(call.attrs().seed, call.attrs().seed2, (*counts)[call_site]++);
  return Status();
}

}  // namespace ffi
}  // namespace rnn_ops
