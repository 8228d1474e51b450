// The kernels as PTX. The driver compiles the PTX at load time, for any GPU from Pascal on.
#pragma once

#include "cc/gpu/kernels/persistent/archive_name.h"

namespace rnn_ops::gpu::elementwise {

// The modules of kernel_list.h.
extern const char kKernelsPtx[];
extern const char kLayerKernelsPtx[];

// The archive of the persistent kernels that tools/generate_ptx.py makes, see
// launch/persistent_kernels.cc. The libraries of ops share it: it is in _tf_rnn_ops_baseline.so.
__attribute__((visibility("default"))) extern const char RNN_OPS_PERSISTENT_ARCHIVE[];

}  // namespace rnn_ops::gpu::elementwise
