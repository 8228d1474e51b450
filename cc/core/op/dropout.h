// Counter-based dropout masks. A bit depends only on the key and the position of the element, so
// masks are the same for any number of threads, layout or order of evaluation.
#pragma once

#include <cstdint>

#include "cc/core/status.h"

namespace rnn_ops {

// The key of one forward call. The reserve space keeps the key for the backward call.
struct DropoutKey {
  uint32_t k0 = 0;
  uint32_t k1 = 0;
};

// Mixes both seeds (all 64 bits of each) and the number of the call in its kernel object.
DropoutKey MakeDropoutKey(int64_t seed, int64_t seed2, uint64_t call);

// Four random words for a counter: Philox4x32-10 (Salmon et al., SC 2011).
inline void Philox4x32(DropoutKey key, const uint32_t counter[4], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key.k0, k1 = key.k1;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

// An element is dropped if its random word is below the threshold. For a rate of 1 the threshold is
// 2^32, which is above all words.
inline uint64_t DropThreshold(float rate) {
  return static_cast<uint64_t>(static_cast<double>(rate) * 4294967296.0);
}

// Whether every training call draws the same dropout masks.

// `value`: the value of TF_CUDNN_RESET_RND_GEN_STATE, parsed as TensorFlow parses the variable for
// cuDNN; null or empty means no. `resets`: whether every call draws the masks of the first call, so
// that the masks depend only on the seeds.
Status ParseResetRndGenState(const char* value, bool* resets);

}  // namespace rnn_ops
