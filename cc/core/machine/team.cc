#include "cc/core/machine/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "cc/core/check.h"
#include "cc/core/machine/float_environment.h"
#include "cc/core/machine/wait.h"

namespace rnn_ops {
namespace {

// A helper without work spins this long for the next job before it goes back to the pool, where
// waking it again costs the caller a system call. It does not sleep here: while it waits, the pool
// has one thread less. Eager calls take 13 to 40 us beside the kernel (Zen 5 and 4, 2026-11), so
// the next one of a loop mostly comes in time. A team that begins within it is warm.
constexpr std::chrono::microseconds kStayFor{100};

// Note [Waiting crew]
constexpr int kCloseTeams = 4;

using Clock = std::chrono::steady_clock;

}  // namespace

std::chrono::microseconds StayTime(const char* setting, bool eager) {
  constexpr long kLongest = 1000000;
  const std::chrono::microseconds usual = eager ? kStayFor : std::chrono::microseconds(0);
  if (setting == nullptr || *setting < '0' || *setting > '9') return usual;
  char* end = nullptr;
  const long asked = std::strtol(setting, &end, 10);
  return *end != '\0' || asked > kLongest ? usual : std::chrono::microseconds(asked);
}

std::chrono::microseconds StayTime(bool eager) {
  static const char* const setting = std::getenv("TF_RNN_OPS_SPIN_US");
  return StayTime(setting, eager);
}

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
// So at least one of the two sees the other: no published job lacks a helper it could have. Where
// both do, both may count one in, but never more than the crew has (Enlist).
//
// Helpers touch nothing but the Crew, which they own jointly, so one may start, or end, after the
// Team is gone. Then `unclaimed` is 0, and `finished` sends it home.
//
// Note [Waiting crew]
//
// Waking a thread of the pool takes as long as a short call. So where calls follow each other at
// once the crew of one team waits for the next: its helpers do what they do between two jobs, and
// go home after kStayFor. Eager calls in a loop, two cores of a Zen 4, 2026-11: LSTM (1,1,256,256)
// takes 0.5 to 0.7 of the time and (10,1,256,256) 0.7 to 0.9; 0.06 waits in the kernel a call, not
// 0.9.
//
// A helper that waits keeps a thread from the pool and a CPU from others. Where a session's ops run
// in another pool that CPU may be missing to the thread that waits for them: with two cores
// (3,1,256,256) took 80 us with a waiting crew and 55 without in one of two runs. So by default a
// crew waits only for eager calls, which run on the thread that makes them. TF_RNN_OPS_SPIN_US asks
// for it after every call, and for another time. In either case it waits only where each of the
// last kCloseTeams teams began so soon after the end of the one before and no other team is alive:
// who calls in a loop pays for it once, at the loop's end.
struct Team::Crew {
  Crew(int num_threads, std::chrono::microseconds stay) : num_threads(num_threads), stay(stay) {}

  const int num_threads;                 // at most, of every team that has it
  const std::chrono::microseconds stay;  // of a helper without work
  alignas(64) std::atomic<int64_t> unclaimed{0};
  alignas(64) std::atomic<int64_t> done{0};
  WaitableWord jobs_done;                       // the last one
  alignas(64) std::atomic<int64_t> helpers{0};  // scheduled, and not yet back in the pool
  std::atomic<bool> finished{false};
  std::atomic<std::thread::id> caller{std::this_thread::get_id()};
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

  // Counts one helper more where there are fewer than `wanted`, and says whether it did.
  bool Enlist(int64_t wanted) {
    int64_t k = helpers.load(std::memory_order_seq_cst);
    while (k < wanted) {
      if (helpers.compare_exchange_weak(k, k + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  // Counts the helper out, but for a job that came meanwhile in again.
  bool Leave() {
    helpers.fetch_sub(1, std::memory_order_seq_cst);
    return unclaimed.load(std::memory_order_seq_cst) == 0 || !Enlist(num_threads - 1);
  }

  // Works until the crew is dismissed or no job has come for `stay`.
  void Help() {
    // A pool that is full may run the closure at once, on the thread that should do the real work.
    if (std::this_thread::get_id() == caller.load(std::memory_order_relaxed)) {
      helpers.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    const ScopedFloatEnvironment environment;
    for (;;) {
      while (RunOne()) {
      }
      Spin spin(stay);
      while (unclaimed.load(std::memory_order_relaxed) == 0) {
        if (finished.load(std::memory_order_relaxed)) return;
        if (!spin.Again() && Leave()) return;
      }
    }
  }
};

// What the teams of the process know of each other. Never destroyed: threads may call ops while the
// process exits.
struct Team::Others {
  // When the last one ended; the beginning of time where there was none.
  std::atomic<Clock::rep> last_end{Clock::time_point::min().time_since_epoch().count() / 2};
  std::atomic<int> close{0};  // how many in a row were close to the one before, up to kCloseTeams
  std::atomic<int> alive{0};
  // Guards `waiting`. Nobody waits for it: in the child of a fork it may be set for ever.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::shared_ptr<Crew> waiting;

  std::chrono::nanoseconds SinceLastEnd() const {
    const Clock::duration end{last_end.load(std::memory_order_relaxed)};
    return Clock::now().time_since_epoch() - end;
  }

  // Lets `crew` wait, and returns the one that waited; or `crew` where another thread is here.
  std::shared_ptr<Crew> Exchange(std::shared_ptr<Crew> crew) {
    if (busy.test_and_set(std::memory_order_acquire)) return crew;
    std::swap(crew, waiting);
    busy.clear(std::memory_order_release);
    return crew;
  }
};

Team::Others& Team::others() {
  static Others* const others = new Others;
  return *others;
}

Team::Team(int num_threads, Schedule schedule, std::chrono::microseconds stay)
    : num_threads_(schedule ? std::max(1, num_threads) : 1),
      stay_(num_threads_ > 1 ? stay : std::chrono::microseconds(0)),
      warm_(others().SinceLastEnd() < std::max(stay_, kStayFor)),
      schedule_(std::move(schedule)) {
  Others& o = others();
  o.alive.fetch_add(1, std::memory_order_relaxed);
  const int close = warm_ ? std::min(o.close.load(std::memory_order_relaxed) + 1, kCloseTeams) : 0;
  o.close.store(close, std::memory_order_relaxed);
  if (stay_.count() == 0 && warm_) return;
  crew_ = o.Exchange(nullptr);
  if (crew_ == nullptr) return;
  const bool fits = crew_->num_threads == num_threads_ && crew_->stay == std::max(stay_, kStayFor);
  if (close == kCloseTeams && fits) {
    crew_->caller.store(std::this_thread::get_id(), std::memory_order_relaxed);
  } else {
    Dismiss();  // one from before a rest may count helpers that its pool has dropped
  }
}

Team::~Team() {
  // No item is running: For() has waited for all of its own.
  Others& o = others();
  const bool alone = o.alive.fetch_sub(1, std::memory_order_relaxed) == 1;
  if (stay_.count() > 0 && crew_ != nullptr && alone &&
      o.close.load(std::memory_order_relaxed) == kCloseTeams) {
    crew_ = o.Exchange(std::move(crew_));
  }
  Dismiss();
  o.last_end.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

void Team::Dismiss() {
  if (crew_ != nullptr) crew_->finished.store(true, std::memory_order_relaxed);
  crew_ = nullptr;
}

bool Team::HasCrew() {
  try {
    if (crew_ == nullptr) crew_ = std::make_shared<Crew>(num_threads_, std::max(stay_, kStayFor));
  } catch (const std::bad_alloc&) {  // which kernels, whose callers these are, must not meet
    return false;
  }
  return true;
}

void Team::CallHelpers(int64_t wanted) {
  // As often at most: a closure may run at once, inside schedule_, and count itself out there.
  for (int64_t asked = 0; asked < wanted && crew_->Enlist(wanted); ++asked) {
    try {
      schedule_([crew = crew_] { crew->Help(); });
    } catch (const std::bad_alloc&) {  // the caller does without: its job is published already
      crew_->helpers.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
}

void Team::For(int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i), void* arg) {
  const int64_t threads = std::min({n, worth_threads, static_cast<int64_t>(num_threads_)});
  if (threads <= 1 || !HasCrew()) {
    for (int64_t i = 0; i < n; ++i) fn(arg, i);
    return;
  }
  Crew& crew = *crew_;
  RNN_DCHECK(crew.unclaimed.load() == 0);
  crew.fn = fn;
  crew.arg = arg;
  crew.n = n;
  const uint32_t job = ++crew.job;
  crew.done.store(0, std::memory_order_relaxed);
  crew.unclaimed.store(n, std::memory_order_seq_cst);
  CallHelpers(threads - 1);
  while (crew.RunOne()) {
  }
  // Only claimed items are missing: each is being run by a thread that has started.
  Spin spin(kSpinFor);
  while (crew.jobs_done.Load() != job) {
    if (!spin.Again()) crew.jobs_done.SleepWhile(job - 1);
  }
}

}  // namespace rnn_ops
