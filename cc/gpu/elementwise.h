// Everything that runs on a stream and is neither cuDNN's nor cuBLAS's: copies, conversions, masks.
// Pointers are device pointers unless said otherwise, sizes are elements unless said otherwise, a
// stream is a CUstream. Every function but CopyToHost enqueues and returns; sizes of 0 enqueue
// nothing.
#ifndef TF_RNN_OPS_CC_GPU_ELEMENTWISE_H_
#define TF_RNN_OPS_CC_GPU_ELEMENTWISE_H_

#include <cstdint>

#include "cc/core/network/dtype.h"
#include "cc/core/status.h"

namespace rnn_ops {
namespace gpu {

// A tensor [T, B, W], or [B, T, W] when not time_major.
struct SequenceShape {
  int64_t max_time = 0;  // T
  int64_t batch = 0;     // B
  int64_t width = 0;     // W
  bool time_major = true;
};

// States [N, B, W], N pseudo-layers.
struct StateShape {
  int64_t pseudo_layers = 0;  // N
  int64_t batch = 0;          // B
  int64_t width = 0;          // W
};

// An interface, so that an executor can be tested with another implementation.
class DeviceOps {
 public:
  virtual ~DeviceOps() = default;

  Status Zero(void* stream, void* to, int64_t bytes) const { return Fill(stream, to, 0, bytes); }
  virtual Status Fill(void* stream, void* to, uint8_t value, int64_t bytes) const = 0;
  virtual Status Copy(void* stream, void* to, const void* from, int64_t bytes) const = 0;
  // From host memory, which may be reused when the function returns.
  virtual Status CopyFromHost(void* stream, void* to, const void* host, int64_t bytes) const = 0;
  // Waits for the stream.
  virtual Status CopyToHost(void* stream, void* host, const void* from, int64_t bytes) const = 0;

  // to[k] = from[k], rounded to nearest even where it narrows. to == from only with equal types.
  virtual Status Convert(void* stream, void* to, Dtype to_type, const void* from, Dtype from_type,
                         int64_t size) const = 0;

  // [rows, columns, width] -> [columns, rows, width]: states between [B, N, W] and [N, B, W].
  virtual Status SwapLeadingDims(void* stream, Dtype dtype, void* to, const void* from,
                                 int64_t rows, int64_t columns, int64_t width) const = 0;

  // Copies steps t < lengths[b] and makes the others zero. lengths [B] int32. In place: to == from.
  virtual Status MaskSequence(void* stream, Dtype dtype, const SequenceShape& shape, void* to,
                              const void* from, const int32_t* lengths) const = 0;

  // to[:, b, :] = from[:, b, :] for rows b with lengths[b] == 0; leaves the others alone.
  virtual Status CopyEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                               const void* from, const int32_t* lengths) const = 0;

  // Copies rows b with lengths[b] > 0 and makes the others zero. In place: to == from.
  virtual Status ZeroEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                               const void* from, const int32_t* lengths) const = 0;
};

// The real ones: the driver's copies and the kernels of elementwise/, in the stream's context.
// Fails, naming the library and what was tried, where there is no driver. Lives as long as the
// process.
Status GetDeviceOps(const DeviceOps** ops);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_ELEMENTWISE_H_
