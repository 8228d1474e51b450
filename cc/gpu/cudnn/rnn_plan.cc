#include "cc/gpu/cudnn/rnn_plan.h"

#include <limits>
#include <utility>

#include "cc/core/check.h"

namespace rnn_ops::gpu {
namespace {

// The numbers of the modes are cuDNN's.
cudnnRNNMode_t ToCudnnMode(RnnMode mode) {
  RNN_DCHECK(FactsOf(mode).in_cudnn);
  return static_cast<cudnnRNNMode_t>(mode);
}

// Note [Math types]: DEFAULT_MATH lets cuDNN use TF32 for float32 products, and FMA_MATH forbids
// TF32. float16 products run on tensor cores with float32 sums. bfloat16 uses DEFAULT_MATH like
// PyTorch, because no other combination is known to run. float64 has no choice.
cudnnMathType_t CudnnMathOf(const RnnPlanKey& key) {
  switch (key.compute) {
    case Dtype::kFloat32:
      return key.allow_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
    case Dtype::kFloat16:
      return CUDNN_TENSOR_OP_MATH;
    case Dtype::kFloat64:
    case Dtype::kBFloat16:
      break;
  }
  return CUDNN_DEFAULT_MATH;
}

cudnnDataType_t MathPrecision(Dtype compute) {
  return compute == Dtype::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

// Sets the descriptor of a sequence with `width` columns.
Status SetSequence(const CudnnApi& api, const RnnConfig& config, Dtype compute, int64_t width,
                   const std::vector<int>& lengths, cudnnRNNDataDescriptor_t descriptor) {
  double zero = 0;  // a zero of any type, because all bits are zero
  const cudnnRNNDataLayout_t layout = config.time_major
                                          ? CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
                                          : CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED;
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api, SetRNNDataDescriptor(descriptor, ToCudnn(compute), layout,
                                static_cast<int>(config.max_time), static_cast<int>(config.batch),
                                static_cast<int>(width), lengths.data(), &zero));
  return Status();
}

// Sets the descriptor of states [L*D, B, width].
Status SetStates(const CudnnApi& api, const RnnPlanKey& key, int64_t width,
                 cudnnTensorDescriptor_t descriptor) {
  const int w = static_cast<int>(width), batch = static_cast<int>(key.network.batch);
  const int dims[3] = {static_cast<int>(key.network.num_pseudo_layers()), batch, w};
  const int strides[3] = {batch * w, w, 1};
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api, SetTensorNdDescriptor(descriptor, ToCudnn(key.compute), 3, dims, strides));
  return Status();
}

}  // namespace

Status CheckSizes(const RnnConfig& c) {
  constexpr int64_t kInt32 = std::numeric_limits<int32_t>::max();
  const struct {
    const char* what;
    int64_t size, most;
  } sizes[] = {
      {"The number of time steps", c.max_time, kMostSteps},
      {"The batch size", c.batch, kInt32},
      {"The input size", c.input_size, kInt32},
      {"num_units", c.num_units, kInt32},
      {"The number of layers and directions", c.num_pseudo_layers(), kInt32},
      {"The output size", c.output_size(), kInt32},
      // Strides of states are int32 too.
      {"The batch size times num_units", c.batch * c.num_units, kInt32},
  };
  for (const auto& [what, size, most] : sizes) {
    if (size > most) {
      return InvalidArgument(what, " must be at most ", most, " on a GPU, because cuDNN accepts no",
                             " larger value, but it is ", size, ".");
    }
  }
  return Status();
}

RnnConfig NetworkOf(RnnConfig config) {
  config.max_time = 0;
  config.dropout = 0.0f;
  config.is_training = config.time_major = true;
  return config;
}

cudnnDataType_t ToCudnn(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return CUDNN_DATA_FLOAT;
    case Dtype::kFloat64:
      return CUDNN_DATA_DOUBLE;
    case Dtype::kFloat16:
      return CUDNN_DATA_HALF;
    case Dtype::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
  }
  return CUDNN_DATA_FLOAT;
}

Status MakeNoDropout(const CudnnApi& api, cudnnHandle_t handle, DropoutDescriptor* dropout) {
  RNN_OPS_RETURN_IF_ERROR(dropout->Create(api, "CreateDropoutDescriptor(&no_dropout)"));
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api, SetDropoutDescriptor(dropout->get(), handle, /*dropout=*/0.0f, /*states=*/nullptr,
                                /*states_size=*/0, /*seed=*/0));
  return Status();
}

Status SetRnnDescriptor(const CudnnApi& api, const RnnPlanKey& key,
                        cudnnDropoutDescriptor_t dropout, cudnnRNNDescriptor_t descriptor) {
  const RnnConfig& c = key.network;
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api,
      SetRNNDescriptor_v8(
          descriptor, key.algo, ToCudnnMode(c.mode), CUDNN_RNN_DOUBLE_BIAS,
          c.direction == Direction::kBidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
          c.input_mode == InputMode::kSkip ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT,
          ToCudnn(key.compute), MathPrecision(key.compute), CudnnMathOf(key),
          static_cast<int32_t>(c.input_size), static_cast<int32_t>(c.num_units),
          // WHY not num_proj: for cuDNN, a projection size equal to H means "no projection".
          static_cast<int32_t>(c.hidden_size()), static_cast<int32_t>(c.num_layers), dropout,
          // WHY always enabled: cuDNN needs padded I/O unless all sequences have one length and are
          // time-major, and in that case padded I/O is not slower (docs/history/gpu-h100.md).
          CUDNN_RNN_PADDED_IO_ENABLED));
  return Status();
}

Status RnnPlan::Make(const CudnnApi& api, cudnnHandle_t handle, const RnnPlanKey& key,
                     std::shared_ptr<const WeightMap> weights, Pointer* plan) {
  std::shared_ptr<RnnPlan> made(new RnnPlan(key, std::move(weights)));
  RNN_OPS_RETURN_IF_ERROR(made->Init(api, handle));
  *plan = std::move(made);
  return Status();
}

Status RnnPlan::Init(const CudnnApi& api, cudnnHandle_t handle) {
  RNN_OPS_RETURN_IF_ERROR(MakeNoDropout(api, handle, &no_dropout_));
  RNN_OPS_RETURN_IF_ERROR(rnn_.Create(api, "CreateRNNDescriptor(&rnn)"));
  RNN_OPS_RETURN_IF_ERROR(SetRnnDescriptor(api, key_, no_dropout_.get(), rnn_.get()));
  RNN_OPS_RETURN_IF_ERROR(h_.Create(api, "CreateTensorDescriptor(&h)"));
  RNN_OPS_RETURN_IF_ERROR(SetStates(api, key_, key_.network.hidden_size(), h_.get()));
  RNN_OPS_RETURN_IF_ERROR(c_.Create(api, "CreateTensorDescriptor(&c)"));
  return SetStates(api, key_, key_.network.num_units, c_.get());
}

Status RnnCallDescriptors::Init(const CudnnApi& api, cudnnHandle_t handle, RnnPlan::Pointer plan,
                                const RnnConfig& config, const std::vector<int>& lengths,
                                cudnnDropoutDescriptor_t dropout) {
  plan_ = std::move(plan);
  const RnnPlanKey& key = plan_->key();
  forward_mode_ = config.is_training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  dropout_ = dropout;
  if (dropout != nullptr) {
    RNN_OPS_RETURN_IF_ERROR(own_rnn_.Create(api, "CreateRNNDescriptor(&own_rnn)"));
    RNN_OPS_RETURN_IF_ERROR(SetRnnDescriptor(api, key, dropout, own_rnn_.get()));
  }
  RNN_OPS_RETURN_IF_ERROR(x_.Create(api, "CreateRNNDataDescriptor(&x)"));
  RNN_OPS_RETURN_IF_ERROR(
      SetSequence(api, config, key.compute, config.input_size, lengths, x_.get()));
  RNN_OPS_RETURN_IF_ERROR(y_.Create(api, "CreateRNNDataDescriptor(&y)"));
  RNN_OPS_RETURN_IF_ERROR(
      SetSequence(api, config, key.compute, config.output_size(), lengths, y_.get()));
  const auto lock = plan_->Lock();
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api, GetRNNTempSpaceSizes(handle, rnn(), forward_mode_, x_.get(),
                                                          &work_size_, &reserve_size_));
  return Status();
}

Status RnnPlanCache::Get(cudnnHandle_t handle, const RnnPlanKey& key, const void* params,
                         RnnPlan::Pointer* plan) {
  *plan = plans_.Find(key);
  if (*plan != nullptr) return Status();
  std::shared_ptr<const WeightMap> weights;
  RNN_OPS_RETURN_IF_ERROR(GetWeightMap(handle, key, params, &weights));
  RNN_OPS_RETURN_IF_ERROR(RnnPlan::Make(api_, handle, key, std::move(weights), plan));
  *plan = plans_.Insert(key, std::move(*plan));
  return Status();
}

Status RnnPlanCache::GetWeightMap(cudnnHandle_t handle, const RnnPlanKey& key, const void* params,
                                  std::shared_ptr<const WeightMap>* map) {
  RnnPlanKey shared = key;
  shared.network.batch = 0;  // the positions of weights do not depend on the batch size
  *map = maps_.Find(shared);
  if (*map != nullptr) return Status();
  DropoutDescriptor no_dropout;
  RNN_OPS_RETURN_IF_ERROR(MakeNoDropout(api_, handle, &no_dropout));
  RnnDescriptor descriptor;
  RNN_OPS_RETURN_IF_ERROR(descriptor.Create(api_, "CreateRNNDescriptor(&descriptor)"));
  RNN_OPS_RETURN_IF_ERROR(SetRnnDescriptor(api_, shared, no_dropout.get(), descriptor.get()));
  auto made = std::make_shared<WeightMap>();
  RNN_OPS_RETURN_IF_ERROR(WeightMap::Make(api_, handle, descriptor.get(), shared.network,
                                          SizeOf(shared.compute), params, made.get()));
  *map = maps_.Insert(shared, std::move(made));
  return Status();
}

}  // namespace rnn_ops::gpu
