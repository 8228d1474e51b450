// A lock that costs one atomic operation, and that tells whether a fork has lost its owner.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rnn_ops::step {

// The length of a pause of a thread that waits for other threads.
constexpr std::chrono::microseconds kPause{50};

class Lock {
 public:
  // Takes the lock unless a thread has it.
  bool Try() {
    uint32_t none = 0;
    return owner_.load(std::memory_order_relaxed) == 0 &&
           owner_.compare_exchange_strong(none, process.load(std::memory_order_relaxed),
                                          std::memory_order_acquire);
  }
  void Release() { owner_.store(0, std::memory_order_release); }

  // Whether the owner was a thread of another process, before a fork. It never releases the lock.
  bool IsLost() const {
    const uint32_t owner = owner_.load(std::memory_order_relaxed);
    return owner != 0 && owner != process.load(std::memory_order_relaxed);
  }

  // Waits for the lock, and takes a lost one.
  void Take();

 private:
  // A number of this process: a forked one has another than its parent.
  static std::atomic<uint32_t> process;

  std::atomic<uint32_t> owner_{0};  // a number of a process, or 0
};

// Has a lock until the end of a scope.
class Locked {
 public:
  explicit Locked(Lock* lock) : lock_(lock) { lock->Take(); }
  // The caller has taken the lock.
  static Locked Taken(Lock* lock) { return Locked(lock, 0); }
  ~Locked() { lock_->Release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Locked(Lock* lock, int) : lock_(lock) {}
  Lock* const lock_;
};

}  // namespace rnn_ops::step
