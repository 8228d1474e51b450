// The persistent kernels of kernels/persistent: which of them runs a problem, and their launches.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_types.h"
#include "cc/core/status.h"
#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/modules.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {

// The PTX of the persistent kernels, which the library holds compressed.

// The PTX of the kernel with this number in kernel_list.h. Returns FailedPrecondition if zlib
// is not installed.
Status PersistentPtx(int number, std::string* ptx);

// The persistent kernels of kernels/persistent: which of them runs a problem, and their
// launches.

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
  RnnMode cell;
  int element, width, tile;
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

// A kernel in a context.
struct LoadedKernel {
  std::mutex mutex;  // the driver may compile for seconds; other kernels stay available
  const PersistentKernel* kernel = nullptr;
  unsigned* gave_up = nullptr;  // host memory of the context, which kernels write if they give up
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  std::string failure;  // why it cannot be loaded or launched
  bool is_lasting = false;
  // After another failure, such as a lack of memory, the load is repeated: at the next call, then
  // each time after twice as many calls.
  int64_t calls_to_skip = 0, next_skip = 0;
};

// The modules of the kernels, each loaded in a context at its first use, and their launches.
class PersistentKernels {
 public:
  // `max_spins`: reads of a counter before a block gives up; the default takes some ten seconds.
  // `slow_load`: the first load of a module that takes longer is announced in the log.
  explicit PersistentKernels(const DriverApi* api, unsigned max_spins = 1u << 24,
                             std::chrono::milliseconds slow_load = std::chrono::seconds(1))
      : api_(*api), max_spins_(max_spins), slow_load_(slow_load) {}
  PersistentKernels(const PersistentKernels&) = delete;
  PersistentKernels& operator=(const PersistentKernels&) = delete;
  ~PersistentKernels();  // unloads the modules; never runs on the object of OpenProductLibraries()

  // Whether the device of a context can run the kernel for H units: its compute capability, its
  // multiprocessors, and whether its driver loads the module. If not, *loaded is null and *reason
  // says why.
  // Returns Internal, once, if a block of an earlier launch in this context waited in vain.
  // WHY only the next call, of any op: a function behind each launch that tells the host would stop
  // the stream for longer than the steps of a small network take.
  Status Prepare(CUcontext context, const PersistentKernel& kernel, int64_t H,
                 LoadedKernel** loaded, std::string* reason);

  // Launches a kernel after Prepare() in the same context. `memory`: ExchangeBytes().
  template <typename Args>
  Status Launch(const LaunchPlace& place, LoadedKernel* loaded, void* memory, const Args& args) {
    Args copy = args;
    return LaunchRaw(place, loaded, args.step.call.units, memory, &copy.exchange, &copy);
  }

 private:
  struct Context {
    std::mutex mutex;  // of gave_up and the map, not of what the map holds
    unsigned* gave_up = nullptr;
    std::map<const PersistentKernel*, LoadedKernel> kernels;
  };

  // Finds a kernel, which may not be loaded. Null, with *reason, without memory for its word.
  LoadedKernel* Find(uint64_t context, const PersistentKernel& kernel, std::string* reason);
  CUresult Load(LoadedKernel* loaded, std::string* failure);
  CUresult LoadModule(const char* name, const char* ptx, CUmodule* module);
  void LoadUnlessItFailed(LoadedKernel* loaded);
  Status LaunchRaw(const LaunchPlace& place, LoadedKernel* loaded, int64_t H, void* memory,
                   elementwise::Exchange* exchange, void* args);

  const DriverApi& api_;
  const unsigned max_spins_;
  const std::chrono::milliseconds slow_load_;
  std::atomic<bool> announced_{false};    // a slow load
  std::mutex mutex_;                      // of the map, not of what it holds
  std::map<uint64_t, Context> contexts_;  // the key is from GetContextId()
};

}  // namespace rnn_ops::gpu
