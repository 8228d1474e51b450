#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "cc/core/shapes.h"
#include "tests/cc/core/expect_invalid.h"

namespace rnn_ops {
namespace {

constexpr int64_t kU = kUnknownDim;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

PartialShape Shape(std::vector<int64_t> dims) { return PartialShape::Of(std::move(dims)); }

// T = 7, B = 2, I = 5, H = 3.
BlockLstmInputShapes Inputs() {
  BlockLstmInputShapes in;
  in.seq_len_max = Shape({});
  in.x = Shape({7, 2, 5});
  in.cs_prev = in.h_prev = Shape({2, 3});
  in.w = Shape({8, 12});
  in.wci = in.wcf = in.wco = Shape({3});
  in.b = Shape({12});
  return in;
}

BlockLstmGradShapes GradInputs() {
  BlockLstmGradShapes s;
  s.in = Inputs();
  s.i = s.cs = s.f = s.o = s.ci = s.co = s.h = s.cs_grad = s.h_grad = Shape({7, 2, 3});
  return s;
}

TEST(BlockLstmShapes, CompleteShapes) {
  BlockLstmDims dims;
  ASSERT_TRUE(InferBlockLstm(Inputs(), &dims).ok());
  EXPECT_EQ(dims.max_time, 7);
  EXPECT_EQ(dims.batch, 2);
  EXPECT_EQ(dims.input_size, 5);
  EXPECT_EQ(dims.num_units, 3);
  ASSERT_TRUE(InferBlockLstmGrad(GradInputs(), &dims).ok());
}

TEST(BlockLstmShapes, NothingKnownIsAccepted) {
  BlockLstmDims dims;
  ASSERT_TRUE(InferBlockLstm({}, &dims).ok());
  EXPECT_EQ(dims.num_units, kU);
  ASSERT_TRUE(InferBlockLstmGrad({}, &dims).ok());
}

TEST(BlockLstmShapes, UnitsAndInputSizeFollowFromTheWeights) {
  BlockLstmDims dims;
  BlockLstmInputShapes in;
  in.w = Shape({8, 12});
  ASSERT_TRUE(InferBlockLstm(in, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.input_size, 5);
  in.w = Shape({8, kU});
  ASSERT_TRUE(InferBlockLstm(in, &dims).ok());
  EXPECT_EQ(dims.num_units, kU);
  in.x = Shape({kU, kU, 5});
  ASSERT_TRUE(InferBlockLstm(in, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
  in.x = Shape({kU, kU, 8});
  ExpectInvalid(InferBlockLstm(in, &dims), {"w must", "[8, ?]", "I is 8 according to x", "H must"});
  BlockLstmGradShapes grad;
  grad.in.w = Shape({8, kU});
  grad.h_grad = Shape({kU, kU, 3});
  ASSERT_TRUE(InferBlockLstmGrad(grad, &dims).ok());
  EXPECT_EQ(dims.input_size, 5);
}

TEST(BlockLstmShapes, EachInputIsChecked) {
  struct Mutation {
    const char* name;
    PartialShape BlockLstmInputShapes::* field;
    std::vector<int64_t> dims;
  };
  const Mutation mutations[] = {
      {"seq_len_max must have rank 0", &BlockLstmInputShapes::seq_len_max, {1}},
      {"x must", &BlockLstmInputShapes::x, {7, 2}},
      {"x must", &BlockLstmInputShapes::x, {}},
      {"x must", &BlockLstmInputShapes::x, {7, 2, 0}},
      {"w must", &BlockLstmInputShapes::x, {7, 2, 6}},
      {"cs_prev must", &BlockLstmInputShapes::cs_prev, {3, 3}},
      {"cs_prev must", &BlockLstmInputShapes::cs_prev, {2, 3, 1}},
      {"cs_prev must", &BlockLstmInputShapes::cs_prev, {2, 0}},
      {"h_prev must", &BlockLstmInputShapes::h_prev, {2, 4}},
      {"h_prev must", &BlockLstmInputShapes::h_prev, {2}},
      {"w must", &BlockLstmInputShapes::w, {8, 13}},
      {"w must", &BlockLstmInputShapes::w, {8, 16}},
      {"w must", &BlockLstmInputShapes::w, {7, 12}},
      {"w must", &BlockLstmInputShapes::w, {0, 12}},
      {"w must", &BlockLstmInputShapes::w, {96}},
      {"wci must", &BlockLstmInputShapes::wci, {1}},
      {"wcf must", &BlockLstmInputShapes::wcf, {0}},
      {"wco must", &BlockLstmInputShapes::wco, {3, 1}},
      {"b must", &BlockLstmInputShapes::b, {3}},
      {"b must", &BlockLstmInputShapes::b, {}},
      {"b must", &BlockLstmInputShapes::b, {16}},
  };
  for (const Mutation& mutation : mutations) {
    BlockLstmInputShapes in = Inputs();
    in.*mutation.field = Shape(mutation.dims);
    BlockLstmDims dims;
    ExpectInvalid(InferBlockLstm(in, &dims), {mutation.name});
    BlockLstmGradShapes grad = GradInputs();
    grad.in = in;
    ExpectInvalid(InferBlockLstmGrad(grad, &dims), {mutation.name});
  }
}

TEST(BlockLstmShapes, EachGradientInputIsChecked) {
  const struct {
    const char* name;
    PartialShape BlockLstmGradShapes::* field;
  } tensors[] = {
      {"i must", &BlockLstmGradShapes::i},
      {"cs must", &BlockLstmGradShapes::cs},
      {"f must", &BlockLstmGradShapes::f},
      {"o must", &BlockLstmGradShapes::o},
      {"ci must", &BlockLstmGradShapes::ci},
      {"co must", &BlockLstmGradShapes::co},
      {"h must", &BlockLstmGradShapes::h},
      {"cs_grad must", &BlockLstmGradShapes::cs_grad},
      {"h_grad must", &BlockLstmGradShapes::h_grad},
  };
  for (const auto& tensor : tensors) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{
             {}, {7}, {7, 2}, {7, 2, 2}, {7, 3, 3}, {6, 2, 3}, {7, 2, 3, 1}, {0, 2, 3}}) {
      BlockLstmGradShapes s = GradInputs();
      s.*tensor.field = Shape(dims);
      BlockLstmDims result;
      ExpectInvalid(InferBlockLstmGrad(s, &result), {tensor.name, "[T, B, H]"});
    }
  }
}

TEST(BlockLstmShapes, EmptyTimeAndBatch) {
  BlockLstmInputShapes in = Inputs();
  in.x = Shape({0, 0, 5});
  in.cs_prev = in.h_prev = Shape({0, 3});
  BlockLstmDims dims;
  ASSERT_TRUE(InferBlockLstm(in, &dims).ok());
  EXPECT_TRUE(ValidateBlockLstm(dims, 0).ok());
  ExpectInvalid(ValidateBlockLstm(dims, 1), {"seq_len_max", "[0, 0]", "1"});
}

TEST(BlockLstmShapes, SeqLenMax) {
  const BlockLstmDims dims{7, 2, 5, 3};
  EXPECT_TRUE(ValidateBlockLstm(dims, 0).ok());
  EXPECT_TRUE(ValidateBlockLstm(dims, 7).ok());
  ExpectInvalid(ValidateBlockLstm(dims, 8), {"seq_len_max", "[0, 7]", "8"});
  ExpectInvalid(ValidateBlockLstm(dims, -1), {"seq_len_max", "-1"});
  ExpectInvalid(ValidateBlockLstm(dims, kHuge), {"seq_len_max"});
  EXPECT_EQ(ValidateBlockLstm(BlockLstmDims(), 0).code(), Code::kInternal);
}

TEST(BlockLstmShapes, WeightsAlone) {
  BlockLstmDims dims;
  BlockLstmInputShapes in;
  in.w = Shape({kU, 12});
  ASSERT_TRUE(InferBlockLstm(in, &dims).ok());
  EXPECT_EQ(dims.num_units, 3);
  EXPECT_EQ(dims.input_size, kU);
  // Rows for at least one unit and one input.
  in.w = Shape({2, kU});
  EXPECT_TRUE(InferBlockLstm(in, &dims).ok());
  in.w = Shape({1, kU});
  ExpectInvalid(InferBlockLstm(in, &dims), {"w", "[I+H, 4*H]", "[1, ?]"});
}

TEST(BlockLstmShapes, AKernelNeedsEverySize) {
  for (int64_t BlockLstmDims::* size : {&BlockLstmDims::max_time, &BlockLstmDims::batch,
                                        &BlockLstmDims::input_size, &BlockLstmDims::num_units}) {
    BlockLstmDims dims{7, 2, 5, 3};
    ASSERT_TRUE(ValidateBlockLstm(dims, 7).ok());
    dims.*size = kU;
    EXPECT_EQ(ValidateBlockLstm(dims, 0).code(), Code::kInternal);
    dims.*size = kHuge;
    ExpectInvalid(ValidateBlockLstm(dims, 0), {"too large"});
  }
}

TEST(BlockLstmShapes, Overflow) {
  BlockLstmDims dims;
  for (int position = 0; position < 3; ++position) {
    BlockLstmInputShapes in;
    std::vector<int64_t> big = {kU, kU, kU};
    big[position] = kHuge;
    in.x = Shape(big);
    ExpectInvalid(InferBlockLstm(in, &dims), {"too large"});
  }
  BlockLstmInputShapes in;
  in.w = Shape({kHuge, kU});
  in.wci = Shape({1});
  ExpectInvalid(InferBlockLstm(in, &dims), {"too large"});
  in = BlockLstmInputShapes();
  in.h_prev = Shape({int64_t{1} << 31, int64_t{1} << 31});
  ExpectInvalid(InferBlockLstm(in, &dims), {"too large"});
}

}  // namespace
}  // namespace rnn_ops
