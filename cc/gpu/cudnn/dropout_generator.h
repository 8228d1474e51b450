// The state of the random generator of one op kernel, kept between calls.
#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace rnn_ops::gpu {

// cuDNN fills megabytes of states when it seeds a generator, so the states are kept. Each forward
// call continues the random sequence of the call before: masks depend on the seed of the first call
// and on the number of calls after it. Each device and stream has its own states. The owner of this
// object owns the memory of the states.
class DropoutGenerator {
 public:
  struct States {
    void* memory = nullptr;  // on the device; null: not allocated yet
    bool seeded = false;
  };

  DropoutGenerator() = default;
  DropoutGenerator(const DropoutGenerator&) = delete;
  DropoutGenerator& operator=(const DropoutGenerator&) = delete;

  // Hold the lock while the states are used and the work that uses them is enqueued.
  std::unique_lock<std::mutex> Lock() { return std::unique_lock<std::mutex>(mutex_); }
  // Call it with the lock held. The reference is valid as long as this object.
  States& At(int device, void* stream) { return states_[{device, stream}]; }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, void*>, States> states_;
};

}  // namespace rnn_ops::gpu
