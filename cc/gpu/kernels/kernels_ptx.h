// The kernels as PTX. The driver compiles the PTX at load time, for any GPU from Pascal on.
#pragma once

namespace rnn_ops::gpu::elementwise {

// The modules of kernel_list.h.
extern const char kKernelsPtx[];
extern const char kLayerKernelsPtx[];

}  // namespace rnn_ops::gpu::elementwise
