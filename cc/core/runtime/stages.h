// Threads that run the stages of one computation together; each stage is split into partitions.
//
// Note [Stages]
// A partition is called `share` in the code. Share k of stage s may run when all shares of stage
// s - 1 are done. A worker is a thread that called Run. Each worker owns the share with its number
// and runs that share first, so that the data of the share stays in the cache of one core. Then the
// worker runs the shares whose owners are absent, and waits for the other shares:
//
//   worker 0  | share 0 | share 2 | wait | share 0 | share 2 | ...     worker 2 is absent: it has
//   worker 1  | share 1     | wait       | share 1     | wait | ...     not started, or is late
//               stage 0                  | stage 1
//
// An owner is absent until it calls Run. It becomes absent again when another worker had to run its
// share after kLateAfter, and present again when it begins a stage. So no worker waits for a thread
// that has not started, and a thread that loses its core costs the other workers one wait instead
// of one wait per stage. Workers wait only for shares that have begun (Note [Waiting]).
//
// Presence affects speed only, never results: exactly one thread runs a share, because exactly one
// compare-and-swap of `next` succeeds, and different shares write disjoint data.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "cc/core/check.h"
#include "cc/core/runtime/team.h"

namespace rnn_ops {

class Stages {
 public:
  static constexpr int64_t kMaxShares = 64;

  // A worker claims its share immediately after the stage before has ended. So an owner that has
  // not claimed its share after this time has lost its core.
  static constexpr std::chrono::microseconds kLateAfter{60};

  explicit Stages(int64_t shares, std::chrono::nanoseconds late_after = kLateAfter)
      : shares_(shares), late_after_(late_after) {
    RNN_DCHECK(shares >= 1 && shares <= kMaxShares);
  }

  // Runs work(stage, share) for every stage below `stages` and every share, together with the other
  // workers. Returns when all stages are done. Each worker must have its own number.
  template <typename Work>
  void Run(int64_t worker, int64_t stages, Work&& work) {
    RNN_DCHECK(worker >= 0 && worker < shares_ && stages <= UINT32_MAX);
    const uint32_t end = static_cast<uint32_t>(stages);
    const uint64_t own = uint64_t{1} << worker;
    // A worker that starts late joins at the current stage.
    for (uint32_t stage = stage_.Load(); stage < end; stage = stage_.Load()) {
      if ((present_.load(std::memory_order_relaxed) & own) == 0) {
        present_.fetch_or(own, std::memory_order_relaxed);
      }
      ClaimAndRun(worker, stage, work);
      ClaimAndRunAll(~present_.load(std::memory_order_relaxed), stage, work);
      Spin late(late_after_);
      while (stage_.Load() == stage && late.Again()) {
      }
      if (stage_.Load() != stage) continue;
      present_.fetch_and(~ClaimAndRunAll(~uint64_t{0}, stage, work), std::memory_order_relaxed);
      Spin spin(kSpinFor);
      while (stage_.Load() == stage) {
        if (!spin.Again()) stage_.SleepWhile(stage);
      }
    }
  }

 private:
  // Runs the share if no worker has begun it.
  template <typename Work>
  bool ClaimAndRun(int64_t share, uint32_t stage, Work& work) {
    std::atomic<uint32_t>& next = next_[share].value;
    uint32_t expected = stage;
    // Loads first: a failing compare-and-swap would take the cache line from the owner.
    if (next.load(std::memory_order_relaxed) != stage ||
        !next.compare_exchange_strong(expected, stage + 1, std::memory_order_relaxed)) {
      return false;
    }
    work(static_cast<int64_t>(stage), share);
    CountDone(share, stage);
    return true;
  }

  // Counts a share as done. The worker that counts the last share increments the stage. This orders
  // all shares of a stage before the next stage: each share increments the count of its group, and
  // the last share of a group increments the count of groups.
  void CountDone(int64_t share, uint32_t stage) {
    const int64_t group = share / kGroup;
    if (!IsLast(&done_[group], std::min(kGroup, shares_ - group * kGroup))) return;
    const int64_t groups = (shares_ + kGroup - 1) / kGroup;
    if (groups > 1 && !IsLast(&done_groups_, groups)) return;
    stage_.Set(stage + 1);
  }

  // Runs the shares of `set` that no worker has begun; returns the set of shares that it ran.
  template <typename Work>
  uint64_t ClaimAndRunAll(uint64_t set, uint32_t stage, Work& work) {
    uint64_t ran = 0;
    for (int64_t share = 0; share < shares_; ++share) {
      const uint64_t bit = uint64_t{1} << share;
      if ((set & bit) != 0 && ClaimAndRun(share, stage, work)) ran |= bit;
    }
    return ran;
  }

  // The number of shares that increment one counter. With a single counter, 16 threads would wait
  // for its cache line one after another, and a barrier would take more than three times as long.
  static constexpr int64_t kGroup = 4;

  struct alignas(64) Count {
    std::atomic<int64_t> value{0};
  };

  // Adds one. Resets the counter and returns true if the sum is `all`.
  static bool IsLast(Count* count, int64_t all) {
    if (count->value.fetch_add(1, std::memory_order_acq_rel) + 1 != all) return false;
    count->value.store(0, std::memory_order_relaxed);
    return true;
  }

  struct alignas(64) Next {
    std::atomic<uint32_t> value{0};  // the next stage of this share that has not begun
  };

  const int64_t shares_;
  const std::chrono::nanoseconds late_after_;
  // Counts of the current stage.
  Count done_[kMaxShares / kGroup];  // finished shares of each group
  Count done_groups_;
  alignas(64) WaitableWord stage_;
  alignas(64) std::atomic<uint64_t> present_{0};
  Next next_[kMaxShares];
};

}  // namespace rnn_ops
