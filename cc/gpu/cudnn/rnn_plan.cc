#include "cc/gpu/cudnn/rnn_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cc/core/check.h"
#include "cc/gpu/libraries/handle_pool.h"

namespace rnn_ops::gpu {
namespace {

constexpr int kRank = 3;  // a matrix is [1, rows, cols], a bias [1, rows, 1]

// One matrix or bias in cuDNN's weight space.
struct CudnnBlock {
  const char* address = nullptr;  // null: cuDNN has no such block
  int64_t rows = 0;
  int64_t cols = 0;
};

// The part of one gate in a block of all gates.
ParamBlock GateOf(const ParamBlock& block, int64_t num_gates, int64_t gate) {
  const int64_t rows = block.rows / num_gates;
  return {block.offset + gate * rows * block.cols, rows, block.cols};
}

// Reads the weight space of an RNN descriptor.
class Reader {
 public:
  Reader(const CudnnApi& api, cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const void* base)
      : api_(api), handle_(handle), rnn_(rnn), base_(base) {}

  Status Init() {
    RNN_OPS_RETURN_IF_CUDNN_ERROR(api_, GetRNNWeightSpaceSize(handle_, rnn_, &size_));
    RNN_OPS_RETURN_IF_ERROR(matrix_.Create(api_, "CreateTensorDescriptor(&matrix)"));
    return bias_.Create(api_, "CreateTensorDescriptor(&bias)");
  }

  int64_t size() const { return static_cast<int64_t>(size_); }

  Status Read(int64_t pseudo_layer, int64_t id, CudnnBlock* matrix, CudnnBlock* bias) const {
    void* matrix_address = nullptr;
    void* bias_address = nullptr;
    RNN_OPS_RETURN_IF_CUDNN_ERROR(
        api_, GetRNNWeightParams(handle_, rnn_, static_cast<int32_t>(pseudo_layer), size_, base_,
                                 static_cast<int32_t>(id), matrix_.get(), &matrix_address,
                                 bias_.get(), &bias_address));
    RNN_OPS_RETURN_IF_ERROR(Describe(matrix_.get(), matrix_address, matrix));
    return Describe(bias_.get(), bias_address, bias);
  }

 private:
  Status Describe(cudnnTensorDescriptor_t tensor, const void* address, CudnnBlock* block) const {
    *block = CudnnBlock();
    if (address == nullptr) return Status();
    cudnnDataType_t type;
    int rank = 0, dims[kRank] = {}, strides[kRank] = {};
    RNN_OPS_RETURN_IF_CUDNN_ERROR(
        api_, GetTensorNdDescriptor(tensor, kRank, &type, &rank, dims, strides));
    if (rank != kRank || dims[0] != 1 || dims[1] < 0 || dims[2] < 0 ||
        (dims[1] > 1 && strides[1] != dims[2])) {
      return Unimplemented("cuDNN has a weight of rank ", rank, " and dimensions [", dims[0], ", ",
                           dims[1], ", ", dims[2], "] with row stride ", strides[1],
                           ", where a row-major matrix was expected.");
    }
    *block = {static_cast<const char*>(address), dims[1], dims[2]};
    return Status();
  }

  const CudnnApi& api_;
  const cudnnHandle_t handle_;
  const cudnnRNNDescriptor_t rnn_;
  const void* const base_;
  size_t size_ = 0;
  TensorDescriptor matrix_, bias_;
};

}  // namespace

Status WeightMap::Make(const CudnnApi& api, cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                       const RnnConfig& config, int64_t element_bytes, const void* params,
                       WeightMap* map) {
  *map = WeightMap();
  Reader reader(api, handle, descriptor, params);
  RNN_OPS_RETURN_IF_ERROR(reader.Init());
  const ParamLayout layout(config);
  map->our_bytes_ = layout.size() * element_bytes;
  map->cudnn_bytes_ = reader.size();

  std::vector<WeightRun> runs;
  // Compares one block and records its position.
  const auto match = [&](const char* what, int64_t pseudo_layer, int64_t id, const ParamBlock& ours,
                         const CudnnBlock& cudnns) -> Status {
    const int64_t bytes = ours.size() * element_bytes;
    const int64_t offset = cudnns.address - static_cast<const char*>(params);
    const bool same_shape = bytes == 0 ? cudnns.address == nullptr || cudnns.rows * cudnns.cols == 0
                                       : cudnns.address != nullptr && cudnns.rows == ours.rows &&
                                             cudnns.cols == ours.cols && offset >= 0 &&
                                             offset + bytes <= reader.size();
    if (!same_shape) {
      return Unimplemented("cuDNN ", api.GetVersion(), " lays out the ", what, " ", id,
                           " of pseudo-layer ", pseudo_layer, " as [", cudnns.rows, ", ",
                           cudnns.cols, "]", cudnns.address == nullptr ? " (absent)" : "",
                           ", where docs/raw-ops.md has [", ours.rows, ", ", ours.cols,
                           "]; rnn_mode='", Name(config.mode), "', input_mode='",
                           Name(config.input_mode), "', num_proj=", config.num_proj,
                           ". This problem cannot run on the GPU with this cuDNN.");
    }
    if (bytes > 0) runs.push_back({ours.offset * element_bytes, offset, bytes});
    return Status();
  };

  const int64_t gates = config.num_gates();
  for (int64_t k = 0; k < config.num_pseudo_layers(); ++k) {
    const PseudoLayerParams& p = layout.at(k / config.num_dirs(), k % config.num_dirs());
    // cuDNN numbers the input matrices of all gates, then the recurrent matrices, then the
    // projection.
    for (int64_t id = 0; id < 2 * gates; ++id) {
      const bool recurrent = id >= gates;
      const ParamBlock& weights = recurrent ? p.recurrent_weights : p.input_weights;
      const ParamBlock& biases = recurrent ? p.recurrent_bias : p.input_bias;
      CudnnBlock matrix, bias;
      RNN_OPS_RETURN_IF_ERROR(reader.Read(k, id, &matrix, &bias));
      RNN_OPS_RETURN_IF_ERROR(match("matrix", k, id, GateOf(weights, gates, id % gates), matrix));
      RNN_OPS_RETURN_IF_ERROR(match("bias", k, id, GateOf(biases, gates, id % gates), bias));
    }
    if (config.num_proj > 0) {
      CudnnBlock matrix, bias;
      RNN_OPS_RETURN_IF_ERROR(reader.Read(k, 2 * gates, &matrix, &bias));
      RNN_OPS_RETURN_IF_ERROR(match("projection", k, 2 * gates, p.projection, matrix));
    }
  }
  std::sort(runs.begin(), runs.end(),
            [](const WeightRun& a, const WeightRun& b) { return a.ours < b.ours; });
  for (const WeightRun& run : runs) map->Append(run);
  map->identical_ = map->our_bytes_ == map->cudnn_bytes_ && map->runs_.size() == 1 &&
                    map->runs_[0].ours == map->runs_[0].cudnns;
  return Status();
}

void WeightMap::Append(const WeightRun& run) {
  if (!runs_.empty()) {
    WeightRun& last = runs_.back();
    if (last.ours + last.bytes == run.ours && last.cudnns + last.bytes == run.cudnns) {
      last.bytes += run.bytes;
      return;
    }
  }
  runs_.push_back(run);
}

Status WeightMap::ToCudnn(const DeviceOps& ops, void* stream, const void* ours,
                          void* cudnns) const {
  RNN_OPS_RETURN_IF_ERROR(ops.Zero(stream, cudnns, cudnn_bytes_));
  for (const WeightRun& run : runs_) {
    RNN_OPS_RETURN_IF_ERROR(ops.Copy(stream, static_cast<char*>(cudnns) + run.cudnns,
                                     static_cast<const char*>(ours) + run.ours, run.bytes));
  }
  return Status();
}

Status WeightMap::FromCudnn(const DeviceOps& ops, void* stream, const void* cudnns,
                            void* ours) const {
  for (const WeightRun& run : runs_) {
    RNN_OPS_RETURN_IF_ERROR(ops.Copy(stream, static_cast<char*>(ours) + run.ours,
                                     static_cast<const char*>(cudnns) + run.cudnns, run.bytes));
  }
  return Status();
}

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
          // time-major, and in that case padded I/O is not slower (docs/design/measurements.md,
          // "Algorithms of cuDNN").
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
