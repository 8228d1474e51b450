// Threads that share the steps of one sequence, each with its own share of the units.
//
// Note [Stages]
// Stage s of chunk c may run when every chunk has finished stage s - 1. Each lane (a thread that
// entered) first takes its own chunk, so that the chunk's weights stay in that core's cache, and
// then looks after the others': a chunk whose owner has not entered is taken at once, one whose
// owner is merely late after a short wait. So nobody waits for a thread that has not started, and a
// thread that lost its core between chunks holds nobody up. Chunks write disjoint data: results do
// not depend on who ran them.
#ifndef TF_RNN_OPS_CC_CPU_STAGES_H_
#define TF_RNN_OPS_CC_CPU_STAGES_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "cc/cpu/isa.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kMaxLanes = 16;

inline void CpuRelax() { __builtin_ia32_pause(); }

class Stages {
 public:
  explicit Stages(int64_t lanes) : lanes_(lanes) {}

  // Runs work(stage, chunk) for every stage below `stages` and every chunk below the number of
  // lanes, together with the other lanes that enter. Returns when all is done.
  template <typename Work>
  void Run(int64_t lane, int64_t stages, Work&& work) {
    chunks_[lane].entered.store(true, std::memory_order_relaxed);
    // A late lane joins at the stage the others have reached.
    for (int64_t stage = Finished() / lanes_; stage < stages; ++stage) {
      for (int64_t k = 0; k < lanes_; ++k) {
        const int64_t chunk = (lane + k) % lanes_;
        if (k > 0 && !Abandoned(chunk, stage)) continue;
        int64_t expected = stage;
        if (chunks_[chunk].next.compare_exchange_strong(expected, stage + 1,
                                                        std::memory_order_acq_rel)) {
          work(stage, chunk);
          finished_.fetch_add(1, std::memory_order_acq_rel);
        }
      }
      int64_t spins = 0;
      while (Finished() < (stage + 1) * lanes_) {
        CpuRelax();
        if (++spins > kSpinsBeforeYield) sched_yield();
      }
    }
  }

 private:
  static constexpr int64_t kSpinsBeforeYield = 4000;
  static constexpr int64_t kSpinsBeforeTaking = 2000;

  int64_t Finished() const { return finished_.load(std::memory_order_acquire); }

  // True when another lane should try to take the chunk at this stage.
  bool Abandoned(int64_t chunk, int64_t stage) const {
    for (int64_t spins = 0; spins < kSpinsBeforeTaking; ++spins) {
      if (chunks_[chunk].next.load(std::memory_order_relaxed) > stage) return false;
      if (!chunks_[chunk].entered.load(std::memory_order_relaxed)) return true;
      CpuRelax();
    }
    return true;
  }

  struct alignas(64) Chunk {
    std::atomic<int64_t> next{0};  // the stage to be taken next
    std::atomic<bool> entered{false};
  };
  const int64_t lanes_;
  alignas(64) std::atomic<int64_t> finished_{0};
  Chunk chunks_[kMaxLanes];
};

// How the recurrence of one direction is shared out: by rows of the batch, without any
// synchronisation, or by units, step by step, where there are too few rows or where every thread
// would stream more weights at each step than its share of the caches holds.
struct Split {
  int64_t slices;  // of the batch
  int64_t lanes;   // of the units; above 1 only with one slice
};

// What ChooseSplit goes by.
struct SplitProblem {
  int64_t batch;
  int64_t num_dirs;
  int64_t num_threads;
  int64_t panels;        // units can be shared in pieces of a panel
  int64_t weight_bytes;  // read at every step
  int64_t stream_bytes;  // units are shared where the weights are larger
  int64_t multiplies;    // of one direction, all steps
};

// Measured on two cores with 1 MB each and 32 MB together: sharing units gained 1 % forwards at 1
// MB of weights, 3 % at 4 MB and 10 % at 16 MB; backwards it lost 3 % up to 4 MB and gained 1 % at
// 16 MB. With one core taken by another process threads that meet lose more (at 1 MB 2.6 times the
// idle time for 1.9), so a small gain is not worth it.
constexpr int64_t kForwardStreamBytes = int64_t{2} << 20;
constexpr int64_t kBackwardStreamBytes = int64_t{8} << 20;

inline Split ChooseSplit(const SplitProblem& p) {
  // Below this a second thread would start when the first is nearly done.
  constexpr int64_t kWorthSharing = 500000;
  const int64_t wanted = (p.num_threads + p.num_dirs - 1) / p.num_dirs;
  if (wanted <= 1 || p.multiplies < kWorthSharing) return {1, 1};
  // Rows that keep the registers of a tile busy, more where every slice streams weights that do not
  // fit its core's second-level cache.
  const int64_t rows = p.weight_bytes > (int64_t{1} << 20) ? 16 : 4;
  if (p.batch >= rows * wanted && p.weight_bytes <= p.stream_bytes) return {wanted, 1};
  const int64_t lanes = wanted < kMaxLanes ? wanted : kMaxLanes;
  return {1, lanes < p.panels ? lanes : p.panels};
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_STAGES_H_
