// The shapes of BlockLSTMV2 and of its gradient.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/shapes.h"
#include "tests/cc/core/expect_invalid.h"
#include "tests/cc/core/op/input_shapes.h"

namespace rnn_ops {
namespace {

// T = 7, B = 2, I = 5, H = 3.
InputShapes Inputs() {
  return {kBlockLstm,
          {{"seq_len_max", {}},
           {"x", {7, 2, 5}},
           {"cs_prev", {2, 3}},
           {"h_prev", {2, 3}},
           {"w", {8, 12}},
           {"wci", {3}},
           {"wcf", {3}},
           {"wco", {3}},
           {"b", {12}}}};
}

constexpr const char* kSequences[] = {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"};

InputShapes GradInputs() {
  InputShapes s(kBlockLstmGrad);
  for (const char* name : kSequences) s[name] = Shape({7, 2, 3});
  return s.Take(Inputs());
}

Status Validate(const RnnDims& dims, int64_t seq_len_max) {
  BlockLstmConfig config;
  const Status status = MakeBlockLstmConfig(dims, seq_len_max, &config);
  if (status.ok()) {
    EXPECT_EQ((Dims{config.max_time, config.batch, config.input_size, config.num_units}),
              (Dims{dims.max_time, dims.batch, dims.input_size, dims.num_units}));
    EXPECT_EQ(config.seq_len, seq_len_max);
  }
  return status;
}

TEST(BlockLstmShapes, CompleteShapes) {
  EXPECT_EQ(Inputs().Sizes(), (Dims{7, 2, 5, 3}));
  EXPECT_EQ(GradInputs().Sizes(), (Dims{7, 2, 5, 3}));
}

TEST(BlockLstmShapes, SizesFollowFromTheWeights) {
  const std::pair<std::vector<Change>, Dims> cases[] = {
      {{}, {kU, kU, kU, kU}},
      {{{"w", {8, 12}}}, {kU, kU, 5, 3}},
      {{{"w", {8, kU}}}, {kU, kU, kU, kU}},
      {{{"w", {8, kU}}, {"x", {kU, kU, 5}}}, {kU, kU, 5, 3}},
      {{{"w", {kU, 12}}}, {kU, kU, kU, 3}},
      {{{"w", {2, kU}}}, {kU, kU, kU, kU}},  // rows for one unit and one input
      {{{"w", {6, kU}}, {"x", {kU, kU, 5}}}, {kU, kU, 5, 1}},
  };
  for (const auto& [known, sizes] : cases) {
    EXPECT_EQ(InputShapes(kBlockLstm, known).Sizes(), sizes);
  }
  const InputShapes grad(kBlockLstmGrad, {{"w", {8, kU}}, {"h_grad", {kU, kU, 3}}});
  EXPECT_EQ(grad.Sizes(), (Dims{kU, kU, 5, 3}));
  ExpectRejected(
      InputShapes(kBlockLstm), {},
      {{{{"w", {0, kU}}}, {"w must have shape [I+H, 4*H] with I and H at least 1"}},
       {{{"w", {1, kU}}}, {"w must have shape [I+H, 4*H] with I and H at least 1", "[1, ?]"}},
       {{{"w", {5, kU}}, {"x", {kU, kU, 5}}},
        {"w must have shape [I+H, 4*H]", "H must be at least 1"}},
       {{{"w", {8, kU}}, {"x", {kU, kU, 8}}},
        {"w must", "[8, ?]", "I is 8 according to x", "H must"}}});
}

TEST(BlockLstmShapes, TheGradientOfTheWeightsHasTheirRowsOnceBothSizesAreKnown) {
  const int w = kBlockLstmGrad.Output(Arg::w);
  const InputShapes x(kBlockLstmGrad, {{"x", {kU, kU, 5}}});
  const InputShapes h(kBlockLstmGrad, {{"h_prev", {kU, 3}}});
  EXPECT_EQ(x.Output(w), (Dims{kU, kU}));
  EXPECT_EQ(h.Output(w), (Dims{kU, 12}));
  EXPECT_EQ(h.With({{"x", {kU, kU, 5}}}).Output(w), (Dims{8, 12}));
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
    const auto given = [&dims] {
      return InputShapes(kBlockLstm, {{"x", {dims.max_time, dims.batch, dims.input_size}},
                                      {"h_prev", {dims.batch, dims.num_units}}});
    };
    EXPECT_TRUE(given().Infer().ok()) << given().Infer().message();
    ++size;
    ExpectInvalid(given().Infer(), {"too large", "2^62"});
  }
}

TEST(BlockLstmShapes, EachInputIsChecked) {
  for (const InputShapes& valid : {Inputs(), GradInputs()}) {
    ExpectRejected(valid, {},
                   {{{{"seq_len_max", {1}}}, {"seq_len_max must be a scalar"}},
                    {{{"x", {7, 2}}}, {"x must"}},
                    {{{"x", {}}}, {"x must"}},
                    {{{"x", {7, 2, 0}}}, {"x must"}},
                    {{{"x", {7, 2, 6}}}, {"w must"}},
                    {{{"cs_prev", {3, 3}}}, {"cs_prev must"}},
                    {{{"cs_prev", {2, 3, 1}}}, {"cs_prev must"}},
                    {{{"cs_prev", {2, 0}}}, {"cs_prev must"}},
                    {{{"h_prev", {2, 4}}}, {"h_prev must"}},
                    {{{"h_prev", {2}}}, {"h_prev must"}},
                    {{{"w", {8, 13}}}, {"w must"}},
                    {{{"w", {8, 16}}}, {"w must"}},
                    {{{"w", {7, 12}}}, {"w must"}},
                    {{{"w", {0, 12}}}, {"w must"}},
                    {{{"w", {96}}}, {"w must"}},
                    {{{"wci", {1}}}, {"wci must"}},
                    {{{"wcf", {0}}}, {"wcf must"}},
                    {{{"wco", {3, 1}}}, {"wco must"}},
                    {{{"b", {3}}}, {"b must"}},
                    {{{"b", {}}}, {"b must"}},
                    {{{"b", {16}}}, {"b must"}}});
  }
}

TEST(BlockLstmShapes, EachGradientInputIsChecked) {
  for (const char* name : kSequences) {
    for (const Dims& dims : std::vector<Dims>{
             {}, {7}, {7, 2}, {7, 2, 2}, {7, 3, 3}, {6, 2, 3}, {7, 2, 3, 1}, {0, 2, 3}}) {
      const std::string begin = std::string(name) + " must";
      ExpectRejected(GradInputs(), {}, {{{{name, dims}}, {begin.c_str(), "[T, B, H]"}}});
    }
  }
}

TEST(BlockLstmShapes, EmptyTimeAndBatch) {
  const RnnDims dims =
      Inputs().With({{"x", {0, 0, 5}}, {"cs_prev", {0, 3}}, {"h_prev", {0, 3}}}).Inferred().dims;
  EXPECT_TRUE(Validate(dims, 0).ok());
  ExpectInvalid(Validate(dims, 1), {"seq_len_max", "[0, 0]", "1"});
}

// The bound counts two additional steps, so these sizes are exactly at the bound and one above.
TEST(BlockLstmShapes, WithoutAnyStepXMayBeWider) {
  const InputShapes in(kBlockLstm);
  for (int64_t steps : {int64_t{0}, kU}) {
    EXPECT_TRUE(in.With({{"x", {steps, int64_t{1} << 23, 1717986918}}}).Infer().ok()) << steps;
  }
  ExpectRejected(in, {}, {{{{"x", {1, int64_t{1} << 23, 1717986918}}}, {"too large"}}});
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

TEST(BlockLstmShapes, Overflow) {
  ExpectTooLarge(kBlockLstm, {}, "x");
  ExpectRejected(InputShapes(kBlockLstm), {},
                 {{{{"w", {kHuge, kU}}, {"wci", {1}}}, {"too large"}},
                  {{{"h_prev", {int64_t{1} << 31, int64_t{1} << 31}}}, {"too large"}}});
}

}  // namespace
}  // namespace rnn_ops
