// The shapes of LayerRNN, of its gradient and of QuantizedLayerRNN.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "cc/core/op/shapes.h"
#include "tests/cc/core/expect_invalid.h"
#include "tests/cc/core/op/input_shapes.h"

namespace rnn_ops {
namespace {

RnnAttrs Attrs(RnnMode mode) {
  RnnAttrs attrs;
  attrs.mode = mode;
  return attrs;
}

const RnnAttrs kLstm = Attrs(RnnMode::kLstm);
const RnnAttrs kGru = Attrs(RnnMode::kGru);

// T = 7, B = 2, I = 5, H = 3, with every optional tensor except the tensors for LSTM only.
InputShapes Inputs(RnnMode mode) {
  const int64_t G = FactsOf(mode).gates;
  return {kLayerRnn,
          {{"input", {7, 2, 5}},
           {"input_h", {2, 3}},
           {"input_c", {2, 3}},
           {"kernel", {5, G * 3}},
           {"recurrent_kernel", {3, G * 3}},
           {"bias", mode == RnnMode::kGru ? Dims{2, G * 3} : Dims{G * 3}},
           {"projection", {0}},
           {"peepholes", {0}},
           {"layer_norm", {0}},
           {"seed", {0}},
           {"sequence_lengths", {2}},
           {"input_mask", {G, 2, 5}},
           {"recurrent_mask", {G, 2, 3}}}};
}

InputShapes GradInputs(RnnMode mode) {
  return InputShapes(kLayerRnnBackprop, {{"output", {7, 2, 3}},
                                         {"output_backprop", {7, 2, 3}},
                                         {"output_h", {2, 3}},
                                         {"output_c", {2, 3}},
                                         {"output_h_backprop", {2, 3}},
                                         {"output_c_backprop", {2, 3}},
                                         {"reserve_space", {100}}})
      .Take(Inputs(mode));
}

// The inputs of an LSTM with P = 6 and peepholes.
InputShapes ProjectedInputs() {
  return Inputs(RnnMode::kLstm)
      .With({{"input_h", {2, 6}},
             {"recurrent_kernel", {6, 12}},
             {"projection", {3, 6}},
             {"peepholes", {3, 3}},
             {"recurrent_mask", {4, 2, 6}}});
}

const Dims kSizes = {7, 2, 5, 3};

constexpr RnnMode kModes[] = {RnnMode::kRelu, RnnMode::kTanh,           RnnMode::kLstm,
                              RnnMode::kGru,  RnnMode::kGruResetBefore, RnnMode::kVanilla};

TEST(LayerRnnShapes, CompleteShapes) {
  for (RnnMode mode : kModes) {
    EXPECT_EQ(Inputs(mode).Sizes(Attrs(mode)), kSizes);
    EXPECT_EQ(Inputs(mode).Output(0, Attrs(mode)), (Dims{7, 2, 3}));
    EXPECT_EQ(GradInputs(mode).Sizes(Attrs(mode)), kSizes);
    const RnnConfig config = GradInputs(mode).Config(Attrs(mode));
    EXPECT_EQ(config.num_layers, 1);
    EXPECT_EQ(config.num_dirs(), 1);
    EXPECT_EQ(config.num_units, 3);
    EXPECT_EQ(config.input_size, 5);
  }
}

TEST(LayerRnnShapes, BatchMajor) {
  RnnAttrs attrs = kLstm;
  attrs.time_major = false;
  const InputShapes in = Inputs(attrs.mode).With({{"input", {2, 7, 5}}});
  EXPECT_EQ(in.Sizes(attrs), kSizes);
  EXPECT_EQ(in.Output(0, attrs), (Dims{2, 7, 3}));
  ExpectInvalid(Inputs(attrs.mode).Infer(attrs),
                {"input_h must", "[B, H]", "B is 7 according to input"});
}

TEST(LayerRnnShapes, NothingKnownIsAccepted) {
  for (RnnMode mode : kModes) {
    EXPECT_EQ(InputShapes(kLayerRnn).Sizes(Attrs(mode)), (Dims{kU, kU, kU, kU}));
    const RnnConfig config = InputShapes(kLayerRnn).Config(Attrs(mode));
    EXPECT_EQ(config.num_units, 1) << "the smallest possible size";
  }
}

TEST(LayerRnnShapes, OptionalTensorsMayBeAbsent) {
  for (RnnMode mode : kModes) {
    for (const char* field : {"bias", "sequence_lengths", "input_mask", "recurrent_mask"}) {
      InputShapes in = Inputs(mode);
      // [?] and an unknown shape: the size is known only when the op runs.
      for (const PartialShape& shape : {Shape({0}), Shape({kU}), PartialShape()}) {
        in[field] = shape;
        EXPECT_EQ(IsAbsent(shape), shape.dims == Dims{0});
        EXPECT_EQ(in.Sizes(Attrs(mode)), kSizes);
      }
      // Other empty tensors are not absent tensors.
      EXPECT_FALSE(IsAbsent(Shape({0, 0})));
      ExpectRejected(in, Attrs(mode), {{{{field, {0, 0}}}, {field}}});
    }
  }
}

TEST(LayerRnnShapes, SizesFollowFromAnyTensorThatHasThem) {
  const std::pair<std::vector<Change>, Dims> cases[] = {
      {{{"kernel", {5, 9}}}, {kU, kU, 5, 3}},
      {{{"recurrent_kernel", {kU, 9}}}, {kU, kU, kU, 3}},
      {{{"recurrent_kernel", {3, kU}}, {"input_mask", {kU, 2, 5}}}, {kU, 2, 5, 3}},
      {{{"bias", {kU, 9}}, {"sequence_lengths", {4}}}, {kU, 4, kU, 3}},
  };
  for (const auto& [known, sizes] : cases) {
    EXPECT_EQ(InputShapes(kLayerRnn, known).Sizes(kGru), sizes) << known[0].input;
  }
  const InputShapes grad(kLayerRnnBackprop, {{"output_backprop", {7, 2, 3}}, {"kernel", {5, kU}}});
  EXPECT_EQ(grad.Sizes(kGru), kSizes);
  ExpectRejected(grad, kGru,
                 {{{{"kernel", {5, 12}}}, {"output_backprop must", "H is 4 according to kernel"}}});
}

TEST(LayerRnnShapes, EachInputIsChecked) {
  const std::vector<Rejected> calls = {
      {{{"input", {7, 2}}}, {"input must have shape [T, B, I]", "rank 2 instead of 3"}},
      {{{"input", {}}}, {"input must", "rank 0"}},
      {{{"input", {7, 2, 0}}}, {"input must", "I must be at least 1"}},
      {{{"input", {7, 2, 6}}}, {"kernel must", "I is 6 according to input"}},
      {{{"input", {7, 3, 5}}}, {"input_h must", "B is 3 according to input"}},
      {{{"input_h", {2, 3, 1}}}, {"input_h must have shape [B, H]", "[2, 3, 1]"}},
      {{{"input_h", {2, 0}}}, {"input_h must", "H must be at least 1"}},
      {{{"input_h", {3, 3}}}, {"input_h must"}},
      {{{"input_h", {1, 2, 3}}}, {"input_h must"}},
      {{{"input_c", {2, 4}}}, {"input_c must", "H is 3 according to input_h"}},
      {{{"input_c", {2}}}, {"input_c must"}},
      {{{"input_c", {1, 3}}}, {"input_c must"}},
      {{{"kernel", {5, 13}}}, {"kernel must have shape [I, 4*H]", "13 is not a multiple of 4"}},
      {{{"kernel", {5, 16}}}, {"kernel must", "H is 3 according to input_h"}},
      {{{"kernel", {12, 5}}}, {"kernel must", "I is 5 according to input"}},
      {{{"kernel", {0, 12}}}, {"kernel must", "I must be at least 1"}},
      {{{"kernel", {60}}}, {"kernel must"}},
      {{{"recurrent_kernel", {5, 12}}}, {"recurrent_kernel must have shape [H, 4*H]"}},
      {{{"recurrent_kernel", {3, 15}}}, {"recurrent_kernel must", "15"}},
      {{{"recurrent_kernel", {3, 16}}}, {"recurrent_kernel must", "[3, 16]"}},
      {{{"recurrent_kernel", {3}}}, {"recurrent_kernel must"}},
      {{{"bias", {2, 12}}}, {"bias must have shape [4*H]", "rank 2 instead of 1"}},
      {{{"bias", {16}}}, {"bias must", "H is 3"}},
      {{{"bias", {3}}}, {"bias must", "not a multiple of 4"}},
      {{{"bias", {}}}, {"bias must", "rank 0"}},
      {{{"sequence_lengths", {}}}, {"sequence_lengths must have shape [B]"}},
      {{{"sequence_lengths", {1}}}, {"sequence_lengths must", "B is 2 according to input"}},
      {{{"sequence_lengths", {2, 1}}}, {"sequence_lengths must"}},
      {{{"input_mask", {3, 2, 5}}},
       {"input_mask must have shape [G, B, I]", "G is 4 according to rnn_mode"}},
      {{{"input_mask", {4, 1, 5}}}, {"input_mask must", "B is 2"}},
      {{{"input_mask", {4, 2, 3}}}, {"input_mask must", "I is 5"}},
      {{{"input_mask", {2, 5}}}, {"input_mask must"}},
      {{{"recurrent_mask", {4, 2, 5}}}, {"recurrent_mask must have shape [G, B, H]"}},
      {{{"recurrent_mask", {1, 2, 3}}}, {"recurrent_mask must", "G is 4"}},
      {{{"recurrent_mask", {4, 7, 3}}}, {"recurrent_mask must", "B is 2"}},
      {{{"recurrent_mask", {3}}}, {"recurrent_mask must"}},
  };
  for (const InputShapes& valid : {Inputs(RnnMode::kLstm), GradInputs(RnnMode::kLstm)}) {
    ExpectRejected(valid, kLstm, calls);
    for (const Rejected& call : calls) {
      EXPECT_EQ(valid.With(call.changes).Infer(kLstm).message().find(call.parts[0]), 0u)
          << "the message begins with the name of the tensor";
    }
  }
}

TEST(LayerRnnShapes, GatesAndBiasAreThoseOfTheMode) {
  ExpectInvalid(Inputs(RnnMode::kGru).Infer(kLstm), {"kernel must have shape [I, 4*H]", "[5, 9]"});
  ExpectRejected(Inputs(RnnMode::kGru), kGru,
                 {{{{"bias", {9}}}, {"bias must have shape [2, 3*H]", "[9]"}},
                  {{{"bias", {1, 9}}}, {"bias must", "whose dimension 0 is 1 instead of 2"}},
                  {{{"bias", {3, 9}}}, {"bias must", "whose dimension 0 is 3 instead of 2"}}});
  // If the reset gate comes first, no product has its own bias.
  ExpectRejected(Inputs(RnnMode::kGruResetBefore), Attrs(RnnMode::kGruResetBefore),
                 {{{{"bias", {2, 9}}}, {"bias must have shape [3*H]", "[2, 9]"}}});
  RnnAttrs tanh = Attrs(RnnMode::kTanh);
  ExpectRejected(
      Inputs(RnnMode::kTanh), tanh,
      {{{{"recurrent_mask", {4, 2, 3}}}, {"recurrent_mask must", "G is 1 according to rnn_mode"}}});
  tanh.activation = Activation::kLinear;
  ExpectInvalid(Inputs(RnnMode::kTanh).Infer(tanh), {"activation must", "rnn_mode='rnn_tanh'"});
}

TEST(LayerRnnShapes, CellStateOnlyMattersForLstm) {
  for (RnnMode mode : kModes) {
    for (const Dims& dims : std::vector<Dims>{{}, {9}, {2, 4}, {1, 2, 3}}) {
      const InputShapes s = GradInputs(mode).With(
          {{"input_c", dims}, {"output_c", dims}, {"output_c_backprop", dims}});
      EXPECT_EQ(s.Infer(Attrs(mode)).ok(), mode != RnnMode::kLstm);
    }
  }
}

TEST(LayerRnnShapes, EachGradientInputIsChecked) {
  struct {
    std::vector<std::pair<const char*, const char*>> inputs;  // and the begin of the message
    const char* letters;
    std::vector<Dims> bad;
  } const groups[] = {
      {{{"output", "output must"}, {"output_backprop", "output_backprop must"}},
       "[T, B, H]",
       {{}, {7}, {7, 2}, {7, 2, 2}, {7, 3, 3}, {6, 2, 3}, {7, 2, 3, 1}, {0, 2, 3}}},
      {{{"output_h", "output_h must"},
        {"output_c", "output_c must"},
        {"output_h_backprop", "output_h_backprop must"},
        {"output_c_backprop", "output_c_backprop must"}},
       "[B, H]",
       {{}, {3}, {2, 2}, {3, 3}, {1, 2, 3}, {2, 0}}},
      {{{"reserve_space", "reserve_space must"}}, "vector", {{}, {100, 1}}},
  };
  for (const auto& group : groups) {
    for (const auto& [input, text] : group.inputs) {
      for (const Dims& dims : group.bad) {
        ExpectRejected(GradInputs(RnnMode::kLstm), kLstm,
                       {{{{input, dims}}, {text, group.letters}}});
      }
    }
  }
}

TEST(LayerRnnShapes, AProjectionGivesTheSizeOfH) {
  const InputShapes in = ProjectedInputs();
  EXPECT_EQ(in.Sizes(kLstm), kSizes);
  EXPECT_EQ(in.Inferred(kLstm).dims.num_proj, 6);
  const Dims outputs[] = {{7, 2, 6}, {2, 6}, {2, 3}};
  for (int k = 0; k < 3; ++k) EXPECT_EQ(in.Output(k, kLstm), outputs[k]) << k;
  EXPECT_EQ(in.Config(kLstm).num_proj, 6);
  EXPECT_EQ(in.Config(kLstm).hidden_size(), 6);
  // Unlike the attribute num_proj, a tensor [H, H] is a projection. A single column is a projection
  // too.
  for (const int64_t columns : {3, 1}) {
    const InputShapes only(kLayerRnn, {{"projection", {3, columns}}});
    EXPECT_EQ(only.Config(kLstm).num_proj, columns);
  }
  // The size of h is unknown until the shape of the projection is known.
  for (const PartialShape& unknown : {Shape({kU}), PartialShape()}) {
    InputShapes without = in;
    without["projection"] = unknown;
    EXPECT_EQ(without.Output(0, kLstm), (Dims{7, 2, kU}));
    EXPECT_TRUE(
        without
            .With(
                {{"input_h", {2, 3}}, {"recurrent_kernel", {3, 12}}, {"recurrent_mask", {4, 2, 3}}})
            .Infer(kLstm)
            .ok());
  }
}

TEST(LayerRnnShapes, ProjectionsAndPeepholesThatDoNotFit) {
  ExpectRejected(ProjectedInputs(), kLstm,
                 {{{{"projection", {3, 4}}}, {"projection must", "P is 6 according to input_h"}},
                  {{{"projection", {4, 6}}}, {"projection must", "H is 3"}},
                  {{{"projection", {3}}}, {"projection must have shape [H, P]"}},
                  {{{"projection", {3, 0}}}, {"projection must", "P must be at least 1"}},
                  {{{"recurrent_kernel", {3, 12}}}, {"recurrent_kernel must have shape [P, 4*H]"}},
                  {{{"recurrent_mask", {4, 2, 3}}}, {"recurrent_mask must have shape [G, B, P]"}},
                  {{{"peepholes", {9}}}, {"peepholes must have shape [3, H]"}},
                  {{{"peepholes", {4, 3}}}, {"peepholes must", "instead of 3"}},
                  {{{"peepholes", {3, 4}}}, {"peepholes must", "H is 3"}}});
  for (const char* name : {"projection", "peepholes"}) {
    ExpectRejected(Inputs(RnnMode::kGru), kGru,
                   {{{{name, {3, 3}}},
                     {name, "must have shape [0] for rnn_mode='gru'", "only 'lstm'", "[3, 3]"}}});
  }
}

TEST(LayerRnnShapes, ZoneoutAndItsSeed) {
  const InputShapes in = Inputs(RnnMode::kLstm);
  ExpectRejected(in, kLstm,
                 {{{{"seed", {2}}}, {"seed must have shape [0]", "zoneout_h = 0 ", "[2]"}}});
  RnnAttrs attrs = kLstm;
  attrs.zoneout_h = 0.25f;
  for (const PartialShape& seed : {Shape({2}), Shape({0}), Shape({kU}), PartialShape()}) {
    InputShapes given = in;
    given["seed"] = seed;
    EXPECT_EQ(given.Sizes(attrs), kSizes);
  }
  ExpectRejected(
      in, attrs,
      {{{{"seed", {3}}}, {"seed must have shape [2]"}},
       {{{"seed", {2, 1}}}, {"seed must have shape [2]"}},
       {{{"seed", {}}}, {"seed must have shape [2]"}},
       {{{"peepholes", {3, 3}}}, {"peepholes must have shape [0]", "zoneout_h = 0.25", "[3, 3]"}},
       {{{"projection", {3, 3}}}, {"projection must have shape [0]", "[3, 3]"}}});
  attrs.cell_clip = 2.0f;
  ExpectInvalid(in.Infer(attrs), {"cell_clip must be 0 with zoneout_h or zoneout_c", "2"});
}

TEST(LayerRnnShapes, LayerNormAndWhatDoesNotGoWithIt) {
  InputShapes in = Inputs(RnnMode::kLstm);
  for (const PartialShape& shape : {Shape({kU}), Shape({kU, kU}), PartialShape(), Shape({18, 3})}) {
    in["layer_norm"] = shape;
    EXPECT_EQ(in.Sizes(kLstm), kSizes);
  }
  for (const Dims& dims : std::vector<Dims>{{17, 3}, {18, 4}, {54}, {}}) {
    ExpectRejected(in, kLstm, {{{{"layer_norm", dims}}, {"layer_norm must have shape [18, H]"}}});
  }
  for (float RnnAttrs::* value :
       {&RnnAttrs::cell_clip, &RnnAttrs::zoneout_h, &RnnAttrs::zoneout_c}) {
    RnnAttrs other = kLstm;
    other.*value = 0.5f;
    ExpectInvalid(in.Infer(other), {"must be 0 with layer_norm, but it is 0.5"});
  }
  for (const char* name : {"projection", "peepholes"}) {
    ExpectRejected(in, kLstm,
                   {{{{name, {3, 3}}}, {name, "must have shape [0] with layer_norm", "[3, 3]"}},
                    {{{name, {9}}}, {name, "must have shape [0]", "[9]"}}});
    for (const PartialShape& unknown : {Shape({kU}), PartialShape()}) {
      InputShapes both = in;
      both[name] = unknown;
      EXPECT_TRUE(both.Infer(kLstm).ok());
    }
  }
  ExpectRejected(
      Inputs(RnnMode::kGru), kGru,
      {{{{"layer_norm", {18, 3}}},
        {"layer_norm must have shape [0] for rnn_mode='gru'", "only 'lstm'", "[18, 3]"}}});
}

TEST(LayerRnnShapes, EmptyTimeAndBatch) {
  for (RnnMode mode : kModes) {
    const InputShapes in = Inputs(mode).With({{"input", {0, 0, 5}},
                                              {"input_h", {0, 3}},
                                              {"input_c", {0, 3}},
                                              {"sequence_lengths", {0}},
                                              {"input_mask", {0}},
                                              {"recurrent_mask", {0}}});
    EXPECT_EQ(in.Sizes(Attrs(mode)), (Dims{0, 0, 5, 3}));
    EXPECT_EQ(in.Config(Attrs(mode)).batch, 0);
  }
}

TEST(LayerRnnShapes, SizesTooLarge) {
  ExpectTooLarge(kLayerRnn, kLstm, "input");
  ExpectTooLarge(kLayerRnnBackprop, kLstm, "input");
  ExpectRejected(InputShapes(kLayerRnn), kLstm,
                 {{{{"recurrent_kernel", {int64_t{1} << 31, int64_t{1} << 33}}}, {"too large"}}});
}

// int8 weights: the projection and its scales come together, and a sum must fit 32 bits.
TEST(QuantizedLayerRnnShapes, ScalesOfAProjectionAndLargestSizes) {
  const InputShapes in(kQuantizedLayerRnn, {{"projection", {0}}, {"projection_scale", {0}}});
  EXPECT_TRUE(in.Infer(kLstm).ok());
  EXPECT_TRUE(in.With({{"projection", {3, 6}}, {"projection_scale", {6}}}).Infer(kLstm).ok());
  // One of the two shapes is unknown, so there is no contradiction yet.
  for (const char* name : {"projection", "projection_scale"}) {
    for (const PartialShape& unknown : {Shape({kU}), PartialShape()}) {
      InputShapes one = in.With({{"projection", {3, 6}}, {"projection_scale", {6}}});
      one[name] = unknown;
      EXPECT_TRUE(one.Infer(kLstm).ok()) << name;
    }
  }
  ExpectRejected(in, kLstm,
                 {{{{"projection", {3, 6}}}, {"projection_scale must", "[0]", "[3, 6]"}},
                  {{{"projection_scale", {6}}}, {"projection_scale must", "[6]", "[0]"}}});
  for (const char* name : {"kernel", "recurrent_kernel"}) {
    EXPECT_TRUE(in.With({{name, {kMaxQuantizedSize, kU}}}).Infer(kLstm).ok());
    ExpectRejected(in, kLstm, {{{{name, {kMaxQuantizedSize + 1, kU}}}, {name, "32 bits"}}});
  }
}

}  // namespace
}  // namespace rnn_ops
