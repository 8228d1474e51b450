// The kernels of cc/gpu/elementwise, compiled for the host and run thread by thread.
#ifndef TF_RNN_OPS_TESTS_CC_GPU_HOST_KERNELS_H_
#define TF_RNN_OPS_TESTS_CC_GPU_HOST_KERNELS_H_

#include <cstdint>

namespace rnn_ops {
namespace gpu {
namespace fake {

// Takes the pointer to its struct of arguments. A thread of the grid is the whole state of a
// kernel.
struct HostKernel {
  const char* name;
  void (*run)(const void* args);
};

// Null when there is none of that name.
const HostKernel* FindHostKernel(const char* name);

struct Grid {
  int64_t blocks_x, blocks_y, threads_x;
};

// Every thread of the grid in turn; the last first, so that nothing depends on their order.
void RunHostKernel(const HostKernel& kernel, const Grid& grid, const void* args);

}  // namespace fake
}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_CC_GPU_HOST_KERNELS_H_
