// The ops behind the handlers for GPUs.
#ifndef TF_RNN_OPS_CC_FFI_GPU_OPS_H_
#define TF_RNN_OPS_CC_FFI_GPU_OPS_H_

#include "cc/core/status.h"
#include "cc/ffi/gpu_call.h"

namespace rnn_ops {
namespace ffi {

Status GpuBlockLstm(GpuCall* call);
Status GpuBlockLstmGrad(GpuCall* call);

Status GpuCudnnRnn(GpuCall* call);
Status GpuStatelessCudnnRnn(GpuCall* call);
Status GpuCudnnRnnPacked(GpuCall* call);
Status GpuCudnnRnnBackprop(GpuCall* call);

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_GPU_OPS_H_
