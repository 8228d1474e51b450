#include "cc/gpu/launch/modules.h"

#include <algorithm>

#include "cc/gpu/kernels/kernels_ptx.h"

namespace rnn_ops::gpu {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kMaxThreads = 256;
constexpr int64_t kMaxBlocksX = 1 << 20;  // the kernels loop over further columns
constexpr int64_t kMaxBlocksY = 65535;

constexpr const char* kNames[] = {
#define RNN_OPS_KERNEL_NAME(name, Args, function) #name,
    RNN_OPS_KERNELS(RNN_OPS_KERNEL_NAME)
#undef RNN_OPS_KERNEL_NAME
};

// The module of a kernel.
constexpr int ModuleOf(Kernel kernel) { return kernel < Kernel::layer_begin_f32 ? 0 : 1; }
const char* const kPtx[] = {elementwise::kKernelsPtx, elementwise::kLayerKernelsPtx};

const char* NameOf(Kernel kernel) { return kNames[static_cast<int>(kernel)]; }

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

KernelModules::~KernelModules() {
  for (const auto& entry : loaded_) {
    for (const Module& module : entry.second.modules) {
      if (module.module != nullptr) api_.ModuleUnload(module.module);
    }
  }
}

Status KernelModules::Find(CUcontext context, Kernel kernel, CUfunction* function) {
  uint64_t id = 0;
  RNN_OPS_RETURN_IF_ERROR(GetContextId(api_, context, &id));
  Loaded* loaded = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    loaded = &loaded_[id];
  }
  std::atomic<CUfunction>& cached = loaded->functions[static_cast<int>(kernel)];
  *function = cached.load(std::memory_order_acquire);
  if (*function != nullptr) return Status();
  Module& module = loaded->modules[ModuleOf(kernel)];
  std::lock_guard<std::mutex> lock(module.mutex);
  if (module.module == nullptr) {
    CUmodule made = nullptr;
    RNN_OPS_RETURN_IF_CUDA_ERROR(api_, ModuleLoadData(&made, kPtx[ModuleOf(kernel)]));
    module.module = made;
  }
  const CUresult result = api_.ModuleGetFunction(function, module.module, NameOf(kernel));
  if (result != CUDA_SUCCESS) {
    return FromDriver(api_, result, StrCat("ModuleGetFunction(", NameOf(kernel), ")").c_str());
  }
  cached.store(*function, std::memory_order_release);
  return Status();
}

Status KernelModules::LaunchRaw(const LaunchPlace& place, Kernel kernel, const LaunchDomain& domain,
                                void* args) {
  if (domain.rows <= 0 || domain.columns <= 0) return Status();
  CUfunction function = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Find(place.context, kernel, &function));
  const int64_t threads = std::min(kMaxThreads, DivideUp(domain.columns, kWarp) * kWarp);
  const int64_t blocks_x = std::min(kMaxBlocksX, DivideUp(domain.columns, threads));
  const int64_t blocks_y = std::min(kMaxBlocksY, domain.rows);
  void* parameters[] = {args};
  const CUresult result =
      api_.LaunchKernel(function, static_cast<unsigned>(blocks_x), static_cast<unsigned>(blocks_y),
                        /*grid_z=*/1, static_cast<unsigned>(threads), /*block_y=*/1, /*block_z=*/1,
                        /*shared_bytes=*/0, place.stream, parameters, /*extra=*/nullptr);
  if (result == CUDA_SUCCESS) return Status();
  return FromDriver(api_, result, StrCat("LaunchKernel(", NameOf(kernel), ")").c_str());
}

Status GetModules(const DriverApi** driver, KernelModules** modules) {
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(driver));
  // Never destroyed, because kernels may run while the process exits.
  static KernelModules* const shared = new KernelModules(*driver);
  *modules = shared;
  return Status();
}

}  // namespace rnn_ops::gpu
