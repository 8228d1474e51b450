#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "cc/core/shapes.h"
#include "tests/cc/core/expect_invalid.h"

namespace rnn_ops {
namespace {

constexpr int64_t kU = kUnknownDim;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

using In = LayerRnnInputShapes;
using Grad = LayerRnnBackpropShapes;

PartialShape Shape(std::vector<int64_t> dims) { return PartialShape::Of(std::move(dims)); }

RnnAttrs Attrs(RnnMode mode, bool time_major = true) {
  RnnAttrs attrs;
  attrs.mode = mode;
  attrs.time_major = time_major;
  return attrs;
}

// T = 7, B = 2, I = 5, H = 3, every optional tensor given.
In Inputs(RnnMode mode) {
  const int64_t G = mode == RnnMode::kLstm ? 4 : mode >= RnnMode::kGru ? 3 : 1;
  In in;
  in.input = Shape({7, 2, 5});
  in.input_h = in.input_c = Shape({2, 3});
  in.kernel = Shape({5, G * 3});
  in.recurrent_kernel = Shape({3, G * 3});
  in.bias = mode == RnnMode::kGru ? Shape({2, G * 3}) : Shape({G * 3});
  in.sequence_lengths = Shape({2});
  in.input_mask = Shape({G, 2, 5});
  in.recurrent_mask = Shape({G, 2, 3});
  return in;
}

Grad GradInputs(RnnMode mode) {
  Grad s;
  s.in = Inputs(mode);
  s.output = s.output_backprop = Shape({7, 2, 3});
  s.output_h = s.output_c = s.output_h_backprop = s.output_c_backprop = Shape({2, 3});
  s.reserve_space = Shape({100});
  return s;
}

void ExpectDims(const RnnDims& dims, int64_t T, int64_t B, int64_t I, int64_t H) {
  EXPECT_EQ(dims.max_time, T);
  EXPECT_EQ(dims.batch, B);
  EXPECT_EQ(dims.input_size, I);
  EXPECT_EQ(dims.num_units, H);
  EXPECT_EQ(dims.hidden_size, H);
}

constexpr RnnMode kModes[] = {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kLstm, RnnMode::kGru,
                              RnnMode::kGruResetBefore};

TEST(LayerRnnShapes, CompleteShapes) {
  for (RnnMode mode : kModes) {
    RnnDims dims;
    ASSERT_TRUE(InferLayerRnn(Attrs(mode), Inputs(mode), &dims).ok());
    ExpectDims(dims, 7, 2, 5, 3);
    EXPECT_EQ(RnnOutputShape(Attrs(mode), dims).dims, (std::vector<int64_t>{7, 2, 3}));
    ASSERT_TRUE(InferLayerRnnBackprop(Attrs(mode), GradInputs(mode), &dims).ok());
    ExpectDims(dims, 7, 2, 5, 3);
    RnnConfig config;
    ASSERT_TRUE(MakeLayerRnnConfig(Attrs(mode), dims, &config).ok());
    EXPECT_EQ(config.num_layers, 1);
    EXPECT_EQ(config.num_dirs(), 1);
    EXPECT_EQ(config.num_units, 3);
    EXPECT_EQ(config.input_size, 5);
  }
}

TEST(LayerRnnShapes, BatchMajor) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm, /*time_major=*/false);
  In in = Inputs(attrs.mode);
  in.input = Shape({2, 7, 5});
  RnnDims dims;
  ASSERT_TRUE(InferLayerRnn(attrs, in, &dims).ok());
  ExpectDims(dims, 7, 2, 5, 3);
  EXPECT_EQ(RnnOutputShape(attrs, dims).dims, (std::vector<int64_t>{2, 7, 3}));
  ExpectInvalid(InferLayerRnn(attrs, Inputs(attrs.mode), &dims),
                {"input_h must", "[B, H]", "B is 7 according to input"});
}

TEST(LayerRnnShapes, NothingKnownIsAccepted) {
  for (RnnMode mode : kModes) {
    RnnDims dims;
    ASSERT_TRUE(InferLayerRnn(Attrs(mode), {}, &dims).ok());
    ExpectDims(dims, kU, kU, kU, kU);
    ASSERT_TRUE(InferLayerRnnBackprop(Attrs(mode), {}, &dims).ok());
    ExpectDims(dims, kU, kU, kU, kU);
    RnnConfig config;
    EXPECT_EQ(MakeLayerRnnConfig(Attrs(mode), dims, &config).code(), Code::kInternal);
  }
}

TEST(LayerRnnShapes, OptionalTensorsMayBeAbsent) {
  for (RnnMode mode : kModes) {
    for (PartialShape In::* field :
         {&In::bias, &In::sequence_lengths, &In::input_mask, &In::recurrent_mask}) {
      In in = Inputs(mode);
      RnnDims dims;
      in.*field = Shape({0});
      EXPECT_TRUE(IsAbsent(in.*field));
      ASSERT_TRUE(InferLayerRnn(Attrs(mode), in, &dims).ok());
      ExpectDims(dims, 7, 2, 5, 3);
      // Its size is only known when the op runs.
      in.*field = Shape({kU});
      EXPECT_FALSE(IsAbsent(in.*field));
      ASSERT_TRUE(InferLayerRnn(Attrs(mode), in, &dims).ok());
      in.*field = PartialShape();
      EXPECT_FALSE(IsAbsent(in.*field));
      ASSERT_TRUE(InferLayerRnn(Attrs(mode), in, &dims).ok());
      // Other empty tensors are not absent ones.
      in.*field = Shape({0, 0});
      EXPECT_FALSE(IsAbsent(in.*field));
      EXPECT_EQ(InferLayerRnn(Attrs(mode), in, &dims).code(), Code::kInvalidArgument);
    }
  }
}

TEST(LayerRnnShapes, SizesFollowFromAnyTensorThatHasThem) {
  const RnnAttrs attrs = Attrs(RnnMode::kGru);
  RnnDims dims;
  In in;
  in.kernel = Shape({5, 9});
  ASSERT_TRUE(InferLayerRnn(attrs, in, &dims).ok());
  ExpectDims(dims, kU, kU, 5, 3);
  in = In();
  in.recurrent_kernel = Shape({kU, 9});
  ASSERT_TRUE(InferLayerRnn(attrs, in, &dims).ok());
  ExpectDims(dims, kU, kU, kU, 3);
  in = In();
  in.recurrent_kernel = Shape({3, kU});
  in.input_mask = Shape({kU, 2, 5});
  ASSERT_TRUE(InferLayerRnn(attrs, in, &dims).ok());
  ExpectDims(dims, kU, 2, 5, 3);
  in = In();
  in.bias = Shape({kU, 9});
  in.sequence_lengths = Shape({4});
  ASSERT_TRUE(InferLayerRnn(attrs, in, &dims).ok());
  ExpectDims(dims, kU, 4, kU, 3);
  Grad grad;
  grad.output_backprop = Shape({7, 2, 3});
  grad.in.kernel = Shape({5, kU});
  ASSERT_TRUE(InferLayerRnnBackprop(attrs, grad, &dims).ok());
  ExpectDims(dims, 7, 2, 5, 3);
  grad.in.kernel = Shape({5, 12});
  ExpectInvalid(InferLayerRnnBackprop(attrs, grad, &dims),
                {"output_backprop must", "H is 4 according to kernel"});
}

TEST(LayerRnnShapes, EachInputIsChecked) {
  struct Mutation {
    std::vector<const char*> message;
    PartialShape In::* field;
    std::vector<int64_t> dims;
  };
  const Mutation mutations[] = {
      {{"input must have shape [T, B, I]", "rank 2 instead of 3"}, &In::input, {7, 2}},
      {{"input must", "rank 0"}, &In::input, {}},
      {{"input must", "I must be at least 1"}, &In::input, {7, 2, 0}},
      {{"kernel must", "I is 6 according to input"}, &In::input, {7, 2, 6}},
      {{"input_h must", "B is 3 according to input"}, &In::input, {7, 3, 5}},
      {{"input_h must have shape [B, H]", "[2, 3, 1]"}, &In::input_h, {2, 3, 1}},
      {{"input_h must", "H must be at least 1"}, &In::input_h, {2, 0}},
      {{"input_h must"}, &In::input_h, {3, 3}},
      {{"input_h must"}, &In::input_h, {1, 2, 3}},
      {{"input_c must", "H is 3 according to input_h"}, &In::input_c, {2, 4}},
      {{"input_c must"}, &In::input_c, {2}},
      {{"input_c must"}, &In::input_c, {1, 3}},
      {{"kernel must have shape [I, 4*H]", "13 is not a multiple of 4"}, &In::kernel, {5, 13}},
      {{"kernel must", "H is 3 according to input_h"}, &In::kernel, {5, 16}},
      {{"kernel must", "I is 5 according to input"}, &In::kernel, {12, 5}},
      {{"kernel must", "I must be at least 1"}, &In::kernel, {0, 12}},
      {{"kernel must"}, &In::kernel, {60}},
      {{"recurrent_kernel must have shape [H, 4*H]"}, &In::recurrent_kernel, {5, 12}},
      {{"recurrent_kernel must", "15"}, &In::recurrent_kernel, {3, 15}},
      {{"recurrent_kernel must", "[3, 16]"}, &In::recurrent_kernel, {3, 16}},
      {{"recurrent_kernel must"}, &In::recurrent_kernel, {3}},
      {{"bias must have shape [4*H]", "rank 2 instead of 1"}, &In::bias, {2, 12}},
      {{"bias must", "H is 3"}, &In::bias, {16}},
      {{"bias must", "not a multiple of 4"}, &In::bias, {3}},
      {{"bias must", "rank 0"}, &In::bias, {}},
      {{"sequence_lengths must have shape [B]"}, &In::sequence_lengths, {}},
      {{"sequence_lengths must", "B is 2 according to input"}, &In::sequence_lengths, {1}},
      {{"sequence_lengths must"}, &In::sequence_lengths, {2, 1}},
      {{"input_mask must have shape [G, B, I]", "G is 4 according to rnn_mode"},
       &In::input_mask,
       {3, 2, 5}},
      {{"input_mask must", "B is 2"}, &In::input_mask, {4, 1, 5}},
      {{"input_mask must", "I is 5"}, &In::input_mask, {4, 2, 3}},
      {{"input_mask must"}, &In::input_mask, {2, 5}},
      {{"recurrent_mask must have shape [G, B, H]"}, &In::recurrent_mask, {4, 2, 5}},
      {{"recurrent_mask must", "G is 4"}, &In::recurrent_mask, {1, 2, 3}},
      {{"recurrent_mask must", "B is 2"}, &In::recurrent_mask, {4, 7, 3}},
      {{"recurrent_mask must"}, &In::recurrent_mask, {3}},
  };
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  const auto expect_invalid = [](const Status& status, const Mutation& mutation) {
    for (const char* part : mutation.message) ExpectInvalid(status, {part});
    // The sentence begins with the name of the tensor.
    EXPECT_EQ(status.message().find(mutation.message[0]), 0u) << status.message();
  };
  for (const Mutation& mutation : mutations) {
    In in = Inputs(attrs.mode);
    in.*mutation.field = Shape(mutation.dims);
    RnnDims dims;
    expect_invalid(InferLayerRnn(attrs, in, &dims), mutation);
    Grad grad = GradInputs(attrs.mode);
    grad.in = in;
    expect_invalid(InferLayerRnnBackprop(attrs, grad, &dims), mutation);
  }
}

TEST(LayerRnnShapes, GatesAndBiasAreThoseOfTheMode) {
  RnnDims dims;
  In in = Inputs(RnnMode::kGru);
  ExpectInvalid(InferLayerRnn(Attrs(RnnMode::kLstm), in, &dims),
                {"kernel must have shape [I, 4*H]", "[5, 9]"});
  in.bias = Shape({9});
  ExpectInvalid(InferLayerRnn(Attrs(RnnMode::kGru), in, &dims),
                {"bias must have shape [2, 3*H]", "[9]"});
  for (int64_t rows : {1, 3}) {
    in.bias = Shape({rows, 9});
    ExpectInvalid(
        InferLayerRnn(Attrs(RnnMode::kGru), in, &dims),
        {"bias must", ("whose dimension 0 is " + std::to_string(rows) + " instead of 2").c_str()});
  }
  // With the reset gate first no product has a bias of its own.
  in = Inputs(RnnMode::kGruResetBefore);
  in.bias = Shape({2, 9});
  ExpectInvalid(InferLayerRnn(Attrs(RnnMode::kGruResetBefore), in, &dims),
                {"bias must have shape [3*H]", "[2, 9]"});
  RnnAttrs activations = Attrs(RnnMode::kTanh);
  activations.activation = Activation::kLinear;
  ExpectInvalid(InferLayerRnn(activations, Inputs(RnnMode::kTanh), &dims),
                {"activation must be left at 'tanh' for rnn_mode='rnn_tanh'"});
  in = Inputs(RnnMode::kTanh);
  in.recurrent_mask = Shape({4, 2, 3});
  ExpectInvalid(InferLayerRnn(Attrs(RnnMode::kTanh), in, &dims),
                {"recurrent_mask must", "G is 1 according to rnn_mode"});
}

TEST(LayerRnnShapes, CellStateOnlyMattersForLstm) {
  for (RnnMode mode : kModes) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {9}, {2, 4}, {1, 2, 3}}) {
      Grad s = GradInputs(mode);
      s.in.input_c = s.output_c = s.output_c_backprop = Shape(dims);
      RnnDims result;
      const bool ok = mode != RnnMode::kLstm;
      EXPECT_EQ(InferLayerRnn(Attrs(mode), s.in, &result).ok(), ok);
      EXPECT_EQ(InferLayerRnnBackprop(Attrs(mode), s, &result).ok(), ok);
    }
  }
}

TEST(LayerRnnShapes, EachGradientInputIsChecked) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  const auto check = [&](PartialShape Grad::* field, const char* name, const char* letters,
                         const std::vector<std::vector<int64_t>>& shapes) {
    for (const auto& dims : shapes) {
      Grad s = GradInputs(attrs.mode);
      s.*field = Shape(dims);
      RnnDims result;
      ExpectInvalid(InferLayerRnnBackprop(attrs, s, &result), {name, letters});
    }
  };
  const std::vector<std::vector<int64_t>> sequences = {
      {}, {7}, {7, 2}, {7, 2, 2}, {7, 3, 3}, {6, 2, 3}, {7, 2, 3, 1}, {0, 2, 3}};
  check(&Grad::output, "output must", "[T, B, H]", sequences);
  check(&Grad::output_backprop, "output_backprop must", "[T, B, H]", sequences);
  const std::vector<std::vector<int64_t>> states = {{}, {3}, {2, 2}, {3, 3}, {1, 2, 3}, {2, 0}};
  check(&Grad::output_h, "output_h must", "[B, H]", states);
  check(&Grad::output_c, "output_c must", "[B, H]", states);
  check(&Grad::output_h_backprop, "output_h_backprop must", "[B, H]", states);
  check(&Grad::output_c_backprop, "output_c_backprop must", "[B, H]", states);
  check(&Grad::reserve_space, "reserve_space must", "rank 1", {{}, {100, 1}});
}

TEST(LayerRnnShapes, EmptyTimeAndBatch) {
  for (RnnMode mode : kModes) {
    In in = Inputs(mode);
    in.input = Shape({0, 0, 5});
    in.input_h = in.input_c = Shape({0, 3});
    in.sequence_lengths = in.input_mask = in.recurrent_mask = Shape({0});
    RnnDims dims;
    ASSERT_TRUE(InferLayerRnn(Attrs(mode), in, &dims).ok());
    ExpectDims(dims, 0, 0, 5, 3);
    RnnConfig config;
    EXPECT_TRUE(MakeLayerRnnConfig(Attrs(mode), dims, &config).ok());
  }
}

TEST(LayerRnnShapes, OfTheAttributesOnlyThoseOfTheOpMatter) {
  RnnDims dims;
  ASSERT_TRUE(InferLayerRnn(Attrs(RnnMode::kLstm), Inputs(RnnMode::kLstm), &dims).ok());
  RnnAttrs attrs = Attrs(RnnMode::kLstm);
  attrs.direction = Direction::kBidirectional;
  attrs.input_mode = InputMode::kSkip;
  attrs.num_proj = 2;
  attrs.dropout = 0.5f;
  attrs.is_training = attrs.time_major = false;
  RnnConfig config;
  ASSERT_TRUE(MakeLayerRnnConfig(attrs, dims, &config).ok());
  EXPECT_EQ(config.num_dirs(), 1);
  EXPECT_EQ(config.input_mode, InputMode::kLinear);
  EXPECT_EQ(config.num_proj, 0);
  EXPECT_EQ(config.dropout, 0);
  EXPECT_FALSE(config.is_training);
  EXPECT_FALSE(config.time_major);
}

TEST(LayerRnnShapes, AKernelNeedsEverySize) {
  RnnDims complete;
  ASSERT_TRUE(InferLayerRnn(Attrs(RnnMode::kGru), Inputs(RnnMode::kGru), &complete).ok());
  RnnConfig config;
  for (int64_t RnnDims::* size :
       {&RnnDims::max_time, &RnnDims::batch, &RnnDims::input_size, &RnnDims::num_units}) {
    RnnDims dims = complete;
    dims.*size = kU;
    EXPECT_EQ(MakeLayerRnnConfig(Attrs(RnnMode::kGru), dims, &config).code(), Code::kInternal);
  }
}

TEST(LayerRnnShapes, SizesTooLarge) {
  const RnnAttrs attrs = Attrs(RnnMode::kLstm);
  RnnDims dims;
  for (int position = 0; position < 3; ++position) {
    In in;
    std::vector<int64_t> big = {kU, kU, kU};
    big[position] = kHuge;
    in.input = Shape(big);
    ExpectInvalid(InferLayerRnn(attrs, in, &dims), {"too large"});
    Grad grad;
    grad.in = in;
    ExpectInvalid(InferLayerRnnBackprop(attrs, grad, &dims), {"too large"});
  }
  In in;
  in.recurrent_kernel = Shape({int64_t{1} << 31, int64_t{1} << 33});
  ExpectInvalid(InferLayerRnn(attrs, in, &dims), {"too large"});
}

}  // namespace
}  // namespace rnn_ops
