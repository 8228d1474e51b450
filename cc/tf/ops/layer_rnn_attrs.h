// Attributes that LayerRNN and its related ops share.
#ifndef TF_RNN_OPS_CC_TF_OPS_LAYER_RNN_ATTRS_H_
#define TF_RNN_OPS_CC_TF_OPS_LAYER_RNN_ATTRS_H_

#define RNN_OPS_LAYER_MODE_ATTR \
  "rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru', 'gru_reset_before', 'rnn'} = 'lstm'"

// See Activation in core/network/rnn_types.h.
#define RNN_OPS_ACTIVATION_ATTR(name, usual)                                                      \
  name ": {'tanh', 'sigmoid', 'hard_sigmoid', 'hard_sigmoid_keras2', 'relu', 'linear'} = '" usual \
       "'"

#endif  // TF_RNN_OPS_CC_TF_OPS_LAYER_RNN_ATTRS_H_
