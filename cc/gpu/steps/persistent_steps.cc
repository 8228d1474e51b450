#include "cc/gpu/steps/persistent_steps.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

#include "cc/core/status.h"

namespace rnn_ops::gpu {
namespace {

constexpr int64_t kRowsOfPart = 64;

bool HasPersistentShape(const LayerProblem& p) {
  return p.num_proj == 0 && !p.has_layer_norm && p.batch <= kMostPersistentRows && p.max_time > 0 &&
         p.max_time <= kMostPersistentSteps;
}

void WarnOnce(const PersistentKernel& kernel, const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::string> given;
  const std::string text =
      StrCat("a kernel for each step runs instead of ", kernel.name, ": ", reason);
  std::lock_guard<std::mutex> lock(mutex);
  if (given.insert(text).second) Warn(text);
}

}  // namespace

bool IsGeneral(const LayerProblem& p) {
  const bool has_gates = p.mode == RnnMode::kLstm || p.mode == RnnMode::kGru;
  const bool usual = !has_gates || (p.activation == Activation::kTanh &&
                                    p.recurrent_activation == Activation::kSigmoid);
  return !usual || p.recurrent_masked || p.has_zoneout() || p.has_peepholes || p.cell_clip > 0;
}

Status PersistentSteps::Choose(const ProductCall& call, const LayerProblem& p,
                               PersistentPass pass) {
  if (!HasPersistentShape(p)) return Status();
  // A replay of a CUDA graph does not pass Prepare(), which reports a block that does not run.
  bool capturing = false;
  RNN_OPS_RETURN_IF_ERROR(IsCapturing(call.driver(), call.place().stream, &capturing));
  if (capturing) return Status();
  std::vector<Part> parts;
  int64_t bytes = 0;
  for (int64_t first = 0; first < p.batch; first += kRowsOfPart) {
    const int64_t rows = std::min(kRowsOfPart, p.batch - first);
    const PersistentKernel* const kernel =
        FindPersistentKernel({pass, p.mode, p.dtype, p.num_units, rows, IsGeneral(p)});
    if (kernel == nullptr) return Status();
    LoadedKernel* loaded = nullptr;
    std::string reason;
    RNN_OPS_RETURN_IF_ERROR(
        call.persistent().Prepare(call.place().context, *kernel, p.num_units, &loaded, &reason));
    if (loaded == nullptr) {
      WarnOnce(*kernel, reason);
      return Status();
    }
    parts.push_back({loaded, first, rows});
    bytes = std::max(bytes, kernel->ExchangeBytes(p.num_units));
  }
  RNN_OPS_RETURN_IF_ERROR(
      call.Scratch("the exchange of persistent kernels", bytes / 4, Dtype::kFloat32, &memory_));
  parts_ = parts;
  return Status();
}

}  // namespace rnn_ops::gpu
