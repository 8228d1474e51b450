// One call of an op that runs an RNN, apart from the device: its inputs checked, its outputs
// allocated. The table of the op says what there is to check and to allocate.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_OP_CALL_H_
#define TF_RNN_OPS_CC_TF_KERNELS_OP_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "cc/core/network/call_tensors.h"
#include "cc/core/network/dtype.h"
#include "cc/core/network/op_spec.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/network/shapes.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace rnn_ops {
namespace tf_kernels {

// What the shapes of its inputs say about a call, all checked.
struct CallPlan {
  std::vector<int64_t> input_dims;  // for each input its rank and its dimensions
  std::vector<bool> used;           // whether the call reads the input
  RnnDims dims;
  RnnConfig config;  // as in CallShapes
  std::vector<tensorflow::TensorShape> outputs;
  // On a CPU, of the outputs that are zero whatever is computed: every call gives the same tensor.
  std::vector<std::optional<tensorflow::Tensor>> zeros;
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
  CallTensors tensors;

  // Checks types and shapes, and takes the inputs into `tensors`. First of all.
  absl::Status TakeInputs();
  // Takes the outputs into `tensors`, but for reserve_space of training, whose size the device
  // knows, and those that are zero whatever is computed, which it sets where they are on the host.
  absl::Status AllocateOutputs();

  const CallPlan& plan() const { return *plan_; }
  // The op must have it.
  const tensorflow::Tensor& input(Arg arg) const { return context->input(op.Input(arg)); }
  // The outputs in memory of a GPU that are zero whatever is computed. They are not yet.
  std::vector<tensorflow::Tensor*> zeros() const;

 private:
  LastPlan& last_plan_;
  std::shared_ptr<const CallPlan> plan_;
};

// A call of an op of the CudnnRNN family or of LayerRNN.
struct RnnCall : OpCall {
  using OpCall::OpCall;
  absl::Status Prepare();

  absl::InlinedVector<int32_t, 16> lengths;  // [B]: a checked copy, all T where none are given

  const RnnConfig& config() const { return plan().config; }
  // No time step of any row: the states pass through and every gradient of weights is zero.
  bool empty() const { return config().max_time == 0 || config().batch == 0; }
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
