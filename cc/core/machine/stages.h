// Threads that go through the stages of one computation together, each with a share of every stage.
//
// Note [Stages]
// Share k of stage s may run when all shares of stage s - 1 are done. Each worker (a thread that
// called Run) owns the share of its number and takes it first, so that what the share reads stays
// in that core's cache. Then it takes the shares whose owners are absent, and waits for the rest:
//
//   worker 0  | share 0 | share 2 | wait | share 0 | share 2 | ...     2 is absent: has not come
//   worker 1  | share 1     | wait       | share 1     | wait | ...      yet, or is late
//               stage 0                  | stage 1
//
// An owner is absent until it calls Run, and again from the moment that somebody had to take its
// share after kLateAfter. It is present again when it begins a stage. So nobody waits
// for a thread that has not started, and a thread that loses its core costs the others one wait
// and not one at each stage. Only a share that was begun is waited for to its end (Note [Waiting]).
//
// Who is present decides speed alone: a share is run by the one thread whose compare-and-swap of
// its `next` succeeds, and shares write disjoint data, so results do not depend on who ran them.
#ifndef TF_RNN_OPS_CC_CORE_MACHINE_STAGES_H_
#define TF_RNN_OPS_CC_CORE_MACHINE_STAGES_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "cc/core/check.h"
#include "cc/core/machine/wait.h"

namespace rnn_ops {

class Stages {
 public:
  static constexpr int64_t kMaxShares = 64;

  // A claim follows the end of the stage before at once, so an owner that has not claimed its share
  // after this time has lost its core.
  static constexpr std::chrono::microseconds kLateAfter{60};

  explicit Stages(int64_t shares, std::chrono::nanoseconds late_after = kLateAfter)
      : shares_(shares), late_after_(late_after) {
    RNN_DCHECK(shares >= 1 && shares <= kMaxShares);
  }

  // Runs work(stage, share) for every stage below `stages` and every share, together with the other
  // workers. Returns when all is done. No two workers have the same number.
  template <typename Work>
  void Run(int64_t worker, int64_t stages, Work&& work) {
    RNN_DCHECK(worker >= 0 && worker < shares_ && stages <= UINT32_MAX);
    const uint32_t end = static_cast<uint32_t>(stages);
    const uint64_t own = uint64_t{1} << worker;
    // A worker that comes late joins at the stage the others have reached.
    for (uint32_t stage = stage_.Load(); stage < end; stage = stage_.Load()) {
      if ((present_.load(std::memory_order_relaxed) & own) == 0) {
        present_.fetch_or(own, std::memory_order_relaxed);
      }
      Take(worker, stage, work);
      TakeAll(~present_.load(std::memory_order_relaxed), stage, work);
      Spin late(late_after_);
      while (stage_.Load() == stage && late.Again()) {
      }
      if (stage_.Load() != stage) continue;
      present_.fetch_and(~TakeAll(~uint64_t{0}, stage, work), std::memory_order_relaxed);
      Spin spin(kSpinFor);
      while (stage_.Load() == stage) {
        if (!spin.Again()) stage_.SleepWhile(stage);
      }
    }
  }

 private:
  // Runs the share unless somebody has begun it.
  template <typename Work>
  bool Take(int64_t share, uint32_t stage, Work& work) {
    std::atomic<uint32_t>& next = next_[share].value;
    uint32_t expected = stage;
    // Read first: a failing compare-and-swap would take the cache line from its owner.
    if (next.load(std::memory_order_relaxed) != stage ||
        !next.compare_exchange_strong(expected, stage + 1, std::memory_order_relaxed)) {
      return false;
    }
    work(static_cast<int64_t>(stage), share);
    CountDone(share, stage);
    return true;
  }

  // Counts a share as done; who counts the last one raises the stage. That orders all shares of
  // this stage before the next: each adds to the number of its group, and the last of a group to
  // that of the groups.
  void CountDone(int64_t share, uint32_t stage) {
    const int64_t group = share / kGroup;
    if (!IsLast(&done_[group], std::min(kGroup, shares_ - group * kGroup))) return;
    const int64_t groups = (shares_ + kGroup - 1) / kGroup;
    if (groups > 1 && !IsLast(&done_groups_, groups)) return;
    stage_.Set(stage + 1);
  }

  // The same for a set of shares; returns those that it ran.
  template <typename Work>
  uint64_t TakeAll(uint64_t set, uint32_t stage, Work& work) {
    uint64_t taken = 0;
    for (int64_t share = 0; share < shares_; ++share) {
      const uint64_t bit = uint64_t{1} << share;
      if ((set & bit) != 0 && Take(share, stage, work)) taken |= bit;
    }
    return taken;
  }

  // Shares that count on one number. All on one would wait for its cache line one after another:
  // on 16 cores of an Emerald Rapids, 2026-11, meetings of 4, 8 and 16 threads took 0.67, 1.4 and
  // 4.0 us with one number in the line of the stage, and 0.51, 0.77 and 1.1 us so.
  static constexpr int64_t kGroup = 4;

  struct alignas(64) Count {
    std::atomic<int64_t> value{0};
  };

  // Adds one; at `all` back to 0.
  static bool IsLast(Count* count, int64_t all) {
    if (count->value.fetch_add(1, std::memory_order_acq_rel) + 1 != all) return false;
    count->value.store(0, std::memory_order_relaxed);
    return true;
  }

  struct alignas(64) Next {
    std::atomic<uint32_t> value{0};  // the stage of this share to be taken next
  };

  const int64_t shares_;
  const std::chrono::nanoseconds late_after_;
  // Of the stage that runs.
  Count done_[kMaxShares / kGroup];  // shares of each group
  Count done_groups_;
  alignas(64) WaitableWord stage_;
  alignas(64) std::atomic<uint64_t> present_{0};
  Next next_[kMaxShares];
};

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_MACHINE_STAGES_H_
