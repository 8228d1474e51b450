// The libraries of the process with a driver that records how persistent kernels are loaded and
// launched. Their C interface is for launches.py.
#ifndef TF_RNN_OPS_TESTS_GPU_CORE_RECORDED_KERNELS_H_
#define TF_RNN_OPS_TESTS_GPU_CORE_RECORDED_KERNELS_H_

#include "cc/core/status.h"
#include "cc/gpu/launch/product_call.h"

namespace rnn_ops {
namespace gpu {

Status OpenRecordedLibraries(ProductLibraries* libraries);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_GPU_CORE_RECORDED_KERNELS_H_
