// Every decision on how many threads a job gets and how they share it, as pure functions of sizes.
//
// Figures without a date and a CPU beside them are a model: nobody has measured them. Nothing was
// measured on more than 16 cores.
#ifndef TF_RNN_OPS_CC_CPU_HEURISTICS_H_
#define TF_RNN_OPS_CC_CPU_HEURISTICS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cc/core/machine/stages.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops {
namespace cpu {

// ---- What work costs one thread, in nanoseconds ----
// Rough on purpose: they only have to tell microseconds from milliseconds.

// Converting, copying or packing so many bytes.
inline int64_t NsToMove(int64_t bytes) { return bytes / 8; }

// Drawing so many random numbers for dropout.
inline int64_t NsToDraw(int64_t numbers) { return 2 * numbers; }

// So many multiplications of a matrix product whose factors are in the core's cache.
inline int64_t NsToMultiply(int64_t multiplies) { return multiplies / 40; }

// Reading so many bytes of weights that the core's cache does not hold yet.
inline int64_t NsToStream(int64_t bytes) { return bytes / 32; }

// Reading so many bytes of weights that the second-level cache holds.
inline int64_t NsToRead(int64_t bytes) { return bytes / 64; }

// ---- How many threads a job is worth ----

// What waking threads costs where nothing else is known: eager calls of the op on 2 cores of an
// Emerald Rapids in a virtual machine, 2026-11. At (1,1,128,256) a second thread makes a call 0.04
// ms longer.
constexpr int32_t kWakeNs = 40000;

// Calls that follow each other at once find the pool's threads awake. Two threads then take (same
// CPU, 2026-11, eager calls of packed LSTMs) 33 us for (1,1,128,256) where one takes 50, and 38 for
// (1,1,256,256) where one takes 80. With 1 ms between the calls two take 0.1 ms longer than one.
constexpr int32_t kWarmWakeNs = 20000;

// What waking a thread costs a warm team, and any other.
inline int32_t WakeNs(bool warm) { return warm ? kWarmWakeNs : kWakeNs; }

// Threads wake side by side, but the caller calls them one by one. On 16 cores of an Emerald Rapids
// in a virtual machine, 2026-11, with Eigen's pool and 1 ms between jobs: the first to be called
// starts after 20 us, and each further one takes 2.2 us of the caller's time. 100 us of work then
// take 86 us on two threads, 63 on 4, 54 on 6, 59 on 8; 400 us take 232, 139, 113, 103 and on 16
// threads 85.
constexpr int64_t kCallsInWake = 16;

// At least 1. Above that the number with which work / threads + calls is least.
inline int64_t WorthThreads(const ThreadBudget& threads, int64_t ns) {
  const int64_t wake_ns = std::max(1, threads.wake_ns);
  if (ns < 2 * wake_ns) return 1;
  return static_cast<int64_t>(std::sqrt(static_cast<double>(ns) / wake_ns * kCallsInWake));
}

// A meeting at the end of a step: how much longer than their share of the work the steps of
// (100,1,64,64) take on 2, 4, 8 and 16 threads of the same machine, 0.6, 1.0, 1.6 and 3.0 us.
// Meetings of many threads have become cheaper since (Stages::kGroup); more shares than these
// figures give would gain little, and one late thread holds up all.
constexpr int32_t kMeetNs = 200;
inline int64_t MeetNs(const ThreadBudget& threads, int64_t shares) {
  return threads.meet_ns * (shares + 1);
}

// ---- How a recurrence is shared out ----

// By rows of the batch, without any synchronisation, or by units, with a meeting at every step
// (Note [Stages]), where there are too few rows, where every thread would stream more weights at
// each step than its share of the caches holds, or where reading the weights once is much of a
// call.
struct Split {
  int64_t slices;  // of the batch
  int64_t shares;  // of the units; above 1 only with one slice
  int64_t ns;      // of all directions, for one thread
};

struct WorkToSplit {
  int64_t batch;
  int64_t num_dirs;
  ThreadBudget threads;
  int64_t steps;            // T
  int64_t registers;        // vector registers of the instruction set, 16 or 32
  int64_t panels;           // units can be shared in pieces of a panel; 1: not at all
  int64_t recurrent_bytes;  // weights that are read at every step
  int64_t weight_bytes;     // all of one direction
  int64_t stream_bytes;     // units are shared where the recurrent weights are larger
  int64_t multiplies;       // of one direction, all steps
};

// Measured on two cores of a Zen 5 with 1 MB each and 32 MB together, 2026-09: sharing units gained
// 1 % forwards at 1 MB of weights, 3 % at 4 MB and 10 % at 16 MB; backwards it lost 3 % up to 4 MB
// and gained 1 % at 16 MB. With one core taken by another process threads that meet lose more (at 1
// MB 2.6 times the idle time for 1.9), so a small gain is not worth it.
constexpr int64_t kForwardStreamBytes = int64_t{2} << 20;
constexpr int64_t kBackwardStreamBytes = int64_t{8} << 20;

// Weights so small may be read from the cache for every row.
constexpr int64_t kSmallWeightBytes = int64_t{256} << 10;

// Rows that keep the registers of a tile busy, more where every slice streams weights that do not
// fit its core's second-level cache. With 16 registers LSTM's tiles have three rows, so that four
// rows are two tiles of two. On two cores of a Zen 3, 2026-11, sharing the units of eight rows
// takes 0.83 of the time of two slices at (30,8,256,256), 0.91 backwards, and 0.89 and 0.96 at
// (200,8,64,128). Where units cannot be shared, slices of few rows are better than one thread.
inline int64_t RowsOfSlice(const WorkToSplit& p) {
  if (p.recurrent_bytes > (int64_t{1} << 20)) return 16;
  return p.registers == 16 && p.panels > 1 ? 8 : 4;
}

// The pieces that `panels` panels are cut into for at most `most` threads, with `step_ns` of work
// in all of them at each step: the fewest with which a step is as short as it can be.
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
  // Every slice streams all weights, every share its own: (1,8,256,256) takes 61 us in two shares
  // and 150 in two slices (two cores of an Emerald Rapids, 2026-11).
  int64_t slices = std::min(wanted, p.batch / RowsOfSlice(p));
  int64_t slice_ns = multiply_ns / std::max(int64_t{1}, slices) + stream_ns;
  // Fewer rows do not keep a tile busy: reading small weights then takes time of its own. On 16
  // cores (as above) the steps of (500,8,64,128) backwards take 3.5 ms in 8 slices, 5.5 in 2 and
  // 8.6 in shares.
  if (slices < wanted && p.recurrent_bytes <= kSmallWeightBytes) {
    const int64_t more = std::min(wanted, p.batch);
    const int64_t ns_of_more = multiply_ns / std::max(int64_t{1}, more) + stream_ns +
                               p.steps * NsToRead(p.recurrent_bytes);
    if (ns_of_more < slice_ns) slices = more, slice_ns = ns_of_more;
  }
  if (p.recurrent_bytes > p.stream_bytes || slices <= 1) return {1, shares, ns};
  // A small gain is not worth meetings (kForwardStreamBytes).
  const int64_t share_ns = dir_ns / shares + p.steps * MeetNs(p.threads, shares);
  if (slice_ns * 10 > share_ns * 11) return {1, shares, ns};
  return {slices, 1, ns};
}

// ---- How a product over all rows is shared out ----

// Blocks of rows, each in parts of the columns.
struct RowItems {
  int64_t rows;   // of a block
  int64_t parts;  // of the columns
  int64_t count;  // of all items
};

// An item reads all weights of its columns, so smaller blocks are only for want of items.
constexpr int64_t kMostRowsOfItem = 128;
constexpr int64_t kFewestRowsOfItem = 32;

// Two items for each thread where they can be had, since the threads have other work beside them.
// `panels`: pieces that the columns can be cut into.
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

// ---- How the weight gradients are shared out ----

// Panels that one item reduces together, so that the factors are read once for all of them: as many
// as leave two items for each thread.
inline int64_t PanelsOfItem(int64_t panels, int64_t most, int64_t threads) {
  return std::clamp(panels / (2 * threads), int64_t{1}, most);
}

// A piece reads its panel of gradients once more, and multiplies it with its part of the `columns`
// of x and h.
constexpr int64_t kFewestColumnsOfPiece = 48;

// The pieces that the columns are cut into where there is not a panel for each thread.
inline int64_t PiecesOfItem(int64_t panels, int64_t columns, int64_t threads) {
  if (panels < 1 || panels >= threads) return 1;
  return std::clamp(columns / kFewestColumnsOfPiece, int64_t{1}, (threads + panels - 1) / panels);
}

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_HEURISTICS_H_
