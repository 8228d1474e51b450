// The shapes of CudnnRNN and of its gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cc/core/op/shapes.h"
#include "tests/cc/core/expect_invalid.h"
#include "tests/cc/core/op/input_shapes.h"

namespace rnn_ops {
namespace {

// T = 7, B = 2, I = 5, H = 3, L = 2, one direction, LSTM. All shapes are complete.
InputShapes Inputs() {
  return {kCudnnRnnV3,
          {{"input", {7, 2, 5}},
           {"input_h", {2, 2, 3}},
           {"input_c", {2, 2, 3}},
           {"params", {4 * 3 * (5 + 3 + 2) + 4 * 3 * (3 + 3 + 2)}},
           {"sequence_lengths", {2}}}};
}

InputShapes BackpropInputs() {
  const InputShapes s(kCudnnRnnBackpropV3, {{"output", {7, 2, 3}},
                                            {"output_backprop", {7, 2, 3}},
                                            {"output_h", {2, 2, 3}},
                                            {"output_h_backprop", {2, 2, 3}},
                                            {"output_c", {2, 2, 3}},
                                            {"output_c_backprop", {2, 2, 3}},
                                            {"reserve_space", {100}}});
  return InputShapes(s).Take(Inputs());
}

RnnAttrs Bidirectional() {
  RnnAttrs attrs;
  attrs.direction = Direction::kBidirectional;
  return attrs;
}

RnnAttrs With(InputMode mode) {
  RnnAttrs attrs;
  attrs.input_mode = mode;
  return attrs;
}

RnnAttrs Projected(int64_t num_proj) {
  RnnAttrs attrs;
  attrs.num_proj = num_proj;
  return attrs;
}

RnnAttrs Inference() {
  RnnAttrs attrs;
  attrs.is_training = false;
  return attrs;
}

TEST(RnnShapes, CompleteShapes) {
  EXPECT_EQ(Inputs().Sizes(), (Dims{7, 2, 5, 3}));
  const RnnDims dims = Inputs().Inferred().dims;
  EXPECT_EQ(dims.pseudo_layers, 2);
  EXPECT_EQ(dims.params_size, 216);
  const Dims outputs[] = {{7, 2, 3}, {2, 2, 3}, {2, 2, 3}, {kU}, {}};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(Inputs().Output(k), outputs[k]) << k;
  const Dims gradients[] = {{7, 2, 5}, {2, 2, 3}, {2, 2, 3}, {216}};
  for (int k = 0; k < 4; ++k) EXPECT_EQ(BackpropInputs().Output(k), gradients[k]) << k;
  EXPECT_EQ(Inputs().Output(3, Inference()), Dims());  // reserve_space

  const RnnConfig config = Inputs().Config();
  EXPECT_EQ(config.num_layers, 2);
  EXPECT_EQ(config.max_time, 7);
  EXPECT_EQ(config.batch, 2);
}

TEST(RnnShapes, BatchMajorBidirectionalProjection) {
  RnnAttrs attrs = Projected(2);
  attrs.time_major = false;
  attrs.direction = Direction::kBidirectional;
  const InputShapes in(kCudnnRnnV3,
                       {{"input", {4, 7, 5}}, {"input_h", {4, 6, 2}}, {"input_c", {4, 6, 3}}});
  const RnnDims dims = in.Inferred(attrs).dims;
  EXPECT_EQ(in.Sizes(attrs), (Dims{7, 4, 5, 3}));
  EXPECT_EQ(dims.pseudo_layers, 6);
  const Dims outputs[] = {{4, 7, 4}, {4, 6, 2}, {4, 6, 3}};
  for (int k = 0; k < 3; ++k) EXPECT_EQ(in.Output(k, attrs), outputs[k]) << k;
  const InputShapes back = InputShapes(kCudnnRnnBackpropV3).Take(in);
  EXPECT_EQ(back.Output(0, attrs), (Dims{4, 7, 5}));
  EXPECT_EQ(back.Output(1, attrs), (Dims{4, 6, 2}));
  const std::string size = std::to_string(dims.params_size);
  const RnnConfig config = in.With({{"params", {dims.params_size}}}).Config(attrs);
  EXPECT_EQ(config.num_layers, 3);
  EXPECT_EQ(config.num_pseudo_layers(), 6);
  ExpectRejected(in, attrs,
                 {{{{"params", {dims.params_size + 1}}}, {"params", size.c_str(), "num_proj"}}});
}

TEST(RnnShapes, NothingKnownIsAccepted) {
  const InputShapes unknown(kCudnnRnnV3);
  EXPECT_EQ(unknown.Sizes(), (Dims{kU, kU, kU, kU}));
  EXPECT_EQ(unknown.Inferred().dims.params_size, kU);
  EXPECT_EQ(unknown.Output(0), (Dims{kU, kU, kU}));
  EXPECT_TRUE(unknown.Infer(With(InputMode::kSkip)).ok());
  // The smallest possible sizes.
  const RnnConfig config = InputShapes(kCudnnRnnBackpropV3).Config();
  EXPECT_EQ(config.max_time, 0);
  EXPECT_EQ(config.batch, 0);
  for (int64_t size : {config.input_size, config.num_units, config.num_layers}) EXPECT_EQ(size, 1);
}

TEST(RnnShapes, SizesFlowBetweenTensors) {
  const InputShapes in(kCudnnRnnV3, {{"input", {kU, kU, 5}},
                                     {"input_h", {kU, kU, kU}},
                                     {"input_c", {2, kU, 3}},
                                     {"sequence_lengths", {4}}});
  EXPECT_EQ(in.Sizes(), (Dims{kU, 4, 5, 3}));
  EXPECT_EQ(in.Inferred().dims.pseudo_layers, 2);
  EXPECT_EQ(in.Inferred().dims.params_size, 216);
  const InputShapes back(kCudnnRnnBackpropV3, {{"output_backprop", {7, kU, 3}}});
  EXPECT_EQ(back.Sizes(), (Dims{7, kU, kU, 3}));
  const InputShapes both(kCudnnRnnBackpropV3, {{"output", {7, 2, 6}}});
  EXPECT_EQ(both.Sizes(Bidirectional()), (Dims{7, 2, kU, 3}));
}

TEST(RnnShapes, ProjectionGivesTheHiddenSize) {
  const RnnAttrs attrs = Projected(2);
  const InputShapes in(kCudnnRnnV3);
  EXPECT_EQ(in.Output(0, attrs), (Dims{kU, kU, 2}));
  EXPECT_EQ(in.Sizes(attrs)[3], kU);
  // num_proj equal to H means that there is no projection.
  EXPECT_TRUE(in.With({{"input_h", {1, 2, 2}},
                       {"input_c", {1, 2, 2}},
                       {"input", {7, 2, 5}},
                       {"params", {4 * 2 * (5 + 2 + 2)}}})
                  .Infer(attrs)
                  .ok());
  ExpectRejected(in, attrs,
                 {{{{"input_h", {1, 2, 3}}}, {"input_h", "[1, 2, 3]", "P is 2", "num_proj"}},
                  {{{"input_h", {1, 2, 2}}, {"input_c", {1, 2, 1}}}, {"num_proj", "1", "2"}}});
}

TEST(RnnShapes, WrongRanks) {
  for (const Dims& dims : std::vector<Dims>{{}, {2}, {7, 2}, {7, 2, 5, 1}}) {
    ExpectRejected(Inputs(), {},
                   {{{{"input", dims}}, {"input must have shape [T, B, I]", "rank"}},
                    {{{"input_h", dims}}, {"input_h must have shape [L*D, B, H]"}},
                    {{{"input_c", dims}}, {"input_c must have shape [L*D, B, H]"}}});
    if (dims.size() == 1) continue;
    ExpectRejected(Inputs(), {},
                   {{{{"params", dims}}, {"params must be a vector"}},
                    {{{"sequence_lengths", dims}}, {"sequence_lengths must have shape [B]"}}});
  }
}

TEST(RnnShapes, SizesThatDoNotFit) {
  ExpectRejected(
      Inputs(), {},
      {{{{"input_h", {2, 4, 3}}}, {"input_h", "[2, 4, 3]", "B is 2 according to input."}},
       {{{"input_c", {2, 2, 4}}}, {"input_c", "[2, 2, 4]", "H is 3 according to input_h."}},
       {{{"input_c", {1, 2, 3}}}, {"input_c", "L*D is 2 according to input_h."}},
       {{{"sequence_lengths", {1}}}, {"sequence_lengths", "[1]", "B is 2"}},
       {{{"params", {0}}}, {"params must have 216 elements"}},
       {{{"params", {215}}}, {"params", "216", "lstm", "linear_input", "num_layers = 2", "[215]"}},
       {{{"input", {7, 0, 5}}}, {"input_h", "B is 0 according to input."}},
       {{{"input", {7, 2, 0}}}, {"input ", "I must be at least 1"}},
       {{{"input_h", {2, 2, 0}}}, {"input_h", "H must be at least 1"}},
       {{{"input_h", {0, 2, 3}}}, {"input_h", "L*D must be at least 1"}}});
  EXPECT_TRUE(Inputs().With({{"params", {kU}}}).Infer().ok());
  // The number of layers is unknown.
  EXPECT_TRUE(Inputs()
                  .With({{"params", {215}}, {"input_h", {kU, 2, 3}}, {"input_c", {kU, 2, 3}}})
                  .Infer()
                  .ok());
}

TEST(RnnShapes, EmptyTimeAndBatch) {
  EXPECT_EQ(Inputs().With({{"input", {0, 2, 5}}}).Output(0), (Dims{0, 2, 3}));
  EXPECT_TRUE(Inputs()
                  .With({{"input", {7, 0, 5}},
                         {"input_h", {2, 0, 3}},
                         {"input_c", {2, 0, 3}},
                         {"sequence_lengths", {0}}})
                  .Infer()
                  .ok());
}

// The bound counts two additional steps, so these sizes are exactly at the bound and one above.
TEST(RnnShapes, WithoutAnyStepInputMayBeWider) {
  const InputShapes in(kCudnnRnnV3);
  EXPECT_TRUE(in.With({{"input", {0, int64_t{1} << 25, 1717986918}}}).Infer().ok());
  ExpectRejected(in, {}, {{{{"input", {1, int64_t{1} << 25, 1717986918}}}, {"too large"}}});
}

// The largest size for which `fits` holds.
template <typename Fits>
int64_t Largest(Fits fits) {
  int64_t largest = 0, too_large = kHuge / 2;
  while (too_large - largest > 1) {
    const int64_t middle = largest + (too_large - largest) / 2;
    (fits(middle) ? largest : too_large) = middle;
  }
  return largest;
}

// Unknown sizes count as their smallest possible values. With these values the call has the largest
// valid size.
TEST(RnnShapes, WhatMayYetBecomeLegalIsAccepted) {
  constexpr int64_t kSteps = int64_t{1} << 20;
  const auto expect = [](const RnnAttrs& attrs, int64_t units, int64_t input, int64_t given) {
    const int64_t batch = Largest([&](int64_t size) {
      RnnConfig config;
      return MakeRnnConfig(attrs, /*num_layers=*/1, units, input, kSteps, size, &config).ok();
    });
    const InputShapes in(kCudnnRnnV3, {{"input", {kSteps, batch, given}}});
    EXPECT_TRUE(in.Infer(attrs).ok()) << in.Infer(attrs).message();
    ExpectRejected(in, attrs, {{{{"input", {kSteps, batch + 1, given}}}, {"too large"}}});
  };
  expect({}, 1, 1, kU);
  expect({}, 1, 5, 5);
  RnnAttrs attrs = Bidirectional();
  expect(attrs, 1, 1, kU);
  attrs.num_proj = 5;
  expect(attrs, 5, 1, kU);
  expect(With(InputMode::kSkip), 1, 1, kU);
  expect(With(InputMode::kSkip), 7, 7, 7);
}

// An unknown batch size may be 0. The bound counts the steps of an empty batch as 64 rows.
TEST(RnnShapes, AnUnknownBatchMayYetBeEmpty) {
  constexpr int64_t kInput = int64_t{1} << 20;
  const int64_t steps = Largest([](int64_t size) {
    RnnConfig config;
    return MakeRnnConfig({}, 1, 3, kInput, size, /*batch=*/0, &config).ok();
  });
  for (const int64_t batch : {int64_t{0}, kU}) {
    const InputShapes in(kCudnnRnnV3,
                         {{"input_h", {1, batch, 3}}, {"input", {steps, batch, kInput}}});
    EXPECT_TRUE(in.Infer().ok()) << in.Infer().message();
    ExpectRejected(in, {}, {{{{"input", {steps + 1, batch, kInput}}}, {"too large"}}});
  }
}

TEST(RnnShapes, TwoDirectionsNeedEvenSizes) {
  const RnnAttrs attrs = Bidirectional();
  EXPECT_TRUE(InputShapes(kCudnnRnnV3, {{"input_h", {4, kU, kU}}}).Infer(attrs).ok());
  ExpectRejected(InputShapes(kCudnnRnnV3), attrs,
                 {{{{"input_h", {3, kU, kU}}}, {"bidirectional", "even", "3", "input_h"}}});
  ExpectRejected(InputShapes(kCudnnRnnBackpropV3), attrs,
                 {{{{"output", {7, 2, 5}}}, {"output", "[T, B, 2*H]", "multiple of 2"}}});
}

TEST(RnnShapes, SkipInput) {
  const RnnAttrs skip = With(InputMode::kSkip), automatic = With(InputMode::kAuto);
  ExpectInvalid(Inputs().Infer(skip), {"skip_input", "5", "3"});
  const InputShapes in =
      Inputs().With({{"input", {7, 2, 3}}, {"params", {12 * (3 + 2) + 12 * (3 + 3 + 2)}}});
  EXPECT_TRUE(in.Infer(skip).ok());
  EXPECT_TRUE(in.Infer(automatic).ok());
  ExpectRejected(in, automatic,
                 {{{{"params", {12 * (3 + 3 + 2) * 2}}}, {"params", "auto_select"}}});
  // One of the two sizes is unknown, so there is no contradiction yet.
  EXPECT_TRUE(in.With({{"input", {7, 2, kU}}}).Infer(skip).ok());
  EXPECT_TRUE(in.With({{"input", {7, 2, 5}}, {"input_h", {2, 2, kU}}, {"input_c", {2, 2, kU}}})
                  .Infer(skip)
                  .ok());
}

TEST(RnnShapes, ModelsWithoutCellStateIgnoreIt) {
  for (const RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kGru}) {
    RnnAttrs attrs;
    attrs.mode = mode;
    const int64_t gates = mode == RnnMode::kGru ? 3 : 1;
    InputShapes in = Inputs().With({{"params", {gates * 54}}});
    for (const auto& c : {Shape({}), Shape({1, 2, 3, 4, 5}), Shape({0}), PartialShape::Unknown()}) {
      in["input_c"] = c;
      EXPECT_TRUE(in.Output(2, attrs).empty());
      InputShapes back = BackpropInputs().Take(in);
      back["output_c"] = back["output_c_backprop"] = c;
      EXPECT_TRUE(back.Output(2, attrs).empty());
    }
  }
}

TEST(RnnShapes, BackpropTensors) {
  EXPECT_TRUE(BackpropInputs().Infer().ok());
  ExpectRejected(BackpropInputs(), {},
                 {{{{"output", {7, 2, 4}}}, {"output must"}},
                  {{{"output", {6, 2, 3}}}, {"output must"}},
                  {{{"output", {7, 3}}}, {"output must"}},
                  {{{"output_h", {2, 1, 3}}}, {"output_h must"}},
                  {{{"output_c", {2, 2, 2}}}, {"output_c must"}},
                  {{{"output_backprop", {7, 1, 3}}}, {"output_backprop must"}},
                  {{{"output_backprop", {}}}, {"output_backprop must"}},
                  {{{"output_h_backprop", {1, 2, 3}}}, {"output_h_backprop must"}},
                  {{{"output_c_backprop", {2, 2, 3, 1}}}, {"output_c_backprop must"}},
                  {{{"reserve_space", {2, 2}}}, {"reserve_space must be a vector"}},
                  {{{"reserve_space", {}}}, {"reserve_space", "is_training=False"}},
                  // The backward op rejects the same inputs as the forward op.
                  {{{"sequence_lengths", {3}}}, {"sequence_lengths"}}});
}

TEST(RnnShapes, Overflow) {
  ExpectTooLarge(kCudnnRnnV3, {}, "input");
  ExpectTooLarge(kCudnnRnnV3, {}, "input_h");
  const InputShapes in(kCudnnRnnV3);
  ExpectRejected(in, {}, {{{{"input", {int64_t{1} << 31, int64_t{1} << 31, kU}}}, {"too large"}}});
  ExpectInvalid(in.Infer(Projected(kHuge)), {"too large"});
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

TEST(RnnShapes, AttributesAreChecked) {
  RnnAttrs attrs;
  attrs.dropout = 1.5f;
  ExpectInvalid(InputShapes(kCudnnRnnV3).Infer(attrs), {"dropout"});
  ExpectInvalid(InputShapes(kCudnnRnnBackpropV3).Infer(attrs), {"dropout"});
}

TEST(RnnShapes, SeedOfAStatelessOp) {
  const InputShapes in(kStatelessCudnnRnnV3);
  for (const Dims& seed : {Dims{kU}, Dims{2}}) EXPECT_TRUE(in.With({{"seed", seed}}).Infer().ok());
  EXPECT_TRUE(in.Infer().ok());
  for (const Dims& seed : {Dims{}, Dims{1}, Dims{3}, Dims{1, 2}}) {
    ExpectRejected(in, {}, {{{{"seed", seed}}, {"seed must have shape [2]"}}});
  }
}

TEST(RnnShapes, PackedWeightsAreAVector) {
  const InputShapes in = InputShapes(kCudnnRnnV3Packed).Take(Inputs());
  EXPECT_TRUE(in.Infer().ok());
  for (int64_t size : {kU, int64_t{0}}) EXPECT_TRUE(in.With({{"packed", {size}}}).Infer().ok());
  ExpectRejected(in, {}, {{{{"packed", {1, 2}}}, {"packed must be a vector", "[1, 2]"}}});
}

// TensorFlow's first versions lack sequence_lengths and have host_reserved in other shapes.
TEST(RnnShapes, FirstVersions) {
  for (const OpSpec* op : {&kCudnnRnnV1, &kCudnnRnnV2}) {
    EXPECT_EQ(InputShapes(*op).Take(Inputs()).Output(0), (Dims{7, 2, 3}));
    EXPECT_EQ(op->Output(Arg::host_reserved), op == &kCudnnRnnV2 ? 4 : kAbsent);
  }
  EXPECT_EQ(InputShapes(kCudnnRnnV2).Output(4), (Dims{2}));
  EXPECT_EQ(InputShapes(kCudnnRnnV2).Output(4, Inference()), Dims());
  for (const OpSpec* op : {&kCudnnRnnBackpropV1, &kCudnnRnnBackpropV2}) {
    InputShapes in = InputShapes(*op).Take(BackpropInputs());
    EXPECT_EQ(op->num_outputs(), 4);
    EXPECT_EQ(in.Output(3), (Dims{216}));
    if (op == &kCudnnRnnBackpropV2) in["host_reserved"] = Shape({3, 4});  // any shape is valid
    EXPECT_TRUE(in.Infer().ok());
    ExpectRejected(in, {}, {{{{"output_h", {2, 2, 4}}}, {"output_h must have shape [L*D, B, H]"}}});
  }
}

TEST(SequenceLengths, AreFromZeroToTheNumberOfSteps) {
  const int32_t lengths[] = {0, 7, 3}, first[] = {-1, 2}, negative[] = {1, 2, -1};
  int64_t sum = -1;
  EXPECT_TRUE(ValidateSequenceLengths(lengths, 3, 7, &sum).ok());
  EXPECT_EQ(sum, 10);
  EXPECT_TRUE(ValidateSequenceLengths(nullptr, 0, 7, &sum).ok());
  EXPECT_EQ(sum, 0);
  EXPECT_TRUE(ValidateSequenceLengths(negative, 2, 7, &sum).ok());
  ExpectInvalid(ValidateSequenceLengths(lengths, 3, 6, &sum),
                {"sequence_lengths[1] is 7", "[0, 6]"});
  ExpectInvalid(ValidateSequenceLengths(first, 2, 7, &sum), {"sequence_lengths[0] is -1"});
  ExpectInvalid(ValidateSequenceLengths(negative, 3, 7, &sum), {"sequence_lengths[2] is -1"});
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
    for (const Dims& given : {Dims{3, 4}, Dims{0, 4}, Dims{1}}) {
      EXPECT_TRUE(used(kLayerRnn, arg, lstm, Shape(given)));
    }
    EXPECT_TRUE(used(kLayerRnn, arg, lstm, PartialShape::Unknown()));
    EXPECT_FALSE(used(kLayerRnn, arg, lstm, Shape({0})));
  }
}

TEST(Tensors, ThatAreZeroWhateverIsComputed) {
  RnnAttrs gru;
  gru.mode = RnnMode::kGru;
  const auto zero = [](Arg arg, const RnnAttrs& attrs) {
    return IsZero(kCudnnRnnV3.output(kCudnnRnnV3.Output(arg)), attrs);
  };
  EXPECT_FALSE(zero(Arg::output, gru));
  EXPECT_FALSE(zero(Arg::output_c, Inference()));
  EXPECT_TRUE(zero(Arg::output_c, gru));
  EXPECT_FALSE(zero(Arg::reserve_space, {}));
  EXPECT_TRUE(zero(Arg::reserve_space, Inference()));
  EXPECT_TRUE(zero(Arg::host_reserved, {}));
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
