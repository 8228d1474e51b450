// The ops behind the handlers.
#ifndef TF_RNN_OPS_CC_FFI_OPS_H_
#define TF_RNN_OPS_CC_FFI_OPS_H_

#include "cc/core/status.h"
#include "cc/ffi/call.h"

namespace rnn_ops {
namespace ffi {

Status BlockLstm(Call* call);
Status BlockLstmGrad(Call* call);

Status CudnnRnn(Call* call);
Status StatelessCudnnRnn(Call* call);
Status CudnnRnnPacked(Call* call);
Status CudnnRnnBackprop(Call* call);

Status LayerRnn(Call* call);
Status LayerRnnPacked(Call* call);
Status LayerRnnBackprop(Call* call);

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_OPS_H_
