#include "cc/tf/kernels/rnn_call.h"

#include "cc/tf/cached_memory.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops {
namespace tf_kernels {

using ::tensorflow::AllocatorAttributes;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

// The four inputs that every op of the family starts with.
RnnInputShapes CommonInputShapes(OpKernelContext* context) {
  RnnInputShapes shapes;
  shapes.input = FromTf(context->input(RnnForwardSignature::kInput).shape());
  shapes.input_h = FromTf(context->input(RnnForwardSignature::kInputH).shape());
  shapes.input_c = FromTf(context->input(RnnForwardSignature::kInputC).shape());
  shapes.params = FromTf(context->input(RnnForwardSignature::kParams).shape());
  return shapes;
}

// The shape of sequence_lengths; for an op without that input, the one it would have to have.
PartialShape LengthsShape(OpKernelContext* context, int index, bool time_major) {
  if (index != kAbsent) return FromTf(context->input(index).shape());
  const TensorShape& input = context->input(RnnForwardSignature::kInput).shape();
  const int batch_dim = time_major ? 1 : 0;
  return PartialShape::Of({input.dims() > batch_dim ? input.dim_size(batch_dim) : 0});
}

}  // namespace

absl::Status TakeLengths(OpKernelContext* context, int index, RnnCall* call) {
  AllocatorAttributes host;
  host.set_on_host(true);
  const int64_t batch = call->config.batch;
  const int64_t max_time = call->config.max_time;
  RNN_OPS_TF_RETURN_IF_ERROR(
      context->allocate_temp(tensorflow::DT_INT32, TensorShape({batch}), &call->lengths, host));
  const void* given = index == kAbsent ? nullptr : Data(context->input(index));
  return ToTf(TakeSequenceLengths(static_cast<const int32_t*>(given), batch, max_time,
                                  call->lengths.flat<int32_t>().data()));
}

absl::Status AllocateOutput(OpKernelContext* context, int index, const PartialShape& shape,
                            Tensor** output) {
  TensorShape tensor_shape;
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(shape, &tensor_shape));
  return AllocateLargeOutput(context, index, tensor_shape, output);
}

absl::Status RnnForwardCall::Prepare(OpKernelContext* context, const RnnForwardSignature& signature,
                                     const RnnAttrs& attrs) {
  using S = RnnForwardSignature;
  RNN_OPS_TF_RETURN_IF_ERROR(ToKernelDtype(context->input_dtype(S::kInput), &dtype));

  RnnInputShapes shapes = CommonInputShapes(context);
  shapes.sequence_lengths = LengthsShape(context, signature.sequence_lengths, attrs.time_major);
  if (signature.seed != kAbsent) {
    seed = &context->input(signature.seed);
    shapes.seed = FromTf(seed->shape());
  }
  RnnDims dims;
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(InferRnn(attrs, shapes, &dims)));
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(MakeRnnConfig(attrs, shapes, &config)));
  RNN_OPS_TF_RETURN_IF_ERROR(TakeLengths(context, signature.sequence_lengths, this));

  input = &context->input(S::kInput);
  input_h = &context->input(S::kInputH);
  input_c = &context->input(S::kInputC);
  params = &context->input(S::kParams);
  if (signature.packed != kAbsent) packed = &context->input(signature.packed);
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateOutput(context, S::kOutput, RnnOutputShape(attrs, dims), &output));
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateOutput(context, S::kOutputH, RnnOutputHShape(attrs, dims), &output_h));
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateOutput(context, S::kOutputC, RnnOutputCShape(attrs, dims), &output_c));

  if (signature.host_reserved == kAbsent) return absl::OkStatus();
  AllocatorAttributes host;
  host.set_on_host(true);
  TensorShape host_shape;
  if (attrs.is_training && signature.host_reserved_size > 0) {
    RNN_OPS_TF_RETURN_IF_ERROR(host_shape.AddDimWithStatus(signature.host_reserved_size));
  }
  Tensor* host_reserved = nullptr;
  RNN_OPS_TF_RETURN_IF_ERROR(
      context->allocate_output(signature.host_reserved, host_shape, &host_reserved, host));
  SetZero(host_reserved);
  return absl::OkStatus();
}

absl::Status RnnBackpropCall::Prepare(OpKernelContext* context,
                                      const RnnBackpropSignature& signature,
                                      const RnnAttrs& attrs) {
  using S = RnnBackpropSignature;
  RNN_OPS_TF_RETURN_IF_ERROR(ToKernelDtype(context->input_dtype(S::kInput), &dtype));

  RnnBackpropShapes shapes;
  shapes.in = CommonInputShapes(context);
  shapes.in.sequence_lengths = LengthsShape(context, signature.sequence_lengths, attrs.time_major);
  int next = signature.output;
  output = &context->input(next++);
  output_h = &context->input(next++);
  output_c = &context->input(next++);
  output_backprop = &context->input(next++);
  output_h_backprop = &context->input(next++);
  output_c_backprop = &context->input(next++);
  reserve_space = &context->input(next++);
  shapes.output = FromTf(output->shape());
  shapes.output_h = FromTf(output_h->shape());
  shapes.output_c = FromTf(output_c->shape());
  shapes.output_backprop = FromTf(output_backprop->shape());
  shapes.output_h_backprop = FromTf(output_h_backprop->shape());
  shapes.output_c_backprop = FromTf(output_c_backprop->shape());
  shapes.reserve_space = FromTf(reserve_space->shape());
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(MakeRnnConfig(attrs, shapes, &config)));
  RNN_OPS_TF_RETURN_IF_ERROR(TakeLengths(context, signature.sequence_lengths, this));

  input = &context->input(S::kInput);
  input_h = &context->input(S::kInputH);
  input_c = &context->input(S::kInputC);
  params = &context->input(S::kParams);
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateLargeOutput(context, S::kInputBackprop, input->shape(), &input_backprop));
  RNN_OPS_TF_RETURN_IF_ERROR(
      AllocateLargeOutput(context, S::kInputHBackprop, input_h->shape(), &input_h_backprop));
  RNN_OPS_TF_RETURN_IF_ERROR(AllocateLargeOutput(context, S::kInputCBackprop,
                                                 has_c() ? input_c->shape() : TensorShape({}),
                                                 &input_c_backprop));
  return AllocateLargeOutput(context, S::kParamsBackprop, params->shape(), &params_backprop);
}

absl::Status AllocateReserveSpace(OpKernelContext* context, const RnnConfig& config, int64_t bytes,
                                  Tensor** reserve_space) {
  TensorShape shape;
  if (config.is_training) {
    if (bytes < 0) {
      return absl::InvalidArgumentError("reserve_space would need more than 2^62 bytes.");
    }
    const int64_t element = tensorflow::DataTypeSize(
        context->expected_output_dtype(RnnForwardSignature::kReserveSpace));
    RNN_OPS_TF_RETURN_IF_ERROR(shape.AddDimWithStatus(ReserveElements(bytes, element)));
  }
  return AllocateLargeOutput(context, RnnForwardSignature::kReserveSpace, shape, reserve_space);
}

}  // namespace tf_kernels
}  // namespace rnn_ops
