// The names of all tensors of the ops, and a table for each op.
#pragma once

#include <cstdint>
#include <string_view>

#include "cc/core/op/dtype.h"

namespace rnn_ops {

// X(name) for the name that a tensor has in the graph. The gradient of an input is an output with
// the name of that input.
// clang-format off
#define RNN_OPS_ARGS(X) \
  /* CudnnRNN and LayerRNN */ \
  X(input) X(input_h) X(input_c) X(params) X(kernel) X(recurrent_kernel) X(bias) X(projection) \
  X(peepholes) X(layer_norm) X(sequence_lengths) X(input_mask) X(recurrent_mask) X(seed) \
  X(kernel_scale) X(recurrent_kernel_scale) X(projection_scale) X(packed) X(output) X(output_h) X(output_c) X(output_backprop) X(output_h_backprop) \
  X(output_c_backprop) X(reserve_space) X(host_reserved) \
  /* LinearRecurrence */ \
  X(cell_input) X(h_by_gates) X(c_by_gates) X(h_by_h) X(h_by_c) X(c_by_h) X(c_by_c) \
  X(cell_output) \
  /* BlockLSTMV2 */ \
  X(seq_len_max) X(x) X(cs_prev) X(h_prev) X(w) X(wci) X(wcf) X(wco) X(b) \
  X(i) X(cs) X(f) X(o) X(ci) X(co) X(h) X(cs_grad) X(h_grad)
// clang-format on

enum class Arg : uint8_t {
#define RNN_OPS_ENUMERATOR(name) name,
  RNN_OPS_ARGS(RNN_OPS_ENUMERATOR)
#undef RNN_OPS_ENUMERATOR
};

constexpr std::string_view kArgNames[] = {
#define RNN_OPS_NAME(name) #name,
    RNN_OPS_ARGS(RNN_OPS_NAME)
#undef RNN_OPS_NAME
};

#undef RNN_OPS_ARGS

constexpr int kNumArgs = sizeof(kArgNames) / sizeof(kArgNames[0]);

constexpr int Index(Arg arg) { return static_cast<int>(arg); }
constexpr std::string_view Name(Arg arg) { return kArgNames[Index(arg)]; }

// The ops that run an RNN. Each op is a table: its attributes, and the name, shape and type of
// every tensor. Shape functions, kernels, XLA handlers and error messages read the tables.

// A dimension of a tensor: a letter of docs/design.md, or a size computed from letters and
// attributes.
enum class Dim : uint8_t {
  kNone,  // ends the dimensions
  kT,
  kB,
  kI,
  kH,
  kS,           // P with projection (an attribute, or an input of LayerRNN), otherwise H
  kG,           // the number of gates of the mode
  kLayersDirs,  // L*D
  kDirsS,       // D*S
  kGatesH,      // G*H
  kInputPlusH,  // I+H
  kBiasRows,    // the rows of the mode's bias, if it has more than one
  kP,           // the number of columns of LayerRNN's projection
  kTwo,         // 2
  kThree,       // 3
  kNormRows,    // kLayerNormRows
  kParamsSize,  // the size of the parameter buffer
  kAny,
};

enum class Given : uint8_t {
  kAlways,
  // An input that only modes with c use; others ignore the input, whatever its shape. An output
  // that is a scalar 0 in modes without c.
  kStateC,
  // An output that is a scalar 0 without training. An input that a training call returned.
  kTraining,
  kOptional,      // [0] if absent
  kOptionalLstm,  // [0] if absent; must be absent in modes other than LSTM
  kUnchecked,     // an input of any shape: host_reserved, which only GPU kernels read
};

enum class Element : uint8_t { kT, kInt8, kUint8, kInt32, kInt64, kFloat32 };

// With time_major=False, T and B (or L*D and B) are swapped if they are the first two dimensions.
struct TensorSpec {
  Arg arg;
  Dim dims[3] = {};
  Given given = Given::kAlways;
  Element element = Element::kT;

  constexpr std::string_view name() const { return Name(arg); }
  // Whether the tensor has type T and holds numbers, unlike an opaque buffer.
  constexpr bool has_numbers() const { return element == Element::kT && dims[0] != Dim::kAny; }
  constexpr ElementType TypeIn(Dtype dtype) const {
    return has_numbers()                  ? TypeOf(dtype)
           : element == Element::kInt8    ? ElementType::kInt8
           : element == Element::kFloat32 ? ElementType::kFloat32
                                          : ElementType::kOther;
  }
};

constexpr int kMaxTensors = 20;  // the maximum number of inputs, and of outputs, of an op

struct TensorSpecs {
  const TensorSpec* specs = nullptr;
  int count = 0;
  const TensorSpec* begin() const { return specs; }
  const TensorSpec* end() const { return specs + count; }
  const TensorSpec& operator[](int index) const { return specs[index]; }
};

constexpr int kAbsent = -1;  // the index of a tensor that an op does not have

// The attributes that an op has in addition to rnn_mode.
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
  // A gradient op has no outputs except the gradients of consecutive inputs, in the order of the
  // inputs. A gradient has the shape of its input, and the name of its input with a suffix.
  struct {
    int first = 0;
    int count = 0;
    const char* suffix = "";
  } gradients = {};

  // The index of a tensor; kAbsent if the op has no tensor with that name.
  int Input(Arg arg) const;
  int Output(Arg arg) const;
  // The index of the first input of type T.
  int FirstTyped() const;
  int num_outputs() const { return outputs.count + gradients.count; }
  // The description of an output; in a gradient op, of the input that belongs to the output.
  const TensorSpec& output(int index) const {
    return gradients.count > 0 ? inputs[gradients.first + index] : outputs[index];
  }
};

extern const OpSpec kCudnnRnnV3;
extern const OpSpec kStatelessCudnnRnnV3;
extern const OpSpec kCudnnRnnV3Packed;
extern const OpSpec kCudnnRnnBackpropV3;
// The first two versions of TensorFlow's op.
extern const OpSpec kCudnnRnnV1;
extern const OpSpec kCudnnRnnV2;
extern const OpSpec kCudnnRnnBackpropV1;
extern const OpSpec kCudnnRnnBackpropV2;

extern const OpSpec kLayerRnn;
extern const OpSpec kLayerRnnPacked;
extern const OpSpec kLayerRnnBackprop;
extern const OpSpec kPackLayerRnn;
extern const OpSpec kQuantizedLayerRnn;
extern const OpSpec kPackQuantizedLayerRnn;
extern const OpSpec kLinearRecurrence;
extern const OpSpec kPackCudnnRnnParams;

extern const OpSpec kBlockLstm;
extern const OpSpec kBlockLstmGrad;

}  // namespace rnn_ops
