// Adapter from a Team to the ParallelFor of the kernels.
#pragma once

#include <cstdint>

#include "cc/core/runtime/team.h"
#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu {

// The result is valid as long as the team.
inline ParallelFor ParallelForOf(Team* team) {
  return {team,
          {team->num_threads(), WakeNs(team->warm()), kMeetNs},
          [](void* context, int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i),
             void* arg) { static_cast<Team*>(context)->For(n, worth_threads, fn, arg); }};
}

}  // namespace rnn_ops::cpu
