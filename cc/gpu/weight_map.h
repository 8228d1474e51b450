// Where cuDNN wants the weights and biases, beside where docs/param-layout.md says they lie.
#ifndef TF_RNN_OPS_CC_GPU_WEIGHT_MAP_H_
#define TF_RNN_OPS_CC_GPU_WEIGHT_MAP_H_

#include <cstdint>
#include <vector>

#include "cc/core/network/param_layout.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/cudnn_api.h"
#include "cc/gpu/elementwise.h"

namespace rnn_ops {
namespace gpu {

// A run of bytes that lies in both buffers without a gap.
struct WeightRun {
  int64_t ours = 0;
  int64_t cudnns = 0;
  int64_t bytes = 0;
};

class WeightMap {
 public:
  // Asks cuDNN for the place of every matrix and bias of `descriptor`, which describes `config`
  // with elements of `element_bytes`. `params` is any device address; it is not read.
  // Unimplemented where cuDNN has a block that `config` lacks or lacks one that it has.
  static Status Make(const CudnnApi& api, cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                     const RnnConfig& config, int64_t element_bytes, const void* params,
                     WeightMap* map);

  int64_t our_bytes() const { return our_bytes_; }
  int64_t cudnn_bytes() const { return cudnn_bytes_; }
  // Both buffers are the same, so no copy is needed.
  bool identical() const { return identical_; }
  const std::vector<WeightRun>& runs() const { return runs_; }

  // Enqueues the copies. What only cuDNN's buffer has (gaps) becomes zero.
  Status ToCudnn(const DeviceOps& ops, void* stream, const void* ours, void* cudnns) const;
  Status FromCudnn(const DeviceOps& ops, void* stream, const void* cudnns, void* ours) const;

 private:
  void Append(const WeightRun& run);

  int64_t our_bytes_ = 0;
  int64_t cudnn_bytes_ = 0;
  bool identical_ = false;
  std::vector<WeightRun> runs_;  // in the order of our buffer
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_WEIGHT_MAP_H_
