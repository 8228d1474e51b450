#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cc/core/network/shapes.h"
#include "tests/cc/core/expect_invalid.h"
#include "tests/cc/core/network/input_shapes.h"

namespace rnn_ops {
namespace {

constexpr int64_t kU = kUnknownDim;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

PartialShape Shape(std::vector<int64_t> dims) { return PartialShape::Of(std::move(dims)); }

// T = 7, B = 2, I = 5, H = 3, L = 2, one direction, LSTM. All shapes are complete.
InputShapes Inputs() {
  InputShapes in(kCudnnRnnV3);
  in["input"] = Shape({7, 2, 5});
  in["input_h"] = in["input_c"] = Shape({2, 2, 3});
  in["params"] = Shape({4 * 3 * (5 + 3 + 2) + 4 * 3 * (3 + 3 + 2)});
  in["sequence_lengths"] = Shape({2});
  return in;
}

InputShapes BackpropInputs() {
  InputShapes s(kCudnnRnnBackpropV3);
  s.Take(Inputs());
  s["output"] = s["output_backprop"] = Shape({7, 2, 3});
  s["output_h"] = s["output_h_backprop"] = s["output_c"] = s["output_c_backprop"] =
      Shape({2, 2, 3});
  s["reserve_space"] = Shape({100});
  return s;
}

InputShapes UnknownInputs() { return InputShapes(kCudnnRnnV3); }

InputShapes UnknownBackpropInputs() { return InputShapes(kCudnnRnnBackpropV3); }

Status Infer(const InputShapes& in, const RnnAttrs& attrs = {}) { return in.Infer(attrs); }

TEST(RnnShapes, CompleteShapes) {
  RnnDims dims;
  ASSERT_TRUE(Inputs().Infer({}, &dims).ok());
  EXPECT_EQ(dims.max_time, 7);
  EXPECT_EQ(dims.batch, 2);
  EXPECT_EQ(dims.input_size, 5);
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.pseudo_layers, 2);
  EXPECT_EQ(dims.params_size, 216);
  using Dims = std::vector<int64_t>;
  const Dims outputs[] = {{7, 2, 3}, {2, 2, 3}, {2, 2, 3}, {kU}, {}};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(Inputs().Output(k), outputs[k]) << k;
  const Dims gradients[] = {{7, 2, 5}, {2, 2, 3}, {2, 2, 3}, {216}};
  for (int k = 0; k < 4; ++k) EXPECT_EQ(BackpropInputs().Output(k), gradients[k]) << k;
  RnnAttrs inference;
  inference.is_training = false;
  EXPECT_EQ(Inputs().Output(3, inference), Dims());  // reserve_space

  const RnnConfig config = Inputs().Config();
  EXPECT_EQ(config.num_layers, 2);
  EXPECT_EQ(config.max_time, 7);
  EXPECT_EQ(config.batch, 2);
}

TEST(RnnShapes, BatchMajorBidirectionalProjection) {
  RnnAttrs attrs;
  attrs.time_major = false;
  attrs.direction = Direction::kBidirectional;
  attrs.num_proj = 2;
  InputShapes in(kCudnnRnnV3);
  in["input"] = Shape({4, 7, 5});
  in["input_h"] = Shape({4, 6, 2});
  in["input_c"] = Shape({4, 6, 3});
  RnnDims dims;
  ASSERT_TRUE(in.Infer(attrs, &dims).ok());
  EXPECT_EQ(dims.batch, 4);
  EXPECT_EQ(dims.pseudo_layers, 6);
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(in.Output(0, attrs), (std::vector<int64_t>{4, 7, 4}));
  EXPECT_EQ(in.Output(1, attrs), (std::vector<int64_t>{4, 6, 2}));
  EXPECT_EQ(in.Output(2, attrs), (std::vector<int64_t>{4, 6, 3}));
  InputShapes back(kCudnnRnnBackpropV3);
  back.Take(in);
  EXPECT_EQ(back.Output(0, attrs), (std::vector<int64_t>{4, 7, 5}));
  EXPECT_EQ(back.Output(1, attrs), (std::vector<int64_t>{4, 6, 2}));
  in["params"] = Shape({dims.params_size});
  EXPECT_TRUE(Infer(in, attrs).ok());
  in["params"] = Shape({dims.params_size + 1});
  ExpectInvalid(Infer(in, attrs), {"params", std::to_string(dims.params_size).c_str(), "num_proj"});
  in["params"] = Shape({dims.params_size});
  const RnnConfig config = in.Config(attrs);
  EXPECT_EQ(config.num_layers, 3);
  EXPECT_EQ(config.num_pseudo_layers(), 6);
}

TEST(RnnShapes, NothingKnownIsAccepted) {
  RnnDims dims;
  dims.batch = 99;
  ASSERT_TRUE(UnknownInputs().Infer({}, &dims).ok());
  EXPECT_EQ(dims.batch, kU);
  EXPECT_EQ(dims.params_size, kU);
  EXPECT_EQ(UnknownInputs().Output(0), (std::vector<int64_t>{kU, kU, kU}));
  // The smallest possible sizes.
  const RnnConfig config = UnknownBackpropInputs().Config();
  EXPECT_EQ(config.max_time, 0);
  EXPECT_EQ(config.batch, 0);
  for (int64_t size : {config.input_size, config.num_units, config.num_layers}) EXPECT_EQ(size, 1);
}

TEST(RnnShapes, SizesFlowBetweenTensors) {
  InputShapes in(kCudnnRnnV3);
  in["input"] = Shape({kU, kU, 5});
  in["input_h"] = Shape({kU, kU, kU});
  in["input_c"] = Shape({2, kU, 3});
  in["sequence_lengths"] = Shape({4});
  RnnDims dims;
  ASSERT_TRUE(in.Infer({}, &dims).ok());
  EXPECT_EQ(dims.max_time, kU);
  EXPECT_EQ(dims.batch, 4);
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.pseudo_layers, 2);
  EXPECT_EQ(dims.params_size, 216);

  InputShapes back(kCudnnRnnBackpropV3);
  back["output_backprop"] = Shape({7, kU, 3});
  ASSERT_TRUE(back.Infer({}, &dims).ok());
  EXPECT_EQ(dims.max_time, 7);
  EXPECT_EQ(dims.num_units, 3);
}

TEST(RnnShapes, ProjectionGivesTheHiddenSize) {
  RnnAttrs attrs;
  attrs.num_proj = 2;
  RnnDims dims;
  ASSERT_TRUE(UnknownInputs().Infer(attrs, &dims).ok());
  EXPECT_EQ(UnknownInputs().Output(0, attrs), (std::vector<int64_t>{kU, kU, 2}));
  EXPECT_EQ(dims.num_units, kU);
  InputShapes in(kCudnnRnnV3);
  in["input_h"] = Shape({1, 2, 3});
  ExpectInvalid(Infer(in, attrs), {"input_h", "[1, 2, 3]", "P is 2 according to num_proj"});
  in["input_h"] = Shape({1, 2, 2});
  in["input_c"] = Shape({1, 2, 1});
  ExpectInvalid(Infer(in, attrs), {"num_proj", "1", "2"});
  // num_proj equal to H means that there is no projection.
  in["input_c"] = Shape({1, 2, 2});
  in["input"] = Shape({7, 2, 5});
  in["params"] = Shape({4 * 2 * (5 + 2 + 2)});
  EXPECT_TRUE(Infer(in, attrs).ok());
}

TEST(RnnShapes, WrongRanks) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {2}, {7, 2}, {7, 2, 5, 1}}) {
    InputShapes in = Inputs();
    in["input"] = Shape(dims);
    ExpectInvalid(Infer(in), {"input must have shape [T, B, I]", "rank"});
    in = Inputs();
    in["input_h"] = Shape(dims);
    ExpectInvalid(Infer(in), {"input_h must have shape [L*D, B, H]"});
    in = Inputs();
    in["input_c"] = Shape(dims);
    ExpectInvalid(Infer(in), {"input_c must have shape [L*D, B, H]"});
    if (dims.size() == 1) continue;
    in = Inputs();
    in["params"] = Shape(dims);
    ExpectInvalid(Infer(in), {"params must be a vector"});
    in = Inputs();
    in["sequence_lengths"] = Shape(dims);
    ExpectInvalid(Infer(in), {"sequence_lengths must have shape [B]"});
  }
}

TEST(RnnShapes, DisagreeingSizes) {
  InputShapes in = Inputs();
  in["input_h"] = Shape({2, 4, 3});
  ExpectInvalid(Infer(in), {"input_h", "[2, 4, 3]", "B is 2 according to input."});
  in = Inputs();
  in["input_c"] = Shape({2, 2, 4});
  ExpectInvalid(Infer(in), {"input_c", "[2, 2, 4]", "H is 3 according to input_h."});
  in = Inputs();
  in["input_c"] = Shape({1, 2, 3});
  ExpectInvalid(Infer(in), {"input_c", "L*D is 2 according to input_h."});
  in = Inputs();
  in["sequence_lengths"] = Shape({1});
  ExpectInvalid(Infer(in), {"sequence_lengths", "[1]", "B is 2"});
  in = Inputs();
  in["params"] = Shape({215});
  ExpectInvalid(Infer(in), {"params must have 216 elements", "[215]", "num_layers = 2"});
  in["params"] = Shape({0});
  ExpectInvalid(Infer(in), {"params must have 216 elements"});
}

TEST(RnnShapes, EmptySizes) {
  InputShapes in = Inputs();
  in["input"] = Shape({0, 2, 5});
  EXPECT_TRUE(Infer(in).ok());
  EXPECT_EQ(in.Output(0), (std::vector<int64_t>{0, 2, 3}));
  in["input"] = Shape({7, 0, 5});
  ExpectInvalid(Infer(in), {"input_h", "B is 0 according to input."});
  in["input_h"] = in["input_c"] = Shape({2, 0, 3});
  in["sequence_lengths"] = Shape({0});
  EXPECT_TRUE(Infer(in).ok());
  in = Inputs();
  in["input"] = Shape({7, 2, 0});
  ExpectInvalid(Infer(in), {"input ", "I must be at least 1"});
  in = Inputs();
  in["input_h"] = Shape({2, 2, 0});
  ExpectInvalid(Infer(in), {"input_h", "H must be at least 1"});
  in = Inputs();
  in["input_h"] = Shape({0, 2, 3});
  ExpectInvalid(Infer(in), {"input_h", "L*D must be at least 1"});
}

// The bound counts two additional steps, so these sizes are exactly at the bound and one above.
TEST(RnnShapes, WithoutAnyStepInputMayBeWider) {
  RnnDims dims;
  InputShapes in(kCudnnRnnV3);
  in["input"] = Shape({0, int64_t{1} << 25, 1717986918});
  EXPECT_TRUE(in.Infer({}, &dims).ok());
  in["input"] = Shape({1, int64_t{1} << 25, 1717986918});
  ExpectInvalid(in.Infer({}, &dims), {"too large"});
}

// Unknown sizes count as their smallest possible values. With these values the call has the largest
// valid size.
TEST(RnnShapes, WhatMayYetBecomeLegalIsAccepted) {
  constexpr int64_t kSteps = int64_t{1} << 20;
  const auto largest_batch = [](const RnnAttrs& attrs, int64_t units, int64_t input) {
    int64_t fits = 0, too_large = kHuge / 2;
    while (too_large - fits > 1) {
      const int64_t batch = fits + (too_large - fits) / 2;
      RnnConfig config;
      const int64_t layers = 1;
      const bool ok = MakeRnnConfig(attrs, layers, units, input, kSteps, batch, &config).ok();
      (ok ? fits : too_large) = batch;
    }
    return fits;
  };
  const auto expect = [&](const RnnAttrs& attrs, int64_t units, int64_t input, int64_t given) {
    const int64_t batch = largest_batch(attrs, units, input);
    InputShapes in(kCudnnRnnV3);
    in["input"] = Shape({kSteps, batch, given});
    EXPECT_TRUE(Infer(in, attrs).ok()) << Infer(in, attrs).message();
    in["input"] = Shape({kSteps, batch + 1, given});
    ExpectInvalid(Infer(in, attrs), {"too large"});
  };
  RnnAttrs attrs;
  expect(attrs, 1, 1, kU);
  expect(attrs, 1, 5, 5);
  attrs.direction = Direction::kBidirectional;
  expect(attrs, 1, 1, kU);
  attrs.num_proj = 5;
  expect(attrs, 5, 1, kU);
  attrs = {};
  attrs.input_mode = InputMode::kSkip;
  expect(attrs, 1, 1, kU);
  expect(attrs, 7, 7, 7);
}

// An unknown batch size may be 0. The bound counts the steps of an empty batch as 64 rows.
TEST(RnnShapes, AnUnknownBatchMayYetBeEmpty) {
  constexpr int64_t kBatch = 0, kInput = int64_t{1} << 20;
  int64_t fits = 0, too_large = kHuge / 2;
  while (too_large - fits > 1) {
    const int64_t steps = fits + (too_large - fits) / 2;
    RnnConfig config;
    (MakeRnnConfig({}, 1, 3, kInput, steps, kBatch, &config).ok() ? fits : too_large) = steps;
  }
  for (const int64_t batch : {kBatch, kU}) {
    InputShapes in(kCudnnRnnV3);
    in["input_h"] = Shape({1, batch, 3});
    in["input"] = Shape({fits, batch, kInput});
    EXPECT_TRUE(Infer(in).ok()) << Infer(in).message();
    in["input"] = Shape({fits + 1, batch, kInput});
    ExpectInvalid(Infer(in), {"too large"});
  }
}

TEST(RnnShapes, OddNumberOfPseudoLayers) {
  RnnAttrs attrs;
  attrs.direction = Direction::kBidirectional;
  InputShapes in(kCudnnRnnV3);
  in["input_h"] = Shape({3, kU, kU});
  ExpectInvalid(Infer(in, attrs), {"bidirectional", "even", "3", "input_h"});
  in["input_h"] = Shape({4, kU, kU});
  EXPECT_TRUE(Infer(in, attrs).ok());
}

TEST(RnnShapes, SkipInput) {
  RnnAttrs attrs;
  attrs.input_mode = InputMode::kSkip;
  ExpectInvalid(Infer(Inputs(), attrs), {"skip_input", "5", "3"});
  InputShapes in = Inputs();
  in["input"] = Shape({7, 2, 3});
  in["params"] = Shape({12 * (3 + 2) + 12 * (3 + 3 + 2)});
  EXPECT_TRUE(Infer(in, attrs).ok());
  attrs.input_mode = InputMode::kAuto;
  EXPECT_TRUE(Infer(in, attrs).ok());
  in["params"] = Shape({12 * (3 + 3 + 2) * 2});
  ExpectInvalid(Infer(in, attrs), {"params", "auto_select"});
  // One of the two sizes is unknown, so there is no contradiction yet.
  attrs.input_mode = InputMode::kSkip;
  in["input"] = Shape({7, 2, kU});
  EXPECT_TRUE(Infer(in, attrs).ok());
  in["input"] = Shape({7, 2, 5});
  in["input_h"] = in["input_c"] = Shape({2, 2, kU});
  EXPECT_TRUE(Infer(in, attrs).ok());
}

TEST(RnnShapes, ModelsWithoutCellStateIgnoreIt) {
  for (const RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kGru}) {
    RnnAttrs attrs;
    attrs.mode = mode;
    InputShapes in = Inputs();
    const int64_t gates = mode == RnnMode::kGru ? 3 : 1;
    in["params"] = Shape({gates * 54});
    for (const auto& c : {Shape({}), Shape({1, 2, 3, 4, 5}), Shape({0}), PartialShape::Unknown()}) {
      in["input_c"] = c;
      RnnDims dims;
      const Status status = in.Infer(attrs, &dims);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(in.Output(2, attrs).empty());
      InputShapes back = BackpropInputs();
      back.Take(in);
      back["output_c"] = back["output_c_backprop"] = c;
      EXPECT_TRUE(back.Infer(attrs).ok());
      EXPECT_TRUE(back.Output(2, attrs).empty());
    }
  }
}

TEST(RnnShapes, BackpropTensors) {
  struct Mutation {
    const char* name;
    const char* field;
    std::vector<int64_t> dims;
  };
  const Mutation mutations[] = {
      {"output must", "output", {7, 2, 4}},
      {"output must", "output", {6, 2, 3}},
      {"output must", "output", {7, 3}},
      {"output_h must", "output_h", {2, 1, 3}},
      {"output_c must", "output_c", {2, 2, 2}},
      {"output_backprop must", "output_backprop", {7, 1, 3}},
      {"output_backprop must", "output_backprop", {}},
      {"output_h_backprop must", "output_h_backprop", {1, 2, 3}},
      {"output_c_backprop must", "output_c_backprop", {2, 2, 3, 1}},
      {"reserve_space must be a vector", "reserve_space", {2, 2}},
  };
  RnnDims dims;
  ASSERT_TRUE(BackpropInputs().Infer({}, &dims).ok());
  for (const Mutation& mutation : mutations) {
    InputShapes s = BackpropInputs();
    s[mutation.field] = Shape(mutation.dims);
    ExpectInvalid(s.Infer({}, &dims), {mutation.name});
  }
  InputShapes s = BackpropInputs();
  s["reserve_space"] = Shape({});
  ExpectInvalid(s.Infer({}, &dims), {"reserve_space", "is_training=False"});
  // The backward op rejects the same inputs as the forward op.
  s = BackpropInputs();
  s["sequence_lengths"] = Shape({3});
  ExpectInvalid(s.Infer({}, &dims), {"sequence_lengths"});
}

TEST(RnnShapes, OddOutputSizeWithTwoDirections) {
  RnnAttrs attrs;
  attrs.direction = Direction::kBidirectional;
  InputShapes s(kCudnnRnnBackpropV3);
  s["output"] = Shape({7, 2, 5});
  RnnDims dims;
  ExpectInvalid(s.Infer(attrs, &dims), {"output", "[T, B, 2*H]", "multiple of 2"});
  s["output"] = Shape({7, 2, 6});
  ASSERT_TRUE(s.Infer(attrs, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
}

TEST(RnnShapes, Overflow) {
  RnnDims dims;
  for (int position = 0; position < 3; ++position) {
    InputShapes in(kCudnnRnnV3);
    std::vector<int64_t> big = {kU, kU, kU};
    big[position] = kHuge;
    in["input"] = Shape(big);
    ExpectInvalid(in.Infer({}, &dims), {"too large"});
    in = UnknownInputs();
    in["input_h"] = Shape(big);
    ExpectInvalid(in.Infer({}, &dims), {"too large"});
  }
  InputShapes in(kCudnnRnnV3);
  in["input"] = Shape({int64_t{1} << 31, int64_t{1} << 31, kU});
  ExpectInvalid(in.Infer({}, &dims), {"too large"});
  RnnAttrs attrs;
  attrs.num_proj = kHuge;
  ExpectInvalid(UnknownInputs().Infer(attrs, &dims), {"too large"});
}

TEST(RnnShapes, ParamsHaveTheSizeOfTheNetwork) {
  InputShapes in = Inputs();
  in["params"] = Shape({215});
  ExpectInvalid(Infer(in), {"params", "216", "lstm", "linear_input", "num_layers = 2", "[215]"});
  in["params"] = Shape({kU});
  EXPECT_TRUE(Infer(in).ok());
  in["params"] = Shape({215});
  in["input_h"].dims[0] = in["input_c"].dims[0] = kU;  // the number of layers is unknown
  EXPECT_TRUE(Infer(in).ok());
}

TEST(RnnShapes, SkippedInputOfUnknownSize) {
  RnnAttrs attrs;
  attrs.input_mode = InputMode::kSkip;
  EXPECT_TRUE(Infer(UnknownInputs(), attrs).ok());
}

TEST(RnnShapes, BeforeAnythingIsKnown) {
  const RnnDims dims;
  for (int64_t size : {dims.max_time, dims.batch, dims.input_size, dims.num_units,
                       dims.pseudo_layers, dims.params_size}) {
    EXPECT_EQ(size, kU);
  }
  EXPECT_EQ(dims.num_proj, 0);
}

TEST(RnnShapes, AllInputsOfTheOpAreNeeded) {
  CallShapes result;
  EXPECT_EQ(InferShapes(kCudnnRnnV3, {}, {Shape({7, 2, 5})}, &result).code(), Code::kInternal);
}

TEST(RnnShapes, AttributesAreCheckedFirst) {
  RnnAttrs attrs;
  attrs.dropout = 1.5f;
  RnnDims dims;
  ExpectInvalid(UnknownInputs().Infer(attrs, &dims), {"dropout"});
  ExpectInvalid(UnknownBackpropInputs().Infer(attrs, &dims), {"dropout"});
}

TEST(RnnShapes, SeedOfAStatelessOp) {
  RnnDims dims;
  InputShapes in(kStatelessCudnnRnnV3);
  for (const PartialShape& seed : {PartialShape::Unknown(), Shape({kU}), Shape({2})}) {
    in["seed"] = seed;
    EXPECT_TRUE(in.Infer({}, &dims).ok());
  }
  for (const PartialShape& seed : {Shape({}), Shape({1}), Shape({3}), Shape({1, 2})}) {
    in["seed"] = seed;
    ExpectInvalid(in.Infer({}, &dims), {"seed must have shape [2]"});
  }
}

TEST(RnnShapes, PackedWeightsAreAVector) {
  InputShapes in(kCudnnRnnV3Packed);
  in.Take(Inputs());
  for (const PartialShape& packed : {PartialShape::Unknown(), Shape({kU}), Shape({0})}) {
    in["packed"] = packed;
    EXPECT_TRUE(in.Infer().ok());
  }
  in["packed"] = Shape({1, 2});
  ExpectInvalid(in.Infer(), {"packed must be a vector, but its shape is [1, 2]."});
}

// TensorFlow's first versions lack sequence_lengths and have host_reserved in other shapes.
TEST(RnnShapes, FirstVersions) {
  using Dims = std::vector<int64_t>;
  for (const OpSpec* op : {&kCudnnRnnV1, &kCudnnRnnV2}) {
    InputShapes in(*op);
    in.Take(Inputs());
    EXPECT_EQ(in.Output(0), (Dims{7, 2, 3}));
    EXPECT_EQ(op->Output(Arg::host_reserved), op == &kCudnnRnnV2 ? 4 : kAbsent);
  }
  InputShapes v2(kCudnnRnnV2);
  EXPECT_EQ(v2.Output(4), (Dims{2}));
  RnnAttrs inference;
  inference.is_training = false;
  EXPECT_EQ(v2.Output(4, inference), Dims());
  for (const OpSpec* op : {&kCudnnRnnBackpropV1, &kCudnnRnnBackpropV2}) {
    InputShapes in(*op);
    in.Take(BackpropInputs());
    EXPECT_EQ(op->num_outputs(), 4);
    EXPECT_EQ(in.Output(3), (Dims{216}));
    if (op == &kCudnnRnnBackpropV2) in["host_reserved"] = Shape({3, 4});  // any shape is valid
    EXPECT_TRUE(in.Infer().ok());
    in["output_h"] = Shape({2, 2, 4});
    ExpectInvalid(in.Infer(), {"output_h must have shape [L*D, B, H]"});
  }
}

TEST(RnnShapes, SequenceLengths) {
  const int32_t lengths[] = {0, 7, 3};
  EXPECT_TRUE(ValidateSequenceLengths(lengths, 3, 7).ok());
  EXPECT_TRUE(ValidateSequenceLengths(nullptr, 0, 7).ok());
  ExpectInvalid(ValidateSequenceLengths(lengths, 3, 6), {"sequence_lengths[1] is 7", "[0, 6]"});
  const int32_t first[] = {-1, 2};
  ExpectInvalid(ValidateSequenceLengths(first, 2, 7), {"sequence_lengths[0] is -1"});
  const int32_t negative[] = {1, 2, -1};
  ExpectInvalid(ValidateSequenceLengths(negative, 3, 7), {"sequence_lengths[2] is -1"});
  EXPECT_TRUE(ValidateSequenceLengths(negative, 2, 7).ok());
}

TEST(SequenceLengths, SayThatSizesDiffer) {
  EXPECT_TRUE(CheckRunTimeSizes(0).ok());
  EXPECT_TRUE(CheckRunTimeSizes(kOtherSizes + 1).ok());
  ExpectInvalid(CheckRunTimeSizes(kOtherSizes),
                {"time steps and batch size", "another size", "-2147483648"});
}

TEST(SequenceLengths, AreCopiedAfterACheckOrAllT) {
  const int32_t given[] = {0, 7, 3};
  int32_t copy[3] = {};
  int64_t sum = -1;
  ASSERT_TRUE(CopySequenceLengths(given, 3, 7, copy, &sum).ok());
  EXPECT_TRUE(std::equal(given, given + 3, copy));
  EXPECT_EQ(sum, 10);
  ExpectInvalid(CopySequenceLengths(given, 3, 6, copy, &sum),
                {"sequence_lengths[1] is 7", "[0, 6]"});
  ASSERT_TRUE(CopySequenceLengths(nullptr, 3, 5, copy, &sum).ok());
  EXPECT_EQ(std::count(copy, copy + 3, 5), 3);
  EXPECT_EQ(sum, 15);
  EXPECT_TRUE(CopySequenceLengths(nullptr, 0, int64_t{1} << 31, nullptr, &sum).ok());
  EXPECT_EQ(sum, 0);
  ExpectInvalid(CopySequenceLengths(nullptr, 1, int64_t{1} << 31, copy, &sum),
                {"input must have fewer than 2^31 time steps", "2147483648"});
}

TEST(Tensors, ThatACallUses) {
  RnnAttrs lstm, gru;
  gru.mode = RnnMode::kGru;
  const auto used = [](const OpSpec& op, Arg arg, const RnnAttrs& attrs,
                       const PartialShape& shape) {
    return IsUsed(op.inputs[op.Input(arg)], attrs, shape);
  };
  EXPECT_TRUE(used(kCudnnRnnV3, Arg::input, gru, Shape({0})));
  EXPECT_TRUE(used(kCudnnRnnV3, Arg::input_c, lstm, Shape({0})));
  EXPECT_FALSE(used(kCudnnRnnV3, Arg::input_c, gru, Shape({2, 2, 3})));
  EXPECT_TRUE(used(kCudnnRnnBackpropV3, Arg::reserve_space, gru, Shape({0})));
  EXPECT_FALSE(used(kCudnnRnnBackpropV3, Arg::host_reserved, lstm, Shape({0})));
  for (Arg arg : {Arg::bias, Arg::projection}) {
    EXPECT_TRUE(used(kLayerRnn, arg, lstm, Shape({3, 4})));
    EXPECT_TRUE(used(kLayerRnn, arg, lstm, Shape({0, 4})));
    EXPECT_TRUE(used(kLayerRnn, arg, lstm, Shape({1})));
    EXPECT_TRUE(used(kLayerRnn, arg, lstm, PartialShape::Unknown()));
    EXPECT_FALSE(used(kLayerRnn, arg, lstm, Shape({0})));
  }
}

TEST(Tensors, ThatAreZeroWhateverIsComputed) {
  RnnAttrs training, inference, gru;
  inference.is_training = false;
  gru.mode = RnnMode::kGru;
  const auto zero = [](Arg arg, const RnnAttrs& attrs) {
    return IsZero(kCudnnRnnV3.output(kCudnnRnnV3.Output(arg)), attrs);
  };
  EXPECT_FALSE(zero(Arg::output, gru));
  EXPECT_FALSE(zero(Arg::output_c, inference));
  EXPECT_TRUE(zero(Arg::output_c, gru));
  EXPECT_FALSE(zero(Arg::reserve_space, training));
  EXPECT_TRUE(zero(Arg::reserve_space, inference));
  EXPECT_TRUE(zero(Arg::host_reserved, training));
}

TEST(Shapes, InMessages) {
  EXPECT_EQ(ToString(PartialShape::Unknown()), "unknown");
  EXPECT_EQ(ToString(Shape({})), "[]");
  EXPECT_EQ(ToString(Shape({0, kU, 3})), "[0, ?, 3]");
}

TEST(ReserveSpace, HoldsItsBytesInWholeElements) {
  EXPECT_EQ(ReserveElements(0, 4), 0);
  EXPECT_EQ(ReserveElements(8, 4), 2);
  EXPECT_EQ(ReserveElements(9, 4), 3);
  EXPECT_EQ(ReserveElements(-1, 4), -1);
  EXPECT_TRUE(CheckReserveSpace(Shape({3}), 3).ok());
  EXPECT_TRUE(CheckReserveSpace(Shape({0}), 0).ok());  // the call has no steps
  ExpectInvalid(CheckReserveSpace(Shape({4}), 3), {"reserve_space", "vector of 3", "[4]"});
  ExpectInvalid(CheckReserveSpace(Shape({3, 1}), 3), {"reserve_space", "[3, 1]"});
  ExpectInvalid(CheckReserveSpace(Shape({1}), -1), {"reserve_space"});
}

}  // namespace
}  // namespace rnn_ops
