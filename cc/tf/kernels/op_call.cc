#include "cc/tf/kernels/op_call.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "cc/core/op/dropout.h"
#include "cc/tf/cached_memory.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/types.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::AllocatorAttributes;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

// True for host_reserved.
bool IsOnHost(const TensorSpec& output) { return output.element == Element::kInt8; }

// True for the reserve_space of training.
bool IsSizedByDevice(const TensorSpec& output, const RnnAttrs& attrs) {
  return output.given == Given::kTraining && !IsZero(output, attrs);
}

absl::Status MakePlan(const OpSpec& op, const RnnAttrs& attrs, OpKernelContext* context,
                      CallPlan* plan) {
  std::vector<PartialShape> inputs;
  for (int k = 0; k < op.inputs.count; ++k) {
    inputs.push_back(FromTf(context->input(k).shape()));
    const std::vector<int64_t>& dims = inputs.back().dims;
    plan->input_dims.push_back(static_cast<int64_t>(dims.size()));
    plan->input_dims.insert(plan->input_dims.end(), dims.begin(), dims.end());
    plan->used.push_back(IsUsed(op.inputs[k], attrs, inputs.back()));
  }
  CallShapes shapes;
  RNN_OPS_RETURN_IF_ERROR(ToTf(InferShapes(op, attrs, inputs, &shapes)));
  plan->dims = shapes.dims;
  plan->config = shapes.config;
  plan->outputs.resize(op.num_outputs());
  const bool on_cpu = context->device()->device_type() == tensorflow::DEVICE_CPU;
  for (int k = 0; k < op.num_outputs(); ++k) {
    const TensorSpec& output = op.output(k);
    // The device determines the size of reserve_space and of packed weights. Without training, the
    // default shape is right: a scalar.
    if (output.dims[0] != Dim::kAny) {
      RNN_OPS_RETURN_IF_ERROR(ToTf(shapes.outputs[k], &plan->outputs[k]));
    }
    plan->zero.push_back(IsOnHost(output) || (on_cpu && IsZero(output, attrs)));
  }
  return absl::OkStatus();
}

bool IsPlanOf(const CallPlan& plan, const OpSpec& op, OpKernelContext* context) {
  const int64_t* expected = plan.input_dims.data();
  for (int k = 0; k < op.inputs.count; ++k) {
    const TensorShape& shape = context->input(k).shape();
    const int rank = shape.dims();
    if (*expected++ != rank) return false;
    for (int d = 0; d < rank; ++d) {
      if (*expected++ != shape.dim_size(d)) return false;
    }
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
  if (*plan != nullptr && IsPlanOf(**plan, op, context)) return absl::OkStatus();
  auto made = std::make_shared<CallPlan>();
  RNN_OPS_RETURN_IF_ERROR(MakePlan(op, attrs, context, made.get()));
  *plan = std::move(made);
  Copy(*plan, &plan_);
  return absl::OkStatus();
}

absl::Status OpCall::BindInputs() {
  RNN_OPS_RETURN_IF_ERROR(ToDtype(context->input_dtype(op.FirstTyped()), &dtype));
  RNN_OPS_RETURN_IF_ERROR(last_plan_.Get(op, attrs, context, &plan_));
  for (int k = 0; k < op.inputs.count; ++k) {
    if (!plan_->used[k]) continue;
    const TensorSpec& spec = op.inputs[k];
    const Tensor& input = context->input(k);
    tensors.SetInput(spec.arg, Data(input), spec.TypeIn(dtype), input.NumElements());
  }
  return absl::OkStatus();
}

// WHY each call allocates its zeros: a program may write to a result, for example through DLPack.
absl::Status OpCall::AllocateOutputs() {
  for (int k = 0; k < op.num_outputs(); ++k) {
    const TensorSpec& output = op.output(k);
    const TensorShape& shape = plan_->outputs[k];
    Tensor* tensor = nullptr;
    if (plan_->zero[k]) {
      AllocatorAttributes host;
      host.set_on_host(true);
      RNN_OPS_RETURN_IF_ERROR(context->allocate_output(k, shape, &tensor, host));
      SetZero(tensor);
    } else if (!IsSizedByDevice(output, attrs)) {
      RNN_OPS_RETURN_IF_ERROR(AllocateLargeOutput(context, k, shape, &tensor));
      if (!IsZero(output, attrs)) {
        tensors.SetOutput(output.arg, MutableData(tensor), output.TypeIn(dtype),
                          shape.num_elements());
      }
    }
  }
  return absl::OkStatus();
}

std::vector<Tensor*> OpCall::zeros() const {
  std::vector<Tensor*> found;
  for (int k = 0; k < op.num_outputs(); ++k) {
    const TensorSpec& output = op.output(k);
    if (IsZero(output, attrs) && !IsOnHost(output)) found.push_back(context->mutable_output(k));
  }
  return found;
}

absl::Status RnnCall::Prepare() {
  RNN_OPS_RETURN_IF_ERROR(BindInputs());
  // A copy, so that the kernel reads the checked values.
  lengths.resize(config().batch);
  const auto* given = static_cast<const int32_t*>(tensors.in(Arg::sequence_lengths));
  RNN_OPS_RETURN_IF_ERROR(ToTf(CopySequenceLengths(given, config().batch, config().max_time,
                                                   lengths.data(), &sum_of_lengths)));
  return AllocateOutputs();
}

absl::Status BlockLstmCall::Prepare() {
  RNN_OPS_RETURN_IF_ERROR(BindInputs());
  const int64_t seq_len_max = ScalarOf<int64_t>(input(Arg::seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(ToTf(MakeBlockLstmConfig(plan().dims, seq_len_max, &config)));
  return AllocateOutputs();
}

absl::Status AllocateReserveSpace(const OpCall& call, int64_t bytes, Tensor** reserve_space) {
  if (bytes < 0) {
    return absl::InvalidArgumentError("reserve_space would need more than 2^62 bytes.");
  }
  const int index = call.op.Output(Arg::reserve_space);
  const int64_t element = tensorflow::DataTypeSize(call.context->expected_output_dtype(index));
  return AllocateLargeOutput(call.context, index, TensorShape({ReserveElements(bytes, element)}),
                             reserve_space);
}

using ::tensorflow::OpKernelConstruction;

RnnForwardKernel::RnnForwardKernel(OpKernelConstruction* context, const OpSpec& op)
    : CheckedOpKernel(context), op_(op) {
  OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
  OP_REQUIRES_OK(context, ToTf(ParseResetRndGenState(std::getenv("TF_CUDNN_RESET_RND_GEN_STATE"),
                                                     &resets_dropout_)));
}

void RnnForwardKernel::DoCompute(OpKernelContext* context) {
  RnnCall call(op_, attrs_, context, &last_plan_);
  OP_REQUIRES_OK(context, call.Prepare());
  DropoutKey key;
  const bool drops = attrs_.is_training && attrs_.dropout > 0;
  if (drops || (attrs_.has_zoneout() && call.tensors.in(Arg::seed) != nullptr)) {
    key = NextDropoutKey(call);
  }
  OP_REQUIRES_OK(context, Run(call, key));
}

DropoutKey RnnForwardKernel::NextDropoutKey(const RnnCall& call) {
  const void* given = call.tensors.in(Arg::seed);
  if (given == nullptr) {
    const uint64_t call =
        resets_dropout_ ? 0 : dropout_calls_.fetch_add(1, std::memory_order_relaxed);
    return MakeDropoutKey(attrs_.seed, attrs_.seed2, call);
  }
  int64_t seed[2];
  std::memcpy(seed, given, sizeof(seed));
  return MakeDropoutKey(seed[0], seed[1], /*call=*/0);
}

RnnBackpropKernel::RnnBackpropKernel(OpKernelConstruction* context, const OpSpec& op)
    : CheckedOpKernel(context), op_(op) {
  OP_REQUIRES_OK(context, ReadRnnAttrs(context, op.attrs, &attrs_));
}

void RnnBackpropKernel::DoCompute(OpKernelContext* context) {
  RnnCall call(op_, attrs_, context, &last_plan_);
  OP_REQUIRES_OK(context, call.Prepare());
  OP_REQUIRES_OK(context, Run(call));
}

}  // namespace rnn_ops::tf_kernels
