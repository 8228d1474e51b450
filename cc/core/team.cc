#include "cc/core/team.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace rnn_ops {
namespace {

// A helper without work spins this long, then also offers its core to others, then goes back to the
// pool. A spin round trip costs under a microsecond, waking a thread about ten.
constexpr std::chrono::microseconds kSpinFor{30};
constexpr std::chrono::microseconds kStayFor{300};
constexpr int kPausesPerClockRead = 32;
constexpr int kPausesBeforeYield = 2000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

// Note [Claiming items]
//
// `unclaimed` is the only word by which work is handed out: 0 between jobs, n when a job of n items
// is published, and one less with each claim. A thread claims by a compare-and-swap from k > 0 to
// k - 1. Whoever succeeds owns an item of the job that is current at that moment, whatever it had
// seen before: since `unclaimed` was k > 0 when the swap took place, a job was published and one of
// its items was free. There is no ABA problem, because nothing read before the swap is used after
// it.
//
// Only after the swap does the thread read fn, arg and n. They belong to that job and stay as they
// are: the caller changes them only in the next For(), which starts only after `done` has counted
// every item of this job, the item just claimed included. So a late helper cannot run a stale fn,
// nor an item of a finished job; it finds `unclaimed` == 0 or takes part in the current job.
//
// Visibility: the caller publishes with a releasing store, and every later swap continues its
// release sequence, so a swap with acquire sees fn, arg, n and all that the caller wrote before. An
// item's writes are released by the increment of `done` and acquired by the waiting caller.
//
// A helper that leaves for want of work counts itself out first and looks at `unclaimed` once more,
// while the caller publishes first and counts the helpers then, all four sequentially consistent.
// So at least one of the two sees the other: no published job lacks a helper it could have.
//
// Helpers touch nothing but State, which they own jointly, so one may start, or end, after the Team
// is gone. Then `unclaimed` is 0 for ever and `finished` sends it home.
struct Team::State {
  alignas(64) std::atomic<int64_t> unclaimed{0};
  alignas(64) std::atomic<int64_t> done{0};
  alignas(64) std::atomic<int> helpers{0};  // asked for and not gone again
  std::atomic<bool> finished{false};
  const int max_helpers;
  const std::thread::id owner = std::this_thread::get_id();
  void (*fn)(void*, int64_t) = nullptr;
  void* arg = nullptr;
  int64_t n = 0;

  explicit State(int max_helpers) : max_helpers(max_helpers) {}

  // Runs one item, if there is one to claim.
  bool RunOne() {
    int64_t k = unclaimed.load(std::memory_order_relaxed);
    while (k > 0) {
      if (unclaimed.compare_exchange_weak(k, k - 1, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        fn(arg, n - k);
        done.fetch_add(1, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  // True when the helper is not needed any more and has been counted out.
  bool Leave() {
    int k = helpers.fetch_sub(1, std::memory_order_seq_cst) - 1;
    if (unclaimed.load(std::memory_order_seq_cst) == 0) return true;
    while (k < max_helpers) {
      if (helpers.compare_exchange_weak(k, k + 1, std::memory_order_relaxed)) return false;
    }
    return true;  // another one has been asked for instead
  }

  // Works until the Team is gone or nothing has come for kStayFor.
  void Help() {
    using Clock = std::chrono::steady_clock;
    // A pool that is full may run the closure at once, on the thread that should do the real work.
    if (std::this_thread::get_id() == owner) {
      helpers.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    auto idle_since = Clock::now();
    while (!finished.load(std::memory_order_relaxed)) {
      if (RunOne()) {
        while (RunOne()) {
        }
        idle_since = Clock::now();
      }
      for (int k = 0; k < kPausesPerClockRead; ++k) {
        if (unclaimed.load(std::memory_order_relaxed) > 0) break;
        Pause();
      }
      if (unclaimed.load(std::memory_order_relaxed) > 0) continue;
      const auto idle = Clock::now() - idle_since;
      if (idle > kStayFor) {
        if (Leave()) return;
        idle_since = Clock::now();
      }
      if (idle > kSpinFor) std::this_thread::yield();
    }
  }
};

Team::Team(int num_threads, const Schedule& schedule)
    : num_threads_(schedule && num_threads > 1 ? num_threads : 1) {
  if (num_threads_ == 1) return;
  schedule_ = schedule;
  state_ = std::make_shared<State>(num_threads_ - 1);
  CallHelpers();
}

Team::~Team() {
  // No item is running: For() has waited for all of its own.
  if (state_ != nullptr) state_->finished.store(true, std::memory_order_relaxed);
}

void Team::CallHelpers() {
  // Counted beforehand: a closure that runs at once, inside schedule_, is not called for again.
  std::atomic<int>& helpers = state_->helpers;
  int missing = state_->max_helpers - helpers.load(std::memory_order_seq_cst);
  for (; missing > 0; --missing) {
    int k = helpers.load(std::memory_order_relaxed);
    do {
      if (k >= state_->max_helpers) return;  // one that was leaving has come back, see Leave()
    } while (!helpers.compare_exchange_weak(k, k + 1, std::memory_order_relaxed));
    schedule_([state = state_] { state->Help(); });
  }
}

void Team::For(int64_t n, void (*fn)(void* arg, int64_t i), void* arg) {
  if (num_threads_ == 1 || n <= 1) {
    for (int64_t i = 0; i < n; ++i) fn(arg, i);
    return;
  }
  State& state = *state_;
  state.fn = fn;
  state.arg = arg;
  state.n = n;
  state.done.store(0, std::memory_order_relaxed);
  state.unclaimed.store(n, std::memory_order_seq_cst);
  CallHelpers();  // those that have left in a long gap between two jobs
  while (state.RunOne()) {
  }
  // Only claimed items are missing: each is being run by a thread that has started.
  for (int k = 0; state.done.load(std::memory_order_acquire) != n; ++k) {
    if (k < kPausesBeforeYield) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace rnn_ops
