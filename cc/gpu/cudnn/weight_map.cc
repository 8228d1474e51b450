#include "cc/gpu/cudnn/weight_map.h"

#include <algorithm>

#include "cc/gpu/libraries/descriptors.h"

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
                           ", where docs/param-layout.md has [", ours.rows, ", ", ours.cols,
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

}  // namespace rnn_ops::gpu
