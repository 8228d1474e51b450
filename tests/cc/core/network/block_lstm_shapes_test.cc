#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "cc/core/network/shapes.h"
#include "tests/cc/core/expect_invalid.h"
#include "tests/cc/core/network/input_shapes.h"

namespace rnn_ops {
namespace {

constexpr int64_t kU = kUnknownDim;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

PartialShape Shape(std::vector<int64_t> dims) { return PartialShape::Of(std::move(dims)); }

// T = 7, B = 2, I = 5, H = 3.
InputShapes Inputs() {
  InputShapes in(kBlockLstm);
  in["seq_len_max"] = Shape({});
  in["x"] = Shape({7, 2, 5});
  in["cs_prev"] = in["h_prev"] = Shape({2, 3});
  in["w"] = Shape({8, 12});
  in["wci"] = in["wcf"] = in["wco"] = Shape({3});
  in["b"] = Shape({12});
  return in;
}

InputShapes GradInputs() {
  InputShapes s(kBlockLstmGrad);
  s.Take(Inputs());
  s["i"] = s["cs"] = s["f"] = s["o"] = s["ci"] = s["co"] = s["h"] = s["cs_grad"] = s["h_grad"] =
      Shape({7, 2, 3});
  return s;
}

Status Validate(const RnnDims& dims, int64_t seq_len_max) {
  BlockLstmConfig config;
  const Status status = MakeBlockLstmConfig(dims, seq_len_max, &config);
  const bool set = config.max_time == dims.max_time && config.batch == dims.batch &&
                   config.input_size == dims.input_size && config.num_units == dims.num_units &&
                   config.seq_len == seq_len_max;
  if (status.ok()) {
    EXPECT_TRUE(set);
  }
  return status;
}

TEST(BlockLstmShapes, CompleteShapes) {
  RnnDims dims;
  ASSERT_TRUE(Inputs().Infer({}, &dims).ok());
  EXPECT_EQ(dims.max_time, 7);
  EXPECT_EQ(dims.batch, 2);
  EXPECT_EQ(dims.input_size, 5);
  EXPECT_EQ(dims.num_units, 3);
  ASSERT_TRUE(GradInputs().Infer({}, &dims).ok());
}

TEST(BlockLstmShapes, NothingKnownIsAccepted) {
  RnnDims dims;
  ASSERT_TRUE(InputShapes(kBlockLstm).Infer({}, &dims).ok());
  EXPECT_EQ(dims.num_units, kU);
  ASSERT_TRUE(InputShapes(kBlockLstm).Infer({}, &dims).ok());
}

TEST(BlockLstmShapes, UnitsAndInputSizeFollowFromTheWeights) {
  RnnDims dims;
  InputShapes in(kBlockLstm);
  in["w"] = Shape({8, 12});
  ASSERT_TRUE(in.Infer({}, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.input_size, 5);
  in["w"] = Shape({8, kU});
  ASSERT_TRUE(in.Infer({}, &dims).ok());
  EXPECT_EQ(dims.num_units, kU);
  in["x"] = Shape({kU, kU, 5});
  ASSERT_TRUE(in.Infer({}, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
  in["x"] = Shape({kU, kU, 8});
  ExpectInvalid(in.Infer({}, &dims), {"w must", "[8, ?]", "I is 8 according to x", "H must"});
  InputShapes grad(kBlockLstmGrad);
  grad["w"] = Shape({8, kU});
  grad["h_grad"] = Shape({kU, kU, 3});
  ASSERT_TRUE(grad.Infer({}, &dims).ok());
  EXPECT_EQ(dims.input_size, 5);
}

TEST(BlockLstmShapes, WeightsHaveARowForXAndOneForH) {
  InputShapes in(kBlockLstm);
  for (int64_t rows : {0, 1}) {
    in["w"] = Shape({rows, kU});
    ExpectInvalid(in.Infer(), {"w must have shape [I+H, 4*H] with I and H at least 1"});
  }
  in["w"] = Shape({2, kU});
  EXPECT_TRUE(in.Infer().ok());
  in["x"] = Shape({kU, kU, 5});
  in["w"] = Shape({6, kU});
  EXPECT_TRUE(in.Infer().ok());
  in["w"] = Shape({5, kU});
  ExpectInvalid(in.Infer(), {"w must have shape [I+H, 4*H]", "H must be at least 1"});
}

TEST(BlockLstmShapes, TheGradientOfTheWeightsHasTheirRowsOnceBothSizesAreKnown) {
  const int w = kBlockLstmGrad.Output(Arg::w);
  InputShapes x(kBlockLstmGrad), h(kBlockLstmGrad);
  x["x"] = Shape({kU, kU, 5});
  EXPECT_EQ(x.Output(w), (std::vector<int64_t>{kU, kU}));
  h["h_prev"] = Shape({kU, 3});
  EXPECT_EQ(h.Output(w), (std::vector<int64_t>{kU, 12}));
  h["x"] = Shape({kU, kU, 5});
  EXPECT_EQ(h.Output(w), (std::vector<int64_t>{8, 12}));
}

// 16 tensors of 8 bytes, every size rounded up by at most 64, and two additional steps.
bool Fits(const RnnDims& d) {
  using Wide = unsigned __int128;
  const Wide width = d.input_size + d.num_units + 64;
  return 128 * (Wide(d.max_time + 2) * (d.batch + 64) * width + width * (d.num_units + 64)) <
         Wide{1} << 62;
}

// Sets each size in turn to the largest value that fits with the other sizes, and to one more.
TEST(BlockLstmShapes, TheBoundOfSizesIsExact) {
  std::mt19937_64 random(15);
  constexpr int64_t RnnDims::* kSizes[] = {&RnnDims::max_time, &RnnDims::batch,
                                           &RnnDims::input_size, &RnnDims::num_units};
  for (int repeat = 0; repeat < 200; ++repeat) {
    RnnDims dims;
    for (int64_t RnnDims::* size : kSizes) dims.*size = int64_t{3} << random() % 9;
    int64_t& size = dims.*kSizes[repeat % 4];
    int64_t too_large = int64_t{1} << 60;
    while (too_large - size > 1) {
      const int64_t middle = size + (too_large - size) / 2;
      const int64_t before = std::exchange(size, middle);
      if (!Fits(dims)) too_large = middle, size = before;
    }
    const auto infer = [&dims] {
      InputShapes in(kBlockLstm);
      in["x"] = Shape({dims.max_time, dims.batch, dims.input_size});
      in["h_prev"] = Shape({dims.batch, dims.num_units});
      return in.Infer();
    };
    EXPECT_TRUE(infer().ok()) << infer().message();
    ++size;
    ExpectInvalid(infer(), {"too large", "2^62"});
  }
}

TEST(BlockLstmShapes, EachInputIsChecked) {
  struct Mutation {
    const char* name;
    const char* field;
    std::vector<int64_t> dims;
  };
  const Mutation mutations[] = {
      {"seq_len_max must be a scalar", "seq_len_max", {1}},
      {"x must", "x", {7, 2}},
      {"x must", "x", {}},
      {"x must", "x", {7, 2, 0}},
      {"w must", "x", {7, 2, 6}},
      {"cs_prev must", "cs_prev", {3, 3}},
      {"cs_prev must", "cs_prev", {2, 3, 1}},
      {"cs_prev must", "cs_prev", {2, 0}},
      {"h_prev must", "h_prev", {2, 4}},
      {"h_prev must", "h_prev", {2}},
      {"w must", "w", {8, 13}},
      {"w must", "w", {8, 16}},
      {"w must", "w", {7, 12}},
      {"w must", "w", {0, 12}},
      {"w must", "w", {96}},
      {"wci must", "wci", {1}},
      {"wcf must", "wcf", {0}},
      {"wco must", "wco", {3, 1}},
      {"b must", "b", {3}},
      {"b must", "b", {}},
      {"b must", "b", {16}},
  };
  for (const Mutation& mutation : mutations) {
    InputShapes in = Inputs();
    in[mutation.field] = Shape(mutation.dims);
    RnnDims dims;
    ExpectInvalid(in.Infer({}, &dims), {mutation.name});
    InputShapes grad = GradInputs();
    grad.Take(in);
    ExpectInvalid(grad.Infer({}, &dims), {mutation.name});
  }
}

TEST(BlockLstmShapes, EachGradientInputIsChecked) {
  const struct {
    const char* name;
    const char* field;
  } tensors[] = {
      {"i must", "i"}, {"cs must", "cs"},           {"f must", "f"},
      {"o must", "o"}, {"ci must", "ci"},           {"co must", "co"},
      {"h must", "h"}, {"cs_grad must", "cs_grad"}, {"h_grad must", "h_grad"},
  };
  for (const auto& tensor : tensors) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{
             {}, {7}, {7, 2}, {7, 2, 2}, {7, 3, 3}, {6, 2, 3}, {7, 2, 3, 1}, {0, 2, 3}}) {
      InputShapes s = GradInputs();
      s[tensor.field] = Shape(dims);
      RnnDims result;
      ExpectInvalid(s.Infer({}, &result), {tensor.name, "[T, B, H]"});
    }
  }
}

TEST(BlockLstmShapes, EmptyTimeAndBatch) {
  InputShapes in = Inputs();
  in["x"] = Shape({0, 0, 5});
  in["cs_prev"] = in["h_prev"] = Shape({0, 3});
  RnnDims dims;
  ASSERT_TRUE(in.Infer({}, &dims).ok());
  EXPECT_TRUE(Validate(dims, 0).ok());
  ExpectInvalid(Validate(dims, 1), {"seq_len_max", "[0, 0]", "1"});
}

// The bound counts two additional steps, so these sizes are exactly at the bound and one above.
TEST(BlockLstmShapes, WithoutAnyStepXMayBeWider) {
  RnnDims dims;
  InputShapes in(kBlockLstm);
  for (int64_t steps : {int64_t{0}, kU}) {
    in["x"] = Shape({steps, int64_t{1} << 23, 1717986918});
    EXPECT_TRUE(in.Infer({}, &dims).ok()) << steps;
  }
  in["x"] = Shape({1, int64_t{1} << 23, 1717986918});
  ExpectInvalid(in.Infer({}, &dims), {"too large"});
}

TEST(BlockLstmShapes, GradientsAreOfAllInputsButSeqLenMax) {
  EXPECT_EQ(kBlockLstmGrad.Output(Arg::seq_len_max), kAbsent);
  EXPECT_EQ(kBlockLstmGrad.Output(Arg::x), 0);
  EXPECT_EQ(kBlockLstmGrad.Output(Arg::b), 7);
  EXPECT_EQ(kBlockLstmGrad.num_outputs(), 8);
}

TEST(BlockLstmShapes, SeqLenMax) {
  const RnnDims dims{7, 2, 5, 3};
  EXPECT_TRUE(Validate(dims, 0).ok());
  EXPECT_TRUE(Validate(dims, 7).ok());
  ExpectInvalid(Validate(dims, 8), {"seq_len_max", "[0, 7]", "8"});
  ExpectInvalid(Validate(dims, -1), {"seq_len_max", "-1"});
  ExpectInvalid(Validate(dims, kHuge), {"seq_len_max"});
}

TEST(BlockLstmShapes, WithoutRowsOrStepsThereIsNothingToCompute) {
  const auto empty = [](const RnnDims& dims, int64_t seq_len_max) {
    BlockLstmConfig config;
    EXPECT_TRUE(MakeBlockLstmConfig(dims, seq_len_max, &config).ok());
    return config.empty();
  };
  EXPECT_FALSE(empty({7, 2, 5, 3}, 1));
  EXPECT_TRUE(empty({7, 2, 5, 3}, 0));
  EXPECT_TRUE(empty({7, 0, 5, 3}, 1));
}

TEST(BlockLstmShapes, WeightsAlone) {
  RnnDims dims;
  InputShapes in(kBlockLstm);
  in["w"] = Shape({kU, 12});
  ASSERT_TRUE(in.Infer({}, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.input_size, kU);
  // Rows for one unit and one input.
  in["w"] = Shape({2, kU});
  EXPECT_TRUE(in.Infer({}, &dims).ok());
  in["w"] = Shape({1, kU});
  ExpectInvalid(in.Infer({}, &dims), {"w", "[I+H, 4*H]", "[1, ?]"});
}

TEST(BlockLstmShapes, Overflow) {
  RnnDims dims;
  for (int position = 0; position < 3; ++position) {
    InputShapes in(kBlockLstm);
    std::vector<int64_t> big = {kU, kU, kU};
    big[position] = kHuge;
    in["x"] = Shape(big);
    ExpectInvalid(in.Infer({}, &dims), {"too large"});
  }
  InputShapes in(kBlockLstm);
  in["w"] = Shape({kHuge, kU});
  in["wci"] = Shape({1});
  ExpectInvalid(in.Infer({}, &dims), {"too large"});
  in = InputShapes(kBlockLstm);
  in["h_prev"] = Shape({int64_t{1} << 31, int64_t{1} << 31});
  ExpectInvalid(in.Infer({}, &dims), {"too large"});
}

}  // namespace
}  // namespace rnn_ops
