// Predicts the fastest of cuDNN's algorithms. Pure functions of the problem and the GPU, so the
// same problem runs with the same algorithm in every run.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"
#include "cc/gpu/libraries/cudnn_min.h"
#include "cc/gpu/libraries/device_traits.h"

namespace rnn_ops::gpu {

enum class Pass { kForward, kBackward };

// Whether PERSIST_STATIC_SMALL_H accepts `units` units. SOURCE: PyTorch's RNN.cpp (get_algo).
bool TakesSmallH(RnnMode mode, int64_t units, Pass pass);

// Backward may differ from forward: STANDARD can read the reserve space of PERSIST_STATIC_SMALL_H.
struct RnnAlgos {
  cudnnRNNAlgo_t forward = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNAlgo_t backward = CUDNN_RNN_ALGO_STANDARD;
};

// For sequences of one length. Sequences of different lengths must run with STANDARD.
RnnAlgos FastestAlgos(const RnnConfig& config, Dtype compute, const DeviceTraits& gpu);

}  // namespace rnn_ops::gpu
