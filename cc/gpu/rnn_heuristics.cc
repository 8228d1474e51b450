#include "cc/gpu/rnn_heuristics.h"

namespace rnn_ops {
namespace gpu {
namespace {

bool HasGates(RnnMode mode) { return mode == RnnMode::kLstm || mode == RnnMode::kGru; }

// PERSIST_STATIC keeps the recurrent weights on chip, so it needs a large GPU.
bool FitsPersistStatic(const DeviceTraits& gpu) {
  constexpr int kAmpere = 8, kFewestMultiprocessors = 98;
  // cuDNN 8.0.5 fails at some sizes on compute capability 8.6.
  const bool fails = gpu.minor == 6;
  return gpu.major >= kAmpere && gpu.multiprocessors >= kFewestMultiprocessors && !fails;
}

bool PaysPersistStatic(const RnnConfig& c, Dtype compute) {
  constexpr int64_t kTile = 128, kMostUnits = 1024, kMostRows = 128;
  if (compute != Dtype::kFloat16 || c.mode == RnnMode::kGru) return false;
  if (c.num_layers != 1 || c.direction == Direction::kBidirectional) return false;
  if (c.num_units > kMostUnits || c.num_units % kTile != 0 || c.input_size % kTile != 0) {
    return false;
  }
  if (c.batch % 8 != 0 || c.batch > kMostRows) return false;
  // Without gates, many rows of many units are slow.
  return HasGates(c.mode) || c.batch < 96 || c.num_units < 896;
}

}  // namespace

int64_t MostSmallUnits(RnnMode mode, Pass pass) {
  if (HasGates(mode)) return pass == Pass::kForward ? 192 : 128;
  return pass == Pass::kForward ? 384 : 256;
}

cudnnRNNAlgo_t FastestAlgo(const RnnConfig& c, Dtype compute, const DeviceTraits& gpu, Pass pass) {
  constexpr int kPascal = 6;
  if (c.num_proj > 0 || compute == Dtype::kFloat64) return CUDNN_RNN_ALGO_STANDARD;
  if (gpu.major >= kPascal && c.num_units <= MostSmallUnits(c.mode, pass)) {
    return CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;
  }
  if (FitsPersistStatic(gpu) && PaysPersistStatic(c, compute)) {
    return CUDNN_RNN_ALGO_PERSIST_STATIC;
  }
  return CUDNN_RNN_ALGO_STANDARD;
}

}  // namespace gpu
}  // namespace rnn_ops
