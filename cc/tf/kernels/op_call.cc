#include "cc/tf/kernels/op_call.h"

#include <utility>

#include "cc/tf/cached_memory.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops {
namespace tf_kernels {

using ::tensorflow::AllocatorAttributes;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

absl::Status AllocateOutput(OpKernelContext* context, int index, const PartialShape& shape,
                            Tensor** output) {
  TensorShape tensor_shape;
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(shape, &tensor_shape));
  return AllocateLargeOutput(context, index, tensor_shape, output);
}

absl::Status OpCall::CheckInputs() {
  input_shapes_.reserve(op.inputs.count);
  for (int k = 0; k < op.inputs.count; ++k) {
    input_shapes_.push_back(FromTf(context->input(k).shape()));
  }
  // The first input of type T: BlockLSTMV2 has another one before it.
  const int typed = op.inputs[0].element == Element::kT ? 0 : 1;
  RNN_OPS_TF_RETURN_IF_ERROR(ToDtype(context->input_dtype(typed), &dtype));
  CallShapes shapes;
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(InferShapes(op, attrs, input_shapes_, &shapes)));
  dims = shapes.dims;
  output_shapes_ = std::move(shapes.outputs);
  return absl::OkStatus();
}

absl::Status OpCall::AllocateOutputs() {
  std::vector<const void*> in;
  in.reserve(op.inputs.count);
  for (int k = 0; k < op.inputs.count; ++k) in.push_back(InputData(k));
  std::vector<void*> out;
  out.reserve(op.num_outputs());
  outputs.reserve(op.num_outputs());
  AllocatorAttributes host;
  host.set_on_host(true);
  for (int k = 0; k < op.num_outputs(); ++k) {
    const TensorSpec& output = op.output(k);
    const bool zero = IsZero(output, attrs);
    Tensor* tensor = nullptr;
    if (output.element == Element::kInt8) {
      TensorShape shape;
      RNN_OPS_TF_RETURN_IF_ERROR(ToTf(output_shapes_[k], &shape));
      RNN_OPS_TF_RETURN_IF_ERROR(context->allocate_output(k, shape, &tensor, host));
      SetZero(tensor);
    } else if (zero || output.given != Given::kTraining) {
      RNN_OPS_TF_RETURN_IF_ERROR(AllocateOutput(context, k, output_shapes_[k], &tensor));
    }
    outputs.push_back(tensor);
    out.push_back(zero || tensor == nullptr ? nullptr : MutableData(tensor));
  }
  tensors = CallTensors(op, std::move(in), std::move(out));
  return absl::OkStatus();
}

const void* OpCall::InputData(int index) const {
  const bool used = IsUsed(op.inputs[index], attrs, input_shapes_[index]);
  return used ? Data(context->input(index)) : nullptr;
}

std::vector<Tensor*> OpCall::zeros() const {
  std::vector<Tensor*> found;
  for (int k = 0; k < op.num_outputs(); ++k) {
    const bool on_host = op.output(k).element == Element::kInt8;
    if (IsZero(op.output(k), attrs) && !on_host) found.push_back(outputs[k]);
  }
  return found;
}

absl::Status RnnCall::Prepare() {
  RNN_OPS_TF_RETURN_IF_ERROR(CheckInputs());
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(MakeRnnConfig(attrs, dims, &config)));
  // A copy, so that what was checked is what the kernel reads.
  AllocatorAttributes host;
  host.set_on_host(true);
  RNN_OPS_TF_RETURN_IF_ERROR(
      context->allocate_temp(tensorflow::DT_INT32, TensorShape({dims.batch}), &lengths, host));
  const int index = op.Input("sequence_lengths");
  const void* given = index == kAbsent ? nullptr : InputData(index);
  RNN_OPS_TF_RETURN_IF_ERROR(
      ToTf(TakeSequenceLengths(static_cast<const int32_t*>(given), dims.batch, dims.max_time,
                               lengths.flat<int32_t>().data())));
  return AllocateOutputs();
}

const int32_t* RnnCall::lengths_data() const {
  return lengths.NumElements() > 0 ? lengths.flat<int32_t>().data() : nullptr;
}

absl::Status RnnPackCall::Prepare() {
  RNN_OPS_TF_RETURN_IF_ERROR(CheckInputs());
  std::vector<const void*> in;
  for (int k = 0; k < op.inputs.count; ++k) in.push_back(InputData(k));
  tensors = CallTensors(op, std::move(in), /*outputs=*/{nullptr});
  return absl::OkStatus();
}

absl::Status BlockLstmCall::Prepare() {
  RNN_OPS_TF_RETURN_IF_ERROR(CheckInputs());
  seq_len_max = ScalarOf<int64_t>(input("seq_len_max"));
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(ValidateBlockLstm(dims, seq_len_max)));
  return AllocateOutputs();
}

absl::Status AllocateReserveSpace(const OpCall& call, int64_t bytes, Tensor** reserve_space) {
  if (bytes < 0) {
    return absl::InvalidArgumentError("reserve_space would need more than 2^62 bytes.");
  }
  const int index = call.op.Output("reserve_space");
  const int64_t element = tensorflow::DataTypeSize(call.context->expected_output_dtype(index));
  return AllocateOutput(call.context, index, PartialShape::Of({ReserveElements(bytes, element)}),
                        reserve_space);
}

}  // namespace tf_kernels
}  // namespace rnn_ops
