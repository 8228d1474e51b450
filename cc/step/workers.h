// The threads of a stepper in addition to its caller.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rnn_ops::step {

// A pool for a Team. Its threads begin with the first closure, and again in a process that was
// forked, which has none of them.
class Workers {
 public:
  explicit Workers(int count) : count_(count) {}
  // Waits for the threads.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Passes a closure to a thread. Without a thread it never runs, which a Team allows.
  void Schedule(std::function<void()> closure);

 private:
  struct Pool {
    std::mutex mutex;
    std::condition_variable ready;
    std::deque<std::function<void()>> closures;
    bool ends = false;
    std::vector<std::thread> threads;

    void Work();
  };

  const int count_;
  long process_ = 0;  // that of the pool
  std::unique_ptr<Pool> pool_;
};

}  // namespace rnn_ops::step
