// The random generator of one op kernel between its calls.
#ifndef TF_RNN_OPS_CC_GPU_DROPOUT_GENERATOR_H_
#define TF_RNN_OPS_CC_GPU_DROPOUT_GENERATOR_H_

#include <map>
#include <mutex>
#include <utility>

namespace rnn_ops {
namespace gpu {

// Seeding makes cuDNN fill megabytes of states, so they are kept, and each forward call goes on
// where the one before ended: masks depend on the seed of the first call and on the calls since.
// Each device and stream has states of its own. Its memory belongs to the owner of this object.
class DropoutGenerator {
 public:
  struct States {
    void* memory = nullptr;  // on the device; null: not allocated yet
    bool seeded = false;
  };

  DropoutGenerator() = default;
  DropoutGenerator(const DropoutGenerator&) = delete;
  DropoutGenerator& operator=(const DropoutGenerator&) = delete;

  // The states must be used, and the work that uses them enqueued, under this lock.
  std::unique_lock<std::mutex> Lock() { return std::unique_lock<std::mutex>(mutex_); }
  // Under the lock. Valid as long as this object.
  States& At(int device, void* stream) { return states_[{device, stream}]; }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, void*>, States> states_;
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_DROPOUT_GENERATOR_H_
