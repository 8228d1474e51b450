// cuDNN's description of a network, made once and used by every call of the same network.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "cc/core/op/dtype.h"
#include "cc/core/op/param_layout.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/libraries/cudnn_api.h"
#include "cc/gpu/libraries/handle_pool.h"
#include "cc/gpu/memory/lru_cache.h"

namespace rnn_ops::gpu {

// The positions of weights and biases in cuDNN's weight space, and in the layout of
// docs/raw-ops.md.

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
  std::vector<WeightRun> runs_;  // in the order of the buffer of docs/raw-ops.md
};

// Whether masks are drawn. Dropout is between layers, so a network with one layer draws no masks.
inline bool HasDropout(const RnnConfig& c) {
  return c.is_training && c.dropout > 0.0f && c.num_layers > 1;
}

// Returns InvalidArgument if cuDNN does not accept a size.
Status CheckSizes(const RnnConfig& config);

// The largest T. Tested with cuDNN 9.3 and 9.19: cuDNN rejects 65536 without a message.
constexpr int64_t kMostSteps = 65535;

// `config` without the settings that differ between calls of one network: time steps, layout,
// dropout and training.
RnnConfig NetworkOf(RnnConfig config);

// The inputs of an RNN descriptor. The key has no time steps, lengths, stream, dropout or training,
// so one plan serves calls that differ in these.
struct RnnPlanKey {
  int device = 0;
  RnnConfig network;                // NetworkOf() the call's config
  Dtype compute = Dtype::kFloat32;  // the type of the arithmetic
  bool allow_tf32 = false;
  cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD;

  bool operator<(const RnnPlanKey& other) const {
    const auto fields = [](const RnnPlanKey& k) {
      const RnnConfig& n = k.network;
      return std::tie(k.device, n.mode, n.input_mode, n.direction, n.num_layers, n.num_units,
                      n.input_size, n.num_proj, n.batch, k.compute, k.allow_tf32, k.algo);
    };
    return fields(*this) < fields(other);
  }
};

cudnnDataType_t ToCudnn(Dtype dtype);

// Makes a descriptor without dropout. (Some versions of cuDNN do not accept null.)
Status MakeNoDropout(const CudnnApi& api, cudnnHandle_t handle, DropoutDescriptor* dropout);

// Sets all attributes of an RNN descriptor. The descriptor keeps a reference to `dropout`.
Status SetRnnDescriptor(const CudnnApi& api, const RnnPlanKey& key,
                        cudnnDropoutDescriptor_t dropout, cudnnRNNDescriptor_t descriptor);

// Immutable after Make().
class RnnPlan {
 public:
  using Pointer = std::shared_ptr<const RnnPlan>;

  static Status Make(const CudnnApi& api, cudnnHandle_t handle, const RnnPlanKey& key,
                     std::shared_ptr<const WeightMap> weights, Pointer* plan);

  const RnnPlanKey& key() const { return key_; }
  const WeightMap& weights() const { return *weights_; }
  cudnnRNNDescriptor_t rnn() const { return rnn_.get(); }  // without dropout
  cudnnTensorDescriptor_t h() const { return h_.get(); }
  cudnnTensorDescriptor_t c() const { return c_.get(); }

  // Hold the lock while a cuDNN function uses one of the descriptors.
  // WHY: calls on different streams share a plan, and cuDNN does not promise that two threads may
  // use an RNN descriptor at once. The cuDNN functions only enqueue, so the lock is short.
  std::unique_lock<std::mutex> Lock() const { return std::unique_lock<std::mutex>(mutex_); }

 private:
  RnnPlan(const RnnPlanKey& key, std::shared_ptr<const WeightMap> weights)
      : key_(key), weights_(std::move(weights)) {}
  Status Init(const CudnnApi& api, cudnnHandle_t handle);

  const RnnPlanKey key_;
  const std::shared_ptr<const WeightMap> weights_;
  mutable std::mutex mutex_;
  DropoutDescriptor no_dropout_;  // must outlive rnn_
  RnnDescriptor rnn_;
  TensorDescriptor h_, c_;
};

// The descriptors that depend on the steps, the lengths and the dropout states of one call. Sizes
// are in bytes.
class RnnCallDescriptors {
 public:
  // `plan` must fit `config`. `lengths`: each at least 1. `dropout`: null without dropout,
  // otherwise a complete descriptor, because sizes depend on it. The padding of outputs becomes
  // zero.
  Status Init(const CudnnApi& api, cudnnHandle_t handle, RnnPlan::Pointer plan,
              const RnnConfig& config, const std::vector<int>& lengths,
              cudnnDropoutDescriptor_t dropout);

  const RnnPlan& plan() const { return *plan_; }
  cudnnRNNDescriptor_t rnn() const { return dropout_ != nullptr ? own_rnn_.get() : plan_->rnn(); }
  cudnnDropoutDescriptor_t dropout() const { return dropout_; }
  cudnnForwardMode_t forward_mode() const { return forward_mode_; }
  cudnnRNNDataDescriptor_t x() const { return x_.get(); }
  cudnnRNNDataDescriptor_t y() const { return y_.get(); }
  int64_t work_bytes() const { return static_cast<int64_t>(work_size_); }
  int64_t reserve_bytes() const { return static_cast<int64_t>(reserve_size_); }

 private:
  RnnPlan::Pointer plan_;
  cudnnForwardMode_t forward_mode_ = CUDNN_FWD_MODE_INFERENCE;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  RnnDescriptor own_rnn_;
  RnnDataDescriptor x_, y_;
  size_t work_size_ = 0;
  size_t reserve_size_ = 0;
};

// The most recently used plans, and the weight maps of their networks.
class RnnPlanCache {
 public:
  RnnPlanCache(const CudnnApi* api, size_t capacity)
      : api_(*api), plans_(capacity), maps_(capacity) {}

  // `params`: any device address; the memory is not read.
  Status Get(cudnnHandle_t handle, const RnnPlanKey& key, const void* params,
             RnnPlan::Pointer* plan);

  size_t size() const { return plans_.size(); }

 private:
  Status GetWeightMap(cudnnHandle_t handle, const RnnPlanKey& key, const void* params,
                      std::shared_ptr<const WeightMap>* map);

  const CudnnApi& api_;
  LruCache<RnnPlanKey, RnnPlan> plans_;
  LruCache<RnnPlanKey, WeightMap> maps_;
};

}  // namespace rnn_ops::gpu
