// Where each op has its inputs and outputs: one pair of enums an op, for shape functions, kernels
// and the handlers of XLA's custom calls.
#ifndef TF_RNN_OPS_CC_CORE_OP_IO_H_
#define TF_RNN_OPS_CC_CORE_OP_IO_H_

namespace rnn_ops {

// ---- CudnnRNNV3 and CudnnRNNBackpropV3 ----

struct CudnnRnnV3Input {
  enum { kInput, kInputH, kInputC, kParams, kSequenceLengths };
};

struct CudnnRnnV3Output {
  enum { kOutput, kOutputH, kOutputC, kReserveSpace, kHostReserved };
};

// The inputs of StatelessCudnnRNNV3 are those of CudnnRNNV3, then kSeed; its outputs the same.
struct StatelessCudnnRnnV3Input {
  enum { kSeed = CudnnRnnV3Input::kSequenceLengths + 1 };
};

// The inputs of CudnnRNNV3Packed are those of CudnnRNNV3, then kPacked; its outputs the first
// three.
struct CudnnRnnV3PackedInput {
  enum { kPacked = CudnnRnnV3Input::kSequenceLengths + 1 };
};

struct CudnnRnnBackpropV3Input {
  enum {
    kInput,
    kInputH,
    kInputC,
    kParams,
    kSequenceLengths,
    kOutput,
    kOutputH,
    kOutputC,
    kOutputBackprop,
    kOutputHBackprop,
    kOutputCBackprop,
    kReserveSpace,
    kHostReserved,
  };
};

struct CudnnRnnBackpropV3Output {
  enum { kInputBackprop, kInputHBackprop, kInputCBackprop, kParamsBackprop };
};

// ---- LayerRNN and LayerRNNBackprop ----

struct LayerRnnInput {
  enum {
    kInput,
    kInputH,
    kInputC,
    kKernel,
    kRecurrentKernel,
    kBias,
    kSequenceLengths,
    kInputMask,
    kRecurrentMask,
    // LayerRNNBackprop only:
    kOutput,
    kOutputH,
    kOutputC,
    kOutputBackprop,
    kOutputHBackprop,
    kOutputCBackprop,
    kReserveSpace,
  };
};

struct LayerRnnOutput {
  enum { kOutput, kOutputH, kOutputC, kReserveSpace };
};

// The inputs of LayerRNNPacked are those of LayerRNN up to kSequenceLengths, then kPacked; its
// outputs those of LayerRNN but reserve_space.
struct LayerRnnPackedInput {
  enum { kPacked = LayerRnnInput::kSequenceLengths + 1 };
};

struct PackLayerRnnInput {
  enum { kKernel, kRecurrentKernel, kBias };
};

struct LayerRnnBackpropOutput {
  enum {
    kInputBackprop,
    kInputHBackprop,
    kInputCBackprop,
    kKernelBackprop,
    kRecurrentKernelBackprop,
    kBiasBackprop,
  };
};

// ---- The ops of the opaque parameter buffer ----

struct RnnParamsInput {
  // Then params, or the weights followed by the biases.
  enum { kNumLayers, kNumUnits, kInputSize, kFirstTensor };
};

// ---- BlockLSTMV2 and BlockLSTMGradV2 ----

struct BlockLstmInput {
  // BlockLSTMV2 has those up to kB.
  enum {
    kSeqLenMax,
    kX,
    kCsPrev,
    kHPrev,
    kW,
    kWci,
    kWcf,
    kWco,
    kB,
    kI,
    kCs,
    kF,
    kO,
    kCi,
    kCo,
    kH,
    kCsGrad,
    kHGrad,
  };
};

struct BlockLstmOutput {
  enum { kI, kCs, kF, kO, kCi, kCo, kH, kCount };
};

struct BlockLstmGradOutput {
  enum { kXGrad, kCsPrevGrad, kHPrevGrad, kWGrad, kWciGrad, kWcfGrad, kWcoGrad, kBGrad, kCount };
};

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_OP_IO_H_
