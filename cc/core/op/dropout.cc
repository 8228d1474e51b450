#include "cc/core/op/dropout.h"

#include <cctype>
#include <string>

namespace rnn_ops {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection in which every input
// bit changes about half of the output bits.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

// Each step is a bijection of the value that enters the step. So if two of the three numbers are
// fixed, different values of the third number always give different keys.
// WHY: TensorFlow combines the seeds as (seed << 32) | seed2, where a negative seed2 erases seed.
DropoutKey MakeDropoutKey(int64_t seed, int64_t seed2, uint64_t call) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio; Mix(0) is 0
  uint64_t key = Mix(static_cast<uint64_t>(seed) + kStep);
  key = Mix((key ^ static_cast<uint64_t>(seed2)) + kStep);
  key = Mix((key ^ call) + kStep);
  return {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
}

Status ParseResetRndGenState(const char* value, bool* resets) {
  std::string word(value == nullptr ? "" : value);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  *resets = word == "1" || word == "true";
  if (*resets || word.empty() || word == "0" || word == "false") return Status();
  return InvalidArgument("TF_CUDNN_RESET_RND_GEN_STATE must be 0, 1, false or true, but it is '",
                         value, "'.");
}

}  // namespace rnn_ops
