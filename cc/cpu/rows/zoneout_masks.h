// The zoneout masks of the states on packed rows.
#pragma once

#include <cstdint>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/dropout_rows.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Allocates the memory of DrawZoneoutMasks; null for a state without a random mask.
template <typename T>
void TakeZoneoutMasks(const RnnProblem& p, int64_t elements, Arena& arena, T* (*masks)[2]) {
  const float rates[2] = {p.zoneout_h, p.zoneout_c};
  for (int k = 0; k < 2; ++k) {
    const bool draws = p.zoneout_drawn && rates[k] > 0;
    T* const rows = arena.Take<T>(draws ? elements : 0);
    (*masks)[k] = draws ? rows : nullptr;
  }
}

// masks[k][r, c] of h (k = 0) and of c (k = 1): 1 if the unit keeps its old value, otherwise 0. The
// random numbers are those of DropRows with the state k as the layer. Rows have `padded` elements.
template <typename T>
void DrawZoneoutMasks(const RnnProblem& p, const Sequence& seq, int64_t units, int64_t padded,
                      T* const (&masks)[2], const ParallelFor& parallel) {
  const float rates[2] = {p.zoneout_h, p.zoneout_c};
  for (int k = 0; k < 2; ++k) {
    if (masks[k] == nullptr) continue;
    const uint64_t threshold = DropThreshold(rates[k]);
    DrawRows(p, seq, k, padded, parallel, [&](int64_t row, int64_t c, uint32_t word) {
      masks[k][row * padded + c] = c < units && word < threshold ? T(1) : T(0);
    });
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
