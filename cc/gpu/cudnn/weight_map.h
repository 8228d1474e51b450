// The positions of weights and biases in cuDNN's weight space, and in the layout of
// docs/param-layout.md.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/op/param_layout.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/launch/elementwise.h"
#include "cc/gpu/libraries/cudnn_api.h"

namespace rnn_ops::gpu {

// A run of bytes that is contiguous in both buffers.
struct WeightRun {
  int64_t ours = 0;
  int64_t cudnns = 0;
  int64_t bytes = 0;
};

class WeightMap {
 public:
  // Asks cuDNN for the position of every matrix and bias of `descriptor`, which must describe
  // `config` with elements of `element_bytes`. `params`: any device address; the memory is not
  // read. Returns Unimplemented if cuDNN and `config` do not have the same blocks.
  static Status Make(const CudnnApi& api, cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                     const RnnConfig& config, int64_t element_bytes, const void* params,
                     WeightMap* map);

  int64_t our_bytes() const { return our_bytes_; }
  int64_t cudnn_bytes() const { return cudnn_bytes_; }
  // True if both buffers have the same layout, so that no copy is needed.
  bool identical() const { return identical_; }
  const std::vector<WeightRun>& runs() const { return runs_; }

  // The functions enqueue the copies. Bytes that only cuDNN's buffer has (gaps) become zero.
  Status ToCudnn(const DeviceOps& ops, void* stream, const void* ours, void* cudnns) const;
  Status FromCudnn(const DeviceOps& ops, void* stream, const void* cudnns, void* ours) const;

 private:
  void Append(const WeightRun& run);

  int64_t our_bytes_ = 0;
  int64_t cudnn_bytes_ = 0;
  bool identical_ = false;
  std::vector<WeightRun> runs_;  // in the order of the buffer of docs/param-layout.md
};

}  // namespace rnn_ops::gpu
