// Where CudnnRNNV3, its siblings and their gradient have their tensors, on every device.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_CUDNN_RNN_V3_H_
#define TF_RNN_OPS_CC_TF_KERNELS_CUDNN_RNN_V3_H_

#include "cc/core/op_io.h"
#include "cc/tf/kernels/rnn_kernels.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops {
namespace tf_kernels {

inline RnnForwardSignature CudnnRnnV3Signature() {
  RnnForwardSignature signature;
  signature.sequence_lengths = CudnnRnnV3Input::kSequenceLengths;
  signature.host_reserved = CudnnRnnV3Output::kHostReserved;
  return signature;
}

inline RnnForwardSignature StatelessCudnnRnnV3Signature() {
  RnnForwardSignature signature = CudnnRnnV3Signature();
  signature.attrs.seeds = false;
  signature.attrs.is_training = false;  // it is always for training
  signature.seed = StatelessCudnnRnnV3Input::kSeed;
  return signature;
}

inline RnnForwardSignature CudnnRnnV3PackedSignature() {
  RnnForwardSignature signature;
  signature.attrs.dropout = false;
  signature.attrs.is_training = false;
  signature.sequence_lengths = CudnnRnnV3Input::kSequenceLengths;
  signature.packed = CudnnRnnV3PackedInput::kPacked;
  return signature;
}

inline RnnBackpropSignature CudnnRnnBackpropV3Signature() {
  RnnBackpropSignature signature;
  signature.attrs.is_training = false;  // the op has no such attribute
  signature.sequence_lengths = CudnnRnnBackpropV3Input::kSequenceLengths;
  signature.output = CudnnRnnBackpropV3Input::kOutput;
  return signature;
}

// `DeviceKernel` is a device's RnnForwardKernel or RnnBackpropKernel.
template <typename DeviceKernel>
class CudnnRnnV3Kernel : public DeviceKernel {
 public:
  explicit CudnnRnnV3Kernel(tensorflow::OpKernelConstruction* context)
      : DeviceKernel(context, CudnnRnnV3Signature()) {}
};

template <typename DeviceKernel>
class StatelessCudnnRnnV3Kernel : public DeviceKernel {
 public:
  explicit StatelessCudnnRnnV3Kernel(tensorflow::OpKernelConstruction* context)
      : DeviceKernel(context, StatelessCudnnRnnV3Signature()) {}
};

template <typename DeviceKernel>
class CudnnRnnV3PackedKernel : public DeviceKernel {
 public:
  explicit CudnnRnnV3PackedKernel(tensorflow::OpKernelConstruction* context)
      : DeviceKernel(context, CudnnRnnV3PackedSignature()) {}
};

template <typename DeviceKernel>
class CudnnRnnBackpropV3Kernel : public DeviceKernel {
 public:
  explicit CudnnRnnBackpropV3Kernel(tensorflow::OpKernelConstruction* context)
      : DeviceKernel(context, CudnnRnnBackpropV3Signature()) {}
};

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_CUDNN_RNN_V3_H_
