// A grid of threads that work together, on the host: each thread is a fiber. The functions of
// cc/gpu/kernels/persistent/warp.h act on the fiber that runs.
//
// Blocks run in a random order and lag behind each other, so that a kernel that reads what another
// block has not written yet gives another result. Memory is sequentially consistent: missing fences
// do not show here.
#pragma once

#include <cstdint>
#include <functional>

namespace rnn_ops::gpu::fake {

struct FiberGrid {
  int blocks = 1;
  int threads = 256;  // of a block; whole warps
  int64_t shared_bytes = 0;
  uint64_t seed = 1;          // of the order of the blocks
  int block_that_hangs = -1;  // this block does not run while others do
  bool runs_late = false;     // but after them
};

// Runs `thread` in every thread of the grid, until all but those of a block that hangs have ended.
// Aborts the process where a kernel breaks a rule of CUDA: a barrier that some threads of a block
// miss, products that the lanes of a warp do not compute together.
void RunFibers(const FiberGrid& grid, const std::function<void()>& thread);

}  // namespace rnn_ops::gpu::fake
