#include "cc/gpu/cudnn/rnn_staging.h"

#include <algorithm>

namespace rnn_ops::gpu {

RnnStaging::RnnStaging(const DeviceOps& ops, const StackProblem& problem, Dtype compute,
                       const RnnGpuCall& call)
    : ops_(ops), problem_(problem), compute_(compute), call_(call) {
  for (int64_t b = 0; b < problem.batch; ++b) {
    const int32_t length = problem.lengths[b];
    full_ = full_ && length == problem.max_time;
    any_empty_ = any_empty_ || length == 0;
    lengths_.push_back(std::max(length, 1));
  }
}

Status RnnStaging::Init() {
  if (!any_empty_) return Status();
  const int64_t bytes = problem_.batch * static_cast<int64_t>(sizeof(int32_t));
  void* memory = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Scratch("sequence lengths", bytes, &memory));
  RNN_OPS_RETURN_IF_ERROR(ops_.CopyFromHost(call_.stream, memory, problem_.lengths, bytes));
  device_lengths_ = static_cast<const int32_t*>(memory);
  return Status();
}

Status RnnStaging::Scratch(const char* purpose, int64_t bytes, void** memory) {
  return AllocateScratch(call_.scratch, purpose, bytes, memory);
}

// If one of the two dimensions is 1, both orders are the same.
bool RnnStaging::swaps_states() const {
  const RnnConfig& c = problem_;
  return !c.time_major && c.num_pseudo_layers() > 1 && c.batch > 1;
}

int64_t RnnStaging::SequenceSize(int64_t width) const {
  return problem_.max_time * problem_.batch * width;
}

int64_t RnnStaging::StateSize(int64_t width) const {
  return problem_.num_pseudo_layers() * problem_.batch * width;
}

SequenceShape RnnStaging::Sequence(int64_t width) const {
  const RnnConfig& c = problem_;
  return {c.max_time, c.batch, width, c.time_major};
}

// [B, L*D, width] is [1, B, L*D*width]: the states of a sequence are contiguous.
StateShape RnnStaging::UserState(int64_t width) const {
  const RnnConfig& c = problem_;
  if (c.time_major) return {c.num_pseudo_layers(), c.batch, width};
  return {1, c.batch, c.num_pseudo_layers() * width};
}

Status RnnStaging::Widen(const char* purpose, const void* from, int64_t size, const void** to) {
  *to = from;
  if (!converts()) return Status();
  void* memory = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Scratch(purpose, size * SizeOf(compute_), &memory));
  *to = memory;
  return ops_.Convert(call_.stream, memory, compute_, from, problem_.dtype, size);
}

Status RnnStaging::SequenceIn(const void* user, int64_t width, const void** cudnns) {
  const void* source = user;
  if (any_empty_) {
    void* masked = nullptr;
    RNN_OPS_RETURN_IF_ERROR(
        Scratch("a masked sequence", SequenceSize(width) * SizeOf(problem_.dtype), &masked));
    RNN_OPS_RETURN_IF_ERROR(ops_.MaskSequence(call_.stream, problem_.dtype, Sequence(width), masked,
                                              user, device_lengths_));
    source = masked;
  }
  return Widen("a converted sequence", source, SequenceSize(width), cudnns);
}

Status RnnStaging::StateIn(const void* user, int64_t width, const void** cudnns) {
  const RnnConfig& c = problem_;
  const int64_t bytes = StateSize(width) * SizeOf(problem_.dtype);
  const void* source = user;
  if (any_empty_) {
    void* zeroed = nullptr;
    RNN_OPS_RETURN_IF_ERROR(Scratch("masked states", bytes, &zeroed));
    RNN_OPS_RETURN_IF_ERROR(ops_.ZeroEmptyRows(call_.stream, problem_.dtype, UserState(width),
                                               zeroed, source, device_lengths_));
    source = zeroed;
  }
  if (swaps_states()) {
    void* swapped = nullptr;
    RNN_OPS_RETURN_IF_ERROR(Scratch("transposed states", bytes, &swapped));
    RNN_OPS_RETURN_IF_ERROR(ops_.SwapLeadingDims(call_.stream, problem_.dtype, swapped, source,
                                                 c.batch, c.num_pseudo_layers(), width));
    source = swapped;
  }
  return Widen("converted states", source, StateSize(width), cudnns);
}

Status RnnStaging::ParamsIn(const WeightMap& map, const void* user, const void** cudnns) {
  const void* source = nullptr;
  RNN_OPS_RETURN_IF_ERROR(
      Widen("converted params", user, map.our_bytes() / SizeOf(compute_), &source));
  *cudnns = source;
  if (map.identical()) return Status();
  void* placed = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Scratch("params in cuDNN's order", map.cudnn_bytes(), &placed));
  *cudnns = placed;
  return map.ToCudnn(ops_, call_.stream, source, placed);
}

Status RnnStaging::SequenceOut(void* user, int64_t width, Padding padding, void** cudnns) {
  const int64_t bytes = SequenceSize(width) * SizeOf(compute_);
  *cudnns = user;
  if (converts()) {
    RNN_OPS_RETURN_IF_ERROR(Scratch("a sequence to convert", bytes, cudnns));
  }
  if (!full_ && padding == Padding::kLeftByCudnn) {
    RNN_OPS_RETURN_IF_ERROR(ops_.Zero(call_.stream, *cudnns, bytes));
  }
  sequences_.push_back({user, *cudnns, nullptr, width});
  return Status();
}

Status RnnStaging::StateOut(void* user, const void* initial, int64_t width, void** cudnns) {
  *cudnns = user;
  if (converts() || swaps_states()) {
    RNN_OPS_RETURN_IF_ERROR(
        Scratch("states to convert", StateSize(width) * SizeOf(compute_), cudnns));
  }
  states_.push_back({user, *cudnns, initial, width});
  return Status();
}

Status RnnStaging::ParamsOut(const WeightMap& map, void* user, void** cudnns) {
  *cudnns = user;
  if (converts() || !map.identical()) {
    RNN_OPS_RETURN_IF_ERROR(
        Scratch("the gradient of params in cuDNN's order", map.cudnn_bytes(), cudnns));
  }
  params_ = {user, *cudnns, nullptr, 0};
  params_map_ = &map;
  return ops_.Zero(call_.stream, *cudnns, map.cudnn_bytes());
}

Status RnnStaging::FinishSequence(const Output& out) {
  if (converts()) {
    RNN_OPS_RETURN_IF_ERROR(ops_.Convert(call_.stream, out.user, problem_.dtype, out.cudnns,
                                         compute_, SequenceSize(out.width)));
  }
  if (!any_empty_) return Status();
  return ops_.MaskSequence(call_.stream, problem_.dtype, Sequence(out.width), out.user, out.user,
                           device_lengths_);
}

Status RnnStaging::FinishState(const Output& out) {
  const RnnConfig& c = problem_;
  const void* source = out.cudnns;
  if (converts()) {
    void* narrowed = out.user;
    if (swaps_states()) {
      RNN_OPS_RETURN_IF_ERROR(
          Scratch("converted states", StateSize(out.width) * SizeOf(problem_.dtype), &narrowed));
    }
    RNN_OPS_RETURN_IF_ERROR(ops_.Convert(call_.stream, narrowed, problem_.dtype, source, compute_,
                                         StateSize(out.width)));
    source = narrowed;
  }
  if (swaps_states()) {
    RNN_OPS_RETURN_IF_ERROR(ops_.SwapLeadingDims(call_.stream, problem_.dtype, out.user, source,
                                                 c.num_pseudo_layers(), c.batch, out.width));
  }
  if (!any_empty_) return Status();
  return ops_.CopyEmptyRows(call_.stream, problem_.dtype, UserState(out.width), out.user,
                            out.initial, device_lengths_);
}

Status RnnStaging::FinishParams() {
  if (params_map_ == nullptr || params_.cudnns == params_.user) return Status();
  const WeightMap& map = *params_map_;
  const void* source = params_.cudnns;
  if (!map.identical()) {
    void* placed = params_.user;
    if (converts()) {
      RNN_OPS_RETURN_IF_ERROR(Scratch("the gradient of params", map.our_bytes(), &placed));
    }
    RNN_OPS_RETURN_IF_ERROR(map.FromCudnn(ops_, call_.stream, source, placed));
    source = placed;
  }
  if (!converts()) return Status();
  return ops_.Convert(call_.stream, params_.user, problem_.dtype, source, compute_,
                      map.our_bytes() / SizeOf(compute_));
}

Status RnnStaging::Finish() {
  for (const Output& out : sequences_) RNN_OPS_RETURN_IF_ERROR(FinishSequence(out));
  for (const Output& out : states_) RNN_OPS_RETURN_IF_ERROR(FinishState(out));
  return FinishParams();
}

}  // namespace rnn_ops::gpu
