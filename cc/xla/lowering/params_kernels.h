// The kernels for XLA of the parameter ops, which become slices and concatenations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/core/op/param_layout.h"
#include "cc/tf/op_util.h"
#include "cc/xla/lowering/op_kernels.h"
#include "cc/xla/lowering/operands.h"

namespace rnn_ops::tf_kernels {

// The first three inputs. XLA needs their values, because shapes depend on them. WHY Unimplemented:
// a cluster that TensorFlow chose itself then runs without XLA.
inline absl::Status ReadSizes(XlaOpKernelContext* context, std::vector<Tensor>* sizes) {
  static constexpr const char* kNames[] = {"num_layers", "num_units", "input_size"};
  for (int k = 0; k < RnnParamsInput::kFirstTensor; ++k) {
    absl::StatusOr<Tensor> size = context->ConstantInputTensor(k);
    if (!size.ok()) {
      return absl::UnimplementedError(
          StrCat(kNames[k], " must be a constant for XLA, but its value is computed."));
    }
    sizes->push_back(*std::move(size));
  }
  return absl::OkStatus();
}

// TensorFlow's first versions have one attribute num_params for the two attributes of V2.
inline NodeDef AsOursParams(const NodeDef& node, const char* op) {
  NodeDef ours = AsOurs(node, op);
  const auto counts = node.attr().find("num_params");
  if (counts == node.attr().end()) return ours;
  (*ours.mutable_attr())["num_params_weights"] = counts->second;
  (*ours.mutable_attr())["num_params_biases"] = counts->second;
  return ours;
}

class ParamsKernel : public CheckedXlaKernel {
 public:
  ParamsKernel(OpKernelConstruction* context, const char* op)
      : CheckedXlaKernel(context), node_(AsOursParams(def(), op)) {}

 protected:
  // Checks the call and gets its network.
  absl::Status Prepare(XlaOpKernelContext* context, std::vector<XlaTensor>* operands,
                       RnnConfig* config) const {
    std::vector<Tensor> sizes;
    RNN_OPS_RETURN_IF_ERROR(ReadSizes(context, &sizes));
    RNN_OPS_RETURN_IF_ERROR(ReadInputs(context, operands));
    for (size_t k = 0; k < operands->size(); ++k) {
      if ((*operands)[k].shape.is_static()) continue;
      return absl::UnimplementedError(
          StrCat("Input ", k, " must have a static shape under XLA, but a dimension is dynamic."));
    }
    Inferred inferred;
    RNN_OPS_RETURN_IF_ERROR(inferred.Run(node_, *operands, sizes));
    AttrSet has;
    has.is_training = AttrSet::kNever;
    has.time_major = false;
    RnnAttrs attrs;
    RNN_OPS_RETURN_IF_ERROR(ReadRnnAttrs(inferred.context(), has, &attrs));
    RnnSizeInputs read;
    read.num_layers = ScalarOf<int32_t>(sizes[RnnParamsInput::kNumLayers]);
    read.num_units = ScalarOf<int32_t>(sizes[RnnParamsInput::kNumUnits]);
    read.input_size = ScalarOf<int32_t>(sizes[RnnParamsInput::kInputSize]);
    return MakeParamsConfig(attrs, read, config);
  }

  static std::vector<ParamBlock> Blocks(const RnnConfig& config) {
    const ParamLayout layout(config);
    std::vector<ParamBlock> blocks = layout.CanonicalWeights();
    for (const ParamBlock& block : layout.CanonicalBiases()) blocks.push_back(block);
    return blocks;
  }

 private:
  const NodeDef node_;
};

class ParamsSizeXlaKernel : public ParamsKernel {
 public:
  explicit ParamsSizeXlaKernel(OpKernelConstruction* context)
      : ParamsKernel(context, "TfRnnOps>CudnnRNNParamsSize") {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<XlaTensor> operands;
    RnnConfig config;
    OP_REQUIRES_OK(context, Prepare(context, &operands, &config));
    const int64_t size = ParamsSize(config);
    Tensor result(context->expected_output_dtype(0), {1});
    if (result.dtype() == tensorflow::DT_INT32) {
      result.vec<int32_t>()(0) = static_cast<int32_t>(size);
    } else {
      result.vec<int64_t>()(0) = size;
    }
    context->SetConstantOutput(0, result);
  }
};

class CanonicalToParamsXlaKernel : public ParamsKernel {
 public:
  explicit CanonicalToParamsXlaKernel(OpKernelConstruction* context)
      : ParamsKernel(context, "TfRnnOps>CudnnRNNCanonicalToParamsV2") {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<XlaTensor> operands;
    RnnConfig config;
    OP_REQUIRES_OK(context, Prepare(context, &operands, &config));
    // The blocks cover the buffer without gaps.
    const std::vector<ParamBlock> blocks = Blocks(config);
    std::vector<std::pair<int64_t, XlaOp>> parts;
    for (size_t k = 0; k < blocks.size(); ++k) {
      if (blocks[k].size() == 0) continue;
      const XlaOp tensor = operands[RnnParamsInput::kFirstTensor + k].op;
      parts.emplace_back(blocks[k].offset, xla::Reshape(tensor, {blocks[k].size()}));
    }
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<XlaOp> ordered;
    for (const auto& part : parts) ordered.push_back(part.second);
    context->SetOutput(0, xla::ConcatInDim(context->builder(), ordered, 0));
  }
};

class ParamsToCanonicalXlaKernel : public ParamsKernel {
 public:
  explicit ParamsToCanonicalXlaKernel(OpKernelConstruction* context)
      : ParamsKernel(context, "TfRnnOps>CudnnRNNParamsToCanonicalV2") {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<XlaTensor> operands;
    RnnConfig config;
    OP_REQUIRES_OK(context, Prepare(context, &operands, &config));
    const XlaOp params = operands[RnnParamsInput::kFirstTensor].op;
    const int num_weights = static_cast<int>(CountCanonical(config).weights);
    int output = 0;
    for (const ParamBlock& block : Blocks(config)) {
      const XlaOp part = xla::Slice(params, {block.offset}, {block.offset + block.size()}, {1});
      const bool matrix = output < num_weights;
      context->SetOutput(output++, matrix ? xla::Reshape(part, {block.rows, block.cols}) : part);
    }
  }
};

}  // namespace rnn_ops::tf_kernels
