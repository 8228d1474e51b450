#include "cc/tf/kernels/cpu_host.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "cc/core/runtime/machine_limits.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/call/packed_header.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/tf/cached_memory.h"
#include "cc/tf/kernels/kept_weights.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/util/work_sharder.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

static_assert(tensorflow::Allocator::kAllocatorAlignment >= 64,
              "The kernels count on 64-byte aligned scratch and reserve space.");

namespace {

// The number of threads of TensorFlow's pool that an op may keep busy, including the caller.
int NumThreads(const tsl::thread::ThreadPool* pool) {
  if (pool == nullptr) return 1;
  // tf.data sets GetPerThreadMaxParallelism() with its option max_intra_op_parallelism.
  return std::max(
      1, std::min({pool->NumThreads(), AvailableCpus(), tensorflow::GetPerThreadMaxParallelism()}));
}

// Whether Python called the op eagerly, so that the op runs on the calling thread. Ops of a
// tf.function have the stack trace of their caller too. TensorFlow 2.21 wraps an eager op in a
// function, but runs the function on the single-threaded executor.
bool IsEager(const OpKernelContext& context) {
  return context.stack_trace().has_value() &&
         (context.call_frame() == nullptr || context.executor_type() == "SINGLE_THREADED_EXECUTOR");
}

}  // namespace

PoolTeam::PoolTeam(OpKernelContext* context)
    : PoolTeam(context->device()->tensorflow_cpu_worker_threads()->workers,
               StayTime(IsEager(*context))) {}

PoolTeam::PoolTeam(tsl::thread::ThreadPool* pool, std::chrono::microseconds stay)
    : team_(
          NumThreads(pool),
          [pool](std::function<void()> closure) { pool->Schedule(std::move(closure)); }, stay) {}

Status CpuHost::Allocate(DataType dtype, const TensorShape& shape, Tensor* tensor) {
  RNN_OPS_RETURN_IF_ERROR(FromTf(AllocateLargeTemp(call_.context, dtype, shape, tensor)));
  held_.push_back(*tensor);
  return Status();
}

Status CpuHost::Scratch(int64_t bytes, void** data) {
  *data = little_;
  if (bytes <= static_cast<int64_t>(sizeof(little_))) return Status();
  Tensor tensor;
  RNN_OPS_RETURN_IF_ERROR(Allocate(tensorflow::DT_UINT8, TensorShape({bytes}), &tensor));
  *data = tensor.data();
  return Status();
}

Status CpuHost::NewReserve(const cpu::ReserveSizes& sizes, void** data) {
  Tensor* reserve = nullptr;
  RNN_OPS_RETURN_IF_ERROR(FromTf(AllocateReserveSpace(call_, sizes.bytes, &reserve)));
  *data = reserve->data();
  // Clears the bytes that come from rounding up to whole elements.
  const int64_t padding = static_cast<int64_t>(reserve->TotalBytes()) - sizes.bytes;
  if (padding > 0) std::memset(static_cast<char*>(*data) + sizes.bytes, 0, padding);
  return Status();
}

PartialShape CpuHost::ShapeOf(Arg input) const { return FromTf(call_.input(input).shape()); }

// A caller may pass a slice, whose data need not be aligned.
Status CpuHost::Aligned(Arg input, const void** data) {
  const Tensor& tensor = call_.input(input);
  *data = Data(tensor);
  if (reinterpret_cast<uintptr_t>(*data) % 64 == 0) return Status();
  Tensor copy;
  RNN_OPS_RETURN_IF_ERROR(Allocate(tensor.dtype(), tensor.shape(), &copy));
  CopyElements(tensor, &copy);
  *data = Data(copy);
  return Status();
}

namespace {

cpu::RnnProblem ProblemOf(const RnnCall& call) {
  cpu::RnnProblem problem = cpu::MakeRnnProblem(call.config(), call.dtype, call.tensors);
  problem.lengths = {call.lengths.data(), call.sum_of_lengths};
  return problem;
}

}  // namespace

absl::Status RnnForwardCpuKernel::Run(const RnnCall& call, DropoutKey dropout_key) const {
  cpu::RnnProblem problem = ProblemOf(call);
  problem.dropout_key[0] = dropout_key.k0;
  problem.dropout_key[1] = dropout_key.k1;
  CpuHost host(call);
  return ToTf(cpu::RunRnnForward(problem, call.tensors, &host));
}

absl::Status RnnBackpropCpuKernel::Run(const RnnCall& call) const {
  CpuHost host(call);
  return ToTf(cpu::RunRnnBackward(ProblemOf(call), call.tensors, &host));
}

absl::Status PackRnnWeightsOnCpu(const OpCall& call, const RnnConfig& config, bool keep) {
  const cpu::KernelTable& kernels = cpu::Kernels();
  const cpu::RnnProblem problem = cpu::MakeRnnProblem(config, call.dtype, call.tensors);
  const cpu::PackedFormat format = kernels.rnn_packed_format(&problem);
  const cpu::PackedHeader header =
      cpu::MakePackedHeader(problem, kernels.vector_bytes, format.element);
  std::vector<Tensor> weights;
  for (const TensorSpec& input : call.op.inputs) {
    if (call.tensors.in(input.arg) != nullptr) weights.push_back(call.input(input.arg));
  }
  if (keep) {
    Tensor kept;
    if (KeptWeights::OfProcess().Find(weights, header, &kept)) {
      call.context->set_output(0, kept);
      return absl::OkStatus();
    }
  }

  if (format.bytes < 0) {
    return absl::InvalidArgumentError("The packed weights would need more than 2^62 bytes.");
  }
  Tensor* packed = nullptr;
  RNN_OPS_RETURN_IF_ERROR(AllocateLargeOutput(
      call.context, 0, TensorShape({cpu::kPackedHeaderBytes + format.bytes}), &packed));
  cpu::WritePackedHeader(header, packed->data());
  char* const panels = static_cast<char*>(packed->data()) + cpu::kPackedHeaderBytes;
  CpuHost host(call);
  RNN_OPS_RETURN_IF_ERROR(ToTf(cpu::RunRnnPack(problem, call.tensors, panels, &host)));
  if (keep) KeptWeights::OfProcess().Keep(weights, *packed);
  return absl::OkStatus();
}

}  // namespace rnn_ops::tf_kernels
