// The functions that the handlers for GPUs call.
#pragma once

#include "cc/core/op/op_spec.h"
#include "cc/core/status.h"
#include "cc/xla/handlers/gpu_call.h"

namespace rnn_ops::ffi {

// Ops of the CudnnRNN family. CudnnRNNV3Packed reads the unpacked weights, because packed weights
// exist only on the CPU.
Status GpuRnnForward(const OpSpec& op, GpuCall* call);
Status GpuRnnBackprop(const OpSpec& op, GpuCall* call);

// LayerRNN and its relatives. LayerRNNPacked reads the unpacked weights too.
Status GpuLayerForward(const OpSpec& op, GpuCall* call);
Status GpuLayerBackprop(const OpSpec& op, GpuCall* call);

Status GpuBlockLstm(const OpSpec& op, GpuCall* call);
Status GpuBlockLstmGrad(const OpSpec& op, GpuCall* call);

}  // namespace rnn_ops::ffi
