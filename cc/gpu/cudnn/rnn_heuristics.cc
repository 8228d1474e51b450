#include "cc/gpu/cudnn/rnn_heuristics.h"

namespace rnn_ops::gpu {
namespace {

constexpr cudnnRNNAlgo_t kSmallH = CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;
constexpr cudnnRNNAlgo_t kStatic = CUDNN_RNN_ALGO_PERSIST_STATIC;

bool HasGates(RnnMode mode) { return mode == RnnMode::kLstm || mode == RnnMode::kGru; }

// PERSIST_STATIC keeps the recurrent weights on the chip, so it needs a large GPU.
// SOURCE: PyTorch's RNN.cpp (get_algo), as for TakesSmallH().
bool FitsPersistStatic(const DeviceTraits& gpu) {
  constexpr int kAmpere = 8, kFewestMultiprocessors = 98;
  // cuDNN 8.0.5 fails for some sizes on compute capability 8.6.
  const bool fails = gpu.minor == 6;
  return gpu.major >= kAmpere && gpu.multiprocessors >= kFewestMultiprocessors && !fails;
}

// Note [Persistent rows]: the bounds below were measured on an H100 only (docs/history/gpu-h100.md,
// tests/gpu/core/run.py --only stack-times). Launches bound the time of a step of STANDARD, so that
// time does not depend on the size. The time of a step of PERSIST_STATIC in float32 grows with the
// batch size. In float16 it runs on tensor cores and is fast up to 128 sequences.

// The largest batch with which PERSIST_STATIC is faster than SMALL_H, in float32 or float16.
int64_t MostRowsAgainstSmallH(const RnnConfig& c, Dtype compute) {
  switch (c.mode) {
    case RnnMode::kLstm:
      if (c.num_units < 128) return 0;
      return c.num_units == 128 && compute == Dtype::kFloat32 ? 1 : 4;
    case RnnMode::kGru:
      return c.num_units <= 128 ? 0 : 4;
    case RnnMode::kTanh:
    case RnnMode::kRelu:
      return c.num_units <= 200 ? 0 : c.num_units <= 256 ? 2 : 16;
    default:
      return 0;
  }
}

// The largest batch with which PERSIST_STATIC is faster than STANDARD, in float32 or float16.
int64_t MostRowsAgainstStandard(const RnnConfig& c, Dtype compute) {
  constexpr int64_t kTile = 128;
  const bool on_tensor_cores = compute == Dtype::kFloat16 && c.num_units % kTile == 0 &&
                               c.input_size % kTile == 0 && c.batch % 8 == 0;
  if (!on_tensor_cores) return c.mode == RnnMode::kLstm && c.num_units > 768 ? 4 : 8;
  return c.mode == RnnMode::kGru && c.num_units > 768 ? 32 : 128;
}

}  // namespace

bool TakesSmallH(RnnMode mode, int64_t units, Pass pass) {
  if (HasGates(mode)) return units <= (pass == Pass::kForward ? 192 : 128);
  return units <= (pass == Pass::kForward ? 384 : 256);
}

RnnAlgos FastestAlgos(const RnnConfig& c, Dtype compute, const DeviceTraits& gpu) {
  constexpr int kPascal = 6;
  constexpr int64_t kMostUnits = 1024;  // larger sizes have not been measured
  if (c.num_proj > 0 || gpu.major < kPascal) return {};
  // cuDNN accepts bfloat16 with any algorithm, but is then no faster than with STANDARD.
  if (compute != Dtype::kFloat32 && compute != Dtype::kFloat16) return {};
  const bool small_backward = TakesSmallH(c.mode, c.num_units, Pass::kBackward);
  const bool small_forward = TakesSmallH(c.mode, c.num_units, Pass::kForward);
  if (FitsPersistStatic(gpu) && c.num_units <= kMostUnits) {
    const bool against_small = c.is_training ? small_backward : small_forward;
    const int64_t rows =
        against_small ? MostRowsAgainstSmallH(c, compute) : MostRowsAgainstStandard(c, compute);
    if (c.batch <= rows) return {kStatic, kStatic};
  }
  if (!small_forward) return {};
  return {kSmallH, small_backward ? kSmallH : CUDNN_RNN_ALGO_STANDARD};
}

}  // namespace rnn_ops::gpu
