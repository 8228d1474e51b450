// One call of an op of the CudnnRNN family, apart from the op's name and the device: reading and
// checking the inputs, and allocating the outputs whose sizes do not depend on the device.
#ifndef TF_RNN_OPS_CC_TF_KERNELS_RNN_CALL_H_
#define TF_RNN_OPS_CC_TF_KERNELS_RNN_CALL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/rnn_config.h"
#include "cc/core/shapes.h"
#include "cc/cpu/kernel_args.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace rnn_ops {
namespace tf_kernels {

constexpr int kAbsent = -1;  // the place of an input or output that an op does not have

// Where a forward op has its inputs and outputs. The first four of each are the same in all.
struct RnnForwardSignature {
  enum Input { kInput, kInputH, kInputC, kParams };
  enum Output { kOutput, kOutputH, kOutputC, kReserveSpace };

  RnnAttrSet attrs;
  int sequence_lengths = kAbsent;  // input
  int seed = kAbsent;              // input; without it the attributes seed and seed2
  int packed = kAbsent;            // input; an op that has it does inference, without reserve_space
  int host_reserved = kAbsent;     // output
  int64_t host_reserved_size = 0;  // of a training op; 0: a scalar. A scalar without training.
};

struct RnnBackpropSignature {
  enum Input { kInput, kInputH, kInputC, kParams };
  enum Output { kInputBackprop, kInputHBackprop, kInputCBackprop, kParamsBackprop };

  RnnAttrSet attrs;
  int sequence_lengths = kAbsent;
  // Of seven inputs in a row: output, output_h, output_c, their three gradients, reserve_space.
  int output = 4;
};

// Fills what a call of any op needs to know about the problem.
struct RnnCall {
  RnnConfig config;
  cpu::KernelDtype dtype = cpu::kFloat32;
  tensorflow::Tensor lengths;  // int32 [B] on the host: a checked copy, all T where the op has none

  // LayerRNN: the weights of one layer in Keras's layout instead of params. Null where not given.
  struct Layer {
    const tensorflow::Tensor* kernel = nullptr;
    const tensorflow::Tensor* recurrent_kernel = nullptr;
    const tensorflow::Tensor* bias = nullptr;
    const tensorflow::Tensor* input_mask = nullptr;
    const tensorflow::Tensor* recurrent_mask = nullptr;
  } layer;

  bool has_layer() const { return layer.kernel != nullptr; }
  bool has_c() const { return config.mode == RnnMode::kLstm; }
  // No time step of any row: the states pass through and every gradient of params is zero.
  bool empty() const { return config.max_time == 0 || config.batch == 0; }
};

struct RnnForwardCall : RnnCall {
  const tensorflow::Tensor* input = nullptr;
  const tensorflow::Tensor* input_h = nullptr;
  const tensorflow::Tensor* input_c = nullptr;
  const tensorflow::Tensor* params = nullptr;
  const tensorflow::Tensor* seed = nullptr;    // [2], on the host; null: the op has no such input
  const tensorflow::Tensor* packed = nullptr;  // likewise
  tensorflow::Tensor* output = nullptr;
  tensorflow::Tensor* output_h = nullptr;
  tensorflow::Tensor* output_c = nullptr;  // without LSTM: a scalar, not yet set to zero

  // Everything but reserve_space. host_reserved is complete afterwards.
  absl::Status Prepare(tensorflow::OpKernelContext* context, const RnnForwardSignature& signature,
                       const RnnAttrs& attrs);
};

// A call of an op that packs weights, after its inputs were checked. T and B of config are 0.
struct RnnPackCall : RnnCall {
  const tensorflow::Tensor* params = nullptr;
  bool keep = false;
};

struct RnnBackpropCall : RnnCall {
  const tensorflow::Tensor* input = nullptr;
  const tensorflow::Tensor* input_h = nullptr;
  const tensorflow::Tensor* input_c = nullptr;
  const tensorflow::Tensor* params = nullptr;
  const tensorflow::Tensor* output = nullptr;
  const tensorflow::Tensor* output_h = nullptr;
  const tensorflow::Tensor* output_c = nullptr;
  const tensorflow::Tensor* output_backprop = nullptr;
  const tensorflow::Tensor* output_h_backprop = nullptr;
  const tensorflow::Tensor* output_c_backprop = nullptr;
  const tensorflow::Tensor* reserve_space = nullptr;
  tensorflow::Tensor* input_backprop = nullptr;
  tensorflow::Tensor* input_h_backprop = nullptr;
  tensorflow::Tensor* input_c_backprop = nullptr;  // without LSTM: a scalar, not yet set to zero
  tensorflow::Tensor* params_backprop = nullptr;   // null with layer weights
  tensorflow::Tensor* kernel_backprop = nullptr;   // null without, as the two below
  tensorflow::Tensor* recurrent_kernel_backprop = nullptr;
  tensorflow::Tensor* bias_backprop = nullptr;

  // The length of reserve_space is left to the device.
  absl::Status Prepare(tensorflow::OpKernelContext* context, const RnnBackpropSignature& signature,
                       const RnnAttrs& attrs);
};

// Copies the lengths in input `index` to the host, so that what was checked is what the kernel
// reads; kAbsent: all T. call->config is complete.
absl::Status TakeLengths(tensorflow::OpKernelContext* context, int index, RnnCall* call);

absl::Status AllocateOutput(tensorflow::OpKernelContext* context, int index,
                            const PartialShape& shape, tensorflow::Tensor** output);

// Allocates reserve_space: a zero scalar without training, otherwise a vector that holds `bytes`.
absl::Status AllocateReserveSpace(tensorflow::OpKernelContext* context, const RnnConfig& config,
                                  int64_t bytes, tensorflow::Tensor** reserve_space);

}  // namespace tf_kernels
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_TF_KERNELS_RNN_CALL_H_
