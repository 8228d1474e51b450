#include "cc/gpu/rnn_heuristics.h"

namespace rnn_ops {
namespace gpu {
namespace {

constexpr cudnnRNNAlgo_t kSmallH = CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;
constexpr cudnnRNNAlgo_t kStatic = CUDNN_RNN_ALGO_PERSIST_STATIC;

bool HasGates(RnnMode mode) { return mode == RnnMode::kLstm || mode == RnnMode::kGru; }

// PERSIST_STATIC keeps the recurrent weights on chip, so it needs a large GPU. SOURCE: as for
// TakesSmallH().
bool FitsPersistStatic(const DeviceTraits& gpu) {
  constexpr int kAmpere = 8, kFewestMultiprocessors = 98;
  // cuDNN 8.0.5 fails at some sizes on compute capability 8.6.
  const bool fails = gpu.minor == 6;
  return gpu.major >= kAmpere && gpu.multiprocessors >= kFewestMultiprocessors && !fails;
}

// Note [Persistent rows]: figures of tests/gpu/core/run.py --only sweep on an H100 (cuDNN 9.19,
// 2026-11-22, T = 50, I = H); docs/history/gpu-h100.md has them. Other GPUs are not measured. A
// step of STANDARD takes 14 to 24 us whatever the size, since it is bound by launches. One of
// PERSIST_STATIC in float32 takes 0.7 us for each row; in float16, on tensor cores, 1.5 to 10 us up
// to 128 rows.

// The most rows with which PERSIST_STATIC is faster than SMALL_H. float32 or float16.
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

// The most rows with which PERSIST_STATIC is faster than STANDARD, likewise.
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
  constexpr int64_t kMostUnits = 1024;  // more have not been measured
  if (c.num_proj > 0 || gpu.major < kPascal) return {};
  // cuDNN takes bfloat16 with any algorithm, and is no faster than with STANDARD (9.19).
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

}  // namespace gpu
}  // namespace rnn_ops
