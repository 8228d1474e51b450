// The masks on packed rows: dropout between layers, Keras's masks for each gate, zoneout.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/core/op/dropout.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Dropout between layers on packed rows.

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

// Masks that multiply x or h before the product of each gate: dropout of the inputs and states of a
// layer, with a separate mask for every gate.
//
// Note [Gate masks]
// With a separate mask for each gate there is a separate row of A for each vector of a panel. These
// rows are interleaved, [K][NV], so that a register tile still reads one short piece of A for every
// k (see GatedRowsOfA). The vanilla modes have one gate, so their masked rows are not interleaved.

// [G, B, size]. The gates have the order of the weights' columns.
template <typename T>
struct GateMasks {
  const T* data = nullptr;  // null: no masks
  int64_t batch = 0;
  int64_t size = 0;

  explicit operator bool() const { return data != nullptr; }
  const T* row(int gate, int64_t b) const { return data + (gate * batch + b) * size; }
};

// row *= mask, for k in [begin, end).
template <typename T>
void ScaleRow(const T* mask, int64_t begin, int64_t end, T* row) {
  for (int64_t k = begin; k < end; ++k) row[k] *= mask[k];
}

// out[k][v] = row[k] * mask of the gate of vector v, for k in [begin, end).
template <typename T>
void MaskRow(const GateMasks<T>& masks, const GateOrder& order, int64_t b, const T* row,
             int64_t begin, int64_t end, T* out) {
  const int nv = order.count;
  for (int v = 0; v < nv; ++v) {
    const T* mask = masks.row(order.source[v], b);
    for (int64_t k = begin; k < end; ++k) out[k * nv + v] = row[k] * mask[k];
  }
}

// The masks of x or of h for each gate, if the call has masks.
template <typename T>
GateMasks<T> MasksOf(const RnnProblem& p, const CallTensors& t, Arg arg) {
  if (arg == Arg::input_mask && p.input_masked) return {t.in<T>(arg), p.batch, p.input_size};
  if (arg == Arg::recurrent_mask && p.recurrent_masked) {
    return {t.in<T>(arg), p.batch, p.hidden_size()};
  }
  return {};
}

// The zoneout masks of the states on packed rows.

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
