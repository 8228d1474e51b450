#include "cc/gpu/persistent_kernels.h"

#include <algorithm>
#include <string>

#include "cc/gpu/elementwise/cells/gru.h"
#include "cc/gpu/elementwise/cells/lstm.h"
#include "cc/gpu/elementwise/cells/vanilla.h"
#include "cc/gpu/elementwise/persistent/operand.h"
#include "cc/gpu/elementwise/persistent/persistent_list.h"
#include "cc/gpu/elementwise/persistent/persistent_shapes.h"
#include "cc/gpu/persistent_ptx.h"

namespace rnn_ops {
namespace gpu {
namespace {

using elementwise::Gru;
using elementwise::Lstm;
using elementwise::Vanilla;

constexpr int kAmpere = 8;
constexpr int64_t kAlignment = 256;

template <int kGates, class Operand, int kWidth, int kTile, bool kGeneral>
using Forward = elementwise::ForwardShape<kGates, Operand::kPerWord, kWidth, kTile, kGeneral>;
template <int kGates, class Operand, int kWidth, int kTile, bool kGeneral>
using Backward = elementwise::BackwardShape<kGates, Operand::kPerWord, kWidth, kTile, kGeneral>;

template <class Shape>
constexpr PersistentKernel KernelOf(const char* name, PersistentPass pass, int gates, int element,
                                    int width, int tile, bool is_general) {
  return {name,
          pass,
          gates,
          element,
          width,
          tile,
          is_general,
          Shape::kUnits,
          Shape::kParts,
          Shape::kSharedBytes,
          Shape::kExchangeWords,
          Shape::kPartialFloats};
}

#define RNN_OPS_ROW(pass, cell, operand, width, tile, general)                                 \
  KernelOf<pass<cell<float>::kGates, elementwise::operand##Operand, width, tile, general>>(    \
      #pass "_" #cell "_" #operand "_" #width "_" #tile "_" #general, PersistentPass::k##pass, \
      cell<float>::kGates, elementwise::operand##Operand::kElement, width, tile, general),
constexpr PersistentKernel kKernels[] = {RNN_OPS_PERSISTENT_KERNELS(RNN_OPS_ROW)};
#undef RNN_OPS_ROW

int GatesOf(RnnMode mode) {
  switch (mode) {
    case RnnMode::kLstm:
      return Lstm<float>::kGates;
    case RnnMode::kGru:
      return Gru<float>::kGates;
    case RnnMode::kTanh:
    case RnnMode::kRelu:
    case RnnMode::kVanilla:
      return Vanilla<float>::kGates;
    default:
      return 0;
  }
}

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

int64_t PersistentKernel::CounterBytes(int64_t H) const {
  const int64_t counters = 1 + (parts > 1 ? Blocks(H) / parts : 0);
  return Aligned(counters * elementwise::kCounterStep * int64_t{sizeof(unsigned)});
}

int64_t PersistentKernel::SharedMemoryBytes(int64_t H) const {
  return CounterBytes(H) + Aligned(exchange_words * int64_t{sizeof(unsigned)}) +
         Blocks(H) * partial_floats * int64_t{sizeof(float)};
}

const PersistentKernel* FindPersistentKernel(const PersistentProblem& problem) {
  const int element = problem.dtype == Dtype::kFloat16    ? elementwise::kHalf
                      : problem.dtype == Dtype::kBFloat16 ? elementwise::kBFloat16
                                                          : elementwise::kArithmetic;
  if (problem.dtype == Dtype::kFloat64) return nullptr;
  // The list is in the order of increasing width and tile.
  for (const PersistentKernel& kernel : kKernels) {
    if (kernel.pass == problem.pass && kernel.gates == GatesOf(problem.mode) &&
        kernel.element == element && kernel.is_general == problem.is_general &&
        kernel.width >= problem.units && kernel.tile >= problem.rows) {
      return &kernel;
    }
  }
  return nullptr;
}

PersistentKernels::~PersistentKernels() {
  for (const auto& entry : loaded_) {
    if (entry.second.module != nullptr) api_.ModuleUnload(entry.second.module);
  }
  if (gave_up_ != nullptr) api_.MemFreeHost(gave_up_);
}

Status PersistentKernels::CheckEarlierLaunches() {
  if (gave_up_ == nullptr) {
    void* memory = nullptr;
    RNN_OPS_RETURN_IF_CUDA_ERROR(
        api_, MemHostAlloc(&memory, sizeof(unsigned), RNN_OPS_MEMHOSTALLOC_PORTABLE));
    gave_up_ = static_cast<unsigned*>(memory);
    *gave_up_ = 0;
  }
  volatile unsigned* const gave_up = gave_up_;
  if (*gave_up == 0) return Status();
  *gave_up = 0;
  return Internal(
      "in an earlier call, a block of a persistent kernel did not run while others waited for it. "
      "The results of that call are NaN. Set TF_RNN_OPS_GPU_ALGO=steps to do without these "
      "kernels.");
}

Status PersistentKernels::Load(const PersistentKernel& kernel, Loaded* loaded) {
  std::string ptx;
  RNN_OPS_RETURN_IF_ERROR(PersistentPtx(static_cast<int>(&kernel - kKernels), &ptx));
  RNN_OPS_RETURN_IF_CUDA_ERROR(api_, ModuleLoadData(&loaded->module, ptx.c_str()));
  RNN_OPS_RETURN_IF_CUDA_ERROR(api_,
                               ModuleGetFunction(&loaded->function, loaded->module, kernel.name));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      api_, FuncSetAttribute(loaded->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             kernel.shared_bytes));
  return Status();
}

Status PersistentKernels::Prepare(CUcontext context, const PersistentKernel& kernel, int64_t H,
                                  bool* can, std::string* reason) {
  *can = false;
  CUdevice device = 0;
  int major = 0, multiprocessors = 0, cooperative = 0;
  RNN_OPS_RETURN_IF_CUDA_ERROR(api_, CtxGetDevice(&device));
  const struct {
    CUdevice_attribute attribute;
    int* value;
  } wanted[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors},
                {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &cooperative}};
  for (const auto& entry : wanted) {
    RNN_OPS_RETURN_IF_CUDA_ERROR(api_, DeviceGetAttribute(entry.value, entry.attribute, device));
  }
  if (major < kAmpere || cooperative == 0) {
    *reason = "the GPU is older than compute capability 8.0 or has no cooperative launches";
    return Status();
  }
  if (kernel.Blocks(H) > multiprocessors) {
    *reason = StrCat("the kernel needs ", kernel.Blocks(H), " multiprocessors and the GPU has ",
                     multiprocessors);
    return Status();
  }
  uint64_t id = 0;
  RNN_OPS_RETURN_IF_ERROR(GetContextId(api_, context, &id));
  std::lock_guard<std::mutex> lock(mutex_);
  RNN_OPS_RETURN_IF_ERROR(CheckEarlierLaunches());
  Loaded& loaded = loaded_[{id, &kernel}];
  if (loaded.function == nullptr && loaded.failure.empty()) {
    const Status status = Load(kernel, &loaded);
    if (!status.ok()) loaded.function = nullptr, loaded.failure = status.message();
  }
  *can = loaded.failure.empty();
  *reason = loaded.failure;
  return Status();
}

elementwise::Exchange PersistentKernels::ExchangeIn(const PersistentKernel& kernel, int64_t H,
                                                    void* memory) const {
  char* const start = static_cast<char*>(memory);
  char* const values = start + kernel.CounterBytes(H);
  elementwise::Exchange exchange = {};
  exchange.counter = reinterpret_cast<unsigned*>(start);
  exchange.counters = exchange.counter + elementwise::kCounterStep;
  exchange.values = reinterpret_cast<unsigned*>(values);
  exchange.partial =
      reinterpret_cast<float*>(values + Aligned(kernel.exchange_words * int64_t{sizeof(unsigned)}));
  exchange.gave_up = gave_up_;
  exchange.max_spins = max_spins_;
  return exchange;
}

Status PersistentKernels::LaunchRaw(const LaunchPlace& place, const PersistentKernel& kernel,
                                    int64_t H, void* memory, void* args) {
  uint64_t id = 0;
  RNN_OPS_RETURN_IF_ERROR(GetContextId(api_, place.context, &id));
  CUfunction function = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    function = loaded_[{id, &kernel}].function;
  }
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      api_, MemsetD8Async(ToDevicePtr(memory), 0, static_cast<size_t>(kernel.SharedMemoryBytes(H)),
                          place.stream));
  void* parameters[] = {args};
  const CUresult result = api_.LaunchCooperativeKernel(
      function, static_cast<unsigned>(kernel.Blocks(H)), 1, 1, elementwise::kThreads, 1, 1,
      static_cast<unsigned>(kernel.shared_bytes), place.stream, parameters);
  if (result == CUDA_SUCCESS) return Status();
  return FromDriver(api_, result, StrCat("LaunchCooperativeKernel(", kernel.name, ")").c_str());
}

}  // namespace gpu
}  // namespace rnn_ops
