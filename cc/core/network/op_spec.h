// The ops that run an RNN, each as a table: its attributes, and the name, shape and type of every
// tensor. Shape functions, kernels, the handlers of XLA and the messages of all of them read it.
#ifndef TF_RNN_OPS_CC_CORE_NETWORK_OP_SPEC_H_
#define TF_RNN_OPS_CC_CORE_NETWORK_OP_SPEC_H_

#include <cstdint>
#include <string_view>

#include "cc/core/network/arg.h"

namespace rnn_ops {

// A dimension of a tensor: a letter of docs/design.md, or what the attributes make of one.
enum class Dim : uint8_t {
  kNone,  // ends the dimensions
  kT,
  kB,
  kI,
  kH,
  kS,           // P with projection (an attribute, or an input of LayerRNN), otherwise H
  kG,           // the gates of the mode
  kLayersDirs,  // L*D
  kDirsS,       // D*S
  kGatesH,      // G*H
  kInputPlusH,  // I+H
  kBiasRows,    // 2 with GRU; other modes do not have this dimension
  kP,           // of LayerRNN: the columns of projection
  kTwo,         // 2
  kThree,       // 3
  kNormRows,    // kLayerNormRows
  kParamsSize,  // of the parameter buffer
  kAny,
};

enum class Given : uint8_t {
  kAlways,
  kLstm,      // an input that other modes ignore, whatever its shape; their output is a scalar 0
  kTraining,  // an output, which is a scalar 0 without training; an input of such a call
  kOptional,  // [0] stands for none
  kOptionalLstm,  // the same; other modes have none
  kIgnored,       // an input of any shape
};

enum class Element : uint8_t { kT, kInt8, kUint8, kInt32, kInt64 };

// With time_major=False the first two dimensions change places where they are T, B or L*D, B.
struct TensorSpec {
  Arg arg;
  Dim dims[3] = {};
  Given given = Given::kAlways;
  Element element = Element::kT;

  constexpr std::string_view name() const { return Name(arg); }
  // Whether it is of type T and its elements are numbers, not an opaque buffer.
  constexpr bool has_numbers() const { return element == Element::kT && dims[0] != Dim::kAny; }
};

constexpr int kMaxTensors = 20;  // inputs of an op, and outputs

struct TensorSpecs {
  const TensorSpec* specs = nullptr;
  int count = 0;
  const TensorSpec* begin() const { return specs; }
  const TensorSpec* end() const { return specs + count; }
  const TensorSpec& operator[](int index) const { return specs[index]; }
};

constexpr int kAbsent = -1;  // the index of a tensor that an op does not have

// Which attributes an op has beside rnn_mode.
struct AttrSet {
  bool stack = true;         // input_mode and direction
  bool activations = false;  // activation and recurrent_activation
  bool clips = false;        // cell_clip and proj_clip
  bool zoneout = false;      // zoneout_h and zoneout_c
  bool layer_norm = false;   // layer_norm_epsilon
  bool dropout = true;
  bool seeds = true;
  bool num_proj = true;
  bool time_major = true;
  enum Training { kAttr, kAlways, kNever } is_training = kAttr;
};

enum class OpFamily : uint8_t { kCudnnRnn, kLayerRnn, kBlockLstm };

struct OpSpec {
  OpFamily family;
  AttrSet attrs;
  TensorSpecs inputs;
  TensorSpecs outputs;
  // A gradient op has no other outputs than the gradients of some of its inputs, in their order.
  // Each has the shape of its input, and its name with a suffix.
  struct {
    int first = 0;
    int count = 0;
    const char* suffix = "";
  } gradients = {};

  // The index of a tensor; kAbsent where the op has none of that name.
  int Input(Arg arg) const;
  int Output(Arg arg) const;
  int num_outputs() const { return outputs.count + gradients.count; }
  // Of an output, or of the input whose gradient it is.
  const TensorSpec& output(int index) const {
    return gradients.count > 0 ? inputs[gradients.first + index] : outputs[index];
  }
};

extern const OpSpec kCudnnRnnV3;
extern const OpSpec kStatelessCudnnRnnV3;
extern const OpSpec kCudnnRnnV3Packed;
extern const OpSpec kCudnnRnnBackpropV3;
// TensorFlow's first versions.
extern const OpSpec kCudnnRnnV1;
extern const OpSpec kCudnnRnnV2;
extern const OpSpec kCudnnRnnBackpropV1;
extern const OpSpec kCudnnRnnBackpropV2;

extern const OpSpec kLayerRnn;
extern const OpSpec kLayerRnnPacked;
extern const OpSpec kLayerRnnBackprop;
extern const OpSpec kPackLayerRnn;
extern const OpSpec kLinearRecurrence;
extern const OpSpec kPackCudnnRnnParams;

extern const OpSpec kBlockLstm;
extern const OpSpec kBlockLstmGrad;

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_NETWORK_OP_SPEC_H_
