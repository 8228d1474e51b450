// The ops as handlers of XLA's typed FFI on the CPU. No symbol of TensorFlow is needed, so any
// program that runs XLA can register them.
//
// A handler takes the inputs of its op in order, gives its outputs in order, and has its attributes
// but the types. Where dropout draws (CudnnRNNV3 in training), call_site : i64 says for which call
// of the program: each has its own count of calls, which the masks depend on.
#ifndef TF_RNN_OPS_CC_FFI_HANDLERS_H_
#define TF_RNN_OPS_CC_FFI_HANDLERS_H_

#include "cc/ffi/handle.h"

namespace rnn_ops {
namespace ffi {

// BlockLSTMV2, BlockLSTMGradV2, CudnnRNNV3, StatelessCudnnRNNV3, CudnnRNNV3Packed,
// CudnnRNNBackpropV3, LayerRNN, LayerRNNPacked, LayerRNNBackprop and LinearRecurrence.
extern const Handler kHandlers[10];

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_HANDLERS_H_
