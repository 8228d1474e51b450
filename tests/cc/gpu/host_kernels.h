// The kernels of cc/gpu/kernels, compiled for the host and run one thread at a time.
#pragma once

#include <cstdint>

namespace rnn_ops::gpu::fake {

// A kernel as a function of the pointer to its struct of arguments. A kernel has no state except
// its position in the grid.
struct HostKernel {
  const char* name;
  void (*run)(const void* args);
  bool is_cooperative = false;  // its threads work together: RunFibers() in fibers.h
};

// The persistent kernels.
const HostKernel* FindPersistentHostKernel(const char* name);

// Null if no kernel has this name.
const HostKernel* FindHostKernel(const char* name);

struct Grid {
  int64_t blocks_x, blocks_y, threads_x;
};

// Runs every thread of the grid in turn, the last thread first, so that results cannot depend on
// the order.
void RunHostKernel(const HostKernel& kernel, const Grid& grid, const void* args);

}  // namespace rnn_ops::gpu::fake
