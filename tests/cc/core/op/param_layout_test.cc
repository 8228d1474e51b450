#include "cc/core/op/param_layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace rnn_ops {
namespace {

struct Case {
  RnnMode mode;
  InputMode input_mode;
  Direction direction;
  int64_t num_layers, num_units, input_size, num_proj;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kLstm, RnnMode::kGru}) {
    for (InputMode input_mode : {InputMode::kLinear, InputMode::kSkip, InputMode::kAuto}) {
      for (Direction direction : {Direction::kUnidirectional, Direction::kBidirectional}) {
        for (int64_t layers : {1, 2, 3}) {
          for (int64_t input_size : {1, 3, 5}) {
            for (int64_t num_proj : {0, 1, 3}) {
              const int64_t num_units = 3;
              if (num_proj > 0 && mode != RnnMode::kLstm) continue;
              if (input_mode == InputMode::kSkip && input_size != num_units) continue;
              cases.push_back(
                  {mode, input_mode, direction, layers, num_units, input_size, num_proj});
            }
          }
        }
      }
    }
  }
  return cases;
}

RnnConfig ConfigOf(const Case& c) {
  RnnAttrs attrs;
  attrs.mode = c.mode;
  attrs.input_mode = c.input_mode;
  attrs.direction = c.direction;
  attrs.num_proj = c.num_proj;
  RnnConfig config;
  const Status status =
      MakeRnnConfig(attrs, c.num_layers, c.num_units, c.input_size, 0, 0, &config);
  EXPECT_TRUE(status.ok()) << status.message();
  return config;
}

// The shapes of the canonical tensors, enumerated one by one from the description in
// docs/raw-ops.md, without the formulas of the code under test.
struct Expected {
  std::vector<std::pair<int64_t, int64_t>> weights;
  std::vector<int64_t> biases;
};

Expected Enumerate(const Case& c) {
  const int gates = c.mode == RnnMode::kLstm ? 4 : c.mode == RnnMode::kGru ? 3 : 1;
  const int dirs = c.direction == Direction::kBidirectional ? 2 : 1;
  const bool projects = c.num_proj > 0 && c.num_proj < c.num_units;
  const int64_t state = projects ? c.num_proj : c.num_units;
  const bool skip = c.input_mode == InputMode::kSkip ||
                    (c.input_mode == InputMode::kAuto && c.input_size == c.num_units);
  Expected expected;
  for (int layer = 0; layer < c.num_layers; ++layer) {
    for (int dir = 0; dir < dirs; ++dir) {
      const int64_t in = layer > 0 ? dirs * state : skip ? 0 : c.input_size;
      for (int gate = 0; gate < gates; ++gate) expected.weights.push_back({c.num_units, in});
      for (int gate = 0; gate < gates; ++gate) expected.weights.push_back({c.num_units, state});
      if (projects) expected.weights.push_back({c.num_proj, c.num_units});
      for (int bias = 0; bias < 2 * gates; ++bias) expected.biases.push_back(c.num_units);
    }
  }
  return expected;
}

TEST(ParamLayout, EqualsTheEnumeration) {
  const std::vector<Case> cases = AllCases();
  ASSERT_GT(cases.size(), 100u);
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message()
                 << Name(c.mode) << ' ' << Name(c.input_mode) << ' ' << Name(c.direction)
                 << " L=" << c.num_layers << " I=" << c.input_size << " P=" << c.num_proj);
    const ParamLayout layout(ConfigOf(c));
    const std::vector<ParamBlock> weights = layout.CanonicalWeights();
    const std::vector<ParamBlock> biases = layout.CanonicalBiases();
    const Expected expected = Enumerate(c);
    ASSERT_EQ(weights.size(), expected.weights.size());
    ASSERT_EQ(biases.size(), expected.biases.size());
    // The buffer has the weights and then the biases, without gaps or overlap.
    int64_t offset = 0;
    for (size_t k = 0; k < weights.size(); ++k) {
      EXPECT_EQ(weights[k].offset, offset);
      EXPECT_EQ(weights[k].rows, expected.weights[k].first);
      EXPECT_EQ(weights[k].cols, expected.weights[k].second);
      offset += expected.weights[k].first * expected.weights[k].second;
    }
    for (size_t k = 0; k < biases.size(); ++k) {
      EXPECT_EQ(biases[k].offset, offset);
      EXPECT_EQ(biases[k].size(), expected.biases[k]);
      offset += expected.biases[k];
    }
    EXPECT_EQ(layout.size(), offset);
    EXPECT_EQ(ParamsSize(ConfigOf(c)), offset);
  }
}

TEST(ParamLayout, BlocksOfABidirectionalProjectedLstm) {
  const ParamLayout layout(
      ConfigOf({RnnMode::kLstm, InputMode::kLinear, Direction::kBidirectional, 2, /*num_units=*/3,
                /*input_size=*/5, /*num_proj=*/2}));
  // Layer 0: 12 rows of 5 inputs, 12 rows of 2 states, a [2, 3] projection: 90 elements a
  // direction.
  EXPECT_EQ(layout.at(0, 0).input_weights.offset, 0);
  EXPECT_EQ(layout.at(0, 0).recurrent_weights.offset, 60);
  EXPECT_EQ(layout.at(0, 0).projection.offset, 84);
  EXPECT_EQ(layout.at(0, 1).input_weights.offset, 90);
  // Layer 1: 12 rows of 4 inputs: 78 elements a direction.
  EXPECT_EQ(layout.at(1, 0).input_weights.offset, 180);
  EXPECT_EQ(layout.at(1, 1).recurrent_weights.offset, 180 + 78 + 48);
  EXPECT_EQ(layout.at(1, 1).projection.rows, 2);
  EXPECT_EQ(layout.at(1, 1).projection.cols, 3);
  EXPECT_EQ(layout.at(0, 0).input_bias.offset, 336);
  EXPECT_EQ(layout.at(0, 0).recurrent_bias.offset, 348);
  EXPECT_EQ(layout.at(1, 1).recurrent_bias.offset, 336 + 7 * 12);
  EXPECT_EQ(layout.size(), 336 + 8 * 12);
}

TEST(ParamLayout, KnownTotals) {
  // A Keras GRU (reset_after) with 32 units and 8 inputs has 3 * 32 * (8 + 32 + 2) weights.
  EXPECT_EQ(ParamLayout(ConfigOf({RnnMode::kGru, InputMode::kLinear, Direction::kUnidirectional, 1,
                                  32, 8, 0}))
                .size(),
            4032);
  EXPECT_EQ(ParamLayout(ConfigOf({RnnMode::kLstm, InputMode::kSkip, Direction::kUnidirectional, 1,
                                  32, 32, 0}))
                .size(),
            4 * 32 * (32 + 2));
}

TEST(ParamLayout, SizeOfWhatDoesNotFit) {
  RnnConfig config;
  config.input_size = 1;
  config.num_units = int64_t{1} << 31;
  EXPECT_EQ(ParamsSize(config), -1);
  config.num_units = 2;
  config.num_layers = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ParamsSize(config), -1);
  config.num_layers = int64_t{1} << 40;  // there is no memory for these blocks, but a size
  EXPECT_EQ(ParamsSize(config), 8 * (1 + 2 + 2) + ((int64_t{1} << 40) - 1) * 8 * (2 + 2 + 2));
}

}  // namespace
}  // namespace rnn_ops
