// One call of an op that runs an RNN, apart from the device: its inputs checked, its outputs
// allocated. The table of the op says what there is to check and to allocate.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_OP_CALL_H_
#define TF_RNN_OPS_CC_TF_KERNELS_OP_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/call_tensors.h"
#include "cc/core/dtype.h"
#include "cc/core/op_spec.h"
#include "cc/core/rnn_config.h"
#include "cc/core/shapes.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace rnn_ops {
namespace tf_kernels {

// What the shapes of its inputs say about a call.
struct CallPlan {
  std::vector<tensorflow::TensorShape> inputs;
  std::vector<bool> used;  // whether the call reads the input
  RnnDims dims;
  std::vector<tensorflow::TensorShape> outputs;
};

// The plan of a kernel's last call. WHY kept: most calls have the shapes of the one before, and of
// a tiny network the plan is a tenth of the time. Thread-safe.
class LastPlan {
 public:
  // Sets *plan to that of a call with these inputs, or says what is wrong with their shapes.
  absl::Status Get(const OpSpec& op, const RnnAttrs& attrs, tensorflow::OpKernelContext* context,
                   std::shared_ptr<const CallPlan>* plan);

 private:
  // Copies *from to *to, one of which is plan_; not where another thread is here, or was when this
  // process forked. WHY no mutex: trying to lock one needs glibc 2.34.
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
  RnnDims dims;
  // Null: reserve_space of training, whose size the device knows.
  std::vector<tensorflow::Tensor*> outputs;
  CallTensors tensors;

  // The op must have it.
  const tensorflow::Tensor& input(std::string_view name) const {
    return context->input(op.Input(name));
  }
  // The outputs in memory of the device that are zero whatever is computed. They are not yet.
  std::vector<tensorflow::Tensor*> zeros() const;

 protected:
  // Checks types and shapes, and takes the inputs into `tensors`.
  absl::Status TakeInputs();
  // Fills outputs and takes them into `tensors`. Sets what is on the host, host_reserved, to zero.
  absl::Status AllocateOutputs();

 private:
  LastPlan& last_plan_;
  std::shared_ptr<const CallPlan> plan_;
};

// A call of an op of the CudnnRNN family or of LayerRNN.
struct RnnCall : OpCall {
  using OpCall::OpCall;
  absl::Status Prepare();

  RnnConfig config;
  std::vector<int32_t> lengths;  // [B]: a checked copy, all T where none are given

  // No time step of any row: the states pass through and every gradient of weights is zero.
  bool empty() const { return config.max_time == 0 || config.batch == 0; }
};

// A call of an op that packs weights, which allocates its output by itself.
struct RnnPackCall : OpCall {
  using OpCall::OpCall;
  absl::Status Prepare();

  RnnConfig config;  // T and B are 0; for the caller to set
};

// A call of LinearRecurrence.
struct LinearRecurrenceCall : OpCall {
  using OpCall::OpCall;
  absl::Status Prepare();
};

// A call of BlockLSTMV2 or its gradient.
struct BlockLstmCall : OpCall {
  using OpCall::OpCall;
  absl::Status Prepare();

  BlockLstmConfig config;  // with the attributes from the start, with the sizes after Prepare()
};

// Allocates the reserve_space of training: a vector that holds `bytes`.
absl::Status AllocateReserveSpace(const OpCall& call, int64_t bytes,
                                  tensorflow::Tensor** reserve_space);

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_OP_CALL_H_
