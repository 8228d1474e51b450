// Which of cuDNN's algorithms is likely to be the fastest. Pure functions of the problem and the
// GPU, so the same problem takes the same algorithm in every run.
#ifndef TF_RNN_OPS_CC_GPU_RNN_HEURISTICS_H_
#define TF_RNN_OPS_CC_GPU_RNN_HEURISTICS_H_

#include <cstdint>

#include "cc/core/rnn_config.h"
#include "cc/gpu/cudnn_min.h"
#include "cc/gpu/device_traits.h"
#include "cc/gpu/dtype.h"

namespace rnn_ops {
namespace gpu {

enum class Pass { kForward, kBackward };

// The most units that PERSIST_STATIC_SMALL_H takes.
int64_t MostSmallUnits(RnnMode mode, Pass pass);

// For rows of one length; STANDARD takes any others. Backward may differ from forward: STANDARD and
// PERSIST_STATIC read the reserve space of PERSIST_STATIC_SMALL_H.
//
// SOURCE: the rules of PyTorch's RNN.cpp (get_algo), except that GPUs before Ampere do not get
// PERSIST_STATIC. Nothing of them has been measured by this project.
cudnnRNNAlgo_t FastestAlgo(const RnnConfig& config, Dtype compute, const DeviceTraits& gpu,
                           Pass pass);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_HEURISTICS_H_
