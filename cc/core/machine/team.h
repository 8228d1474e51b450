// A team of threads that lives for one op call. The caller always works; a crew of helpers borrowed
// from a pool joins when it happens to start, and nobody waits for a helper that has not started.
#ifndef TF_RNN_OPS_CC_CORE_MACHINE_TEAM_H_
#define TF_RNN_OPS_CC_CORE_MACHINE_TEAM_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace rnn_ops {

// How long helpers stay for the next call of the process: TF_RNN_OPS_SPIN_US, or else 100 us after
// a call that was made eagerly and 0 after any other.
std::chrono::microseconds StayTime(bool eager);
// `setting`: the value of that variable, null if it is not set. Any text but a whole number of
// microseconds up to 10^6 means the default.
std::chrono::microseconds StayTime(const char* setting, bool eager);

class Team {
 public:
  // Hands a closure to the pool; the closure may run at any later time or never.
  using Schedule = std::function<void(std::function<void()>)>;

  // At most `num_threads` threads, the caller included. Nothing is scheduled yet. Its helpers may
  // wait `stay` for the next team (Note [Waiting crew]), which is to have the same pool.
  Team(int num_threads, Schedule schedule, std::chrono::microseconds stay = {});
  // Dismisses the helpers or lets them stay. None is inside an item, and none is waited for.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int num_threads() const { return num_threads_; }

  // Whether it began so soon after the end of the process's last one, within 100 us or `stay`, that
  // the threads of a pool are still awake.
  bool warm() const { return warm_; }

  // Runs fn(arg, i) for each i in [0, n), items claimed one by one; returns when all are done and
  // their writes are visible to the caller. Schedules as many helpers as are missing for
  // `worth_threads` threads, the caller included; 1: the caller does it alone. Not reentrant.
  void For(int64_t n, int64_t worth_threads, void (*fn)(void* arg, int64_t i), void* arg);

 private:
  struct Crew;
  struct Others;
  static Others& others();
  // Makes the crew where there is none. False: there is no memory for one.
  bool HasCrew();
  void Dismiss();
  void CallHelpers(int64_t wanted);

  const int num_threads_;
  const std::chrono::microseconds stay_;  // 0 with one thread
  const bool warm_;
  const Schedule schedule_;
  std::shared_ptr<Crew> crew_;  // once there is a job for more than one thread
};

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_MACHINE_TEAM_H_
