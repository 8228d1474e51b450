// The kernels of elementwise/ in each context, and how they are launched.
#ifndef TF_RNN_OPS_CC_GPU_MODULES_H_
#define TF_RNN_OPS_CC_GPU_MODULES_H_

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "cc/core/network/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/driver_api.h"
#include "cc/gpu/elementwise/kernel_args.h"
#include "cc/gpu/elementwise/kernel_list.h"

namespace rnn_ops {
namespace gpu {

enum class Kernel : int {
#define RNN_OPS_KERNEL_NAME(name, Args, function) name,
  RNN_OPS_ELEMENTWISE_KERNELS(RNN_OPS_KERNEL_NAME)
#undef RNN_OPS_KERNEL_NAME
      kCount,
};

// The kernel of a family that is written for `dtype`, or for elements of its size; `first` is the
// family's for float32, or for 16 bits.
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

// Where a launch goes. `context` is the stream's, and current.
struct LaunchPlace {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

// What a kernel runs over: see kernel_args.h.
struct LaunchDomain {
  int64_t rows = 0;
  int64_t columns = 0;
};

// The module is loaded into a context at its first launch there, which compiles it, and stays.
// WHY never unloaded: TensorFlow and PyTorch use the primary contexts, and keep them.
class KernelModules {
 public:
  explicit KernelModules(const DriverApi* api) : api_(*api) {}
  KernelModules(const KernelModules&) = delete;
  KernelModules& operator=(const KernelModules&) = delete;
  ~KernelModules();  // unloads; a process keeps its one

  // `args` is the kernel's struct. A domain without elements launches nothing.
  template <typename Args>
  Status Launch(const LaunchPlace& place, Kernel kernel, const LaunchDomain& domain,
                const Args& args) {
    Args copy = args;
    return LaunchRaw(place, kernel, domain, &copy);
  }

 private:
  struct Module {
    CUmodule module = nullptr;
    std::array<CUfunction, static_cast<int>(Kernel::kCount)> functions{};  // null: not looked up
  };

  Status Find(CUcontext context, Kernel kernel, CUfunction* function);
  Status LaunchRaw(const LaunchPlace& place, Kernel kernel, const LaunchDomain& domain, void* args);

  const DriverApi& api_;
  std::mutex mutex_;
  std::map<CUcontext, Module> modules_;
};

// The process's driver and modules.
Status GetModules(const DriverApi** driver, KernelModules** modules);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_MODULES_H_
