// CudnnRNNV3, its siblings and their gradient up to where a device matters: the attributes, and the
// shapes of the inputs and outputs.
#ifndef TF_RNN_OPS_CC_FFI_CUDNN_RNN_INPUTS_H_
#define TF_RNN_OPS_CC_FFI_CUDNN_RNN_INPUTS_H_

#include <cstdint>

#include "cc/core/rnn_config.h"
#include "cc/core/status.h"
#include "cc/ffi/tensors.h"

namespace rnn_ops {
namespace ffi {

// A checked call of an op of this family. Forward ops have these tensors beside those of op_io.h
// that they share.
struct CudnnRnnInputs {
  RnnAttrs attrs;
  RnnConfig config;
  int seed = kAbsent;           // argument; without it the attributes seed and seed2
  int packed = kAbsent;         // argument
  int reserve_space = kAbsent;  // result

  bool has_c() const { return attrs.mode == RnnMode::kLstm; }
  bool draws() const { return attrs.is_training && attrs.dropout > 0; }
};

Status TakeCudnnRnn(Tensors* call, CudnnRnnInputs* inputs);
Status TakeStatelessCudnnRnn(Tensors* call, CudnnRnnInputs* inputs);
Status TakeCudnnRnnPacked(Tensors* call, CudnnRnnInputs* inputs);
Status TakeCudnnRnnBackprop(Tensors* call, CudnnRnnInputs* inputs);

// The number of this call among those with its attribute call_site. WHY a count here: a custom call
// has no object that lives from execution to execution.
Status NextCall(const Tensors& call, uint64_t* number);

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_CUDNN_RNN_INPUTS_H_
