#include "cc/gpu/rnn_plan.h"

#include <limits>
#include <utility>

namespace rnn_ops {
namespace gpu {
namespace {

cudnnRNNMode_t ToCudnn(RnnMode mode) {
  switch (mode) {
    case RnnMode::kRelu:
      return CUDNN_RNN_RELU;
    case RnnMode::kTanh:
      return CUDNN_RNN_TANH;
    case RnnMode::kLstm:
      return CUDNN_LSTM;
    case RnnMode::kGru:
      return CUDNN_GRU;
  }
  return CUDNN_LSTM;
}

// Note [Math types]: DEFAULT_MATH lets cuDNN use TF32 for float32 products, FMA_MATH forbids it.
// 16-bit products run on tensor cores with float32 sums; float64 has nothing to choose.
cudnnMathType_t MathType(const RnnPlanKey& key) {
  switch (key.compute) {
    case Dtype::kFloat32:
      return key.allow_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
    case Dtype::kFloat64:
      return CUDNN_DEFAULT_MATH;
    case Dtype::kFloat16:
    case Dtype::kBFloat16:
      break;
  }
  return CUDNN_TENSOR_OP_MATH;
}

cudnnDataType_t MathPrecision(Dtype compute) {
  return compute == Dtype::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

Status CheckInt32(const RnnConfig& c) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const std::pair<const char*, int64_t> sizes[] = {
      {"The number of time steps", c.max_time},
      {"The batch size", c.batch},
      {"The input size", c.input_size},
      {"num_units", c.num_units},
      {"The number of layers and directions", c.num_pseudo_layers()},
      {"The output size", c.output_size()},
      // Strides of states are int32 too.
      {"The batch size times num_units", c.batch * c.num_units},
  };
  for (const auto& [what, size] : sizes) {
    if (size > kMost) {
      return InvalidArgument(what, " must be below 2^31 on a GPU, since cuDNN takes 32-bit sizes, ",
                             "but it is ", size, ".");
    }
  }
  return Status();
}

// States [L*D, B, width].
Status SetStates(const CudnnApi& api, const RnnPlanKey& key, int64_t width,
                 cudnnTensorDescriptor_t descriptor) {
  const int w = static_cast<int>(width), batch = static_cast<int>(key.config.batch);
  const int dims[3] = {static_cast<int>(key.config.num_pseudo_layers()), batch, w};
  const int strides[3] = {batch * w, w, 1};
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api, SetTensorNdDescriptor(descriptor, ToCudnn(key.compute), 3, dims, strides));
  return Status();
}

}  // namespace

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
  const RnnConfig& c = key.config;
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api,
      SetRNNDescriptor_v8(
          descriptor, key.algo, ToCudnn(c.mode), CUDNN_RNN_DOUBLE_BIAS,
          c.direction == Direction::kBidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
          c.input_mode == InputMode::kSkip ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT,
          ToCudnn(key.compute), MathPrecision(key.compute), MathType(key),
          static_cast<int32_t>(c.input_size), static_cast<int32_t>(c.num_units),
          // WHY not num_proj: cuDNN says "no projection" by the hidden size.
          static_cast<int32_t>(c.hidden_size()), static_cast<int32_t>(c.num_layers), dropout,
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
  if (key_.algo == CUDNN_RNN_ALGO_PERSIST_DYNAMIC) {
    // Compiles the kernels for this batch size; takes seconds.
    RNN_OPS_RETURN_IF_CUDNN_ERROR(
        api, BuildRNNDynamic(handle, rnn_.get(), static_cast<int>(key_.config.batch)));
  }
  RNN_OPS_RETURN_IF_ERROR(h_.Create(api, "CreateTensorDescriptor(&h)"));
  RNN_OPS_RETURN_IF_ERROR(SetStates(api, key_, key_.config.hidden_size(), h_.get()));
  RNN_OPS_RETURN_IF_ERROR(c_.Create(api, "CreateTensorDescriptor(&c)"));
  return SetStates(api, key_, key_.config.num_units, c_.get());
}

Status RnnPlan::SetSequence(const CudnnApi& api, int64_t width, const std::vector<int>& lengths,
                            cudnnRNNDataDescriptor_t descriptor) const {
  double zero = 0;  // of any type: all of its bits are zero
  const cudnnRNNDataLayout_t layout = key_.config.time_major
                                          ? CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
                                          : CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED;
  RNN_OPS_RETURN_IF_CUDNN_ERROR(
      api, SetRNNDataDescriptor(descriptor, ToCudnn(key_.compute), layout,
                                static_cast<int>(key_.config.max_time),
                                static_cast<int>(key_.config.batch), static_cast<int>(width),
                                lengths.data(), &zero));
  return Status();
}

Status RnnCallDescriptors::Init(const CudnnApi& api, cudnnHandle_t handle, RnnPlan::Pointer plan,
                                const std::vector<int>& lengths, cudnnDropoutDescriptor_t dropout) {
  plan_ = std::move(plan);
  const RnnConfig& config = plan_->key().config;
  with_dropout_ = dropout != nullptr;
  if (with_dropout_) {
    RNN_OPS_RETURN_IF_ERROR(own_rnn_.Create(api, "CreateRNNDescriptor(&own_rnn)"));
    RNN_OPS_RETURN_IF_ERROR(SetRnnDescriptor(api, plan_->key(), dropout, own_rnn_.get()));
  }
  RNN_OPS_RETURN_IF_ERROR(x_.Create(api, "CreateRNNDataDescriptor(&x)"));
  RNN_OPS_RETURN_IF_ERROR(plan_->SetSequence(api, config.input_size, lengths, x_.get()));
  RNN_OPS_RETURN_IF_ERROR(y_.Create(api, "CreateRNNDataDescriptor(&y)"));
  RNN_OPS_RETURN_IF_ERROR(plan_->SetSequence(api, config.output_size(), lengths, y_.get()));
  RNN_OPS_RETURN_IF_CUDNN_ERROR(api, GetRNNTempSpaceSizes(handle, rnn(), plan_->forward_mode(),
                                                          x_.get(), &work_size_, &reserve_size_));
  return Status();
}

Status RnnPlanCache::Get(cudnnHandle_t handle, const RnnPlanKey& key, const void* params,
                         RnnPlan::Pointer* plan) {
  *plan = plans_.Find(key);
  if (*plan != nullptr) return Status();
  RNN_OPS_RETURN_IF_ERROR(CheckInt32(key.config));
  std::shared_ptr<const WeightMap> weights;
  RNN_OPS_RETURN_IF_ERROR(GetWeightMap(handle, key, params, &weights));
  RNN_OPS_RETURN_IF_ERROR(RnnPlan::Make(api_, handle, key, std::move(weights), plan));
  *plan = plans_.Insert(key, std::move(*plan));
  return Status();
}

Status RnnPlanCache::GetWeightMap(cudnnHandle_t handle, const RnnPlanKey& key, const void* params,
                                  std::shared_ptr<const WeightMap>* map) {
  // Where weights lie depends on nothing of these.
  RnnPlanKey shared = key;
  shared.stream = nullptr;
  shared.config.max_time = shared.config.batch = 0;
  shared.config.dropout = 0.0f;
  shared.config.is_training = shared.config.time_major = shared.full_length = true;
  *map = maps_.Find(shared);
  if (*map != nullptr) return Status();
  DropoutDescriptor no_dropout;
  RNN_OPS_RETURN_IF_ERROR(MakeNoDropout(api_, handle, &no_dropout));
  RnnDescriptor descriptor;
  RNN_OPS_RETURN_IF_ERROR(descriptor.Create(api_, "CreateRNNDescriptor(&descriptor)"));
  RNN_OPS_RETURN_IF_ERROR(SetRnnDescriptor(api_, shared, no_dropout.get(), descriptor.get()));
  auto made = std::make_shared<WeightMap>();
  RNN_OPS_RETURN_IF_ERROR(WeightMap::Make(api_, handle, descriptor.get(), shared.config,
                                          SizeOf(shared.compute), params, made.get()));
  *map = maps_.Insert(shared, std::move(made));
  return Status();
}

}  // namespace gpu
}  // namespace rnn_ops
