// The size of reserve_space and the flag of its algorithm.
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops::gpu {

// The size of reserve_space if an algorithm needs `needed` bytes: never 0, and a whole number of
// elements of any type.
int64_t RoundedReserve(int64_t needed);

// The code of an algorithm without kReserveOfProgram.
int8_t WithoutFlag(int8_t algorithm);

// Checks the size of the reserve space. `expected`: 0, or a result of RoundedReserve().
Status CheckReserve(const RnnBackwardArgs& args, int64_t expected);

}  // namespace rnn_ops::gpu
