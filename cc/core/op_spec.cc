#include "cc/core/op_spec.h"

#include <array>
#include <cstddef>

namespace rnn_ops {
namespace {

constexpr Dim T = Dim::kT, B = Dim::kB, I = Dim::kI, H = Dim::kH, S = Dim::kS, G = Dim::kG;
constexpr Dim LD = Dim::kLayersDirs, DS = Dim::kDirsS, GH = Dim::kGatesH;
constexpr Dim kAny = Dim::kAny;
constexpr Given kAlways = Given::kAlways, kLstm = Given::kLstm, kTraining = Given::kTraining,
                kOptional = Given::kOptional, kOptionalLstm = Given::kOptionalLstm,
                kIgnored = Given::kIgnored;

// The rows of all parts, one after another.
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

// ---- What families share ----

constexpr TensorSpec kSeed[] = {{"seed", {Dim::kTwo}, kAlways, Element::kInt64}};
constexpr TensorSpec kPacked[] = {{"packed", {kAny}, kAlways, Element::kUint8}};
constexpr TensorSpec kReserveSpace[] = {{"reserve_space", {kAny}, kTraining}};

// ---- The CudnnRNN family ----

constexpr TensorSpec kCudnnStates[] = {
    {"input", {T, B, I}},
    {"input_h", {LD, B, S}},
    {"input_c", {LD, B, H}, kLstm},
};
constexpr TensorSpec kParams[] = {{"params", {Dim::kParamsSize}}};
constexpr TensorSpec kCudnnLengths[] = {{"sequence_lengths", {B}, kAlways, Element::kInt32}};
constexpr TensorSpec kCudnnOutputs[] = {
    {"output", {T, B, DS}},
    {"output_h", {LD, B, S}},
    {"output_c", {LD, B, H}, kLstm},
};
constexpr TensorSpec kCudnnOutputGradients[] = {
    {"output_backprop", {T, B, DS}},
    {"output_h_backprop", {LD, B, S}},
    {"output_c_backprop", {LD, B, H}, kLstm},
};
constexpr TensorSpec kHostReserved[] = {{"host_reserved", {}, kAlways, Element::kInt8}};
// TensorFlow's V2 hands the number of cuDNN's algorithm and its math mode to the gradient.
constexpr TensorSpec kHostReservedV2[] = {
    {"host_reserved", {Dim::kTwo}, kTraining, Element::kInt8}};
constexpr TensorSpec kHostReservedInput[] = {{"host_reserved", {}, kIgnored, Element::kInt8}};

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
    {"input", {T, B, I}},
    {"input_h", {B, S}},
    {"input_c", {B, H}, kLstm},
};
constexpr TensorSpec kLayerWeights[] = {
    {"kernel", {I, GH}},
    {"recurrent_kernel", {S, GH}},
    {"bias", {Dim::kBiasRows, GH}, kOptional},
    {"projection", {H, Dim::kP}, kOptionalLstm},
};
constexpr TensorSpec kCellWeights[] = {
    {"peepholes", {Dim::kThree, H}, kOptionalLstm},
    {"layer_norm", {Dim::kNormRows, H}, kOptionalLstm},
};
constexpr TensorSpec kLayerLengths[] = {{"sequence_lengths", {B}, kOptional, Element::kInt32}};
constexpr TensorSpec kLayerMasks[] = {
    {"input_mask", {G, B, I}, kOptional},
    {"recurrent_mask", {G, B, S}, kOptional},
};
constexpr TensorSpec kLayerSeed[] = {{"seed", {Dim::kTwo}, kOptional, Element::kInt64}};
constexpr TensorSpec kLayerOutputs[] = {
    {"output", {T, B, S}},
    {"output_h", {B, S}},
    {"output_c", {B, H}, kLstm},
};
constexpr TensorSpec kLayerOutputGradients[] = {
    {"output_backprop", {T, B, S}},
    {"output_h_backprop", {B, S}},
    {"output_c_backprop", {B, H}, kLstm},
};

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

constexpr TensorSpec kLinearInputs[] = {
    {"input", {T, B, H}},
    {"cell_input", {T, B, H}, kLstm},
    {"recurrent_kernel", {H, GH}},
    {"h_by_gates", {T, B, GH}, kOptional},
    {"c_by_gates", {T, B, GH}, kOptional},
    {"h_by_h", {T, B, H}, kOptional},
    {"h_by_c", {T, B, H}, kOptional},
    {"c_by_h", {T, B, H}, kOptional},
    {"c_by_c", {T, B, H}, kOptional},
};
constexpr TensorSpec kLinearOutputs[] = {
    {"output", {T, B, H}},
    {"cell_output", {T, B, H}, kLstm},
};

// ---- BlockLSTMV2 ----

constexpr TensorSpec kBlockInputs[] = {
    {"seq_len_max", {}, kAlways, Element::kInt64},
    {"x", {T, B, I}},
    {"cs_prev", {B, H}},
    {"h_prev", {B, H}},
    {"w", {Dim::kInputPlusH, GH}},
    {"wci", {H}},
    {"wcf", {H}},
    {"wco", {H}},
    {"b", {GH}},
};
constexpr TensorSpec kBlockOutputs[] = {
    {"i", {T, B, H}},  {"cs", {T, B, H}}, {"f", {T, B, H}}, {"o", {T, B, H}},
    {"ci", {T, B, H}}, {"co", {T, B, H}}, {"h", {T, B, H}},
};
constexpr TensorSpec kBlockOutputGradients[] = {
    {"cs_grad", {T, B, H}},
    {"h_grad", {T, B, H}},
};
constexpr auto kBlockGradInputs = Join(kBlockInputs, kBlockOutputs, kBlockOutputGradients);

int Find(TensorSpecs specs, std::string_view name) {
  for (int k = 0; k < specs.count; ++k) {
    if (name == specs[k].name) return k;
  }
  return kAbsent;
}

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
constexpr OpSpec kLinearRecurrence = {OpFamily::kLayerRnn,
                                      LayerAttrs(AttrSet::kNever, /*of_a_call=*/false),
                                      Specs(kLinearInputs), Specs(kLinearOutputs)};
constexpr OpSpec kPackCudnnRnnParams = {OpFamily::kCudnnRnn, PackAttrs(), Specs(kParams),
                                        Specs(kPacked)};

constexpr OpSpec kBlockLstm = {OpFamily::kBlockLstm, {}, Specs(kBlockInputs), Specs(kBlockOutputs)};
constexpr OpSpec kBlockLstmGrad = {
    OpFamily::kBlockLstm, {}, Specs(kBlockGradInputs), {}, {1, 8, "_grad"}};

int OpSpec::Input(std::string_view name) const { return Find(inputs, name); }

int OpSpec::Output(std::string_view name) const { return Find(outputs, name); }

int OpSpec::GradientOf(std::string_view input) const {
  const int index = Find(inputs, input) - gradients.first;
  return index >= 0 && index < gradients.count ? index : kAbsent;
}

}  // namespace rnn_ops
