// Loads the kernels of kernels/ into contexts, and launches them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "cc/core/op/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/kernels/kernel_list.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {

enum class Kernel : int {
#define RNN_OPS_KERNEL_NAME(name, Args, function) name,
  RNN_OPS_KERNELS(RNN_OPS_KERNEL_NAME)
#undef RNN_OPS_KERNEL_NAME
      kCount,
};

// The kernel of a family for `dtype`, or for elements with the size of `dtype`. `first`: the kernel
// of the family for float32, or for 16 bits.
constexpr Kernel KernelForType(Kernel first, Dtype dtype) {
  constexpr int kPerType = static_cast<int>(Kernel::block_lstm_forward_f64);
  return static_cast<Kernel>(static_cast<int>(first) + kPerType * static_cast<int>(dtype));
}
constexpr Kernel KernelForSize(Kernel first, Dtype dtype) {
  constexpr int kPerSize = static_cast<int>(Kernel::swap_leading_dims_b32) -
                           static_cast<int>(Kernel::swap_leading_dims_b16);
  const int size = dtype == Dtype::kFloat64 ? 2 : dtype == Dtype::kFloat32 ? 1 : 0;
  return static_cast<Kernel>(static_cast<int>(first) + kPerSize * size);
}

// A kernel of LayerRNN for the arithmetic of `dtype`. `first`: the kernel for float32.
constexpr Kernel KernelForMath(Kernel first, Dtype dtype) {
  constexpr int kPerType =
      static_cast<int>(Kernel::layer_begin_f64) - static_cast<int>(Kernel::layer_begin_f32);
  const int type = dtype == Dtype::kFloat64 ? 1 : 0;
  return static_cast<Kernel>(static_cast<int>(first) + kPerType * type);
}

// The target of a launch. `context` is the context of the stream, and must be current.
struct LaunchPlace {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

// The grid of a kernel, see kernel_args.h.
struct LaunchDomain {
  int64_t rows = 0;
  int64_t columns = 0;
};

// The first launch of a kernel of a module in a context loads the module, which compiles it. The
// module stays loaded.
// WHY it is never unloaded: TensorFlow and PyTorch use the primary contexts, which live as long as
// the process.
class KernelModules {
 public:
  explicit KernelModules(const DriverApi* api) : api_(*api) {}
  KernelModules(const KernelModules&) = delete;
  KernelModules& operator=(const KernelModules&) = delete;
  ~KernelModules();  // unloads the modules; never runs on the object of GetModules()

  // `args`: the struct of the kernel. Launches nothing if `domain` has no elements.
  template <typename Args>
  Status Launch(const LaunchPlace& place, Kernel kernel, const LaunchDomain& domain,
                const Args& args) {
    Args copy = args;
    return LaunchRaw(place, kernel, domain, &copy);
  }

 private:
  // null: not loaded
  struct Module {
    std::mutex mutex;  // the driver may compile for seconds; other modules stay available
    CUmodule module = nullptr;
  };
  struct Loaded {
    std::array<Module, 2> modules;
    std::array<std::atomic<CUfunction>, static_cast<int>(Kernel::kCount)> functions{};
  };

  Status Find(CUcontext context, Kernel kernel, CUfunction* function);
  Status LaunchRaw(const LaunchPlace& place, Kernel kernel, const LaunchDomain& domain, void* args);

  const DriverApi& api_;
  std::mutex mutex_;                   // of the map, not of what it holds
  std::map<uint64_t, Loaded> loaded_;  // the key is from GetContextId()
};

// The driver and the modules of this library. Each library of ops has its own.
Status GetModules(const DriverApi** driver, KernelModules** modules);

}  // namespace rnn_ops::gpu
