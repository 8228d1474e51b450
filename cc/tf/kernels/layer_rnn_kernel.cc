// LayerRNN, LayerRNNPacked and their gradient: one layer with the weights as Keras keeps them.
#include "cc/core/dropout.h"
#include "cc/core/op_io.h"
#include "cc/tf/cached_memory.h"
#include "cc/tf/checked_op_kernel.h"
#include "cc/tf/kernels/rnn_call.h"
#include "cc/tf/kernels/rnn_cpu.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using In = LayerRnnInput;

enum class Masks { kInputs, kNone };  // where an op has its masks

LayerRnnInputShapes InputShapes(OpKernelContext* context, Masks masks) {
  const auto shape = [context](int index) { return FromTf(context->input(index).shape()); };
  LayerRnnInputShapes shapes;
  shapes.input = shape(In::kInput);
  shapes.input_h = shape(In::kInputH);
  shapes.input_c = shape(In::kInputC);
  shapes.kernel = shape(In::kKernel);
  shapes.recurrent_kernel = shape(In::kRecurrentKernel);
  shapes.bias = shape(In::kBias);
  shapes.sequence_lengths = shape(In::kSequenceLengths);
  if (masks == Masks::kNone) {
    shapes.input_mask = shapes.recurrent_mask = PartialShape::Of({0});
  } else {
    shapes.input_mask = shape(In::kInputMask);
    shapes.recurrent_mask = shape(In::kRecurrentMask);
  }
  return shapes;
}

// Null for [0].
const Tensor* Optional(OpKernelContext* context, int index) {
  const Tensor& tensor = context->input(index);
  return IsAbsent(FromTf(tensor.shape())) ? nullptr : &tensor;
}

// After the shapes were checked: all that forward and backward have in common.
absl::Status TakeInputs(OpKernelContext* context, const RnnAttrs& attrs, const RnnDims& dims,
                        Masks masks, RnnCall* call) {
  RNN_OPS_TF_RETURN_IF_ERROR(ToKernelDtype(context->input_dtype(In::kInput), &call->dtype));
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(MakeLayerRnnConfig(attrs, dims, &call->config)));
  const bool lengths = Optional(context, In::kSequenceLengths) != nullptr;
  RNN_OPS_TF_RETURN_IF_ERROR(
      TakeLengths(context, lengths ? static_cast<int>(In::kSequenceLengths) : kAbsent, call));
  call->layer.kernel = &context->input(In::kKernel);
  call->layer.recurrent_kernel = &context->input(In::kRecurrentKernel);
  call->layer.bias = Optional(context, In::kBias);
  if (masks == Masks::kNone) return absl::OkStatus();
  call->layer.input_mask = Optional(context, In::kInputMask);
  call->layer.recurrent_mask = Optional(context, In::kRecurrentMask);
  return absl::OkStatus();
}

// LayerRNN, and with `packed` LayerRNNPacked.
template <bool packed>
class LayerRnnKernel : public CheckedOpKernel {
 public:
  explicit LayerRnnKernel(OpKernelConstruction* context) : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, ReadLayerRnnAttrs(context, /*has_is_training=*/!packed, &attrs_));
    if (packed) attrs_.is_training = false;
  }

  void DoCompute(OpKernelContext* context) override {
    RnnForwardCall call;
    OP_REQUIRES_OK(context, Prepare(context, &call));
    OP_REQUIRES_OK(context, RunRnnForwardOnCpu(context, call, DropoutKey()));
  }

 private:
  absl::Status Prepare(OpKernelContext* context, RnnForwardCall* call) const {
    using Out = LayerRnnOutput;
    RnnDims dims;
    constexpr Masks kMasks = packed ? Masks::kNone : Masks::kInputs;
    RNN_OPS_TF_RETURN_IF_ERROR(ToTf(InferLayerRnn(attrs_, InputShapes(context, kMasks), &dims)));
    RNN_OPS_TF_RETURN_IF_ERROR(TakeInputs(context, attrs_, dims, kMasks, call));
    if (packed) call->packed = &context->input(LayerRnnPackedInput::kPacked);
    call->input = &context->input(In::kInput);
    call->input_h = &context->input(In::kInputH);
    call->input_c = &context->input(In::kInputC);
    const PartialShape state = PartialShape::Of({dims.batch, dims.num_units});
    RNN_OPS_TF_RETURN_IF_ERROR(
        AllocateOutput(context, Out::kOutput, RnnOutputShape(attrs_, dims), &call->output));
    RNN_OPS_TF_RETURN_IF_ERROR(AllocateOutput(context, Out::kOutputH, state, &call->output_h));
    return AllocateOutput(context, Out::kOutputC, call->has_c() ? state : PartialShape::Of({}),
                          &call->output_c);
  }

  RnnAttrs attrs_;
};

class LayerRnnBackpropKernel : public CheckedOpKernel {
 public:
  explicit LayerRnnBackpropKernel(OpKernelConstruction* context) : CheckedOpKernel(context) {
    OP_REQUIRES_OK(context, ReadLayerRnnAttrs(context, /*has_is_training=*/false, &attrs_));
  }

  void DoCompute(OpKernelContext* context) override {
    RnnBackpropCall call;
    OP_REQUIRES_OK(context, Prepare(context, &call));
    OP_REQUIRES_OK(context, RunRnnBackpropOnCpu(context, call));
  }

 private:
  absl::Status Prepare(OpKernelContext* context, RnnBackpropCall* call) const {
    using Out = LayerRnnBackpropOutput;
    const auto input = [context](int index) { return &context->input(index); };
    call->output = input(In::kOutput);
    call->output_h = input(In::kOutputH);
    call->output_c = input(In::kOutputC);
    call->output_backprop = input(In::kOutputBackprop);
    call->output_h_backprop = input(In::kOutputHBackprop);
    call->output_c_backprop = input(In::kOutputCBackprop);
    call->reserve_space = input(In::kReserveSpace);
    LayerRnnBackpropShapes shapes;
    shapes.in = InputShapes(context, Masks::kInputs);
    shapes.output = FromTf(call->output->shape());
    shapes.output_h = FromTf(call->output_h->shape());
    shapes.output_c = FromTf(call->output_c->shape());
    shapes.output_backprop = FromTf(call->output_backprop->shape());
    shapes.output_h_backprop = FromTf(call->output_h_backprop->shape());
    shapes.output_c_backprop = FromTf(call->output_c_backprop->shape());
    shapes.reserve_space = FromTf(call->reserve_space->shape());
    RnnDims dims;
    RNN_OPS_TF_RETURN_IF_ERROR(ToTf(InferLayerRnnBackprop(attrs_, shapes, &dims)));
    RNN_OPS_TF_RETURN_IF_ERROR(TakeInputs(context, attrs_, dims, Masks::kInputs, call));
    call->input = input(In::kInput);
    call->input_h = input(In::kInputH);
    call->input_c = input(In::kInputC);

    const auto like = [context](int output, int of, Tensor** tensor) {
      return AllocateLargeOutput(context, output, context->input(of).shape(), tensor);
    };
    RNN_OPS_TF_RETURN_IF_ERROR(like(Out::kInputBackprop, In::kInput, &call->input_backprop));
    RNN_OPS_TF_RETURN_IF_ERROR(like(Out::kInputHBackprop, In::kInputH, &call->input_h_backprop));
    RNN_OPS_TF_RETURN_IF_ERROR(AllocateLargeOutput(
        context, Out::kInputCBackprop, call->has_c() ? call->input_c->shape() : TensorShape({}),
        &call->input_c_backprop));
    RNN_OPS_TF_RETURN_IF_ERROR(like(Out::kKernelBackprop, In::kKernel, &call->kernel_backprop));
    RNN_OPS_TF_RETURN_IF_ERROR(like(Out::kRecurrentKernelBackprop, In::kRecurrentKernel,
                                    &call->recurrent_kernel_backprop));
    return like(Out::kBiasBackprop, In::kBias, &call->bias_backprop);
  }

  RnnAttrs attrs_;
};

REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNN").Device(tensorflow::DEVICE_CPU),
                        LayerRnnKernel</*packed=*/false>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNPacked").Device(tensorflow::DEVICE_CPU),
                        LayerRnnKernel</*packed=*/true>);
REGISTER_KERNEL_BUILDER(Name("TfRnnOps>LayerRNNBackprop").Device(tensorflow::DEVICE_CPU),
                        LayerRnnBackpropKernel);

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops
