#include "cc/gpu/layer/persistent_steps.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>

namespace rnn_ops {
namespace gpu {
namespace {

constexpr int64_t kRowsOfPart = 64;
// With more rows, a product for each step is as fast.
constexpr int64_t kMostRows = 128;
// The counters of the kernels have 32 bits.
constexpr int64_t kMostSteps = int64_t{1} << 23;

bool IsGeneral(const LayerProblem& p) {
  const bool has_gates = p.mode == RnnMode::kLstm || p.mode == RnnMode::kGru;
  const bool usual = !has_gates || (p.activation == Activation::kTanh &&
                                    p.recurrent_activation == Activation::kSigmoid);
  return !usual || p.recurrent_masked || p.has_zoneout() || p.has_peepholes || p.cell_clip > 0;
}

bool IsPlainStep(const LayerProblem& p) {
  return p.num_proj == 0 && !p.has_layer_norm && p.batch <= kMostRows && p.max_time > 0 &&
         p.max_time < kMostSteps;
}

void LogOnce(const std::string& reason) {
  static std::once_flag once;
  std::call_once(once, [&reason] {
    std::fprintf(stderr, "tf_rnn_ops: LayerRNN runs one kernel for each step, because %s.\n",
                 reason.c_str());
  });
}

}  // namespace

Status PersistentSteps::Choose(const ProductCall& call, const LayerProblem& p,
                               PersistentPass pass) {
  if (!IsPlainStep(p)) return Status();
  std::vector<Part> parts;
  int64_t bytes = 0;
  for (int64_t first = 0; first < p.batch; first += kRowsOfPart) {
    const int64_t rows = std::min(kRowsOfPart, p.batch - first);
    const PersistentKernel* const kernel =
        FindPersistentKernel({pass, p.mode, p.dtype, p.num_units, rows, IsGeneral(p)});
    if (kernel == nullptr) return Status();
    bool can = false;
    std::string reason;
    RNN_OPS_RETURN_IF_ERROR(
        call.persistent().Prepare(call.place().context, *kernel, p.num_units, &can, &reason));
    if (!can) {
      LogOnce(reason);
      return Status();
    }
    parts.push_back({kernel, first, rows});
    bytes = std::max(bytes, kernel->SharedMemoryBytes(p.num_units));
  }
  RNN_OPS_RETURN_IF_ERROR(
      call.Scratch("the exchange of persistent kernels", bytes / 4, Dtype::kFloat32, &memory_));
  parts_ = parts;
  return Status();
}

}  // namespace gpu
}  // namespace rnn_ops
