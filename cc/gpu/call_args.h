// Converts the tensors of a call to the arguments of the GPU functions.
#pragma once

#include "cc/core/op/call_tensors.h"
#include "cc/core/op/rnn_config.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops::gpu {

// The inputs that the forward and backward ops share.
template <typename Args>
void SetCommon(const CallTensors& t, Args* args) {
  args->x = t.in(Arg::input);
  args->h0 = t.in(Arg::input_h);
  args->c0 = t.in(Arg::input_c);
  args->params = t.in(Arg::params);
}

inline void SetForward(const CallTensors& t, RnnForwardArgs* args) {
  SetCommon(t, args);
  args->y = t.out(Arg::output);
  args->h_n = t.out(Arg::output_h);
  args->c_n = t.out(Arg::output_c);
}

inline void SetBackward(const CallTensors& t, RnnBackwardArgs* args) {
  SetCommon(t, args);
  args->y = t.in(Arg::output);
  args->dy = t.in(Arg::output_backprop);
  args->dh_n = t.in(Arg::output_h_backprop);
  args->dc_n = t.in(Arg::output_c_backprop);
  args->dx = t.out(Arg::input);
  args->dh0 = t.out(Arg::input_h);
  args->dc0 = t.out(Arg::input_c);
  args->dparams = t.out(Arg::params);
}

// The inputs that both BlockLSTMV2 ops begin with.
template <typename Args>
void SetBlockLstmCommon(const CallTensors& t, Args* args) {
  args->x = t.in(Arg::x);
  args->cs_prev = t.in(Arg::cs_prev);
  args->h_prev = t.in(Arg::h_prev);
  args->w = t.in(Arg::w);
  args->wci = t.in(Arg::wci);
  args->wcf = t.in(Arg::wcf);
  args->wco = t.in(Arg::wco);
  args->b = t.in(Arg::b);
}

inline void SetBlockLstmForward(const CallTensors& t, BlockLstmForwardArgs* args) {
  SetBlockLstmCommon(t, args);
  args->i = t.out(Arg::i);
  args->cs = t.out(Arg::cs);
  args->f = t.out(Arg::f);
  args->o = t.out(Arg::o);
  args->ci = t.out(Arg::ci);
  args->co = t.out(Arg::co);
  args->h = t.out(Arg::h);
}

inline void SetBlockLstmBackward(const CallTensors& t, BlockLstmBackwardArgs* args) {
  SetBlockLstmCommon(t, args);
  args->i = t.in(Arg::i);
  args->cs = t.in(Arg::cs);
  args->f = t.in(Arg::f);
  args->o = t.in(Arg::o);
  args->ci = t.in(Arg::ci);
  args->co = t.in(Arg::co);
  args->h = t.in(Arg::h);
  args->cs_grad = t.in(Arg::cs_grad);
  args->h_grad = t.in(Arg::h_grad);
  args->x_grad = t.out(Arg::x);
  args->cs_prev_grad = t.out(Arg::cs_prev);
  args->h_prev_grad = t.out(Arg::h_prev);
  args->w_grad = t.out(Arg::w);
  args->wci_grad = t.out(Arg::wci);
  args->wcf_grad = t.out(Arg::wcf);
  args->wco_grad = t.out(Arg::wco);
  args->b_grad = t.out(Arg::b);
}

// The problem of a call of LayerRNN, without allow_tf32.
inline LayerProblem MakeLayerProblem(const RnnConfig& config, Dtype dtype, const CallTensors& t) {
  LayerProblem p;
  static_cast<LayerConfig&>(p) = MakeLayerConfig(config, t);
  p.dtype = dtype;
  return p;
}

inline void SetLayerInputs(const CallTensors& t, LayerInputs* in) {
  in->x = t.in(Arg::input);
  in->h0 = t.in(Arg::input_h);
  in->c0 = t.in(Arg::input_c);
  in->kernel = t.in(Arg::kernel);
  in->recurrent_kernel = t.in(Arg::recurrent_kernel);
  in->bias = t.in(Arg::bias);
  in->projection = t.in(Arg::projection);
  in->kernel_scale = static_cast<const float*>(t.in(Arg::kernel_scale));
  in->recurrent_kernel_scale = static_cast<const float*>(t.in(Arg::recurrent_kernel_scale));
  in->projection_scale = static_cast<const float*>(t.in(Arg::projection_scale));
  in->peepholes = t.in(Arg::peepholes);
  in->layer_norm = t.in(Arg::layer_norm);
  in->lengths = static_cast<const int32_t*>(t.in(Arg::sequence_lengths));
  in->input_mask = t.in(Arg::input_mask);
  in->recurrent_mask = t.in(Arg::recurrent_mask);
  in->seed = static_cast<const int64_t*>(t.in(Arg::seed));
}

inline void SetLayerForward(const CallTensors& t, LayerForwardArgs* args) {
  SetLayerInputs(t, &args->in);
  args->y = t.out(Arg::output);
  args->h_n = t.out(Arg::output_h);
  args->c_n = t.out(Arg::output_c);
}

inline void SetLayerBackward(const CallTensors& t, LayerBackwardArgs* args) {
  SetLayerInputs(t, &args->in);
  args->y = t.in(Arg::output);
  args->dy = t.in(Arg::output_backprop);
  args->dh_n = t.in(Arg::output_h_backprop);
  args->dc_n = t.in(Arg::output_c_backprop);
  args->dx = t.out(Arg::input);
  args->dh0 = t.out(Arg::input_h);
  args->dc0 = t.out(Arg::input_c);
  args->dkernel = t.out(Arg::kernel);
  args->drecurrent_kernel = t.out(Arg::recurrent_kernel);
  args->dbias = t.out(Arg::bias);
  args->dprojection = t.out(Arg::projection);
  args->dpeepholes = t.out(Arg::peepholes);
  args->dlayer_norm = t.out(Arg::layer_norm);
}

}  // namespace rnn_ops::gpu
