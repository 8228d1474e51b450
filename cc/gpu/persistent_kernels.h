// The persistent kernels of elementwise/persistent: which of them runs a problem, and their
// launches.
#ifndef TF_RNN_OPS_CC_GPU_PERSISTENT_KERNELS_H_
#define TF_RNN_OPS_CC_GPU_PERSISTENT_KERNELS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "cc/core/network/dtype.h"
#include "cc/core/network/rnn_types.h"
#include "cc/core/status.h"
#include "cc/gpu/driver_api.h"
#include "cc/gpu/elementwise/persistent/persistent_args.h"
#include "cc/gpu/modules.h"

namespace rnn_ops {
namespace gpu {

enum class PersistentPass { kForward, kBackward };

// The properties of a call that choose its kernel.
struct PersistentProblem {
  PersistentPass pass;
  RnnMode mode;
  Dtype dtype;
  int64_t units, rows;  // rows: of the batch
  // Masks for each gate on h, zoneout, peepholes, a clip, activations other than the usual ones.
  bool is_general;
};

// A kernel and how it divides its work, see persistent_shapes.h.
struct PersistentKernel {
  const char* name;
  PersistentPass pass;
  int gates, element, width, tile;
  bool is_general;
  int units, parts;  // of a block; blocks that share units
  int shared_bytes, exchange_words, partial_floats;

  int64_t Blocks(int64_t H) const { return ((H + units - 1) / units + parts - 1) / parts * parts; }
  // Bytes of the memory that the blocks of a launch share: the counters, the values and the
  // partial sums. A launch begins with zeros there.
  int64_t CounterBytes(int64_t H) const;
  int64_t ExchangeBytes(int64_t H) const;
};

// Null: no kernel runs it.
const PersistentKernel* FindPersistentKernel(const PersistentProblem& problem);

// The modules of the kernels, each loaded in a context at its first use, and their launches.
class PersistentKernels {
 public:
  // `max_spins`: reads of a counter before a block gives up; the default takes some ten seconds.
  explicit PersistentKernels(const DriverApi* api, unsigned max_spins = 1u << 24)
      : api_(*api), max_spins_(max_spins) {}
  PersistentKernels(const PersistentKernels&) = delete;
  PersistentKernels& operator=(const PersistentKernels&) = delete;
  ~PersistentKernels();  // unloads the modules; never runs on the object of the process

  // Whether the device of a context can run the kernel for H units: its compute capability, its
  // multiprocessors, and whether its driver loads the module. *reason says why not.
  // Returns Internal, once, if a block of an earlier launch in this context waited in vain.
  Status Prepare(CUcontext context, const PersistentKernel& kernel, int64_t H, bool* can,
                 std::string* reason);

  // Launches a kernel after Prepare(). `memory`: ExchangeBytes().
  template <typename Args>
  Status Launch(const LaunchPlace& place, const PersistentKernel& kernel, void* memory,
                const Args& args) {
    Args copy = args;
    return LaunchRaw(place, kernel, args.step.call.units, memory, &copy.exchange, &copy);
  }

 private:
  struct Loaded {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    std::string failure;  // why it cannot be loaded or launched
    bool is_lasting = false;
    // After another failure, such as a lack of memory, the load is repeated: at the next call, then
    // each time after twice as many calls.
    int64_t calls_to_skip = 0, next_skip = 0;
  };
  using Key = std::pair<uint64_t, const PersistentKernel*>;  // GetContextId() and the kernel

  // The word of a context that kernels write if they give up. Null, with *reason, without memory.
  unsigned* GaveUp(uint64_t context, std::string* reason);
  CUresult Load(const PersistentKernel& kernel, Loaded* loaded, std::string* failure);
  void LoadUnlessItFailed(const PersistentKernel& kernel, Loaded* loaded);
  Status LaunchRaw(const LaunchPlace& place, const PersistentKernel& kernel, int64_t H,
                   void* memory, elementwise::Exchange* exchange, void* args);

  const DriverApi& api_;
  const unsigned max_spins_;
  std::mutex mutex_;
  std::map<Key, Loaded> loaded_;
  std::map<uint64_t, unsigned*> gave_up_;  // host memory of each context
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_PERSISTENT_KERNELS_H_
