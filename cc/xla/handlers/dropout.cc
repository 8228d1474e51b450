#include "cc/xla/handlers/dropout.h"

#include <atomic>
#include <cstdlib>

#include "cc/core/op/dropout_reset.h"

namespace rnn_ops::ffi {
namespace {

// Returns the number of the call among the calls of its call site.
// WHY the counts belong to the process: a custom call has no object that lives between executions.
// WHY there are many counts: programs are compiled again and again, and each has its own call
// sites. Call sites that share a count still never draw the same mask twice.
uint64_t NextCall(int64_t call_site) {
  constexpr uint64_t kCounts = 4096;
  static std::atomic<uint64_t> counts[kCounts];
  return counts[static_cast<uint64_t>(call_site) % kCounts].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

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
  *key = MakeDropoutKey(call.attrs().seed, call.attrs().seed2, NextCall(call_site));
  return Status();
}

}  // namespace rnn_ops::ffi
