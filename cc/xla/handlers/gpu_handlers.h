// The ops as handlers of XLA's typed FFI on an NVIDIA GPU. No symbol of TensorFlow is needed.
//
// Inputs, outputs and attributes are as in handlers.h, with these differences:
// - allow_tf32 : i1, whether float32 products may round their operands to TF32.
// - The optional attributes sequence_lengths : array<i32> and seq_len_max : array<i64> have the
//   values of the arguments with these names. Without the attributes, and for the argument seed of
//   StatelessCudnnRNNV3, a handler copies the values to the host and waits for the stream. So no
//   handler declares itself fit for a CUDA graph, not even those of LayerRNN, which wait for
//   nothing.
// - reserve_space has the size that gpu::RnnReserveBytes() returns, for any lengths.
#pragma once

#include "cc/xla/handlers/tensors.h"

namespace rnn_ops::ffi {

// BlockLSTMV2, BlockLSTMGradV2, CudnnRNNV3, StatelessCudnnRNNV3, CudnnRNNV3Packed and
// CudnnRNNBackpropV3.
extern const Handler kGpuHandlers[6];

// LayerRNN, LayerRNNPacked and LayerRNNBackprop. They copy nothing to the host and wait for
// nothing. reserve_space has the size that gpu::LayerReserveBytes() returns.
extern const Handler kGpuLayerHandlers[3];

}  // namespace rnn_ops::ffi
