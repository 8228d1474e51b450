// The active sequences of a batch at each step.
//
// Note [Packed rows]
// Sequences are sorted by descending length, so the sequences that are active at step t are the
// first n(t). Packed row start[t] + j is sorted sequence j at step t. Padding is never accessed, so
// the work is proportional to the sum of the lengths. Both directions use the same order: at step t
// exactly the sequences with length > t are active, so the backward direction starts at the last
// step of each sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "cc/core/check.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/simd/isa.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

struct Sequence {
  int64_t max_time = 0;       // T
  int64_t batch = 0;          // B
  int64_t rows = 0;           // R, the number of packed rows: the sum of the lengths
  int64_t* start = nullptr;   // [T + 1]
  int64_t* perm = nullptr;    // [B] index in the user's batch of sorted sequence j
  int64_t* length = nullptr;  // [B] sorted, descending
  // Row numbers of a tensor [T, B, ...] or [B, T, ...]: user_t[t] + user_j[j].
  int64_t* user_t = nullptr;  // [T]
  int64_t* user_j = nullptr;  // [B]
  int64_t* iota = nullptr;    // [B]

  int64_t alive(int64_t t) const { return start[t + 1] - start[t]; }
};

// longer[t] for t < max_time: the number of sequences that are longer than t. `lengths`: null if
// all are max_time long.
inline void CountLonger(const int32_t* lengths, int64_t batch, int64_t max_time, int64_t* longer) {
  std::fill(longer, longer + max_time, lengths == nullptr ? batch : 0);
  if (lengths == nullptr) return;
  for (int64_t b = 0; b < batch; ++b) {
    if (lengths[b] > 0) ++longer[lengths[b] - 1];
  }
  for (int64_t t = max_time - 1; t > 0; --t) longer[t - 1] += longer[t];
}

// A stable counting sort by descending length. Changes `longer`, the result of CountLonger().
inline void SortByLength(const int32_t* lengths, int64_t batch, int64_t max_time, int64_t* longer,
                         int64_t* perm, int64_t* sorted) {
  if (lengths == nullptr) {
    std::iota(perm, perm + batch, int64_t{0});
    std::fill(sorted, sorted + batch, max_time);
    return;
  }
  // The sequences of length n end at place longer[n - 1], and the empty ones at the end.
  int64_t end = batch;
  for (int64_t b = batch - 1; b >= 0; --b) {
    const int64_t n = lengths[b];
    const int64_t place = --(n == 0 ? end : longer[n - 1]);
    perm[place] = b;
    sorted[place] = n;
  }
}

inline Sequence MakeSequence(Arena& arena, int64_t max_time, int64_t batch, bool time_major,
                             const SequenceLengths& of) {
  Sequence seq;
  seq.max_time = max_time;
  seq.batch = batch;
  seq.rows = of.sum;
  int64_t* const longer = arena.Take<int64_t>(max_time);
  arena.Take(&seq.start, max_time + 1);
  for (int64_t** of_j : {&seq.perm, &seq.length, &seq.user_j, &seq.iota}) arena.Take(of_j, batch);
  arena.Take(&seq.user_t, max_time);
  if (arena.measuring()) return seq;

  CountLonger(of.steps, batch, max_time, longer);
  seq.start[0] = 0;
  for (int64_t t = 0; t < max_time; ++t) seq.start[t + 1] = seq.start[t] + longer[t];
  RNN_DCHECK(seq.start[max_time] == of.sum);
  SortByLength(of.steps, batch, max_time, longer, seq.perm, seq.length);
  for (int64_t t = 0; t < max_time; ++t) seq.user_t[t] = time_major ? t * batch : t;
  for (int64_t j = 0; j < batch; ++j) {
    seq.user_j[j] = time_major ? seq.perm[j] : seq.perm[j] * max_time;
    seq.iota[j] = j;
  }
  return seq;
}

// Whether the sequences were made of these lengths. T and B must be the same.
inline bool HasLengths(const Sequence& seq, const SequenceLengths& of) {
  if (of.sum != seq.rows) return false;
  if (of.sum == seq.max_time * seq.batch) return true;  // all T
  for (int64_t j = 0; j < seq.batch; ++j) {
    if (of.steps[seq.perm[j]] != seq.length[j]) return false;
  }
  return true;
}

// Rows of a tensor by step and sorted sequence.
template <typename T>
struct RowMap {
  T* base = nullptr;  // null: no tensor
  int64_t ld = 0;
  const int64_t* row_t = nullptr;
  const int64_t* row_j = nullptr;
  explicit operator bool() const { return base != nullptr; }
  T* at(int64_t t, int64_t j) const { return base + (row_t[t] + row_j[j]) * ld; }
};

// The rows of a tensor of the op: [T, B, ld] or [B, T, ld].
template <typename T>
RowMap<T> UserRows(const Sequence& seq, T* base, int64_t ld) {
  return {base, ld, seq.user_t, seq.user_j};
}

// The rows of a buffer of packed rows.
template <typename T>
RowMap<T> PackedRows(const Sequence& seq, T* base, int64_t ld) {
  return {base, ld, seq.start, seq.iota};
}

// The packed rows of one item of parallel work; even, so that pairs of rows stay together.
constexpr int64_t kParallelRows = 64;

// Calls fn(row, t, j) for the packed rows [row0, row1).
template <typename F>
void ForPackedRows(const Sequence& seq, int64_t row0, int64_t row1, F&& fn) {
  if (row0 >= row1) return;
  int64_t t = std::upper_bound(seq.start, seq.start + seq.max_time + 1, row0) - seq.start - 1;
  int64_t j = row0 - seq.start[t];
  for (int64_t row = row0; row < row1; ++row, ++j) {
    while (j >= seq.alive(t)) {
      ++t;
      j = 0;
    }
    fn(row, t, j);
  }
}

// ForPackedRows for all rows in parallel. `ns`: the time of all calls on one thread.
template <typename F>
void ParallelRows(const Sequence& seq, int64_t ns, const ParallelFor& parallel, F&& fn) {
  Parallel(parallel, CeilDiv(seq.rows, kParallelRows), ns, [&](int64_t item) {
    const int64_t row0 = item * kParallelRows;
    ForPackedRows(seq, row0, std::min(seq.rows, row0 + kParallelRows), fn);
  });
}

// The step that direction `dir` visits before step t, or -1 if sequence j starts at t.
inline int64_t PreviousStep(const Sequence& seq, int dir, int64_t t, int64_t j) {
  if (dir == 0) return t - 1;
  return t + 1 < seq.length[j] ? t + 1 : -1;
}

// The last step that direction `dir` visits in sequence j. The length must not be 0.
inline int64_t FinalStep(const Sequence& seq, int dir, int64_t j) {
  return dir == 0 ? seq.length[j] - 1 : 0;
}

// Zeroes the rows of a tensor of the op beyond the length of each sequence.
template <typename T>
void ZeroPadding(const Sequence& seq, const RowMap<T>& y, int64_t columns,
                 const ParallelFor& parallel) {
  if (seq.rows == seq.max_time * seq.batch) return;
  const int64_t padding = seq.max_time * seq.batch - seq.rows;
  const int64_t ns = NsToMove(padding * columns * static_cast<int64_t>(sizeof(T)));
  Parallel(parallel, seq.batch, ns, [&](int64_t j) {
    for (int64_t t = seq.length[j]; t < seq.max_time; ++t) {
      std::memset(y.at(t, j), 0, sizeof(T) * columns);
    }
  });
}

// Rows of h0, c0, h_n, c_n: [L*D, B, size] or [B, L*D, size].
template <typename T>
struct StateRows {
  T* base = nullptr;  // null: no states
  int64_t size = 0;
  int64_t layer_stride = 0;  // in rows
  int64_t batch_stride = 0;  // in rows
  explicit operator bool() const { return base != nullptr; }
  T* at(int64_t pseudo_layer, int64_t b) const {
    return base + (pseudo_layer * layer_stride + b * batch_stride) * size;
  }
};

template <typename T>
StateRows<T> MakeStateRows(const RnnProblem& p, T* base, int64_t size) {
  return p.time_major ? StateRows<T>{base, size, p.batch, 1}
                      : StateRows<T>{base, size, 1, p.num_pseudo_layers()};
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
