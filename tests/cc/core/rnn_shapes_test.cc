#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cc/core/shapes.h"
#include "tests/cc/core/expect_invalid.h"

namespace rnn_ops {
namespace {

constexpr int64_t kU = kUnknownDim;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

PartialShape Shape(std::vector<int64_t> dims) { return PartialShape::Of(std::move(dims)); }

// T = 7, B = 2, I = 5, H = 3, L = 2, one direction, LSTM: all shapes complete.
RnnInputShapes Inputs() {
  const int64_t params = 4 * 3 * (5 + 3 + 2) + 4 * 3 * (3 + 3 + 2);
  return {Shape({7, 2, 5}), Shape({2, 2, 3}), Shape({2, 2, 3}),
          Shape({params}),  Shape({2}),       PartialShape::Unknown()};
}

RnnBackpropShapes BackpropInputs() {
  RnnBackpropShapes s;
  s.in = Inputs();
  s.output = s.output_backprop = Shape({7, 2, 3});
  s.output_h = s.output_h_backprop = s.output_c = s.output_c_backprop = Shape({2, 2, 3});
  s.reserve_space = Shape({100});
  return s;
}

RnnInputShapes UnknownInputs() { return {}; }

Status Infer(const RnnInputShapes& in, const RnnAttrs& attrs = {}) {
  RnnDims dims;
  return InferRnn(attrs, in, &dims);
}

TEST(RnnShapes, CompleteShapes) {
  RnnDims dims;
  ASSERT_TRUE(InferRnn({}, Inputs(), &dims).ok());
  EXPECT_EQ(dims.max_time, 7);
  EXPECT_EQ(dims.batch, 2);
  EXPECT_EQ(dims.input_size, 5);
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.hidden_size, 3);
  EXPECT_EQ(dims.pseudo_layers, 2);
  EXPECT_EQ(dims.params_size, 216);
  EXPECT_EQ(RnnOutputShape({}, dims).dims, (std::vector<int64_t>{7, 2, 3}));
  EXPECT_EQ(RnnOutputHShape({}, dims).dims, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(RnnOutputCShape({}, dims).dims, (std::vector<int64_t>{2, 2, 3}));

  RnnConfig config;
  ASSERT_TRUE(MakeRnnConfig({}, Inputs(), &config).ok());
  EXPECT_EQ(config.num_layers, 2);
  EXPECT_EQ(config.max_time, 7);
  EXPECT_EQ(config.batch, 2);
  ASSERT_TRUE(MakeRnnConfig({}, BackpropInputs(), &config).ok());
}

TEST(RnnShapes, BatchMajorBidirectionalProjection) {
  RnnAttrs attrs;
  attrs.time_major = false;
  attrs.direction = Direction::kBidirectional;
  attrs.num_proj = 2;
  RnnInputShapes in;
  in.input = Shape({4, 7, 5});
  in.input_h = Shape({4, 6, 2});
  in.input_c = Shape({4, 6, 3});
  RnnDims dims;
  ASSERT_TRUE(InferRnn(attrs, in, &dims).ok());
  EXPECT_EQ(dims.batch, 4);
  EXPECT_EQ(dims.pseudo_layers, 6);
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.hidden_size, 2);
  EXPECT_EQ(RnnOutputShape(attrs, dims).dims, (std::vector<int64_t>{4, 7, 4}));
  EXPECT_EQ(RnnOutputHShape(attrs, dims).dims, (std::vector<int64_t>{4, 6, 2}));
  EXPECT_EQ(RnnOutputCShape(attrs, dims).dims, (std::vector<int64_t>{4, 6, 3}));
  in.params = Shape({dims.params_size});
  EXPECT_TRUE(Infer(in, attrs).ok());
  in.params = Shape({dims.params_size + 1});
  ExpectInvalid(Infer(in, attrs), {"params", std::to_string(dims.params_size).c_str(), "num_proj"});
}

TEST(RnnShapes, NothingKnownIsAccepted) {
  RnnDims dims;
  dims.batch = 99;
  ASSERT_TRUE(InferRnn({}, UnknownInputs(), &dims).ok());
  EXPECT_EQ(dims.batch, kU);
  EXPECT_EQ(dims.params_size, kU);
  EXPECT_EQ(RnnOutputShape({}, dims).dims, (std::vector<int64_t>{kU, kU, kU}));
  ASSERT_TRUE(InferRnnBackprop({}, RnnBackpropShapes(), &dims).ok());
  RnnConfig config;
  EXPECT_EQ(MakeRnnConfig({}, UnknownInputs(), &config).code(), Code::kInternal);
}

TEST(RnnShapes, SizesFlowBetweenTensors) {
  RnnInputShapes in;
  in.input = Shape({kU, kU, 5});
  in.input_h = Shape({kU, kU, kU});
  in.input_c = Shape({2, kU, 3});
  in.sequence_lengths = Shape({4});
  RnnDims dims;
  ASSERT_TRUE(InferRnn({}, in, &dims).ok());
  EXPECT_EQ(dims.max_time, kU);
  EXPECT_EQ(dims.batch, 4);
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.pseudo_layers, 2);
  EXPECT_EQ(dims.params_size, 216);

  RnnBackpropShapes back;
  back.output_backprop = Shape({7, kU, 3});
  ASSERT_TRUE(InferRnnBackprop({}, back, &dims).ok());
  EXPECT_EQ(dims.max_time, 7);
  EXPECT_EQ(dims.num_units, 3);
}

TEST(RnnShapes, ProjectionGivesTheHiddenSize) {
  RnnAttrs attrs;
  attrs.num_proj = 2;
  RnnDims dims;
  ASSERT_TRUE(InferRnn(attrs, UnknownInputs(), &dims).ok());
  EXPECT_EQ(dims.hidden_size, 2);
  EXPECT_EQ(dims.num_units, kU);
  RnnInputShapes in;
  in.input_h = Shape({1, 2, 3});
  ExpectInvalid(Infer(in, attrs), {"input_h", "[1, 2, 3]", "P is 2 according to num_proj"});
  in.input_h = Shape({1, 2, 2});
  in.input_c = Shape({1, 2, 1});
  ExpectInvalid(Infer(in, attrs), {"num_proj", "1", "2"});
  // As large as the units: no projection.
  in.input_c = Shape({1, 2, 2});
  in.input = Shape({7, 2, 5});
  in.params = Shape({4 * 2 * (5 + 2 + 2)});
  EXPECT_TRUE(Infer(in, attrs).ok());
}

TEST(RnnShapes, WrongRanks) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {2}, {7, 2}, {7, 2, 5, 1}}) {
    RnnInputShapes in = Inputs();
    in.input = Shape(dims);
    ExpectInvalid(Infer(in), {"input must have shape [T, B, I]", "rank"});
    in = Inputs();
    in.input_h = Shape(dims);
    ExpectInvalid(Infer(in), {"input_h must have shape [L*D, B, H]"});
    in = Inputs();
    in.input_c = Shape(dims);
    ExpectInvalid(Infer(in), {"input_c must have shape [L*D, B, H]"});
    if (dims.size() == 1) continue;
    in = Inputs();
    in.params = Shape(dims);
    ExpectInvalid(Infer(in), {"params must have rank 1"});
    in = Inputs();
    in.sequence_lengths = Shape(dims);
    ExpectInvalid(Infer(in), {"sequence_lengths must have shape [B]"});
  }
}

TEST(RnnShapes, DisagreeingSizes) {
  RnnInputShapes in = Inputs();
  in.input_h = Shape({2, 4, 3});
  ExpectInvalid(Infer(in), {"input_h", "[2, 4, 3]", "B is 2 according to input."});
  in = Inputs();
  in.input_c = Shape({2, 2, 4});
  ExpectInvalid(Infer(in), {"input_c", "[2, 2, 4]", "H is 3 according to input_h."});
  in = Inputs();
  in.input_c = Shape({1, 2, 3});
  ExpectInvalid(Infer(in), {"input_c", "L*D is 2 according to input_h."});
  in = Inputs();
  in.sequence_lengths = Shape({1});
  ExpectInvalid(Infer(in), {"sequence_lengths", "[1]", "B is 2"});
  in = Inputs();
  in.params = Shape({215});
  ExpectInvalid(Infer(in), {"params must have 216 elements", "[215]", "num_layers = 2"});
  in.params = Shape({0});
  ExpectInvalid(Infer(in), {"params must have 216 elements"});
}

TEST(RnnShapes, EmptySizes) {
  RnnInputShapes in = Inputs();
  in.input = Shape({0, 2, 5});
  EXPECT_TRUE(Infer(in).ok());
  in.input = Shape({7, 0, 5});
  in.input_h = in.input_c = Shape({2, 0, 3});
  in.sequence_lengths = Shape({0});
  EXPECT_TRUE(Infer(in).ok());
  in = Inputs();
  in.input = Shape({7, 2, 0});
  ExpectInvalid(Infer(in), {"input ", "I must be at least 1"});
  in = Inputs();
  in.input_h = Shape({2, 2, 0});
  ExpectInvalid(Infer(in), {"input_h", "H must be at least 1"});
  in = Inputs();
  in.input_h = Shape({0, 2, 3});
  ExpectInvalid(Infer(in), {"input_h", "L*D must be at least 1"});
}

TEST(RnnShapes, OddNumberOfPseudoLayers) {
  RnnAttrs attrs;
  attrs.direction = Direction::kBidirectional;
  RnnInputShapes in;
  in.input_h = Shape({3, kU, kU});
  ExpectInvalid(Infer(in, attrs), {"bidirectional", "even", "3", "input_h"});
  in.input_h = Shape({4, kU, kU});
  EXPECT_TRUE(Infer(in, attrs).ok());
}

TEST(RnnShapes, SkipInput) {
  RnnAttrs attrs;
  attrs.input_mode = InputMode::kSkip;
  ExpectInvalid(Infer(Inputs(), attrs), {"skip_input", "5", "3"});
  RnnInputShapes in = Inputs();
  in.input = Shape({7, 2, 3});
  in.params = Shape({12 * (3 + 2) + 12 * (3 + 3 + 2)});
  EXPECT_TRUE(Infer(in, attrs).ok());
  attrs.input_mode = InputMode::kAuto;
  EXPECT_TRUE(Infer(in, attrs).ok());
  in.params = Shape({12 * (3 + 3 + 2) * 2});
  ExpectInvalid(Infer(in, attrs), {"params", "auto_select"});
  // One of the two sizes unknown: nothing can be wrong yet.
  attrs.input_mode = InputMode::kSkip;
  in.input = Shape({7, 2, kU});
  EXPECT_TRUE(Infer(in, attrs).ok());
  in.input = Shape({7, 2, 5});
  in.input_h = in.input_c = Shape({2, 2, kU});
  EXPECT_TRUE(Infer(in, attrs).ok());
}

TEST(RnnShapes, ModelsWithoutCellStateIgnoreIt) {
  for (const RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kGru}) {
    RnnAttrs attrs;
    attrs.mode = mode;
    RnnInputShapes in = Inputs();
    const int64_t gates = mode == RnnMode::kGru ? 3 : 1;
    in.params = Shape({gates * 54});
    for (const auto& c : {Shape({}), Shape({1, 2, 3, 4, 5}), Shape({0}), PartialShape::Unknown()}) {
      in.input_c = c;
      RnnDims dims;
      const Status status = InferRnn(attrs, in, &dims);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(RnnOutputCShape(attrs, dims).known_rank);
      EXPECT_TRUE(RnnOutputCShape(attrs, dims).dims.empty());
      RnnBackpropShapes back = BackpropInputs();
      back.in = in;
      back.output_c = back.output_c_backprop = c;
      RnnConfig config;
      EXPECT_TRUE(c.known_rank == false || MakeRnnConfig(attrs, back, &config).ok());
    }
  }
}

TEST(RnnShapes, BackpropTensors) {
  struct Mutation {
    const char* name;
    PartialShape RnnBackpropShapes::* field;
    std::vector<int64_t> dims;
  };
  const Mutation mutations[] = {
      {"output must", &RnnBackpropShapes::output, {7, 2, 4}},
      {"output must", &RnnBackpropShapes::output, {6, 2, 3}},
      {"output must", &RnnBackpropShapes::output, {7, 3}},
      {"output_h must", &RnnBackpropShapes::output_h, {2, 1, 3}},
      {"output_c must", &RnnBackpropShapes::output_c, {2, 2, 2}},
      {"output_backprop must", &RnnBackpropShapes::output_backprop, {7, 1, 3}},
      {"output_backprop must", &RnnBackpropShapes::output_backprop, {}},
      {"output_h_backprop must", &RnnBackpropShapes::output_h_backprop, {1, 2, 3}},
      {"output_c_backprop must", &RnnBackpropShapes::output_c_backprop, {2, 2, 3, 1}},
      {"reserve_space must have rank 1", &RnnBackpropShapes::reserve_space, {2, 2}},
  };
  RnnDims dims;
  ASSERT_TRUE(InferRnnBackprop({}, BackpropInputs(), &dims).ok());
  for (const Mutation& mutation : mutations) {
    RnnBackpropShapes s = BackpropInputs();
    s.*mutation.field = Shape(mutation.dims);
    ExpectInvalid(InferRnnBackprop({}, s, &dims), {mutation.name});
    RnnConfig config;
    EXPECT_EQ(MakeRnnConfig({}, s, &config).code(), Code::kInvalidArgument);
  }
  RnnBackpropShapes s = BackpropInputs();
  s.reserve_space = Shape({});
  ExpectInvalid(InferRnnBackprop({}, s, &dims), {"reserve_space", "is_training=False"});
  // What the forward op refuses, the backward op refuses too.
  s = BackpropInputs();
  s.in.sequence_lengths = Shape({3});
  ExpectInvalid(InferRnnBackprop({}, s, &dims), {"sequence_lengths"});
}

TEST(RnnShapes, OddOutputSizeWithTwoDirections) {
  RnnAttrs attrs;
  attrs.direction = Direction::kBidirectional;
  RnnBackpropShapes s;
  s.output = Shape({7, 2, 5});
  RnnDims dims;
  ExpectInvalid(InferRnnBackprop(attrs, s, &dims), {"output", "[T, B, 2*H]", "multiple of 2"});
  s.output = Shape({7, 2, 6});
  ASSERT_TRUE(InferRnnBackprop(attrs, s, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
}

TEST(RnnShapes, Overflow) {
  RnnDims dims;
  for (int position = 0; position < 3; ++position) {
    RnnInputShapes in;
    std::vector<int64_t> big = {kU, kU, kU};
    big[position] = kHuge;
    in.input = Shape(big);
    ExpectInvalid(InferRnn({}, in, &dims), {"too large"});
    in = RnnInputShapes();
    in.input_h = Shape(big);
    ExpectInvalid(InferRnn({}, in, &dims), {"too large"});
  }
  RnnInputShapes in;
  in.input = Shape({int64_t{1} << 31, int64_t{1} << 31, kU});
  ExpectInvalid(InferRnn({}, in, &dims), {"too large"});
  RnnAttrs attrs;
  attrs.num_proj = kHuge;
  ExpectInvalid(InferRnn(attrs, UnknownInputs(), &dims), {"too large"});
}

TEST(RnnShapes, ParamsHaveTheSizeOfTheNetwork) {
  RnnInputShapes in = Inputs();
  in.params = Shape({215});
  ExpectInvalid(Infer(in), {"params", "216", "lstm", "linear_input", "num_layers = 2", "[215]"});
  in.params = Shape({kU});
  EXPECT_TRUE(Infer(in).ok());
  in.params = Shape({215});
  in.input_h.dims[0] = in.input_c.dims[0] = kU;  // of how many layers is not known yet
  EXPECT_TRUE(Infer(in).ok());
}

TEST(RnnShapes, SkippedInputOfUnknownSize) {
  RnnAttrs attrs;
  attrs.input_mode = InputMode::kSkip;
  EXPECT_TRUE(Infer(UnknownInputs(), attrs).ok());
}

TEST(RnnShapes, AKernelNeedsCompleteShapes) {
  RnnConfig config;
  RnnBackpropShapes s = BackpropInputs();
  ASSERT_TRUE(MakeRnnConfig({}, s, &config).ok());
  ASSERT_TRUE(MakeRnnConfig({}, s.in, &config).ok());
  for (PartialShape* shape :
       {&s.in.input, &s.in.input_h, &s.in.input_c, &s.in.params, &s.in.sequence_lengths}) {
    const PartialShape complete = *shape;
    shape->dims[0] = kU;
    EXPECT_EQ(MakeRnnConfig({}, s.in, &config).code(), Code::kInternal);
    *shape = PartialShape::Unknown();
    EXPECT_EQ(MakeRnnConfig({}, s.in, &config).code(), Code::kInternal);
    *shape = complete;
  }
  for (PartialShape* shape : {&s.output, &s.output_h, &s.output_c, &s.output_backprop,
                              &s.output_h_backprop, &s.output_c_backprop}) {
    const PartialShape complete = *shape;
    *shape = PartialShape::Unknown();
    EXPECT_EQ(MakeRnnConfig({}, s, &config).code(), Code::kInternal);
    *shape = complete;
  }
  s.in.input_h.dims[2] = 4;
  ExpectInvalid(MakeRnnConfig({}, s.in, &config), {"input_c"});
}

TEST(RnnShapes, AnOutputTooWideIsUnknown) {
  RnnAttrs attrs;
  attrs.direction = Direction::kBidirectional;
  RnnDims dims;
  EXPECT_EQ(RnnOutputShape(attrs, dims).dims[2], kU);
  dims.hidden_size = 3;
  EXPECT_EQ(RnnOutputShape(attrs, dims).dims[2], 6);
  dims.hidden_size = kHuge;
  EXPECT_EQ(RnnOutputShape(attrs, dims).dims[2], kU);
}

TEST(RnnShapes, AttributesAreCheckedFirst) {
  RnnAttrs attrs;
  attrs.dropout = 1.5f;
  RnnDims dims;
  ExpectInvalid(InferRnn(attrs, UnknownInputs(), &dims), {"dropout"});
  ExpectInvalid(InferRnnBackprop(attrs, RnnBackpropShapes(), &dims), {"dropout"});
}

TEST(RnnShapes, SeedOfAStatelessOp) {
  RnnDims dims;
  RnnInputShapes in = UnknownInputs();
  for (const PartialShape& seed : {PartialShape::Unknown(), Shape({kU}), Shape({2})}) {
    in.seed = seed;
    EXPECT_TRUE(InferRnn({}, in, &dims).ok());
  }
  for (const PartialShape& seed : {Shape({}), Shape({1}), Shape({3}), Shape({1, 2})}) {
    in.seed = seed;
    ExpectInvalid(InferRnn({}, in, &dims), {"seed must have shape [2]"});
  }
}

TEST(RnnShapes, SequenceLengths) {
  const int32_t lengths[] = {0, 7, 3};
  EXPECT_TRUE(ValidateSequenceLengths(lengths, 3, 7).ok());
  EXPECT_TRUE(ValidateSequenceLengths(nullptr, 0, 7).ok());
  ExpectInvalid(ValidateSequenceLengths(lengths, 3, 6), {"sequence_lengths[1] is 7", "[0, 6]"});
  const int32_t negative[] = {1, 2, -1};
  ExpectInvalid(ValidateSequenceLengths(negative, 3, 7), {"sequence_lengths[2] is -1"});
  EXPECT_TRUE(ValidateSequenceLengths(negative, 2, 7).ok());
}

TEST(SequenceLengths, AreCopiedAfterACheckOrAllT) {
  const int32_t given[] = {0, 7, 3};
  int32_t taken[3] = {};
  ASSERT_TRUE(TakeSequenceLengths(given, 3, 7, taken).ok());
  EXPECT_TRUE(std::equal(given, given + 3, taken));
  ExpectInvalid(TakeSequenceLengths(given, 3, 6, taken), {"sequence_lengths[1] is 7", "[0, 6]"});
  ASSERT_TRUE(TakeSequenceLengths(nullptr, 3, 5, taken).ok());
  EXPECT_EQ(std::count(taken, taken + 3, 5), 3);
  ExpectInvalid(TakeSequenceLengths(nullptr, 1, int64_t{1} << 31, taken),
                {"input must have fewer than 2^31 time steps", "2147483648"});
}

TEST(ReserveSpace, HoldsItsBytesInWholeElements) {
  EXPECT_EQ(ReserveElements(0, 4), 0);
  EXPECT_EQ(ReserveElements(8, 4), 2);
  EXPECT_EQ(ReserveElements(9, 4), 3);
  EXPECT_TRUE(CheckReserveSpace(Shape({3}), 3).ok());
  EXPECT_TRUE(CheckReserveSpace(Shape({0}), 0).ok());  // of a call without steps
  ExpectInvalid(CheckReserveSpace(Shape({4}), 3), {"reserve_space", "vector of 3", "[4]"});
  ExpectInvalid(CheckReserveSpace(Shape({3, 1}), 3), {"reserve_space", "[3, 1]"});
  ExpectInvalid(CheckReserveSpace(Shape({1}), -1), {"reserve_space"});
}

}  // namespace
}  // namespace rnn_ops
