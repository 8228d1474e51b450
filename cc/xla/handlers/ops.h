// The functions that the handlers call.
#pragma once

#include "cc/core/op/op_spec.h"
#include "cc/core/status.h"
#include "cc/xla/handlers/call.h"

namespace rnn_ops::ffi {

// Ops of the CudnnRNN family and of LayerRNN.
Status RnnForward(const OpSpec& op, Call* call);
Status RnnBackprop(const OpSpec& op, Call* call);

Status BlockLstm(const OpSpec& op, Call* call);
Status BlockLstmGrad(const OpSpec& op, Call* call);

Status LinearRecurrence(const OpSpec& op, Call* call);

}  // namespace rnn_ops::ffi
