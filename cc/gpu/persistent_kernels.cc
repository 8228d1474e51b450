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

int64_t PersistentKernel::ExchangeBytes(int64_t H) const {
  return CounterBytes(H) + Aligned(exchange_words * int64_t{sizeof(unsigned)}) +
         Blocks(H) * partial_floats * int64_t{sizeof(float)};
}

const PersistentKernel* FindPersistentKernel(const PersistentProblem& problem) {
  const int element = problem.dtype == Dtype::kFloat16    ? elementwise::kHalf
                      : problem.dtype == Dtype::kBFloat16 ? elementwise::kBFloat16
                                                          : elementwise::kArithmetic;
  if (problem.dtype == Dtype::kFloat64) return nullptr;
  // The list is in the order of tiles, then of widths.
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
  for (const auto& entry : gave_up_) api_.MemFreeHost(entry.second);
}

unsigned* PersistentKernels::GaveUp(uint64_t context, std::string* reason) {
  unsigned*& word = gave_up_[context];
  if (word != nullptr) return word;
  void* memory = nullptr;
  const CUresult result = api_.MemHostAlloc(
      &memory, sizeof(unsigned), RNN_OPS_MEMHOSTALLOC_PORTABLE | RNN_OPS_MEMHOSTALLOC_DEVICEMAP);
  if (result != CUDA_SUCCESS) {
    *reason = FromDriver(api_, result, "MemHostAlloc").message();
    return nullptr;
  }
  word = static_cast<unsigned*>(memory);
  *word = 0;
  return word;
}

CUresult PersistentKernels::Load(const PersistentKernel& kernel, Loaded* loaded,
                                 std::string* failure) {
  std::string ptx;
  const Status read = PersistentPtx(static_cast<int>(&kernel - kKernels), &ptx);
  if (!read.ok()) {
    *failure = read.message();
    return CUDA_ERROR_INVALID_PTX;
  }
  const char* call = "ModuleLoadData";
  CUresult result = api_.ModuleLoadData(&loaded->module, ptx.c_str());
  if (result != CUDA_SUCCESS) {
    loaded->module = nullptr;
  } else {
    call = "ModuleGetFunction";
    result = api_.ModuleGetFunction(&loaded->function, loaded->module, kernel.name);
  }
  if (result == CUDA_SUCCESS) {
    call = "FuncSetAttribute";
    result = api_.FuncSetAttribute(
        loaded->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel.shared_bytes);
  }
  if (result == CUDA_SUCCESS) return result;
  *failure = FromDriver(api_, result, call).message();
  if (loaded->module != nullptr) api_.ModuleUnload(loaded->module);
  loaded->module = nullptr, loaded->function = nullptr;
  return result;
}

void PersistentKernels::LoadUnlessItFailed(const PersistentKernel& kernel, Loaded* loaded) {
  if (loaded->function != nullptr || loaded->is_lasting) return;
  if (loaded->calls_to_skip > 0) {
    --loaded->calls_to_skip;
    return;
  }
  loaded->failure.clear();
  switch (Load(kernel, loaded, &loaded->failure)) {
    case CUDA_SUCCESS:
      return;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NOT_FOUND:
      loaded->is_lasting = true;
      return;
    default:
      loaded->calls_to_skip = loaded->next_skip;
      loaded->next_skip = std::max<int64_t>(1, 2 * loaded->next_skip);
  }
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
    *reason = StrCat("it needs compute capability 8.0 and cooperative launches, and the GPU has ",
                     major, ".x and ", cooperative ? "has them" : "lacks them");
    return Status();
  }
  if (kernel.Blocks(H) > multiprocessors) {
    *reason =
        StrCat("it needs ", kernel.Blocks(H), " multiprocessors and the GPU has ", multiprocessors);
    return Status();
  }
  uint64_t id = 0;
  RNN_OPS_RETURN_IF_ERROR(GetContextId(api_, context, &id));
  std::lock_guard<std::mutex> lock(mutex_);
  volatile unsigned* const gave_up = GaveUp(id, reason);
  if (gave_up == nullptr) return Status();
  const unsigned number = *gave_up;
  *gave_up = 0;
  if (number != 0) {
    return Internal("in an earlier call, a block of the persistent kernel ",
                    kKernels[number - 1].name,
                    " did not run while others waited for it. The results of that call are NaN, "
                    "and so may be variables that were updated since. Set "
                    "TF_RNN_OPS_GPU_ALGO=steps to do without these kernels.");
  }
  Loaded& loaded = loaded_[{id, &kernel}];
  LoadUnlessItFailed(kernel, &loaded);
  *can = loaded.function != nullptr && loaded.failure.empty();
  *reason = loaded.failure;
  return Status();
}

Status PersistentKernels::LaunchRaw(const LaunchPlace& place, const PersistentKernel& kernel,
                                    int64_t H, void* memory, elementwise::Exchange* exchange,
                                    void* args) {
  char* const start = static_cast<char*>(memory);
  char* const values = start + kernel.CounterBytes(H);
  exchange->counter = reinterpret_cast<unsigned*>(start);
  exchange->counters = exchange->counter + elementwise::kCounterStep;
  exchange->values = reinterpret_cast<unsigned*>(values);
  exchange->partial =
      reinterpret_cast<float*>(values + Aligned(kernel.exchange_words * int64_t{sizeof(unsigned)}));
  exchange->max_spins = max_spins_;
  exchange->number = static_cast<unsigned>(&kernel - kKernels) + 1;
  uint64_t id = 0;
  RNN_OPS_RETURN_IF_ERROR(GetContextId(api_, place.context, &id));
  CUfunction function = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    function = loaded_[{id, &kernel}].function;
    exchange->gave_up = gave_up_[id];
  }
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      api_, MemsetD8Async(ToDevicePtr(memory), 0, static_cast<size_t>(kernel.ExchangeBytes(H)),
                          place.stream));
  void* parameters[] = {args};
  const CUresult result = api_.LaunchCooperativeKernel(
      function, static_cast<unsigned>(kernel.Blocks(H)), 1, 1, elementwise::kThreads, 1, 1,
      static_cast<unsigned>(kernel.shared_bytes), place.stream, parameters);
  if (result == CUDA_SUCCESS) return Status();
  const Status status =
      FromDriver(api_, result, StrCat("LaunchCooperativeKernel(", kernel.name, ")").c_str());
  if (result != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) return status;
  // The context has fewer multiprocessors than the GPU. Later calls do without the kernel.
  std::lock_guard<std::mutex> lock(mutex_);
  Loaded& loaded = loaded_[{id, &kernel}];
  loaded.failure = status.message(), loaded.is_lasting = true;
  return status;
}

}  // namespace gpu
}  // namespace rnn_ops
