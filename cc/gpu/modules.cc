#include "cc/gpu/modules.h"

#include <algorithm>

#include "cc/gpu/elementwise/kernels_ptx.h"

namespace rnn_ops {
namespace gpu {
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
    for (CUmodule module : entry.second.modules) {
      if (module != nullptr) api_.ModuleUnload(module);
    }
  }
}

Status KernelModules::Find(CUcontext context, Kernel kernel, CUfunction* function) {
  uint64_t id = 0;
  RNN_OPS_RETURN_IF_ERROR(GetContextId(api_, context, &id));
  std::lock_guard<std::mutex> lock(mutex_);
  Loaded& loaded = loaded_[id];
  CUmodule& module = loaded.modules[ModuleOf(kernel)];
  if (module == nullptr) {
    CUmodule made = nullptr;
    RNN_OPS_RETURN_IF_CUDA_ERROR(api_, ModuleLoadData(&made, kPtx[ModuleOf(kernel)]));
    module = made;
  }
  CUfunction& cached = loaded.functions[static_cast<int>(kernel)];
  if (cached == nullptr) {
    const CUresult result = api_.ModuleGetFunction(&cached, module, NameOf(kernel));
    if (result != CUDA_SUCCESS) {
      cached = nullptr;
      return FromDriver(api_, result, StrCat("ModuleGetFunction(", NameOf(kernel), ")").c_str());
    }
  }
  *function = cached;
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
  static KernelModules* const process_modules = new KernelModules(*driver);
  *modules = process_modules;
  return Status();
}

}  // namespace gpu
}  // namespace rnn_ops
