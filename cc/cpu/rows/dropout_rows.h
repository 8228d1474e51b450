// Dropout between layers on packed rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/core/op/dropout.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Calls fn(row, c, word) for all columns c of all packed rows. The random word of an element is
// word c % 4 of the counter (c / 4, layer, step and sequence of the user's batch), so it does not
// depend on lengths, layout or threads.
template <typename F>
void DrawRows(const RnnProblem& p, const Sequence& seq, int64_t layer, int64_t columns,
              const ParallelFor& parallel, F&& fn) {
  const DropoutKey key = {p.dropout_key[0], p.dropout_key[1]};
  const int64_t ns = NsToDraw(seq.rows * columns);
  ParallelRows(seq, ns, parallel, [&](int64_t row, int64_t t, int64_t j) {
    const uint64_t place =
        static_cast<uint64_t>(t) * static_cast<uint64_t>(seq.batch) + seq.perm[j];
    for (int64_t c = 0; c < columns; c += 4) {
      const uint32_t counter[4] = {static_cast<uint32_t>(c / 4), static_cast<uint32_t>(layer),
                                   static_cast<uint32_t>(place),
                                   static_cast<uint32_t>(place >> 32)};
      uint32_t word[4];
      Philox4x32(key, counter, word);
      for (int64_t i = 0; i < std::min<int64_t>(4, columns - c); ++i) fn(row, c + i, word[i]);
    }
  });
}

// dst[r, c] = keep ? src[r, c] / (1 - rate) : 0. dst may be src.
template <typename T>
void DropRows(const RnnProblem& p, const Sequence& seq, int64_t layer, int64_t columns,
              const T* src, T* dst, const ParallelFor& parallel) {
  const uint64_t threshold = DropThreshold(p.dropout);
  const T scale = p.dropout < 1 ? T(1) / (T(1) - static_cast<T>(p.dropout)) : T(0);
  DrawRows(p, seq, layer, columns, parallel, [&](int64_t row, int64_t c, uint32_t word) {
    const int64_t at = row * columns + c;
    dst[at] = word < threshold ? T(0) : src[at] * scale;
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
