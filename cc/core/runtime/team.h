// The threads of one op call. The caller always works. Worker threads borrowed from a pool join
// when the pool starts them, and no thread waits for a worker that has not started.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace rnn_ops {

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
  // same pool.
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
