#include "cc/gpu/launch/persistent_kernels.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "cc/gpu/kernels/cells/gru.h"
#include "cc/gpu/kernels/cells/lstm.h"
#include "cc/gpu/kernels/cells/vanilla.h"
#include "cc/gpu/kernels/kernel_list.h"
#include "cc/gpu/kernels/kernels_ptx.h"
#include "cc/gpu/kernels/persistent/operand.h"
#include "cc/gpu/kernels/persistent/persistent_shapes.h"
#include "cc/gpu/libraries/dso.h"

namespace rnn_ops::gpu {
namespace {

// The archive: the number of kernels, the sizes of each (compressed, and as text with relative
// registers), then the streams of zlib. Numbers are 32 bits, little-endian.
//
// In the text, the number of a register follows the last one of its kind: "%r+1" for the next of
// "%r41". WHY: a third of the text is such numbers, which do not compress otherwise.

struct ZlibApi {
  int (*uncompress)(unsigned char* to, unsigned long* to_size, const unsigned char* from,
                    unsigned long size) = nullptr;

  static DsoRequest Request() {
    DsoRequest request;
    request.what = "zlib";
    // TensorFlow contains a copy.
    request.names = {"libz.so.1", "libtensorflow_framework.so.2"};
    request.remedy = "Install zlib, for example with apt-get install zlib1g.";
    return request;
  }
  Status Bind(const Dso& dso) {
    std::string missing;
    BindSymbol(dso, "uncompress", &uncompress, &missing);
    if (missing.empty()) return Status();
    return FailedPrecondition(dso.name, " lacks", missing, ".");
  }
};

const unsigned char* ArchiveAt(size_t at) {
  return reinterpret_cast<const unsigned char*>(elementwise::RNN_OPS_PERSISTENT_ARCHIVE) + at;
}

uint32_t NumberAt(size_t at) {
  const unsigned char* const from = ArchiveAt(at);
  return from[0] | from[1] << 8 | from[2] << 16 | static_cast<uint32_t>(from[3]) << 24;
}

// "%r+1" to "%r42".
std::string WithRegisters(const std::string& text) {
  std::string ptx;
  ptx.reserve(text.size() * 5 / 4);
  std::map<std::string, long> last;
  for (size_t k = 0; k < text.size();) {
    ptx += text[k++];
    if (ptx.back() != '%') continue;
    const size_t kind = k;
    while (k < text.size() && std::islower(static_cast<unsigned char>(text[k]))) ++k;
    ptx.append(text, kind, k - kind);
    if (k == text.size() || (text[k] != '+' && text[k] != '-')) continue;
    long& number = last[text.substr(kind, k - kind)];
    char* end = nullptr;
    number += std::strtol(text.c_str() + k, &end, 10);
    k = static_cast<size_t>(end - text.c_str());
    ptx += std::to_string(number);
  }
  return ptx;
}

}  // namespace

Status PersistentPtx(int number, std::string* ptx) {
  const ZlibApi* zlib = nullptr;
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&zlib));
  const uint32_t count = NumberAt(0);
  if (static_cast<uint32_t>(number) >= count) {
    return Internal("the archive has ", count, " persistent kernels, but ", number,
                    " is asked for.");
  }
  size_t at = 4 + size_t{8} * count;
  for (int k = 0; k < number; ++k) at += NumberAt(4 + size_t{8} * k);
  const uint32_t compressed = NumberAt(4 + size_t{8} * number);
  unsigned long size = NumberAt(8 + size_t{8} * number);
  std::string text(size, '\0');
  const int result = zlib->uncompress(reinterpret_cast<unsigned char*>(&text[0]), &size,
                                      ArchiveAt(at), compressed);
  if (result != 0 || size != text.size()) {
    return Internal("zlib returned ", result, " for the PTX of persistent kernel ", number, ".");
  }
  *ptx = WithRegisters(text);
  return Status();
}

namespace {

using elementwise::Gru;
using elementwise::GruResetBefore;
using elementwise::Lstm;
using elementwise::Vanilla;

constexpr int kAmpere = 8;
constexpr int64_t kAlignment = 256;

template <int kGates, class Operand, int kWidth, int kTile, bool kGeneral>
using Forward = elementwise::ForwardShape<kGates, Operand::kPerWord, kWidth, kTile, kGeneral>;
template <int kGates, class Operand, int kWidth, int kTile, bool kGeneral>
using Backward = elementwise::BackwardShape<kGates, Operand::kPerWord, kWidth, kTile, kGeneral>;

template <class Shape>
constexpr PersistentKernel KernelOf(const char* name, PersistentPass pass, RnnMode cell,
                                    int element, int width, int tile, bool is_general) {
  return {name,
          pass,
          cell,
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
      RnnMode::k##cell, elementwise::operand##Operand::kElement, width, tile, general),
constexpr PersistentKernel kKernels[] = {RNN_OPS_PERSISTENT_KERNELS(RNN_OPS_ROW)};
#undef RNN_OPS_ROW

// tanh and ReLU are activations of one cell.
RnnMode CellOf(RnnMode mode) {
  return mode == RnnMode::kTanh || mode == RnnMode::kRelu ? RnnMode::kVanilla : mode;
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
    if (kernel.pass == problem.pass && kernel.cell == CellOf(problem.mode) &&
        kernel.element == element && kernel.is_general == problem.is_general &&
        kernel.width >= problem.units && kernel.tile >= problem.rows) {
      return &kernel;
    }
  }
  return nullptr;
}

PersistentKernels::~PersistentKernels() {
  for (const auto& [id, context] : contexts_) {
    for (const auto& [kernel, loaded] : context.kernels) {
      if (loaded.module != nullptr) api_.ModuleUnload(loaded.module);
    }
    if (context.gave_up != nullptr) api_.MemFreeHost(context.gave_up);
  }
}

LoadedKernel* PersistentKernels::Find(uint64_t id, const PersistentKernel& kernel,
                                      std::string* reason) {
  Context* context = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    context = &contexts_[id];
  }
  std::lock_guard<std::mutex> lock(context->mutex);
  if (context->gave_up == nullptr) {
    void* memory = nullptr;
    const CUresult result = api_.MemHostAlloc(
        &memory, sizeof(unsigned), RNN_OPS_MEMHOSTALLOC_PORTABLE | RNN_OPS_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
      *reason = FromDriver(api_, result, "MemHostAlloc").message();
      return nullptr;
    }
    context->gave_up = static_cast<unsigned*>(memory);
    *context->gave_up = 0;
  }
  const auto [found, is_new] = context->kernels.try_emplace(&kernel);
  if (is_new) {  // later only read, without a lock
    found->second.kernel = &kernel;
    found->second.gave_up = context->gave_up;
  }
  return &found->second;
}

CUresult PersistentKernels::LoadModule(const char* name, const char* ptx, CUmodule* module) {
  const auto start = std::chrono::steady_clock::now();
  const CUresult result = api_.ModuleLoadData(module, ptx);
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  if (result == CUDA_SUCCESS && time > slow_load_ && !announced_.exchange(true)) {
    Warn(StrCat("the driver compiled the GPU kernel ", name, " in ", time.count(),
                " ms. It compiles each kernel at its first use and keeps the result on disk for "
                "later processes."));
  }
  return result;
}

CUresult PersistentKernels::Load(LoadedKernel* loaded, std::string* failure) {
  const PersistentKernel& kernel = *loaded->kernel;
  std::string ptx;
  const Status read = PersistentPtx(static_cast<int>(&kernel - kKernels), &ptx);
  if (!read.ok()) {
    *failure = read.message();
    return CUDA_ERROR_INVALID_PTX;
  }
  const char* call = "ModuleLoadData";
  CUresult result = LoadModule(kernel.name, ptx.c_str(), &loaded->module);
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
  loaded->module = nullptr;
  loaded->function = nullptr;
  return result;
}

void PersistentKernels::LoadUnlessItFailed(LoadedKernel* loaded) {
  if (loaded->function != nullptr || loaded->is_lasting) return;
  if (loaded->calls_to_skip > 0) {
    --loaded->calls_to_skip;
    return;
  }
  loaded->failure.clear();
  switch (Load(loaded, &loaded->failure)) {
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
                                  LoadedKernel** loaded, std::string* reason) {
  *loaded = nullptr;
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
  LoadedKernel* const found = Find(id, kernel, reason);
  if (found == nullptr) return Status();
  // One access, so that no number is lost that a GPU writes in between.
  const unsigned number = __atomic_exchange_n(found->gave_up, 0u, __ATOMIC_RELAXED);
  if (number != 0) {
    return Internal("in an earlier call, a block of the persistent kernel ",
                    kKernels[number - 1].name,
                    " did not run while others waited for it. The results of that call are NaN, "
                    "and so may be variables that were updated since. Set "
                    "TF_RNN_OPS_GPU_ALGO=steps to do without these kernels.");
  }
  std::lock_guard<std::mutex> lock(found->mutex);
  LoadUnlessItFailed(found);
  if (found->function != nullptr && found->failure.empty()) *loaded = found;
  *reason = found->failure;
  return Status();
}

Status PersistentKernels::LaunchRaw(const LaunchPlace& place, LoadedKernel* loaded, int64_t H,
                                    void* memory, elementwise::Exchange* exchange, void* args) {
  const PersistentKernel& kernel = *loaded->kernel;
  char* const start = static_cast<char*>(memory);
  char* const values = start + kernel.CounterBytes(H);
  exchange->counter = reinterpret_cast<unsigned*>(start);
  exchange->counters = exchange->counter + elementwise::kCounterStep;
  exchange->values = reinterpret_cast<unsigned*>(values);
  exchange->partial =
      reinterpret_cast<float*>(values + Aligned(kernel.exchange_words * int64_t{sizeof(unsigned)}));
  exchange->max_spins = max_spins_;
  exchange->number = static_cast<unsigned>(&kernel - kKernels) + 1;
  exchange->gave_up = loaded->gave_up;
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      api_, MemsetD8Async(ToDevicePtr(memory), 0, static_cast<size_t>(kernel.ExchangeBytes(H)),
                          place.stream));
  void* parameters[] = {args};
  const CUresult result = api_.LaunchCooperativeKernel(
      loaded->function, static_cast<unsigned>(kernel.Blocks(H)), 1, 1, elementwise::kThreads, 1, 1,
      static_cast<unsigned>(kernel.shared_bytes), place.stream, parameters);
  if (result == CUDA_SUCCESS) return Status();
  const Status status =
      FromDriver(api_, result, StrCat("LaunchCooperativeKernel(", kernel.name, ")").c_str());
  if (result != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) return status;
  // The context has fewer multiprocessors than the GPU. Later calls do without the kernel.
  std::lock_guard<std::mutex> lock(loaded->mutex);
  loaded->failure = status.message();
  loaded->is_lasting = true;
  return status;
}

}  // namespace rnn_ops::gpu
