// The kernels as PTX. The driver compiles the PTX at load time, for any GPU from Pascal on.
#ifndef TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNELS_PTX_H_
#define TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNELS_PTX_H_

namespace rnn_ops {
namespace gpu {
namespace elementwise {

// The modules of kernel_list.h.
extern const char kKernelsPtx[];
extern const char kLayerKernelsPtx[];

}  // namespace elementwise
}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNELS_PTX_H_
