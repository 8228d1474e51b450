#include "cc/core/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "cc/core/check.h"
#include "cc/core/float_environment.h"
#include "cc/core/wait.h"

namespace rnn_ops {
namespace {

// A helper without work spins this long for the next job before it goes back to the pool, where
// waking it again costs the caller a system call. It does not sleep here: while it waits, the pool
// has one thread less.
constexpr std::chrono::microseconds kStayFor{200};

using Clock = std::chrono::steady_clock;

// When the last team of the process ended; the beginning of time where there was none.
std::atomic<Clock::rep> last_end{Clock::time_point::min().time_since_epoch().count() / 2};

std::chrono::nanoseconds SinceLastTeam() {
  const Clock::duration end{last_end.load(std::memory_order_relaxed)};
  return Clock::now().time_since_epoch() - end;
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
// item's writes are released by the increment of `done`; who makes it n has acquired them all and
// sets `jobs_done`, on which the caller waits.
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
  WaitableWord jobs_done;                       // the last one
  alignas(64) std::atomic<int64_t> helpers{0};  // scheduled, and not yet back in the pool
  std::atomic<bool> finished{false};
  const std::thread::id owner = std::this_thread::get_id();
  uint32_t job = 0;
  void (*fn)(void*, int64_t) = nullptr;
  void* arg = nullptr;
  int64_t n = 0;

  // Runs one item, if there is one to claim.
  bool RunOne() {
    int64_t k = unclaimed.load(std::memory_order_relaxed);
    while (k > 0) {
      if (unclaimed.compare_exchange_weak(k, k - 1, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        const int64_t items = n;
        const uint32_t number = job;
        fn(arg, items - k);
        if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == items) jobs_done.Set(number);
        return true;
      }
    }
    return false;
  }

  // Counts the helper out. False when a job came meanwhile, for which it is counted in again.
  bool Leave() {
    helpers.fetch_sub(1, std::memory_order_seq_cst);
    if (unclaimed.load(std::memory_order_seq_cst) == 0) return true;
    helpers.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  // Works until the Team is gone or no job has come for kStayFor.
  void Help() {
    // A pool that is full may run the closure at once, on the thread that should do the real work.
    if (std::this_thread::get_id() == owner) {
      helpers.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    const ScopedFloatEnvironment environment;
    for (;;) {
      while (RunOne()) {
      }
      Spin spin(kStayFor);
      while (unclaimed.load(std::memory_order_relaxed) == 0) {
        if (finished.load(std::memory_order_relaxed)) return;
        if (!spin.Again() && Leave()) return;
      }
    }
  }
};

Team::Team(int num_threads, Schedule schedule)
    : num_threads_(schedule ? std::max(1, num_threads) : 1),
      rest_(SinceLastTeam()),
      schedule_(std::move(schedule)) {}

Team::~Team() {
  // No item is running: For() has waited for all of its own.
  if (state_ != nullptr) state_->finished.store(true, std::memory_order_relaxed);
  last_end.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

void Team::CallHelpers(int64_t wanted) {
  std::atomic<int64_t>& helpers = state_->helpers;
  // Counted beforehand: a closure that runs at once, inside schedule_, is not called for again.
  for (int64_t k = helpers.load(std::memory_order_seq_cst); k < wanted; ++k) {
    helpers.fetch_add(1, std::memory_order_relaxed);
    try {
      schedule_([state = state_] { state->Help(); });
    } catch (const std::bad_alloc&) {  // the caller does without: its job is published already
      helpers.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
}

void Team::For(int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i), void* arg) {
  const int64_t threads = std::min({n, worth_threads, static_cast<int64_t>(num_threads_)});
  if (threads <= 1) {
    for (int64_t i = 0; i < n; ++i) fn(arg, i);
    return;
  }
  if (state_ == nullptr) state_ = std::make_shared<State>();
  State& state = *state_;
  RNN_DCHECK(state.unclaimed.load() == 0);
  state.fn = fn;
  state.arg = arg;
  state.n = n;
  const uint32_t job = ++state.job;
  state.done.store(0, std::memory_order_relaxed);
  state.unclaimed.store(n, std::memory_order_seq_cst);
  CallHelpers(threads - 1);
  while (state.RunOne()) {
  }
  // Only claimed items are missing: each is being run by a thread that has started.
  Spin spin(kSpinFor);
  while (state.jobs_done.Load() != job) {
    if (!spin.Again()) state.jobs_done.SleepWhile(job - 1);
  }
}

}  // namespace rnn_ops
