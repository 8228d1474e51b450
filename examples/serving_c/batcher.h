// Joins requests of several threads into one call of a model. See serve_batched.cc.
#ifndef BATCHER_H_
#define BATCHER_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

// A sequence of T steps of I numbers, T * I in a row.
using Sequence = std::vector<float>;

class Batcher {
 public:
  // Runs the model on a batch and returns the output of each sequence, or throws.
  using Run = std::function<std::vector<Sequence>(const std::vector<Sequence>&)>;

  // A call has at most `max_batch` sequences. It begins when so many wait, or `patience` after the
  // first of them came.
  Batcher(Run run, size_t max_batch, std::chrono::microseconds patience)
      : run_(std::move(run)),
        max_batch_(max_batch),
        patience_(patience),
        thread_([this] { Loop(); }) {}

  ~Batcher() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Waits for the output of one sequence. Any number of threads may call this at once.
  Sequence Predict(Sequence input) {
    std::future<Sequence> output;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push_back({std::move(input), {}});
      output = waiting_.back().output.get_future();
    }
    changed_.notify_all();
    return output.get();
  }

 private:
  struct Request {
    Sequence input;
    std::promise<Sequence> output;
  };

  void Loop() {
    while (true) {
      std::vector<Request> batch = NextBatch();
      if (batch.empty()) return;
      std::vector<Sequence> inputs;
      for (Request& request : batch) inputs.push_back(std::move(request.input));
      try {
        std::vector<Sequence> outputs = run_(inputs);
        for (size_t i = 0; i < batch.size(); ++i)
          batch[i].output.set_value(std::move(outputs.at(i)));
      } catch (...) {
        for (Request& request : batch) {
          try {
            request.output.set_exception(std::current_exception());
          } catch (const std::future_error&) {  // It has its output.
          }
        }
      }
    }
  }

  // Waits for requests; returns none when the batcher ends.
  std::vector<Request> NextBatch() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    changed_.wait_for(lock, patience_, [this] { return ended_ || waiting_.size() >= max_batch_; });
    const auto end = waiting_.begin() + std::min(max_batch_, waiting_.size());
    std::vector<Request> batch(std::make_move_iterator(waiting_.begin()),
                               std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    return batch;
  }

  const Run run_;
  const size_t max_batch_;
  const std::chrono::microseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> waiting_;
  bool ended_ = false;
  std::thread thread_;  // Last: it reads the others.
};

#endif  // BATCHER_H_
