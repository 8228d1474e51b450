#include "cc/step/lock.h"

#include <pthread.h>

#include <thread>

namespace rnn_ops::step {

std::atomic<uint32_t> Lock::process = [] {
  pthread_atfork(nullptr, nullptr, [] { process.fetch_add(1, std::memory_order_relaxed); });
  return 1;
}();

void Lock::Take() {
  while (!Try()) {
    uint32_t owner = owner_.load(std::memory_order_relaxed);
    const uint32_t own = process.load(std::memory_order_relaxed);
    if (owner != 0 && owner != own &&
        owner_.compare_exchange_strong(owner, own, std::memory_order_acquire)) {
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace rnn_ops::step
