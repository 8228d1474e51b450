// Work on a stream that neither cuDNN nor cuBLAS does: copies, conversions and masks. Unless a
// comment says otherwise, pointers are device pointers and sizes are numbers of elements. A stream
// is a CUstream. Every function except CopyToHost enqueues its work and returns. A size of 0
// enqueues nothing.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/launch/modules.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {

// A tensor [T, B, W], or [B, T, W] if time_major is false.
struct SequenceShape {
  int64_t max_time = 0;  // T
  int64_t batch = 0;     // B
  int64_t width = 0;     // W
  bool time_major = true;
};

// States [N, B, W], where N is the number of pseudo-layers.
struct StateShape {
  int64_t pseudo_layers = 0;  // N
  int64_t batch = 0;          // B
  int64_t width = 0;          // W
};

// An interface, so that tests can run an executor with another implementation.
class DeviceOps {
 public:
  virtual ~DeviceOps() = default;

  Status Zero(void* stream, void* to, int64_t bytes) const { return Fill(stream, to, 0, bytes); }
  virtual Status Fill(void* stream, void* to, uint8_t value, int64_t bytes) const = 0;
  virtual Status Copy(void* stream, void* to, const void* from, int64_t bytes) const = 0;
  // Copies from host memory, which may be reused when the function returns. FailedPrecondition if a
  // CUDA graph captures the stream.
  virtual Status CopyFromHost(void* stream, void* to, const void* host, int64_t bytes) const = 0;
  // Copies to host memory. Waits for the stream.
  virtual Status CopyToHost(void* stream, void* host, const void* from, int64_t bytes) const = 0;

  // to[k] = from[k], rounded to nearest even if `to_type` is narrower. `to` may be `from` only if
  // the types are equal.
  virtual Status Convert(void* stream, void* to, Dtype to_type, const void* from, Dtype from_type,
                         int64_t size) const = 0;

  // [rows, columns, width] -> [columns, rows, width]. Converts states between [B, N, W] and [N, B,
  // W].
  virtual Status SwapLeadingDims(void* stream, Dtype dtype, void* to, const void* from,
                                 int64_t rows, int64_t columns, int64_t width) const = 0;

  // Copies the steps t < lengths[b] and sets the other steps to zero. lengths: [B] int32. `to` may
  // be `from`.
  virtual Status MaskSequence(void* stream, Dtype dtype, const SequenceShape& shape, void* to,
                              const void* from, const int32_t* lengths) const = 0;

  // to[:, b, :] = from[:, b, :] for sequences b with lengths[b] == 0. Does not change other
  // sequences.
  virtual Status CopyEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                               const void* from, const int32_t* lengths) const = 0;

  // Copies the sequences b with lengths[b] > 0 and sets the other sequences to zero. `to` may be
  // `from`.
  virtual Status ZeroEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                               const void* from, const int32_t* lengths) const = 0;
};

// The real implementation: copies by the driver and the kernels of kernels/, in the context of
// the stream. If there is no driver, the error names the library and the files that were tried.
// *ops lives as long as the process.
Status GetDeviceOps(const DeviceOps** ops);

// Implements DeviceOps with the CUDA driver and the kernels of kernels/.

class DriverOps : public DeviceOps {
 public:
  DriverOps(const DriverApi* api, KernelModules* modules) : api_(*api), modules_(*modules) {}

  Status Fill(void* stream, void* to, uint8_t value, int64_t bytes) const override;
  Status Copy(void* stream, void* to, const void* from, int64_t bytes) const override;
  Status CopyFromHost(void* stream, void* to, const void* host, int64_t bytes) const override;
  Status CopyToHost(void* stream, void* host, const void* from, int64_t bytes) const override;
  Status Convert(void* stream, void* to, Dtype to_type, const void* from, Dtype from_type,
                 int64_t size) const override;
  Status SwapLeadingDims(void* stream, Dtype dtype, void* to, const void* from, int64_t rows,
                         int64_t columns, int64_t width) const override;
  Status MaskSequence(void* stream, Dtype dtype, const SequenceShape& shape, void* to,
                      const void* from, const int32_t* lengths) const override;
  Status CopyEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                       const void* from, const int32_t* lengths) const override;
  Status ZeroEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                       const void* from, const int32_t* lengths) const override;

 private:
  template <typename Args>
  Status Launch(void* stream, Kernel kernel, const LaunchDomain& domain, const Args& args) const;

  const DriverApi& api_;
  KernelModules& modules_;
};

}  // namespace rnn_ops::gpu
