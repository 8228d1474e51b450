#include "cc/core/op/op_spec.h"

#include <array>
#include <cstddef>

namespace rnn_ops {
namespace {

constexpr Dim T = Dim::kT, B = Dim::kB, I = Dim::kI, H = Dim::kH, S = Dim::kS, G = Dim::kG;
constexpr Dim LD = Dim::kLayersDirs, DS = Dim::kDirsS, GH = Dim::kGatesH;
constexpr Dim kAny = Dim::kAny;
constexpr Given kAlways = Given::kAlways, kStateC = Given::kStateC, kTraining = Given::kTraining,
                kOptional = Given::kOptional, kOptionalLstm = Given::kOptionalLstm,
                kUnchecked = Given::kUnchecked;

// Concatenates the tensors of all parts.
template <size_t... n>
constexpr std::array<TensorSpec, (n + ...)> Join(const TensorSpec (&... parts)[n]) {
  std::array<TensorSpec, (n + ...)> all{};
  size_t at = 0;
  const auto append = [&all, &at](const TensorSpec* part, size_t count) {
    for (size_t k = 0; k < count; ++k) all[at++] = part[k];
  };
  (append(parts, n), ...);
  return all;
}

template <typename Rows>
constexpr TensorSpecs Specs(const Rows& rows) {
  static_assert(sizeof(Rows) <= kMaxTensors * sizeof(TensorSpec));
  return {std::data(rows), static_cast<int>(std::size(rows))};
}

// ---- Shared by several families ----

constexpr TensorSpec kSeed[] = {{Arg::seed, {Dim::kTwo}, kAlways, Element::kInt64}};
constexpr TensorSpec kPacked[] = {{Arg::packed, {kAny}, kAlways, Element::kUint8}};
constexpr TensorSpec kReserveSpace[] = {{Arg::reserve_space, {kAny}, kTraining}};

// ---- The CudnnRNN family ----

constexpr TensorSpec kCudnnStates[] = {
    {Arg::input, {T, B, I}},
    {Arg::input_h, {LD, B, S}},
    {Arg::input_c, {LD, B, H}, kStateC},
};
constexpr TensorSpec kParams[] = {{Arg::params, {Dim::kParamsSize}}};
constexpr TensorSpec kCudnnLengths[] = {{Arg::sequence_lengths, {B}, kAlways, Element::kInt32}};
constexpr TensorSpec kCudnnOutputs[] = {
    {Arg::output, {T, B, DS}},
    {Arg::output_h, {LD, B, S}},
    {Arg::output_c, {LD, B, H}, kStateC},
};
constexpr TensorSpec kCudnnOutputGradients[] = {
    {Arg::output_backprop, {T, B, DS}},
    {Arg::output_h_backprop, {LD, B, S}},
    {Arg::output_c_backprop, {LD, B, H}, kStateC},
};
constexpr TensorSpec kHostReserved[] = {{Arg::host_reserved, {}, kAlways, Element::kInt8}};
// TensorFlow's V2 passes the number of cuDNN's algorithm and its math mode to the gradient op.
constexpr TensorSpec kHostReservedV2[] = {
    {Arg::host_reserved, {Dim::kTwo}, kTraining, Element::kInt8}};
constexpr TensorSpec kHostReservedInput[] = {{Arg::host_reserved, {}, kUnchecked, Element::kInt8}};

constexpr auto kV1Inputs = Join(kCudnnStates, kParams);
constexpr auto kV3Inputs = Join(kCudnnStates, kParams, kCudnnLengths);
constexpr auto kStatelessInputs = Join(kCudnnStates, kParams, kCudnnLengths, kSeed);
constexpr auto kCudnnPackedInputs = Join(kCudnnStates, kParams, kCudnnLengths, kPacked);
constexpr auto kV1Outputs = Join(kCudnnOutputs, kReserveSpace);
constexpr auto kV2Outputs = Join(kCudnnOutputs, kReserveSpace, kHostReservedV2);
constexpr auto kV3Outputs = Join(kCudnnOutputs, kReserveSpace, kHostReserved);
constexpr auto kBackpropV1Inputs =
    Join(kCudnnStates, kParams, kCudnnOutputs, kCudnnOutputGradients, kReserveSpace);
constexpr auto kBackpropV2Inputs = Join(kCudnnStates, kParams, kCudnnOutputs, kCudnnOutputGradients,
                                        kReserveSpace, kHostReservedInput);
constexpr auto kBackpropV3Inputs = Join(kCudnnStates, kParams, kCudnnLengths, kCudnnOutputs,
                                        kCudnnOutputGradients, kReserveSpace, kHostReservedInput);

constexpr AttrSet With(AttrSet::Training is_training, bool seeds = true, bool dropout = true) {
  AttrSet attrs;
  attrs.is_training = is_training;
  attrs.seeds = seeds;
  attrs.dropout = dropout;
  return attrs;
}

constexpr AttrSet FirstVersions(AttrSet::Training is_training) {
  AttrSet attrs = With(is_training);
  attrs.num_proj = attrs.time_major = false;
  return attrs;
}

constexpr AttrSet PackAttrs() {
  AttrSet attrs = With(AttrSet::kNever, /*seeds=*/false, /*dropout=*/false);
  attrs.time_major = false;
  return attrs;
}

// ---- LayerRNN ----

constexpr TensorSpec kLayerStates[] = {
    {Arg::input, {T, B, I}},
    {Arg::input_h, {B, S}},
    {Arg::input_c, {B, H}, kStateC},
};
constexpr TensorSpec kLayerWeights[] = {
    {Arg::kernel, {I, GH}},
    {Arg::recurrent_kernel, {S, GH}},
    {Arg::bias, {Dim::kBiasRows, GH}, kOptional},
    {Arg::projection, {H, Dim::kP}, kOptionalLstm},
};
constexpr TensorSpec kCellWeights[] = {
    {Arg::peepholes, {Dim::kThree, H}, kOptionalLstm},
    {Arg::layer_norm, {Dim::kNormRows, H}, kOptionalLstm},
};
constexpr TensorSpec kLayerLengths[] = {{Arg::sequence_lengths, {B}, kOptional, Element::kInt32}};
constexpr TensorSpec kLayerMasks[] = {
    {Arg::input_mask, {G, B, I}, kOptional},
    {Arg::recurrent_mask, {G, B, S}, kOptional},
};
constexpr TensorSpec kLayerSeed[] = {{Arg::seed, {Dim::kTwo}, kOptional, Element::kInt64}};
constexpr TensorSpec kLayerOutputs[] = {
    {Arg::output, {T, B, S}},
    {Arg::output_h, {B, S}},
    {Arg::output_c, {B, H}, kStateC},
};
constexpr TensorSpec kLayerOutputGradients[] = {
    {Arg::output_backprop, {T, B, S}},
    {Arg::output_h_backprop, {B, S}},
    {Arg::output_c_backprop, {B, H}, kStateC},
};

// LayerRNN's weights in int8, each with the scales of its columns.
constexpr TensorSpec kQuantizedWeights[] = {
    {Arg::kernel, {I, GH}, kAlways, Element::kInt8},
    {Arg::kernel_scale, {GH}, kAlways, Element::kFloat32},
    {Arg::recurrent_kernel, {S, GH}, kAlways, Element::kInt8},
    {Arg::recurrent_kernel_scale, {GH}, kAlways, Element::kFloat32},
    {Arg::bias, {Dim::kBiasRows, GH}, kOptional},
    {Arg::projection, {H, Dim::kP}, kOptionalLstm, Element::kInt8},
    {Arg::projection_scale, {Dim::kP}, kOptionalLstm, Element::kFloat32},
};

constexpr auto kQuantizedLayerInputs =
    Join(kLayerStates, kQuantizedWeights, kLayerLengths, kPacked);
constexpr auto kLayerRnnInputs =
    Join(kLayerStates, kLayerWeights, kCellWeights, kLayerLengths, kLayerMasks, kLayerSeed);
constexpr auto kLayerRnnOutputs = Join(kLayerOutputs, kReserveSpace);
constexpr auto kLayerPackedInputs =
    Join(kLayerStates, kLayerWeights, kCellWeights, kLayerLengths, kPacked);
constexpr auto kLayerBackpropInputs =
    Join(kLayerStates, kLayerWeights, kCellWeights, kLayerLengths, kLayerMasks, kLayerSeed,
         kLayerOutputs, kLayerOutputGradients, kReserveSpace);

constexpr AttrSet LayerAttrs(AttrSet::Training is_training, bool of_a_call = true) {
  AttrSet attrs;
  attrs.stack = attrs.dropout = attrs.seeds = attrs.num_proj = false;
  attrs.activations = attrs.clips = attrs.zoneout = of_a_call;
  attrs.layer_norm = attrs.time_major = of_a_call;
  attrs.is_training = is_training;
  return attrs;
}

constexpr AttrSet QuantizedAttrs(bool of_a_call) {
  AttrSet attrs = LayerAttrs(AttrSet::kNever, of_a_call);
  attrs.clips = attrs.zoneout = attrs.layer_norm = false;
  return attrs;
}

constexpr TensorSpec kLinearInputs[] = {
    {Arg::input, {T, B, H}},
    {Arg::cell_input, {T, B, H}, kStateC},
    {Arg::recurrent_kernel, {H, GH}},
    {Arg::h_by_gates, {T, B, GH}, kOptional},
    {Arg::c_by_gates, {T, B, GH}, kOptional},
    {Arg::h_by_h, {T, B, H}, kOptional},
    {Arg::h_by_c, {T, B, H}, kOptional},
    {Arg::c_by_h, {T, B, H}, kOptional},
    {Arg::c_by_c, {T, B, H}, kOptional},
};
constexpr TensorSpec kLinearOutputs[] = {
    {Arg::output, {T, B, H}},
    {Arg::cell_output, {T, B, H}, kStateC},
};

// ---- BlockLSTMV2 ----

constexpr TensorSpec kBlockInputs[] = {
    {Arg::seq_len_max, {}, kAlways, Element::kInt64},
    {Arg::x, {T, B, I}},
    {Arg::cs_prev, {B, H}},
    {Arg::h_prev, {B, H}},
    {Arg::w, {Dim::kInputPlusH, GH}},
    {Arg::wci, {H}},
    {Arg::wcf, {H}},
    {Arg::wco, {H}},
    {Arg::b, {GH}},
};
constexpr TensorSpec kBlockOutputs[] = {
    {Arg::i, {T, B, H}},  {Arg::cs, {T, B, H}}, {Arg::f, {T, B, H}}, {Arg::o, {T, B, H}},
    {Arg::ci, {T, B, H}}, {Arg::co, {T, B, H}}, {Arg::h, {T, B, H}},
};
constexpr TensorSpec kBlockOutputGradients[] = {
    {Arg::cs_grad, {T, B, H}},
    {Arg::h_grad, {T, B, H}},
};
constexpr auto kBlockGradInputs = Join(kBlockInputs, kBlockOutputs, kBlockOutputGradients);

}  // namespace

constexpr OpSpec kCudnnRnnV3 = {OpFamily::kCudnnRnn, With(AttrSet::kAttr), Specs(kV3Inputs),
                                Specs(kV3Outputs)};
constexpr OpSpec kStatelessCudnnRnnV3 = {OpFamily::kCudnnRnn,
                                         With(AttrSet::kAlways, /*seeds=*/false),
                                         Specs(kStatelessInputs), Specs(kV3Outputs)};
constexpr OpSpec kCudnnRnnV3Packed = {OpFamily::kCudnnRnn,
                                      With(AttrSet::kNever, /*seeds=*/false, /*dropout=*/false),
                                      Specs(kCudnnPackedInputs), Specs(kCudnnOutputs)};
constexpr OpSpec kCudnnRnnBackpropV3 = {
    OpFamily::kCudnnRnn, With(AttrSet::kAlways), Specs(kBackpropV3Inputs), {}, {0, 4, "_backprop"}};
constexpr OpSpec kCudnnRnnV1 = {OpFamily::kCudnnRnn, FirstVersions(AttrSet::kAttr),
                                Specs(kV1Inputs), Specs(kV1Outputs)};
constexpr OpSpec kCudnnRnnV2 = {OpFamily::kCudnnRnn, FirstVersions(AttrSet::kAttr),
                                Specs(kV1Inputs), Specs(kV2Outputs)};
constexpr OpSpec kCudnnRnnBackpropV1 = {OpFamily::kCudnnRnn,
                                        FirstVersions(AttrSet::kAlways),
                                        Specs(kBackpropV1Inputs),
                                        {},
                                        {0, 4, "_backprop"}};
constexpr OpSpec kCudnnRnnBackpropV2 = {OpFamily::kCudnnRnn,
                                        FirstVersions(AttrSet::kAlways),
                                        Specs(kBackpropV2Inputs),
                                        {},
                                        {0, 4, "_backprop"}};

constexpr OpSpec kLayerRnn = {OpFamily::kLayerRnn, LayerAttrs(AttrSet::kAttr),
                              Specs(kLayerRnnInputs), Specs(kLayerRnnOutputs)};
constexpr OpSpec kLayerRnnPacked = {OpFamily::kLayerRnn, LayerAttrs(AttrSet::kNever),
                                    Specs(kLayerPackedInputs), Specs(kLayerOutputs)};
constexpr OpSpec kLayerRnnBackprop = {OpFamily::kLayerRnn,
                                      LayerAttrs(AttrSet::kAlways),
                                      Specs(kLayerBackpropInputs),
                                      {},
                                      {0, 9, "_backprop"}};
constexpr OpSpec kPackLayerRnn = {OpFamily::kLayerRnn,
                                  LayerAttrs(AttrSet::kNever, /*of_a_call=*/false),
                                  Specs(kLayerWeights), Specs(kPacked)};
constexpr OpSpec kQuantizedLayerRnn = {OpFamily::kLayerRnn, QuantizedAttrs(/*of_a_call=*/true),
                                       Specs(kQuantizedLayerInputs), Specs(kLayerOutputs)};
constexpr OpSpec kPackQuantizedLayerRnn = {OpFamily::kLayerRnn, QuantizedAttrs(/*of_a_call=*/false),
                                           Specs(kQuantizedWeights), Specs(kPacked)};
constexpr OpSpec kLinearRecurrence = {OpFamily::kLayerRnn,
                                      LayerAttrs(AttrSet::kNever, /*of_a_call=*/false),
                                      Specs(kLinearInputs), Specs(kLinearOutputs)};
constexpr OpSpec kPackCudnnRnnParams = {OpFamily::kCudnnRnn, PackAttrs(), Specs(kParams),
                                        Specs(kPacked)};

constexpr OpSpec kBlockLstm = {OpFamily::kBlockLstm, {}, Specs(kBlockInputs), Specs(kBlockOutputs)};
constexpr OpSpec kBlockLstmGrad = {
    OpFamily::kBlockLstm, {}, Specs(kBlockGradInputs), {}, {1, 8, "_grad"}};

int OpSpec::Input(Arg arg) const {
  for (int k = 0; k < inputs.count; ++k) {
    if (inputs[k].arg == arg) return k;
  }
  return kAbsent;
}

int OpSpec::FirstTyped() const {
  int k = 0;
  while (inputs[k].element != Element::kT) ++k;
  return k;
}

int OpSpec::Output(Arg arg) const {
  for (int k = 0; k < num_outputs(); ++k) {
    if (output(k).arg == arg) return k;
  }
  return kAbsent;
}

}  // namespace rnn_ops
