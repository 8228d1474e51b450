// One call of BlockLSTMV2 or its gradient, apart from the device.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_BLOCK_LSTM_CALL_H_
#define TF_RNN_OPS_CC_TF_KERNELS_BLOCK_LSTM_CALL_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/op_io.h"
#include "cc/core/shapes.h"
#include "cc/cpu/kernel_args.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace rnn_ops {
namespace tf_kernels {

struct BlockLstmCall {
  BlockLstmDims dims;
  int64_t seq_len_max = 0;
  cpu::KernelDtype dtype = cpu::kFloat32;
  bool use_peephole = false;
  float cell_clip = 0.0f;  // the gradient passes through the clip, so it does not need this

  // Nothing to compute: every output is zero.
  bool empty() const { return dims.batch == 0 || seq_len_max == 0; }
};

// Prepare() checks every input and allocates every output.
struct BlockLstmForwardCall : BlockLstmCall {
  std::array<tensorflow::Tensor*, BlockLstmOutput::kCount> outputs{};
  absl::Status Prepare(tensorflow::OpKernelContext* context);
};

struct BlockLstmGradCall : BlockLstmCall {
  std::array<tensorflow::Tensor*, BlockLstmGradOutput::kCount> outputs{};
  absl::Status Prepare(tensorflow::OpKernelContext* context);
};

// The inputs that both ops begin with.
template <typename Args>
void SetCommonPointers(tensorflow::OpKernelContext* context, Args* args) {
  const auto in = [context](int index) { return Data(context->input(index)); };
  args->x = in(BlockLstmInput::kX);
  args->cs_prev = in(BlockLstmInput::kCsPrev);
  args->h_prev = in(BlockLstmInput::kHPrev);
  args->w = in(BlockLstmInput::kW);
  args->wci = in(BlockLstmInput::kWci);
  args->wcf = in(BlockLstmInput::kWcf);
  args->wco = in(BlockLstmInput::kWco);
  args->b = in(BlockLstmInput::kB);
}

// Sets the pointers of a device's arguments, which every device names alike: its own type `Args`.
template <typename Args>
void SetForwardPointers(tensorflow::OpKernelContext* context, const BlockLstmForwardCall& call,
                        Args* args) {
  SetCommonPointers(context, args);
  const auto out = [&call](int index) { return MutableData(call.outputs[index]); };
  args->i = out(BlockLstmOutput::kI);
  args->cs = out(BlockLstmOutput::kCs);
  args->f = out(BlockLstmOutput::kF);
  args->o = out(BlockLstmOutput::kO);
  args->ci = out(BlockLstmOutput::kCi);
  args->co = out(BlockLstmOutput::kCo);
  args->h = out(BlockLstmOutput::kH);
}

template <typename Args>
void SetGradPointers(tensorflow::OpKernelContext* context, const BlockLstmGradCall& call,
                     Args* args) {
  SetCommonPointers(context, args);
  const auto in = [context](int index) { return Data(context->input(index)); };
  args->i = in(BlockLstmInput::kI);
  args->cs = in(BlockLstmInput::kCs);
  args->f = in(BlockLstmInput::kF);
  args->o = in(BlockLstmInput::kO);
  args->ci = in(BlockLstmInput::kCi);
  args->co = in(BlockLstmInput::kCo);
  args->h = in(BlockLstmInput::kH);
  args->cs_grad = in(BlockLstmInput::kCsGrad);
  args->h_grad = in(BlockLstmInput::kHGrad);
  const auto out = [&call](int index) { return MutableData(call.outputs[index]); };
  args->x_grad = out(BlockLstmGradOutput::kXGrad);
  args->cs_prev_grad = out(BlockLstmGradOutput::kCsPrevGrad);
  args->h_prev_grad = out(BlockLstmGradOutput::kHPrevGrad);
  args->w_grad = out(BlockLstmGradOutput::kWGrad);
  args->wci_grad = out(BlockLstmGradOutput::kWciGrad);
  args->wcf_grad = out(BlockLstmGradOutput::kWcfGrad);
  args->wco_grad = out(BlockLstmGradOutput::kWcoGrad);
  args->b_grad = out(BlockLstmGradOutput::kBGrad);
}

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_BLOCK_LSTM_CALL_H_
