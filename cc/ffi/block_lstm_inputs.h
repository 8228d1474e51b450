// BlockLSTMV2 and its gradient up to where a device matters: the attributes, the shapes of the
// inputs and outputs, and their pointers.
#ifndef TF_RNN_OPS_CC_FFI_BLOCK_LSTM_INPUTS_H_
#define TF_RNN_OPS_CC_FFI_BLOCK_LSTM_INPUTS_H_

#include "cc/core/op_io.h"
#include "cc/core/shapes.h"
#include "cc/core/status.h"
#include "cc/ffi/tensors.h"

namespace rnn_ops {
namespace ffi {

// A call that is checked but for the value of seq_len_max.
struct BlockLstmInputs {
  BlockLstmDims dims;
  bool use_peephole = false;
  float cell_clip = 0;  // the gradient op has none
};

Status TakeBlockLstm(Tensors* call, BlockLstmInputs* inputs);
Status TakeBlockLstmGrad(Tensors* call, BlockLstmInputs* inputs);

// Sets the pointers of a device's arguments, which every device names alike: its own type `Args`.
template <typename Args>
void SetCommonPointers(const Tensors& call, Args* args) {
  using In = BlockLstmInput;
  args->x = call.data(In::kX);
  args->cs_prev = call.data(In::kCsPrev);
  args->h_prev = call.data(In::kHPrev);
  args->w = call.data(In::kW);
  args->wci = call.data(In::kWci);
  args->wcf = call.data(In::kWcf);
  args->wco = call.data(In::kWco);
  args->b = call.data(In::kB);
}

template <typename Args>
void SetForwardPointers(const Tensors& call, Args* args) {
  using Out = BlockLstmOutput;
  SetCommonPointers(call, args);
  const auto out = [&call](int index) { return call.result(index).data; };
  args->i = out(Out::kI);
  args->cs = out(Out::kCs);
  args->f = out(Out::kF);
  args->o = out(Out::kO);
  args->ci = out(Out::kCi);
  args->co = out(Out::kCo);
  args->h = out(Out::kH);
}

template <typename Args>
void SetGradPointers(const Tensors& call, Args* args) {
  using In = BlockLstmInput;
  using Out = BlockLstmGradOutput;
  SetCommonPointers(call, args);
  args->i = call.data(In::kI);
  args->cs = call.data(In::kCs);
  args->f = call.data(In::kF);
  args->o = call.data(In::kO);
  args->ci = call.data(In::kCi);
  args->co = call.data(In::kCo);
  args->h = call.data(In::kH);
  args->cs_grad = call.data(In::kCsGrad);
  args->h_grad = call.data(In::kHGrad);
  const auto out = [&call](int index) { return call.result(index).data; };
  args->x_grad = out(Out::kXGrad);
  args->cs_prev_grad = out(Out::kCsPrevGrad);
  args->h_prev_grad = out(Out::kHPrevGrad);
  args->w_grad = out(Out::kWGrad);
  args->wci_grad = out(Out::kWciGrad);
  args->wcf_grad = out(Out::kWcfGrad);
  args->wco_grad = out(Out::kWcoGrad);
  args->b_grad = out(Out::kBGrad);
}

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_BLOCK_LSTM_INPUTS_H_
