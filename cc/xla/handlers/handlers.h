// The ops as handlers of XLA's typed FFI on the CPU. No symbol of TensorFlow is needed, so any
// program that runs XLA can register the handlers.
//
// A handler has the inputs, outputs and attributes of its op in the same order, without the type
// attributes. If dropout draws masks (CudnnRNNV3 in training), the attribute call_site : i64
// identifies the call in the program. Each call site counts its calls, and the masks depend on the
// count.
#pragma once

#include "cc/xla/handlers/tensors.h"

namespace rnn_ops::ffi {

// BlockLSTMV2, BlockLSTMGradV2, CudnnRNNV3, StatelessCudnnRNNV3, CudnnRNNV3Packed,
// CudnnRNNBackpropV3, LayerRNN, LayerRNNPacked, LayerRNNBackprop and LinearRecurrence.
extern const Handler kHandlers[10];

}  // namespace rnn_ops::ffi
