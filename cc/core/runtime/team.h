// The worker threads of a call, and how they wait for each other.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace rnn_ops {

// Waiting between the threads of one call.
//
// Note [Waiting]
// A waiting thread first spins, because the other thread is usually done within a microsecond, and
// a sleep with its wake-up takes many microseconds. After a bounded time the waiting thread sleeps:
// the other thread has then lost its CPU, and a spinning thread would keep that CPU (or the CPU
// quota of a container) from the other thread. The bounds are times instead of numbers of pauses,
// because the length of a pause differs between CPUs.

// The time that a thread spins before it sleeps: longer than a sleep with its wake-up usually
// takes.
constexpr std::chrono::microseconds kSpinFor{100};

// Tells the CPU that this thread spins.
inline void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
  std::this_thread::yield();
#endif
}

// A bounded spin: `while (!done && spin.Again()) {}`. After kSpinFor the spinning thread yields its
// CPU to any other runnable thread.
class Spin {
 public:
  explicit Spin(std::chrono::nanoseconds limit) : limit_(limit) {}

  // Pauses once. Returns false when the limit has passed. The first pauses do not read the clock.
  bool Again() {
    CpuRelax();
    if (++pauses_ % kPausesPerClockRead != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (pauses_ == kPausesPerClockRead) deadline_ = now + limit_;
    if (now - (deadline_ - limit_) > kSpinFor) std::this_thread::yield();
    return now < deadline_;
  }

 private:
  static constexpr uint32_t kPausesPerClockRead = 32;
  const std::chrono::nanoseconds limit_;
  std::chrono::steady_clock::time_point deadline_;
  uint32_t pauses_ = 0;
};

// A number that some threads set and other threads wait for. Starts at 0.
class WaitableWord {
 public:
  // A Load() that returns the value of a Set() also sees all writes before that Set().
  uint32_t Load() const { return value_.load(std::memory_order_acquire); }

  // Wakes all sleeping threads.
  void Set(uint32_t value) {
    value_.store(value, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) Futex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }

  // Sleeps while the value is `old`; may return early.
  //
  // WHY no wake-up is lost: the sleeping thread increments the count before the kernel compares the
  // value, and Set() stores the value before it reads the count. So one of the two threads sees the
  // write of the other thread.
  void SleepWhile(uint32_t old) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (value_.load(std::memory_order_seq_cst) == old) Futex(FUTEX_WAIT_PRIVATE, old);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  void Futex(int operation, uint32_t argument) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&value_), operation, argument, nullptr, nullptr,
            0);
  }

  std::atomic<uint32_t> value_{0};
  std::atomic<int32_t> sleepers_{0};
  static_assert(sizeof(std::atomic<uint32_t>) == 4 && std::atomic<uint32_t>::is_always_lock_free,
                "The kernel waits on the 32 bits themselves.");
};

// The threads of one op call. The caller always works. Worker threads borrowed from a pool join
// when the pool starts them, and no thread waits for a worker that has not started.

// The time that worker threads stay for the next call of the process: TF_RNN_OPS_SPIN_US if the
// variable is set, otherwise 100 us after an eager call and 0 after other calls.
std::chrono::microseconds StayTime(bool eager);
// `setting`: the value of TF_RNN_OPS_SPIN_US, null if the variable is not set. Any text other than
// a whole number of microseconds up to 10^6 means the default.
std::chrono::microseconds StayTime(const char* setting, bool eager);

class Team {
 public:
  // Passes a closure to the pool; the closure may run at any later time or never.
  using Schedule = std::function<void(std::function<void()>)>;

  // At most `num_threads` threads, including the caller. Schedules no worker yet. The workers may
  // wait `stay` for the next team (Note [Waiting worker threads] in team.cc), which must use the
  // same pool. A team of one thread reads no clock and does not count as a team of the process.
  Team(int num_threads, Schedule schedule, std::chrono::microseconds stay = {});
  // Dismisses the workers or lets them wait. No worker is running an item. Does not block.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int num_threads() const { return num_threads_; }

  // Whether this team began so soon after the end of the last team of the process (within 100 us or
  // `stay`, if that is longer) that the threads of a pool are still awake.
  bool warm() const { return warm_; }

  // Runs fn(arg, i) for each i in [0, n). Threads claim the items one by one. Returns when all
  // items are done and their writes are visible to the caller. Schedules the missing workers for
  // `worth_threads` threads, including the caller; with 1 the caller runs all items. Not reentrant.
  void For(int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i), void* arg);

 private:
  struct Crew;
  struct Others;
  static Others& others();
  // Creates crew_ if it is null. Returns false if there is no memory for it.
  bool HasCrew();
  void Dismiss();
  void CallHelpers(int64_t wanted);

  const int num_threads_;
  const std::chrono::microseconds stay_;  // 0 if there is only one thread
  const bool warm_;
  const Schedule schedule_;
  std::shared_ptr<Crew> crew_;  // null until there is a job for more than one thread
};

}  // namespace rnn_ops
