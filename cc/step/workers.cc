#include "cc/step/workers.h"

#include <unistd.h>

#include <system_error>
#include <utility>

namespace rnn_ops::step {

void Workers::Pool::Work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    ready.wait(lock, [this] { return ends || !closures.empty(); });
    if (ends) return;
    const std::function<void()> closure = std::move(closures.front());
    closures.pop_front();
    lock.unlock();
    closure();
    lock.lock();
  }
}

Workers::~Workers() {
  if (pool_ == nullptr) return;
  if (process_ != getpid()) {
    // The threads are those of another process, and the mutex may be locked for ever.
    static_cast<void>(pool_.release());
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(pool_->mutex);
    pool_->ends = true;
  }
  pool_->ready.notify_all();
  for (std::thread& thread : pool_->threads) thread.join();
}

void Workers::Schedule(std::function<void()> closure) {
  if (pool_ != nullptr && process_ != getpid()) static_cast<void>(pool_.release());
  if (pool_ == nullptr) {
    pool_ = std::make_unique<Pool>();
    process_ = getpid();
  }
  {
    const std::lock_guard<std::mutex> lock(pool_->mutex);
    pool_->closures.push_back(std::move(closure));
  }
  if (static_cast<int>(pool_->threads.size()) < count_) {
    try {
      pool_->threads.emplace_back(&Pool::Work, pool_.get());
    } catch (const std::system_error&) {
      // A process may not have more threads; the caller then does all the work.
      if (pool_->threads.empty()) {
        const std::lock_guard<std::mutex> lock(pool_->mutex);
        pool_->closures.clear();
      }
    }
  }
  pool_->ready.notify_one();
}

}  // namespace rnn_ops::step
