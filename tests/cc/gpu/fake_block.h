// A block of CUDA threads as threads of the host, and the kernels whose threads work together. They
// see a device compiler, and are in the namespace elementwise_block.
#pragma once

#include <cmath>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rnn_ops::gpu::fake {

struct Index {
  unsigned x = 0, y = 0;
};
inline thread_local Index threadIdx, blockIdx;
inline Index blockDim, gridDim;

// All threads of the block meet here. A block whose threads do not meet equally often hangs.
class Meeting {
 public:
  void Await(unsigned threads) {
    std::unique_lock<std::mutex> lock(mutex_);
    const unsigned long round = round_;
    if (++arrived_ == threads) {
      arrived_ = 0, ++round_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return round_ != round; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  unsigned arrived_ = 0;
  unsigned long round_ = 0;
};
inline Meeting meeting;

inline void Synchronize() { meeting.Await(blockDim.x); }

// WHY the whole block meets: then a shuffle that only some warps reach hangs too.
template <typename T>
T Shuffle(unsigned, T value, unsigned lanes) {
  static T values[1024];
  values[threadIdx.x] = value;
  Synchronize();
  const T other = values[threadIdx.x ^ lanes];
  Synchronize();
  return other;
}

// Runs `kernel` in one block after the other, `blocks` of them in y.
inline void RunBlocks(unsigned threads, unsigned blocks, const std::function<void()>& kernel) {
  blockDim.x = threads;
  gridDim.x = 1, gridDim.y = blocks;
  for (unsigned y = 0; y < blocks; ++y) {
    std::vector<std::thread> all;
    for (unsigned x = 0; x < threads; ++x) {
      all.emplace_back([&kernel, x, y] {
        threadIdx.x = x, blockIdx.y = y;
        kernel();
      });
    }
    for (std::thread& thread : all) thread.join();
  }
}

inline unsigned BitsOfFloat(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float FloatOfBits(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace rnn_ops::gpu::fake

using rnn_ops::gpu::fake::blockDim;
using rnn_ops::gpu::fake::blockIdx;
using rnn_ops::gpu::fake::gridDim;
using rnn_ops::gpu::fake::threadIdx;

#define __CUDACC__
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static  // of the one block that runs
#define __syncthreads ::rnn_ops::gpu::fake::Synchronize
#define __shfl_xor_sync ::rnn_ops::gpu::fake::Shuffle
#define __float_as_uint ::rnn_ops::gpu::fake::BitsOfFloat
#define __uint_as_float ::rnn_ops::gpu::fake::FloatOfBits
#define asm(...) ((void)0)  // the conversions of 16-bit types, which tests of blocks leave out
#define elementwise elementwise_block

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "cc/gpu/kernels/cells/lstm_layer_norm.h"
#pragma GCC diagnostic pop
