#include "cc/core/runtime/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "cc/core/check.h"
#include "cc/core/runtime/float_environment.h"

namespace rnn_ops {
namespace {

// A worker thread without work spins this long for the next job before it returns to the pool; then
// waking the thread costs the caller a system call. The thread does not sleep here, because the
// pool has one thread less while it waits. In a loop of eager calls the next call usually comes
// within this time. A team that begins within this time is warm.
constexpr std::chrono::microseconds kStayFor{100};

// The number of close calls before workers wait for a call, see Note [Waiting worker threads].
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
// `unclaimed` is the only word that distributes work. It is 0 between jobs and n when a job of n
// items is published, and each claim subtracts one. A thread claims an item by a compare-and-swap
// from k > 0 to k - 1. If the swap succeeds, the thread owns an item of the current job, even if
// the thread saw an older job before: `unclaimed` was k > 0 at the time of the swap, so a job was
// published and one of its items was free. There is no ABA problem, because no value that was read
// before the swap is used after the swap.
//
// The thread reads fn, arg and n only after the swap. These fields belong to the claimed job and do
// not change: the caller changes them only in the next For(), which starts only after `done` has
// counted every item of this job, including the claimed item. So a late worker cannot run a stale
// fn or an item of a finished job. The late worker finds `unclaimed` == 0 or joins the current job.
//
// Visibility: the caller publishes a job with a release store. Every later swap continues the
// release sequence of that store, so an acquire swap sees fn, arg, n and all earlier writes of the
// caller. The increment of `done` releases the writes of an item. The thread that increments `done`
// to n has acquired the writes of all items. It sets `jobs_done`, and the caller waits for that.
//
// A worker that leaves because there is no work first decrements `helpers` and then reads
// `unclaimed` again. The caller first publishes the job and then counts the workers. All four
// operations are sequentially consistent, so at least one of the two threads sees the write of the
// other thread: no published job lacks a worker that could help. If both threads see the write,
// both may add a worker, but never more workers than a team may have (Enlist).
//
// Workers access only the `Crew`, which they own jointly, so a worker may start or end after the
// `Team` has been destroyed. Then `unclaimed` is 0, and `finished` tells the worker to return.
//
// Note [Waiting worker threads]
//
// Waking a thread of the pool takes as long as a short call. Therefore, if calls follow each other
// closely, the worker threads of one team wait for the next team: they spin as they do between two
// jobs, and return to the pool after `stay`. Eager calls of at most ten steps then take 0.5 to 0.9
// of the time (docs/design/measurements.md, "Waiting worker threads").
//
// A waiting worker occupies a thread of the pool and a CPU. If a session runs its ops in another
// pool, the thread that waits for these ops may need that CPU. So by default workers wait only
// after eager calls, which run on the thread that makes the call. With TF_RNN_OPS_SPIN_US workers
// wait after every call, for the time that the variable gives. In both cases workers wait only if
// each of the last kCloseTeams teams began within the waiting time after the team before, and no
// other team is alive. So a program that calls in a loop pays for one wait, at the end of the loop.
//
// `Crew`: the worker threads (helpers) of a team and the job that they work on.
struct Team::Crew {
  Crew(int num_threads, std::chrono::microseconds stay) : num_threads(num_threads), stay(stay) {}

  const int num_threads;                 // the maximum of every team that owns this object
  const std::chrono::microseconds stay;  // the time that a helper without work waits
  alignas(64) std::atomic<int64_t> unclaimed{0};
  alignas(64) std::atomic<int64_t> done{0};
  WaitableWord jobs_done;                       // the number of the last finished job
  alignas(64) std::atomic<int64_t> helpers{0};  // scheduled and not yet returned to the pool
  std::atomic<bool> finished{false};
  std::atomic<std::thread::id> caller{std::this_thread::get_id()};
  uint32_t job = 0;
  void (*fn)(void*, int64_t) = nullptr;
  void* arg = nullptr;
  int64_t n = 0;

  // Claims and runs one item. Returns false if there is no item to claim.
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

  // Adds one to `helpers` if there are fewer than `wanted`. Returns whether it did.
  bool Enlist(int64_t wanted) {
    int64_t k = helpers.load(std::memory_order_seq_cst);
    while (k < wanted) {
      if (helpers.compare_exchange_weak(k, k + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  // Unregisters this worker; registers it again if a job was published in the meantime. Returns
  // whether the worker may end.
  bool Leave() {
    helpers.fetch_sub(1, std::memory_order_seq_cst);
    return unclaimed.load(std::memory_order_seq_cst) == 0 || !Enlist(num_threads - 1);
  }

  // Runs items until the team dismisses its workers or no job has come for `stay`.
  void Help() {
    // A full pool may run the closure immediately, on the caller's thread, which has other work.
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

// State that all teams of the process share. Never destroyed, because threads may call ops while
// the process exits.
struct Team::Others {
  // The time when the last team ended; the beginning of time if no team has ended.
  std::atomic<Clock::rep> last_end{Clock::time_point::min().time_since_epoch().count() / 2};
  std::atomic<int> close{0};  // teams in a row that began closely, at most kCloseTeams
  std::atomic<int> alive{0};
  // A lock for `waiting`. No thread waits for the lock: in the child of a fork it may stay set
  // forever.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::shared_ptr<Crew> waiting;

  std::chrono::nanoseconds SinceLastEnd() const {
    const Clock::duration end{last_end.load(std::memory_order_relaxed)};
    return Clock::now().time_since_epoch() - end;
  }

  // Stores `crew` in `waiting` and returns the old value. Returns `crew` if another thread holds
  // the lock.
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
      warm_(num_threads_ > 1 && others().SinceLastEnd() < std::max(stay_, kStayFor)),
      schedule_(std::move(schedule)) {
  if (num_threads_ == 1) return;
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
    Dismiss();  // after a pause `helpers` may count closures that the pool has dropped
  }
}

Team::~Team() {
  if (num_threads_ == 1) return;
  // No item is running, because For() has waited for all items.
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
  } catch (const std::bad_alloc&) {  // kernels call this function and must not see an exception
    return false;
  }
  return true;
}

void Team::CallHelpers(int64_t wanted) {
  // At most `wanted` tries: schedule_ may run a closure immediately, and the closure then
  // unregisters.
  for (int64_t asked = 0; asked < wanted && crew_->Enlist(wanted); ++asked) {
    try {
      schedule_([crew = crew_] { crew->Help(); });
    } catch (const std::bad_alloc&) {  // the caller runs the published job
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
  // Only claimed items are missing, and a thread that has started is running each of them.
  Spin spin(kSpinFor);
  while (crew.jobs_done.Load() != job) {
    if (!spin.Again()) crew.jobs_done.SleepWhile(job - 1);
  }
}

}  // namespace rnn_ops
