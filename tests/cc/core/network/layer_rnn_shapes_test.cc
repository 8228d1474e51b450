#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "cc/core/network/shapes.h"
#include "tests/cc/core/expect_invalid.h"
#include "tests/cc/core/network/input_shapes.h"

namespace rnn_ops {
namespace {

constexpr int64_t kU = kUnknownDim;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

PartialShape Shape(std::vector<int64_t> dims) { return PartialShape::Of(std::move(dims)); }

RnnAttrs Attrs(RnnMode mode, bool time_major = true) {
  RnnAttrs attrs;
  attrs.mode = mode;
  attrs.time_major = time_major;
  return attrs;
}

// T = 7, B = 2, I = 5, H = 3, with every optional tensor except the tensors for LSTM only.
InputShapes Inputs(RnnMode mode) {
  const int64_t G = mode == RnnMode::kLstm                                      ? 4
                    : mode == RnnMode::kGru || mode == RnnMode::kGruResetBefore ? 3
                                                                                : 1;
  InputShapes in(kLayerRnn);
  in["input"] = Shape({7, 2, 5});
  in["input_h"] = in["input_c"] = Shape({2, 3});
  in["kernel"] = Shape({5, G * 3});
  in["recurrent_kernel"] = Shape({3, G * 3});
  in["bias"] = mode == RnnMode::kGru ? Shape({2, G * 3}) : Shape({G * 3});
  in["projection"] = in["peepholes"] = in["layer_norm"] = in["seed"] = Shape({0});
  in["sequence_lengths"] = Shape({2});
  in["input_mask"] = Shape({G, 2, 5});
  in["recurrent_mask"] = Shape({G, 2, 3});
  return in;
}

InputShapes GradInputs(RnnMode mode) {
  InputShapes s(kLayerRnnBackprop);
  s.Take(Inputs(mode));
  s["output"] = s["output_backprop"] = Shape({7, 2, 3});
  s["output_h"] = s["output_c"] = s["output_h_backprop"] = s["output_c_backprop"] = Shape({2, 3});
  s["reserve_space"] = Shape({100});
  return s;
}

// The inputs of an LSTM with P = 6 and peepholes.
InputShapes ProjectedInputs() {
  InputShapes in = Inputs(RnnMode::kLstm);
  in["input_h"] = Shape({2, 6});
  in["recurrent_kernel"] = Shape({6, 12});
  in["projection"] = Shape({3, 6});
  in["peepholes"] = Shape({3, 3});
  in["recurrent_mask"] = Shape({4, 2, 6});
  return in;
}

void ExpectDims(const RnnDims& dims, int64_t T, int64_t B, int64_t I, int64_t H) {
  EXPECT_EQ(dims.max_time, T);
  EXPECT_EQ(dims.batch, B);
  EXPECT_EQ(dims.input_size, I);
  EXPECT_EQ(dims.num_units, H);
}

constexpr RnnMode kModes[] = {RnnMode::kRelu, RnnMode::kTanh,           RnnMode::kLstm,
                              RnnMode::kGru,  RnnMode::kGruResetBefore, RnnMode::kVanilla};

TEST(LayerRnnShapes, CompleteShapes) {
  for (RnnMode mode : kModes) {
    RnnDims dims;
    ASSERT_TRUE(Inputs(mode).Infer(Attrs(mode), &dims).ok());
    ExpectDims(dims, 7, 2, 5, 3);
    EXPECT_EQ(Inputs(mode).Output(0, Attrs(mode)), (std::vector<int64_t>{7, 2, 3}));
    ASSERT_TRUE(GradInputs(mode).Infer(Attrs(mode), &dims).ok());
    ExpectDims(dims, 7, 2, 5, 3);
    const RnnConfig config = GradInputs(mode).Config(Attrs(mode));
    EXPECT_EQ(config.num_layers, 1);
    EXPECT_EQ(config.num_dirs(), 1);
    EXPECT_EQ(config.num_units, 3);
    EXPECT_EQ(config.input_size, 5);
  }
}

TEST(LayerRnnShapes, BatchMajor) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm, /*time_major=*/false);
  InputShapes in = Inputs(attrs.mode);
  in["input"] = Shape({2, 7, 5});
  RnnDims dims;
  ASSERT_TRUE(in.Infer(attrs, &dims).ok());
  ExpectDims(dims, 7, 2, 5, 3);
  EXPECT_EQ(in.Output(0, attrs), (std::vector<int64_t>{2, 7, 3}));
  ExpectInvalid(Inputs(attrs.mode).Infer(attrs, &dims),
                {"input_h must", "[B, H]", "B is 7 according to input"});
}

TEST(LayerRnnShapes, NothingKnownIsAccepted) {
  for (RnnMode mode : kModes) {
    RnnDims dims;
    ASSERT_TRUE(InputShapes(kLayerRnn).Infer(Attrs(mode), &dims).ok());
    ExpectDims(dims, kU, kU, kU, kU);
    ASSERT_TRUE(InputShapes(kLayerRnn).Infer(Attrs(mode), &dims).ok());
    ExpectDims(dims, kU, kU, kU, kU);
    const RnnConfig config = InputShapes(kLayerRnn).Config(Attrs(mode));
    EXPECT_EQ(config.num_units, 1) << "the smallest possible size";
  }
}

TEST(LayerRnnShapes, OptionalTensorsMayBeAbsent) {
  for (RnnMode mode : kModes) {
    for (const char* field : {"bias", "sequence_lengths", "input_mask", "recurrent_mask"}) {
      InputShapes in = Inputs(mode);
      RnnDims dims;
      in[field] = Shape({0});
      EXPECT_TRUE(IsAbsent(in[field]));
      ASSERT_TRUE(in.Infer(Attrs(mode), &dims).ok());
      ExpectDims(dims, 7, 2, 5, 3);
      // The size is known only when the op runs.
      in[field] = Shape({kU});
      EXPECT_FALSE(IsAbsent(in[field]));
      ASSERT_TRUE(in.Infer(Attrs(mode), &dims).ok());
      in[field] = PartialShape();
      EXPECT_FALSE(IsAbsent(in[field]));
      ASSERT_TRUE(in.Infer(Attrs(mode), &dims).ok());
      // Other empty tensors are not absent tensors.
      in[field] = Shape({0, 0});
      EXPECT_FALSE(IsAbsent(in[field]));
      EXPECT_EQ(in.Infer(Attrs(mode), &dims).code(), Code::kInvalidArgument);
    }
  }
}

TEST(LayerRnnShapes, SizesFollowFromAnyTensorThatHasThem) {
  const RnnAttrs attrs = Attrs(RnnMode::kGru);
  RnnDims dims;
  InputShapes in(kLayerRnn);
  in["kernel"] = Shape({5, 9});
  ASSERT_TRUE(in.Infer(attrs, &dims).ok());
  ExpectDims(dims, kU, kU, 5, 3);
  in = InputShapes(kLayerRnn);
  in["recurrent_kernel"] = Shape({kU, 9});
  ASSERT_TRUE(in.Infer(attrs, &dims).ok());
  ExpectDims(dims, kU, kU, kU, 3);
  in = InputShapes(kLayerRnn);
  in["recurrent_kernel"] = Shape({3, kU});
  in["input_mask"] = Shape({kU, 2, 5});
  ASSERT_TRUE(in.Infer(attrs, &dims).ok());
  ExpectDims(dims, kU, 2, 5, 3);
  in = InputShapes(kLayerRnn);
  in["bias"] = Shape({kU, 9});
  in["sequence_lengths"] = Shape({4});
  ASSERT_TRUE(in.Infer(attrs, &dims).ok());
  ExpectDims(dims, kU, 4, kU, 3);
  InputShapes grad(kLayerRnnBackprop);
  grad["output_backprop"] = Shape({7, 2, 3});
  grad["kernel"] = Shape({5, kU});
  ASSERT_TRUE(grad.Infer(attrs, &dims).ok());
  ExpectDims(dims, 7, 2, 5, 3);
  grad["kernel"] = Shape({5, 12});
  ExpectInvalid(grad.Infer(attrs, &dims), {"output_backprop must", "H is 4 according to kernel"});
}

TEST(LayerRnnShapes, EachInputIsChecked) {
  struct Mutation {
    std::vector<const char*> message;
    const char* field;
    std::vector<int64_t> dims;
  };
  const Mutation mutations[] = {
      {{"input must have shape [T, B, I]", "rank 2 instead of 3"}, "input", {7, 2}},
      {{"input must", "rank 0"}, "input", {}},
      {{"input must", "I must be at least 1"}, "input", {7, 2, 0}},
      {{"kernel must", "I is 6 according to input"}, "input", {7, 2, 6}},
      {{"input_h must", "B is 3 according to input"}, "input", {7, 3, 5}},
      {{"input_h must have shape [B, H]", "[2, 3, 1]"}, "input_h", {2, 3, 1}},
      {{"input_h must", "H must be at least 1"}, "input_h", {2, 0}},
      {{"input_h must"}, "input_h", {3, 3}},
      {{"input_h must"}, "input_h", {1, 2, 3}},
      {{"input_c must", "H is 3 according to input_h"}, "input_c", {2, 4}},
      {{"input_c must"}, "input_c", {2}},
      {{"input_c must"}, "input_c", {1, 3}},
      {{"kernel must have shape [I, 4*H]", "13 is not a multiple of 4"}, "kernel", {5, 13}},
      {{"kernel must", "H is 3 according to input_h"}, "kernel", {5, 16}},
      {{"kernel must", "I is 5 according to input"}, "kernel", {12, 5}},
      {{"kernel must", "I must be at least 1"}, "kernel", {0, 12}},
      {{"kernel must"}, "kernel", {60}},
      {{"recurrent_kernel must have shape [H, 4*H]"}, "recurrent_kernel", {5, 12}},
      {{"recurrent_kernel must", "15"}, "recurrent_kernel", {3, 15}},
      {{"recurrent_kernel must", "[3, 16]"}, "recurrent_kernel", {3, 16}},
      {{"recurrent_kernel must"}, "recurrent_kernel", {3}},
      {{"bias must have shape [4*H]", "rank 2 instead of 1"}, "bias", {2, 12}},
      {{"bias must", "H is 3"}, "bias", {16}},
      {{"bias must", "not a multiple of 4"}, "bias", {3}},
      {{"bias must", "rank 0"}, "bias", {}},
      {{"sequence_lengths must have shape [B]"}, "sequence_lengths", {}},
      {{"sequence_lengths must", "B is 2 according to input"}, "sequence_lengths", {1}},
      {{"sequence_lengths must"}, "sequence_lengths", {2, 1}},
      {{"input_mask must have shape [G, B, I]", "G is 4 according to rnn_mode"},
       "input_mask",
       {3, 2, 5}},
      {{"input_mask must", "B is 2"}, "input_mask", {4, 1, 5}},
      {{"input_mask must", "I is 5"}, "input_mask", {4, 2, 3}},
      {{"input_mask must"}, "input_mask", {2, 5}},
      {{"recurrent_mask must have shape [G, B, H]"}, "recurrent_mask", {4, 2, 5}},
      {{"recurrent_mask must", "G is 4"}, "recurrent_mask", {1, 2, 3}},
      {{"recurrent_mask must", "B is 2"}, "recurrent_mask", {4, 7, 3}},
      {{"recurrent_mask must"}, "recurrent_mask", {3}},
  };
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  const auto expect_invalid = [](const Status& status, const Mutation& mutation) {
    for (const char* part : mutation.message) ExpectInvalid(status, {part});
    // The message begins with the name of the tensor.
    EXPECT_EQ(status.message().find(mutation.message[0]), 0u) << status.message();
  };
  for (const Mutation& mutation : mutations) {
    InputShapes in = Inputs(attrs.mode);
    in[mutation.field] = Shape(mutation.dims);
    RnnDims dims;
    expect_invalid(in.Infer(attrs, &dims), mutation);
    InputShapes grad = GradInputs(attrs.mode);
    grad.Take(in);
    expect_invalid(grad.Infer(attrs, &dims), mutation);
  }
}

TEST(LayerRnnShapes, GatesAndBiasAreThoseOfTheMode) {
  RnnDims dims;
  InputShapes in = Inputs(RnnMode::kGru);
  ExpectInvalid(in.Infer(Attrs(RnnMode::kLstm), &dims),
                {"kernel must have shape [I, 4*H]", "[5, 9]"});
  in["bias"] = Shape({9});
  ExpectInvalid(in.Infer(Attrs(RnnMode::kGru), &dims), {"bias must have shape [2, 3*H]", "[9]"});
  for (int64_t rows : {1, 3}) {
    in["bias"] = Shape({rows, 9});
    ExpectInvalid(
        in.Infer(Attrs(RnnMode::kGru), &dims),
        {"bias must", ("whose dimension 0 is " + std::to_string(rows) + " instead of 2").c_str()});
  }
  // If the reset gate comes first, no product has its own bias.
  in = Inputs(RnnMode::kGruResetBefore);
  in["bias"] = Shape({2, 9});
  ExpectInvalid(in.Infer(Attrs(RnnMode::kGruResetBefore), &dims),
                {"bias must have shape [3*H]", "[2, 9]"});
  RnnAttrs activations = Attrs(RnnMode::kTanh);
  activations.activation = Activation::kLinear;
  ExpectInvalid(Inputs(RnnMode::kTanh).Infer(activations, &dims),
                {"activation must be left at 'tanh' for rnn_mode='rnn_tanh'"});
  in = Inputs(RnnMode::kTanh);
  in["recurrent_mask"] = Shape({4, 2, 3});
  ExpectInvalid(in.Infer(Attrs(RnnMode::kTanh), &dims),
                {"recurrent_mask must", "G is 1 according to rnn_mode"});
}

TEST(LayerRnnShapes, CellStateOnlyMattersForLstm) {
  for (RnnMode mode : kModes) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {9}, {2, 4}, {1, 2, 3}}) {
      InputShapes s = GradInputs(mode);
      s["input_c"] = s["output_c"] = s["output_c_backprop"] = Shape(dims);
      RnnDims result;
      const bool ok = mode != RnnMode::kLstm;
      EXPECT_EQ(s.Infer(Attrs(mode), &result).ok(), ok);
      EXPECT_EQ(s.Infer(Attrs(mode), &result).ok(), ok);
    }
  }
}

TEST(LayerRnnShapes, EachGradientInputIsChecked) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  const auto check = [&](const char* field, const char* name, const char* letters,
                         const std::vector<std::vector<int64_t>>& shapes) {
    for (const auto& dims : shapes) {
      InputShapes s = GradInputs(attrs.mode);
      s[field] = Shape(dims);
      RnnDims result;
      ExpectInvalid(s.Infer(attrs, &result), {name, letters});
    }
  };
  const std::vector<std::vector<int64_t>> sequences = {
      {}, {7}, {7, 2}, {7, 2, 2}, {7, 3, 3}, {6, 2, 3}, {7, 2, 3, 1}, {0, 2, 3}};
  check("output", "output must", "[T, B, H]", sequences);
  check("output_backprop", "output_backprop must", "[T, B, H]", sequences);
  const std::vector<std::vector<int64_t>> states = {{}, {3}, {2, 2}, {3, 3}, {1, 2, 3}, {2, 0}};
  check("output_h", "output_h must", "[B, H]", states);
  check("output_c", "output_c must", "[B, H]", states);
  check("output_h_backprop", "output_h_backprop must", "[B, H]", states);
  check("output_c_backprop", "output_c_backprop must", "[B, H]", states);
  check("reserve_space", "reserve_space must", "vector", {{}, {100, 1}});
}

TEST(LayerRnnShapes, AProjectionGivesTheSizeOfH) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  RnnDims dims;
  ASSERT_TRUE(ProjectedInputs().Infer(attrs, &dims).ok());
  ExpectDims(dims, 7, 2, 5, 3);
  EXPECT_EQ(dims.num_proj, 6);
  EXPECT_EQ(ProjectedInputs().Output(0, attrs), (std::vector<int64_t>{7, 2, 6}));
  EXPECT_EQ(ProjectedInputs().Output(1, attrs), (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(ProjectedInputs().Output(2, attrs), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(ProjectedInputs().Config(attrs).num_proj, 6);
  EXPECT_EQ(ProjectedInputs().Config(attrs).hidden_size(), 6);
  // Unlike the attribute num_proj, a tensor [H, H] is a projection. A single column is a projection
  // too.
  for (const int64_t columns : {3, 1}) {
    InputShapes in(kLayerRnn);
    in["projection"] = Shape({3, columns});
    EXPECT_EQ(in.Config(attrs).num_proj, columns);
  }
  // The size of h is unknown until the shape of the projection is known.
  for (const PartialShape& unknown : {Shape({kU}), PartialShape()}) {
    InputShapes in = ProjectedInputs();
    in["projection"] = unknown;
    EXPECT_EQ(in.Output(0, attrs), (std::vector<int64_t>{7, 2, kU}));
    in["input_h"] = Shape({2, 3});
    in["recurrent_kernel"] = Shape({3, 12});
    in["recurrent_mask"] = Shape({4, 2, 3});
    EXPECT_TRUE(in.Infer(attrs, &dims).ok());
  }
}

TEST(LayerRnnShapes, ProjectionsAndPeepholesThatDoNotFit) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  struct Bad {
    std::vector<const char*> words;
    const char* field;
    std::vector<int64_t> dims;
  };
  RnnDims dims;
  for (const Bad& bad : std::vector<Bad>{
           {{"projection must", "P is 6 according to input_h"}, "projection", {3, 4}},
           {{"projection must", "H is 3"}, "projection", {4, 6}},
           {{"projection must have shape [H, P]"}, "projection", {3}},
           {{"projection must", "P must be at least 1"}, "projection", {3, 0}},
           {{"recurrent_kernel must have shape [P, 4*H]"}, "recurrent_kernel", {3, 12}},
           {{"recurrent_mask must have shape [G, B, P]"}, "recurrent_mask", {4, 2, 3}},
           {{"peepholes must have shape [3, H]"}, "peepholes", {9}},
           {{"peepholes must", "instead of 3"}, "peepholes", {4, 3}},
           {{"peepholes must", "H is 3"}, "peepholes", {3, 4}}}) {
    InputShapes in = ProjectedInputs();
    in[bad.field] = Shape(bad.dims);
    const Status status = in.Infer(attrs, &dims);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad.field;
    for (const char* word : bad.words) {
      EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    }
  }
  for (const char* field : {"projection", "peepholes"}) {
    InputShapes in = Inputs(RnnMode::kGru);
    in[field] = Shape({3, 3});
    ExpectInvalid(in.Infer(Attrs(RnnMode::kGru), &dims),
                  {field, "must have shape [0] for rnn_mode='gru'", "only 'lstm'", "[3, 3]"});
  }
}

TEST(LayerRnnShapes, ZoneoutAndItsSeed) {
  RnnAttrs attrs = Attrs(RnnMode::kLstm);
  RnnDims dims;
  InputShapes in = Inputs(RnnMode::kLstm);
  in["seed"] = Shape({2});
  ExpectInvalid(in.Infer(attrs, &dims),
                {"seed must have shape [0]", "zoneout_h = 0 ", "only zoneout reads it", "[2]"});
  attrs.zoneout_h = 0.25f;
  EXPECT_TRUE(in.Infer(attrs, &dims).ok());
  ExpectDims(dims, 7, 2, 5, 3);
  for (const PartialShape& shape : {Shape({3}), Shape({2, 1}), Shape({})}) {
    in["seed"] = shape;
    ExpectInvalid(in.Infer(attrs, &dims), {"seed must have shape [2]"});
  }
  for (const PartialShape& shape : {Shape({0}), Shape({kU}), PartialShape()}) {
    in["seed"] = shape;
    EXPECT_TRUE(in.Infer(attrs, &dims).ok());
  }
  in["peepholes"] = Shape({3, 3});
  ExpectInvalid(in.Infer(attrs, &dims),
                {"peepholes must have shape [0]", "zoneout_h = 0.25", "[3, 3]"});
  in["peepholes"] = Shape({0});
  in["projection"] = Shape({3, 3});
  ExpectInvalid(in.Infer(attrs, &dims), {"projection must have shape [0]", "[3, 3]"});
  attrs.cell_clip = 2.0f;
  ExpectInvalid(in.Infer(attrs, &dims), {"cell_clip must be 0 with zoneout_h or zoneout_c", "2"});
}

TEST(LayerRnnShapes, LayerNormAndWhatDoesNotGoWithIt) {
  RnnAttrs attrs = Attrs(RnnMode::kLstm);
  RnnDims dims;
  InputShapes in = Inputs(RnnMode::kLstm);
  in["layer_norm"] = Shape({18, 3});
  EXPECT_TRUE(in.Infer(attrs, &dims).ok());
  ExpectDims(dims, 7, 2, 5, 3);
  for (const PartialShape& shape : {Shape({kU}), Shape({kU, kU}), PartialShape()}) {
    in["layer_norm"] = shape;
    EXPECT_TRUE(in.Infer(attrs, &dims).ok());
  }
  for (const PartialShape& shape : {Shape({17, 3}), Shape({18, 4}), Shape({54}), Shape({})}) {
    in["layer_norm"] = shape;
    ExpectInvalid(in.Infer(attrs, &dims), {"layer_norm must have shape [18, H]"});
  }
  in["layer_norm"] = Shape({18, 3});
  for (float RnnAttrs::* value :
       {&RnnAttrs::cell_clip, &RnnAttrs::zoneout_h, &RnnAttrs::zoneout_c}) {
    RnnAttrs other = attrs;
    other.*value = 0.5f;
    ExpectInvalid(in.Infer(other, &dims), {"must be 0 with layer_norm, but it is 0.5"});
  }
  for (const char* name : {"projection", "peepholes"}) {
    InputShapes both = in;
    both[name] = Shape({3, 3});
    ExpectInvalid(both.Infer(attrs, &dims),
                  {name, "must have shape [0] with layer_norm", "[3, 3]"});
    both[name] = Shape({9});
    ExpectInvalid(both.Infer(attrs, &dims), {name, "must have shape [0]", "[9]"});
    for (const PartialShape& unknown : {Shape({kU}), PartialShape()}) {
      both[name] = unknown;
      EXPECT_TRUE(both.Infer(attrs, &dims).ok());
    }
  }
  InputShapes gru = Inputs(RnnMode::kGru);
  gru["layer_norm"] = Shape({18, 3});
  ExpectInvalid(gru.Infer(Attrs(RnnMode::kGru), &dims),
                {"layer_norm must have shape [0] for rnn_mode='gru'", "only 'lstm'", "[18, 3]"});
}

TEST(LayerRnnShapes, EmptyTimeAndBatch) {
  for (RnnMode mode : kModes) {
    InputShapes in = Inputs(mode);
    in["input"] = Shape({0, 0, 5});
    in["input_h"] = in["input_c"] = Shape({0, 3});
    in["sequence_lengths"] = in["input_mask"] = in["recurrent_mask"] = Shape({0});
    RnnDims dims;
    ASSERT_TRUE(in.Infer(Attrs(mode), &dims).ok());
    ExpectDims(dims, 0, 0, 5, 3);
    EXPECT_EQ(in.Config(Attrs(mode)).batch, 0);
  }
}

TEST(LayerRnnShapes, SizesTooLarge) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  RnnDims dims;
  for (int position = 0; position < 3; ++position) {
    InputShapes in(kLayerRnn);
    std::vector<int64_t> big = {kU, kU, kU};
    big[position] = kHuge;
    in["input"] = Shape(big);
    ExpectInvalid(in.Infer(attrs, &dims), {"too large"});
    InputShapes grad(kLayerRnnBackprop);
    grad.Take(in);
    ExpectInvalid(grad.Infer(attrs, &dims), {"too large"});
  }
  InputShapes in(kLayerRnn);
  in["recurrent_kernel"] = Shape({int64_t{1} << 31, int64_t{1} << 33});
  ExpectInvalid(in.Infer(attrs, &dims), {"too large"});
}

}  // namespace
}  // namespace rnn_ops
