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

namespace {

// reserve_space of training.
bool IsSizedByDevice(const TensorSpec& output, const RnnAttrs& attrs) {
  return output.given == Given::kTraining && !IsZero(output, attrs);
}

absl::Status MakePlan(const OpSpec& op, const RnnAttrs& attrs, OpKernelContext* context,
                      CallPlan* plan) {
  std::vector<PartialShape> inputs;
  for (int k = 0; k < op.inputs.count; ++k) {
    const TensorShape& shape = context->input(k).shape();
    plan->inputs.push_back(shape);
    inputs.push_back(FromTf(shape));
    plan->used.push_back(IsUsed(op.inputs[k], attrs, inputs.back()));
  }
  CallShapes shapes;
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(InferShapes(op, attrs, inputs, &shapes)));
  plan->dims = shapes.dims;
  plan->outputs.resize(op.num_outputs());
  for (int k = 0; k < op.num_outputs(); ++k) {
    // What the device sizes, reserve_space and packed weights, or else a scalar, as it is here.
    if (op.output(k).dims[0] == Dim::kAny) continue;
    RNN_OPS_TF_RETURN_IF_ERROR(ToTf(shapes.outputs[k], &plan->outputs[k]));
  }
  return absl::OkStatus();
}

bool IsPlanOf(const CallPlan& plan, OpKernelContext* context) {
  for (size_t k = 0; k < plan.inputs.size(); ++k) {
    if (context->input(static_cast<int>(k)).shape() != plan.inputs[k]) return false;
  }
  return true;
}

}  // namespace

void LastPlan::Copy(const std::shared_ptr<const CallPlan>& from,
                    std::shared_ptr<const CallPlan>* to) {
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  *to = from;
  busy_.clear(std::memory_order_release);
}

absl::Status LastPlan::Get(const OpSpec& op, const RnnAttrs& attrs, OpKernelContext* context,
                           std::shared_ptr<const CallPlan>* plan) {
  Copy(plan_, plan);
  if (*plan != nullptr && IsPlanOf(**plan, context)) return absl::OkStatus();
  auto made = std::make_shared<CallPlan>();
  RNN_OPS_TF_RETURN_IF_ERROR(MakePlan(op, attrs, context, made.get()));
  *plan = std::move(made);
  Copy(*plan, &plan_);
  return absl::OkStatus();
}

absl::Status OpCall::TakeInputs() {
  // The first input of type T: BlockLSTMV2 has another one before it.
  const int typed = op.inputs[0].element == Element::kT ? 0 : 1;
  RNN_OPS_TF_RETURN_IF_ERROR(ToDtype(context->input_dtype(typed), &dtype));
  RNN_OPS_TF_RETURN_IF_ERROR(last_plan_.Get(op, attrs, context, &plan_));
  dims = plan_->dims;
  tensors = CallTensors(op);
  for (int k = 0; k < op.inputs.count; ++k) {
    if (plan_->used[k]) tensors.SetInput(k, Data(context->input(k)));
  }
  return absl::OkStatus();
}

absl::Status OpCall::AllocateOutputs() {
  outputs.reserve(op.num_outputs());
  AllocatorAttributes host;
  host.set_on_host(true);
  for (int k = 0; k < op.num_outputs(); ++k) {
    const TensorSpec& output = op.output(k);
    Tensor* tensor = nullptr;
    if (output.element == Element::kInt8) {
      RNN_OPS_TF_RETURN_IF_ERROR(context->allocate_output(k, plan_->outputs[k], &tensor, host));
      SetZero(tensor);
    } else if (!IsSizedByDevice(output, attrs)) {
      RNN_OPS_TF_RETURN_IF_ERROR(AllocateLargeOutput(context, k, plan_->outputs[k], &tensor));
    }
    outputs.push_back(tensor);
    if (tensor != nullptr && !IsZero(output, attrs)) tensors.SetOutput(k, MutableData(tensor));
  }
  return absl::OkStatus();
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
  RNN_OPS_TF_RETURN_IF_ERROR(TakeInputs());
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(MakeRnnConfig(attrs, dims, &config)));
  // A copy, so that what was checked is what the kernel reads.
  lengths.resize(dims.batch);
  const void* given = tensors.in("sequence_lengths");
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(TakeSequenceLengths(static_cast<const int32_t*>(given),
                                                      dims.batch, dims.max_time, lengths.data())));
  return AllocateOutputs();
}

absl::Status RnnPackCall::Prepare() { return TakeInputs(); }

absl::Status LinearRecurrenceCall::Prepare() {
  RNN_OPS_TF_RETURN_IF_ERROR(TakeInputs());
  return AllocateOutputs();
}

absl::Status BlockLstmCall::Prepare() {
  RNN_OPS_TF_RETURN_IF_ERROR(TakeInputs());
  const int64_t seq_len_max = ScalarOf<int64_t>(input("seq_len_max"));
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(MakeBlockLstmConfig(dims, seq_len_max, &config)));
  return AllocateOutputs();
}

absl::Status AllocateReserveSpace(const OpCall& call, int64_t bytes, Tensor** reserve_space) {
  if (bytes < 0) {
    return absl::InvalidArgumentError("reserve_space would need more than 2^62 bytes.");
  }
  const int index = call.op.Output("reserve_space");
  const int64_t element = tensorflow::DataTypeSize(call.context->expected_output_dtype(index));
  return AllocateLargeOutput(call.context, index, TensorShape({ReserveElements(bytes, element)}),
                             reserve_space);
}

}  // namespace tf_kernels
}  // namespace rnn_ops
