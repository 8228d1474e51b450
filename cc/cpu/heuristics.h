// Every decision about the number of threads of a job and the partition of its work, as pure
// functions of sizes.
//
// docs/design/measurements.md, "Constants of heuristics.h", has the measurements, on at most 16
// cores. Constants that are not there are estimates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cc/core/runtime/stages.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu {

// ---- Estimated cost of work on one thread, in nanoseconds ----
// The estimates are rough on purpose: they only have to distinguish microseconds from milliseconds.

// Converting or copying `bytes` bytes.
inline int64_t NsToMove(int64_t bytes) { return bytes / 8; }

// Packing weights into `bytes` bytes of panels.
inline int64_t NsToPack(int64_t bytes) { return bytes / 16; }

// Generating `numbers` random numbers for dropout.
inline int64_t NsToDraw(int64_t numbers) { return 2 * numbers; }

// `multiplies` multiplications of a matrix product whose factors are in the cache of the core.
inline int64_t NsToMultiply(int64_t multiplies) { return multiplies / 40; }

// Reading `bytes` bytes of weights that are not yet in the cache of the core.
inline int64_t NsToStream(int64_t bytes) { return bytes / 32; }

// Reading `bytes` bytes of weights from the second-level cache.
inline int64_t NsToRead(int64_t bytes) { return bytes / 64; }

// Weights up to this size may be read from the cache for every row.
constexpr int64_t kSmallWeightBytes = int64_t{256} << 10;

// The most rows of x, T*B, for which a call multiplies with unpacked weights. For more rows panels
// save more than packing costs. Results depend on it, so docs/numerics.md names the number.
constexpr int64_t kUnpackedRows = 12;

// The same for weights whose rows are units (opaque params). A product with a small matrix spends
// most of its time on adding the lanes of sums.
inline int64_t UnpackedRowsOfUnits(int64_t matrix_bytes) {
  return matrix_bytes > kSmallWeightBytes ? kUnpackedRows : 4;
}

// ---- How many threads a job should use ----

// The cost of waking threads in the general case. For a short eager call a second thread makes the
// call longer.
constexpr int32_t kWakeNs = 40000;

// The cost if calls follow each other immediately: the threads of the pool are still awake, and two
// threads are faster than one.
constexpr int32_t kWarmWakeNs = 20000;

// The cost of waking a thread, by whether the team is warm.
inline int32_t WakeNs(bool warm) { return warm ? kWarmWakeNs : kWakeNs; }

// Threads wake in parallel, but the caller starts them one after another. The caller can start
// about this many threads in the time WakeNs.
constexpr int64_t kCallsInWake = 16;

// At least 1. For larger jobs the number of threads that minimises work / threads + start costs.
inline int64_t WorthThreads(const ThreadBudget& threads, int64_t ns) {
  const int64_t wake_ns = std::max(1, threads.wake_ns);
  if (ns < 2 * wake_ns) return 1;
  return static_cast<int64_t>(std::sqrt(static_cast<double>(ns) / wake_ns * kCallsInWake));
}

// The cost of a barrier at the end of a step, for each thread. Stages::kGroup makes barriers of
// many threads cheaper than this (docs/design/measurements.md, "Threads on 16 cores"). More
// partitions than this constant allows would gain little, and one late thread delays all others.
constexpr int32_t kMeetNs = 200;
inline int64_t MeetNs(const ThreadBudget& threads, int64_t shares) {
  return threads.meet_ns * (shares + 1);
}

// ---- Partition of a recurrence ----

// There are two ways to split a recurrence. Slices of the batch need no synchronisation. Partitions
// of the units (called shares) need a barrier at every step (Note [Stages]). Units are split if the
// batch is too small, if every thread would read more weights at each step than its part of the
// caches holds, or if reading the weights once is a large part of a call.
struct Split {
  int64_t slices;  // slices of the batch
  int64_t shares;  // partitions of the units; above 1 only with one slice
  int64_t ns;      // time of all directions on one thread
};

struct WorkToSplit {
  int64_t batch;
  int64_t num_dirs;
  ThreadBudget threads;
  int64_t steps;            // T
  int64_t tile_rows;        // rows of a register tile of LSTM
  int64_t panels;           // units are split at panels; 1: units cannot be split
  int64_t recurrent_bytes;  // weights that are read at every step
  int64_t weight_bytes;     // all weights of one direction
  int64_t stream_bytes;     // units are split if the recurrent weights are larger
  int64_t multiplies;       // of one direction, all steps
};

// Forwards, splitting the units gains 1 % at 1 MB of weights, 3 % at 4 MB and 10 % at 16 MB;
// backwards it gains only from 16 MB on. If another process takes a core, barriers lose more time
// than slices, so a small gain is not worth the barriers.
constexpr int64_t kForwardStreamBytes = int64_t{2} << 20;
constexpr int64_t kBackwardStreamBytes = int64_t{8} << 20;

// The minimum number of rows in a slice. This many rows keep the registers of a tile busy; more
// rows are needed if every slice reads weights that do not fit the second-level cache of its core.
// In tiles of three rows, four rows would be two half-empty tiles. If units cannot be split, slices
// with few rows are better than one thread.
inline int64_t RowsOfSlice(const WorkToSplit& p) {
  if (p.recurrent_bytes > (int64_t{1} << 20)) return 16;
  return p.tile_rows < 4 && p.panels > 1 ? 8 : 4;
}

// The number of partitions of `panels` panels for at most `most` threads: the smallest number that
// gives the shortest step. `step_ns`: the work of all panels at each step, in ns.
inline int64_t ChooseShares(int64_t most, const ThreadBudget& threads, int64_t panels,
                            int64_t step_ns) {
  int64_t best = 1;
  int64_t best_ns = step_ns;
  for (int64_t k = 2; k <= std::min({most, panels, Stages::kMaxShares}); ++k) {
    const int64_t longest = (panels + k - 1) / k;
    const int64_t ns = step_ns * longest / panels + MeetNs(threads, k);
    if (ns < best_ns) best = k, best_ns = ns;
  }
  return best;
}

inline Split ChooseSplit(const WorkToSplit& p) {
  const int64_t multiply_ns = NsToMultiply(p.multiplies);
  const int64_t stream_ns = NsToStream(p.weight_bytes);
  const int64_t dir_ns = multiply_ns + stream_ns;
  const int64_t ns = p.num_dirs * dir_ns;
  const int64_t wanted =
      std::min((p.threads.count + p.num_dirs - 1) / p.num_dirs, WorthThreads(p.threads, dir_ns));
  if (wanted <= 1) return {1, 1, ns};
  const int64_t step_ns = dir_ns / std::max(int64_t{1}, p.steps);
  const int64_t shares = ChooseShares(wanted, p.threads, p.panels, step_ns);
  // Every slice reads all weights, but every partition of the units reads only its own weights, so
  // partitions are faster if there are few steps.
  int64_t slices = std::min(wanted, p.batch / RowsOfSlice(p));
  int64_t slice_ns = multiply_ns / std::max(int64_t{1}, slices) + stream_ns;
  // Slices with fewer rows do not keep a tile busy, so the time to read small weights counts. Many
  // such slices are still faster than few slices or partitions of the units.
  if (slices < wanted && p.recurrent_bytes <= kSmallWeightBytes) {
    const int64_t more = std::min(wanted, p.batch);
    const int64_t ns_of_more = multiply_ns / std::max(int64_t{1}, more) + stream_ns +
                               p.steps * NsToRead(p.recurrent_bytes);
    if (ns_of_more < slice_ns) slices = more, slice_ns = ns_of_more;
  }
  if (p.recurrent_bytes > p.stream_bytes || slices <= 1) return {1, shares, ns};
  // A small gain is not worth the barriers (kForwardStreamBytes).
  const int64_t share_ns = dir_ns / shares + p.steps * MeetNs(p.threads, shares);
  if (slice_ns * 10 > share_ns * 11) return {1, shares, ns};
  return {slices, 1, ns};
}

// ---- Partition of a product over all rows ----

// Blocks of rows. Each block is split into parts of the columns.
struct RowItems {
  int64_t rows;   // rows of a block
  int64_t parts;  // parts of the columns
  int64_t count;  // number of items
};

// An item reads all weights of its columns, so blocks are smaller only if there are too few items.
constexpr int64_t kMostRowsOfItem = 128;
constexpr int64_t kFewestRowsOfItem = 32;

// Chooses two items for each thread if possible, because the threads also have other work.
// `panels`: the number of pieces that the columns can be split into.
inline RowItems ChooseRowItems(int64_t rows, int64_t panels, int64_t threads) {
  const int64_t wanted = threads > 1 ? 2 * threads : 1;
  RowItems items = {kMostRowsOfItem, 1, 0};
  auto blocks = [&] { return (rows + items.rows - 1) / items.rows; };
  while (items.rows > kFewestRowsOfItem && blocks() * panels < wanted) items.rows /= 2;
  if (blocks() > 0) items.parts = std::min(panels, (wanted + blocks() - 1) / blocks());
  items.parts = std::max(int64_t{1}, items.parts);
  items.count = blocks() * items.parts;
  return items;
}

// ---- Partition into panels ----

// The number of panels of one item, at most `most`. Each thread gets at least two items if
// possible.
inline int64_t PanelsOfItem(int64_t panels, int64_t most, int64_t threads) {
  return std::clamp(panels / (2 * threads), int64_t{1}, most);
}

// The most panels that an item packs together (Note [Panels]).
constexpr int64_t kMostPackedPanels = 8;

// ---- Partition of the weight gradients ----

// A piece reads its panel of gradients again, and multiplies the panel with its part of the
// `columns` of x and h.
constexpr int64_t kFewestColumnsOfPiece = 48;

// The number of pieces of the columns if there are fewer panels than threads.
inline int64_t PiecesOfItem(int64_t panels, int64_t columns, int64_t threads) {
  if (panels < 1 || panels >= threads) return 1;
  return std::clamp(columns / kFewestColumnsOfPiece, int64_t{1}, (threads + panels - 1) / panels);
}

}  // namespace rnn_ops::cpu
