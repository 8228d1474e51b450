// A call of an RNN op, and the base classes of its kernels on any device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "cc/core/op/call_tensors.h"
#include "cc/core/op/dropout.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace rnn_ops::tf_kernels {

// The part of a call of an RNN op that does not depend on the device: checks the inputs and
// allocates the outputs, as the table of the op describes.

// The checked facts that follow from the shapes of a call's inputs.
struct CallPlan {
  std::vector<int64_t> input_dims;  // the rank and the dimensions of each input
  std::vector<bool> used;           // whether the call reads the input
  RnnDims dims;
  RnnConfig config;  // see CallShapes
  std::vector<tensorflow::TensorShape> outputs;
  std::vector<bool> zero;  // whether an output is always zero and in host memory
};

// The plan of a kernel's last call. Thread-safe.
// WHY it is kept: most calls have the shapes of the call before, and making a plan takes a tenth of
// the time of a tiny network.
class LastPlan {
 public:
  // Sets *plan to the plan of a call with these inputs, or returns the error in their shapes.
  absl::Status Get(const OpSpec& op, const RnnAttrs& attrs, tensorflow::OpKernelContext* context,
                   std::shared_ptr<const CallPlan>* plan);

 private:
  // Copies *from to *to, one of which is plan_. Does nothing if another thread is copying, or was
  // copying when this process forked. WHY no mutex: trying to lock one needs glibc 2.34.
  void Copy(const std::shared_ptr<const CallPlan>& from, std::shared_ptr<const CallPlan>* to);

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::shared_ptr<const CallPlan> plan_;
};

struct OpCall {
  OpCall(const OpSpec& op, const RnnAttrs& attrs, tensorflow::OpKernelContext* context,
         LastPlan* last_plan)
      : op(op), attrs(attrs), context(context), last_plan_(*last_plan) {}

  const OpSpec& op;
  const RnnAttrs& attrs;
  tensorflow::OpKernelContext* const context;
  Dtype dtype = kFloat32;
  CallTensors tensors;

  // Checks types and shapes, and stores the inputs in `tensors`. Call it first.
  absl::Status BindInputs();
  // Stores the outputs in `tensors`, except the reserve_space of training, whose size the device
  // determines. Also sets the outputs to zero that are always zero, if they are on the host.
  absl::Status AllocateOutputs();

  const CallPlan& plan() const { return *plan_; }
  // The op must have the input `arg`.
  const tensorflow::Tensor& input(Arg arg) const { return context->input(op.Input(arg)); }
  // The outputs in GPU memory that are always zero. The caller must set them to zero.
  std::vector<tensorflow::Tensor*> zeros() const;

 private:
  LastPlan& last_plan_;
  std::shared_ptr<const CallPlan> plan_;
};

// A call of an op of the CudnnRNN family or of LayerRNN.
struct RnnCall : OpCall {
  using OpCall::OpCall;
  absl::Status Prepare();

  absl::InlinedVector<int32_t, 16> lengths;  // [B]: a checked copy; all T if no lengths are given
  int64_t sum_of_lengths = 0;

  const RnnConfig& config() const { return plan().config; }
  // True if T or B is 0: the states pass through and all gradients of weights are zero.
  bool empty() const { return config().max_time == 0 || config().batch == 0; }
};

// A call of BlockLSTMV2 or its gradient.
struct BlockLstmCall : OpCall {
  using OpCall::OpCall;
  absl::Status Prepare();

  BlockLstmConfig config;  // has the attributes from the start, and the sizes after Prepare()
};

// Allocates the reserve_space of training: a vector of at least `bytes` bytes.
absl::Status AllocateReserveSpace(const OpCall& call, int64_t bytes,
                                  tensorflow::Tensor** reserve_space);

// OpKernels for all ops of the CudnnRNN family and of LayerRNN. They read the attributes and
// prepare each call. A derived class runs the call on a device.

class RnnForwardKernel : public CheckedOpKernel {
 public:
  RnnForwardKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Runs the call. Must also allocate and fill the reserve_space of training, and fill
  // call.zeros().
  virtual absl::Status Run(const RnnCall& call, DropoutKey dropout_key) const = 0;

  // Whether every call draws the masks of the first call (TF_CUDNN_RESET_RND_GEN_STATE).
  bool resets_dropout() const { return resets_dropout_; }

 private:
  DropoutKey NextDropoutKey(const RnnCall& call);

  const OpSpec& op_;
  RnnAttrs attrs_;
  LastPlan last_plan_;
  // If the seed is not an input, each training call with dropout uses the next number for its
  // masks, or the number 0 if resets_dropout().
  std::atomic<uint64_t> dropout_calls_{0};
  bool resets_dropout_ = false;
};

class RnnBackpropKernel : public CheckedOpKernel {
 public:
  RnnBackpropKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op);
  void DoCompute(tensorflow::OpKernelContext* context) final;

 protected:
  // Runs the call. Must also check the length of reserve_space, and fill call.zeros().
  virtual absl::Status Run(const RnnCall& call) const = 0;

 private:
  const OpSpec& op_;
  RnnAttrs attrs_;
  LastPlan last_plan_;
};

// The OpKernel of BlockLSTMV2 and of its gradient. It reads the attributes and prepares each call.
// A derived class runs the call on a device.

class BlockLstmKernel : public CheckedOpKernel {
 public:
  BlockLstmKernel(tensorflow::OpKernelConstruction* context, const OpSpec& op)
      : CheckedOpKernel(context), op_(op) {
    OP_REQUIRES_OK(context, context->GetAttr("use_peephole", &config_.use_peephole));
    const bool is_gradient = op.gradients.count > 0;
    if (is_gradient) return;
    OP_REQUIRES_OK(context, context->GetAttr("cell_clip", &config_.cell_clip));
  }

  void DoCompute(tensorflow::OpKernelContext* context) final {
    const RnnAttrs attrs;  // the op has none of these attributes
    BlockLstmCall call(op_, attrs, context, &last_plan_);
    call.config = config_;
    OP_REQUIRES_OK(context, call.Prepare());
    OP_REQUIRES_OK(context, Run(call));
  }

 protected:
  // Fills every output, even if the call is empty.
  virtual absl::Status Run(const BlockLstmCall& call) const = 0;

 private:
  const OpSpec& op_;
  BlockLstmConfig config_;  // without sizes
  LastPlan last_plan_;
};

}  // namespace rnn_ops::tf_kernels
