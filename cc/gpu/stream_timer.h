// How long the device takes for work on a stream.
#ifndef TF_RNN_OPS_CC_GPU_STREAM_TIMER_H_
#define TF_RNN_OPS_CC_GPU_STREAM_TIMER_H_

#include <functional>

#include "cc/core/status.h"
#include "cc/gpu/driver_api.h"

namespace rnn_ops {
namespace gpu {

// Calls `work`, which enqueues on `stream` (a CUstream, its context current), waits until that is
// done, and says how long the device took from the first to the last of it.
Status TimeOnStream(const DriverApi& driver, void* stream, const std::function<Status()>& work,
                    double* seconds);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_STREAM_TIMER_H_
