// What cuDNN has to know about a problem, made once and used by every call of the same problem.
#ifndef TF_RNN_OPS_CC_GPU_RNN_PLAN_H_
#define TF_RNN_OPS_CC_GPU_RNN_PLAN_H_

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "cc/core/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/cudnn_api.h"
#include "cc/gpu/descriptors.h"
#include "cc/gpu/dtype.h"
#include "cc/gpu/lru_cache.h"
#include "cc/gpu/weight_map.h"

namespace rnn_ops {
namespace gpu {

// The whole configuration.
struct RnnPlanKey {
  int device = 0;
  // Calls on one stream take turns (HandlePool), so no descriptor of a plan meets two threads.
  const void* stream = nullptr;
  RnnConfig config;                 // batch and max_time included
  Dtype compute = Dtype::kFloat32;  // the type that cuDNN gets
  bool allow_tf32 = false;
  bool full_length = true;  // every row has T steps
  cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD;

  // Masks are drawn: between layers, so not with one layer.
  bool has_dropout() const {
    return config.is_training && config.dropout > 0.0f && config.num_layers > 1;
  }

  bool operator<(const RnnPlanKey& other) const { return Fields(*this) < Fields(other); }

 private:
  using FieldTuple =
      std::tuple<int, const void*, RnnMode, InputMode, Direction, int64_t, int64_t, int64_t,
                 int64_t, int64_t, int64_t, float, bool, bool, Dtype, bool, bool, cudnnRNNAlgo_t>;
  static FieldTuple Fields(const RnnPlanKey& key) {
    const RnnConfig& c = key.config;
    return FieldTuple(key.device, key.stream, c.mode, c.input_mode, c.direction, c.num_layers,
                      c.num_units, c.input_size, c.num_proj, c.max_time, c.batch, c.dropout,
                      c.is_training, c.time_major, key.compute, key.allow_tf32, key.full_length,
                      key.algo);
  }
};

cudnnDataType_t ToCudnn(Dtype dtype);

// A descriptor that says that nothing is dropped. (Not every cuDNN takes null for that.)
Status MakeNoDropout(const CudnnApi& api, cudnnHandle_t handle, DropoutDescriptor* dropout);

// Sets all attributes of an RNN descriptor, which refers to `dropout` from then on.
Status SetRnnDescriptor(const CudnnApi& api, const RnnPlanKey& key,
                        cudnnDropoutDescriptor_t dropout, cudnnRNNDescriptor_t descriptor);

// Immutable after Make().
class RnnPlan {
 public:
  using Pointer = std::shared_ptr<const RnnPlan>;

  // Every size must fit int32: InvalidArgument otherwise.
  static Status Make(const CudnnApi& api, cudnnHandle_t handle, const RnnPlanKey& key,
                     std::shared_ptr<const WeightMap> weights, Pointer* plan);

  const RnnPlanKey& key() const { return key_; }
  const WeightMap& weights() const { return *weights_; }
  cudnnRNNDescriptor_t rnn() const { return rnn_.get(); }  // without dropout
  cudnnTensorDescriptor_t h() const { return h_.get(); }
  cudnnTensorDescriptor_t c() const { return c_.get(); }
  cudnnForwardMode_t forward_mode() const {
    return key_.config.is_training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  }

  // The descriptor of a sequence of `width` columns, for rows of these lengths, each at least 1.
  // Padding of an output becomes zero.
  Status SetSequence(const CudnnApi& api, int64_t width, const std::vector<int>& lengths,
                     cudnnRNNDataDescriptor_t descriptor) const;

 private:
  RnnPlan(const RnnPlanKey& key, std::shared_ptr<const WeightMap> weights)
      : key_(key), weights_(std::move(weights)) {}
  Status Init(const CudnnApi& api, cudnnHandle_t handle);

  const RnnPlanKey key_;
  const std::shared_ptr<const WeightMap> weights_;
  DropoutDescriptor no_dropout_;  // outlives rnn_
  RnnDescriptor rnn_;
  TensorDescriptor h_, c_;
};

// What depends on the lengths and the dropout states of one call. Sizes are bytes.
class RnnCallDescriptors {
 public:
  // `dropout` is null without dropout. It must be set before: sizes depend on it.
  Status Init(const CudnnApi& api, cudnnHandle_t handle, RnnPlan::Pointer plan,
              const std::vector<int>& lengths, cudnnDropoutDescriptor_t dropout);

  const RnnPlan& plan() const { return *plan_; }
  cudnnRNNDescriptor_t rnn() const { return with_dropout_ ? own_rnn_.get() : plan_->rnn(); }
  cudnnRNNDataDescriptor_t x() const { return x_.get(); }
  cudnnRNNDataDescriptor_t y() const { return y_.get(); }
  int64_t work_bytes() const { return static_cast<int64_t>(work_size_); }
  int64_t reserve_bytes() const { return static_cast<int64_t>(reserve_size_); }

 private:
  RnnPlan::Pointer plan_;
  bool with_dropout_ = false;
  RnnDescriptor own_rnn_;
  RnnDataDescriptor x_, y_;
  size_t work_size_ = 0;
  size_t reserve_size_ = 0;
};

// The plans used last, and the weight maps of their configurations.
class RnnPlanCache {
 public:
  RnnPlanCache(const CudnnApi* api, size_t capacity)
      : api_(*api), plans_(capacity), maps_(capacity) {}

  // `params` is any device address; it is not read.
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

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_RNN_PLAN_H_
