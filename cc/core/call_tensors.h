// The memory of the tensors of one call, and the arguments of kernels made of it.
#ifndef TF_RNN_OPS_CC_CORE_CALL_TENSORS_H_
#define TF_RNN_OPS_CC_CORE_CALL_TENSORS_H_

#include <array>
#include <string_view>

#include "cc/core/op_spec.h"

namespace rnn_ops {

// Finds a tensor by its name in the table of the op. Null: the op has no tensor of that name, or
// the call does not use it.
class CallTensors {
 public:
  CallTensors() = default;
  explicit CallTensors(const OpSpec& op) : op_(&op) {}

  // By the index in the op.
  void SetInput(int index, const void* data) { inputs_[index] = data; }
  void SetOutput(int index, void* data) { outputs_[index] = data; }

  const void* in(std::string_view name) const { return At(inputs_, op_->Input(name)); }
  void* out(std::string_view name) const { return At(outputs_, op_->Output(name)); }
  void* gradient(std::string_view input) const { return At(outputs_, op_->GradientOf(input)); }

 private:
  // WHY not vectors: a call of a tiny network takes a few microseconds.
  template <typename Pointer>
  using Pointers = std::array<Pointer, kMaxTensors>;

  template <typename Pointer>
  static Pointer At(const Pointers<Pointer>& pointers, int index) {
    return index == kAbsent ? nullptr : pointers[index];
  }

  const OpSpec* op_ = nullptr;
  Pointers<const void*> inputs_ = {};
  Pointers<void*> outputs_ = {};
};

// ---- The arguments of a device, which every device names alike: its own type `Args` ----

// CudnnRNN and LayerRNN: what forward and backward have in common.
template <typename Args>
void SetCommon(const CallTensors& t, Args* args) {
  args->x = t.in("input");
  args->h0 = t.in("input_h");
  args->c0 = t.in("input_c");
  args->params = t.in("params");
}

template <typename Args>
void SetForward(const CallTensors& t, Args* args) {
  SetCommon(t, args);
  args->y = t.out("output");
  args->h_n = t.out("output_h");
  args->c_n = t.out("output_c");
}

template <typename Args>
void SetBackward(const CallTensors& t, Args* args) {
  SetCommon(t, args);
  args->y = t.in("output");
  args->dy = t.in("output_backprop");
  args->dh_n = t.in("output_h_backprop");
  args->dc_n = t.in("output_c_backprop");
  args->dx = t.gradient("input");
  args->dh0 = t.gradient("input_h");
  args->dc0 = t.gradient("input_c");
  args->dparams = t.gradient("params");
}

// BlockLSTMV2: the inputs that both ops begin with.
template <typename Args>
void SetBlockLstmCommon(const CallTensors& t, Args* args) {
  args->x = t.in("x");
  args->cs_prev = t.in("cs_prev");
  args->h_prev = t.in("h_prev");
  args->w = t.in("w");
  args->wci = t.in("wci");
  args->wcf = t.in("wcf");
  args->wco = t.in("wco");
  args->b = t.in("b");
}

template <typename Args>
void SetBlockLstmForward(const CallTensors& t, Args* args) {
  SetBlockLstmCommon(t, args);
  args->i = t.out("i");
  args->cs = t.out("cs");
  args->f = t.out("f");
  args->o = t.out("o");
  args->ci = t.out("ci");
  args->co = t.out("co");
  args->h = t.out("h");
}

template <typename Args>
void SetBlockLstmBackward(const CallTensors& t, Args* args) {
  SetBlockLstmCommon(t, args);
  args->i = t.in("i");
  args->cs = t.in("cs");
  args->f = t.in("f");
  args->o = t.in("o");
  args->ci = t.in("ci");
  args->co = t.in("co");
  args->h = t.in("h");
  args->cs_grad = t.in("cs_grad");
  args->h_grad = t.in("h_grad");
  args->x_grad = t.gradient("x");
  args->cs_prev_grad = t.gradient("cs_prev");
  args->h_prev_grad = t.gradient("h_prev");
  args->w_grad = t.gradient("w");
  args->wci_grad = t.gradient("wci");
  args->wcf_grad = t.gradient("wcf");
  args->wco_grad = t.gradient("wco");
  args->b_grad = t.gradient("b");
}

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_CALL_TENSORS_H_
