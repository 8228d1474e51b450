#include "cc/core/op/rnn_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "cc/core/checked_math.h"
#include "cc/core/runtime/float_environment.h"
#include "tests/cc/core/expect_invalid.h"

namespace rnn_ops {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(CheckedMath, AreaReportsOverflow) {
  EXPECT_EQ(Area(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(Area(int64_t{1} << 32, int64_t{1} << 31), -1);
  EXPECT_EQ(Area(kHuge, 2), -1);
  EXPECT_EQ(Area(0, kHuge), 0);
  EXPECT_EQ(Area(-1, 0), -1);
  EXPECT_EQ(Area(0, -1), -1);
}

TEST(CheckedMath, SizeStaysStuck) {
  EXPECT_EQ((CheckedSize(3) * 4 + 5).value(), 17);
  EXPECT_EQ(CheckedSize(kSizeLimit - 1).value(), kSizeLimit - 1);
  EXPECT_FALSE(CheckedSize(kSizeLimit).ok());
  EXPECT_FALSE(CheckedSize(-1).ok());
  EXPECT_FALSE((CheckedSize(kSizeLimit - 1) + 1).ok());
  EXPECT_FALSE((CheckedSize(kSizeLimit - 1) + (kSizeLimit - 1)).ok());
  // Multiplying by 0 does not turn a size that does not fit into one that fits.
  EXPECT_FALSE((CheckedSize(kHuge) * 0).ok());
  EXPECT_EQ((CheckedSize(kSizeLimit) * 2 + 1).value(), -1);
}

TEST(RnnConfig, NamesAndParsersAreInverse) {
  for (RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kLstm, RnnMode::kGru,
                       RnnMode::kGruResetBefore, RnnMode::kVanilla}) {
    RnnMode parsed;
    ASSERT_TRUE(ParseRnnMode(Name(mode), &parsed).ok());
    EXPECT_EQ(parsed, mode);
  }
  for (Activation activation :
       {Activation::kTanh, Activation::kSigmoid, Activation::kHardSigmoid,
        Activation::kHardSigmoidKeras2, Activation::kRelu, Activation::kLinear}) {
    Activation parsed;
    ASSERT_TRUE(ParseActivation("activation", Name(activation), &parsed).ok());
    EXPECT_EQ(parsed, activation);
  }
  for (InputMode mode : {InputMode::kLinear, InputMode::kSkip, InputMode::kAuto}) {
    InputMode parsed;
    ASSERT_TRUE(ParseInputMode(Name(mode), &parsed).ok());
    EXPECT_EQ(parsed, mode);
  }
  for (Direction direction : {Direction::kUnidirectional, Direction::kBidirectional}) {
    Direction parsed;
    ASSERT_TRUE(ParseDirection(Name(direction), &parsed).ok());
    EXPECT_EQ(parsed, direction);
  }
  RnnMode mode = RnnMode::kGru;
  const std::string last = StrCat("or '", std::rbegin(kCellFacts)->name, "'");
  ExpectInvalid(ParseRnnMode("LSTM", &mode),
                {"rnn_mode", "'LSTM'", "'lstm'", "'gru_reset_before'", last.c_str()});
  EXPECT_EQ(mode, RnnMode::kGru);
  Activation activation;
  ExpectInvalid(ParseActivation("recurrent_activation", "elu", &activation),
                {"recurrent_activation must be 'tanh'", "or 'linear'", "'elu'"});
  InputMode input_mode;
  ExpectInvalid(
      ParseInputMode("", &input_mode),
      {"input_mode must be 'linear_input', 'skip_input' or 'auto_select', but it is ''."});
  Direction direction;
  ExpectInvalid(ParseDirection("both", &direction),
                {"direction must be 'unidirectional' or 'bidirectional', but it is 'both'."});
}

TEST(RnnConfig, AttributesAreChecked) {
  RnnAttrs attrs;
  EXPECT_TRUE(attrs.Validate().ok());
  for (float dropout : {-0.1f, std::nextafter(1.0f, 2.0f), 1.5f, std::nanf(""), INFINITY}) {
    attrs.dropout = dropout;
    ExpectInvalid(attrs.Validate(), {"dropout", "[0, 1]"});
  }
  attrs.dropout = 1.0f;
  EXPECT_TRUE(attrs.Validate().ok());
  attrs.num_proj = -1;
  ExpectInvalid(attrs.Validate(), {"num_proj", "-1"});
  attrs.num_proj = 2;
  EXPECT_TRUE(attrs.Validate().ok());
  for (RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kGru}) {
    attrs.mode = mode;
    for (int64_t num_proj : {2, 1}) {
      attrs.num_proj = num_proj;
      ExpectInvalid(attrs.Validate(), {"num_proj", "lstm", Name(mode)});
    }
  }
}

TEST(RnnConfig, LimitsAreChecked) {
  for (float RnnAttrs::* limit : {&RnnAttrs::cell_clip, &RnnAttrs::proj_clip}) {
    const char* name = limit == &RnnAttrs::cell_clip ? "cell_clip" : "proj_clip";
    RnnAttrs attrs;
    attrs.*limit = 2.0f;
    EXPECT_TRUE(attrs.Validate().ok());
    for (float bad : {-0.5f, std::nanf(""), INFINITY}) {
      attrs.*limit = bad;
      ExpectInvalid(attrs.Validate(), {name, "must be 0 (no limit) or a positive number"});
    }
    attrs.*limit = 2.0f;
    attrs.mode = RnnMode::kGru;
    ExpectInvalid(attrs.Validate(), {name, "must be 0 for rnn_mode='gru'", "2"});
  }
}

TEST(RnnConfig, ZoneoutIsChecked) {
  for (float RnnAttrs::* rate : {&RnnAttrs::zoneout_h, &RnnAttrs::zoneout_c}) {
    const bool of_c = rate == &RnnAttrs::zoneout_c;
    const char* name = of_c ? "zoneout_c" : "zoneout_h";
    RnnAttrs attrs;
    EXPECT_FALSE(attrs.has_zoneout());
    for (float good : {0.25f, 1.0f}) {
      attrs.*rate = good;
      EXPECT_TRUE(attrs.Validate().ok());
      EXPECT_TRUE(attrs.has_zoneout());
    }
    for (float bad : {-0.5f, std::nanf(""), 1.5f}) {
      attrs.*rate = bad;
      ExpectInvalid(attrs.Validate(), {name, "must be in [0, 1]"});
    }
    attrs.*rate = 0.25f;
    attrs.mode = RnnMode::kGru;
    EXPECT_EQ(attrs.Validate().ok(), !of_c);
    attrs.mode = RnnMode::kGruResetBefore;
    ExpectInvalid(attrs.Validate(), {name, "must be 0 for rnn_mode='gru_reset_before'", "0.25"});
  }
}

TEST(RnnConfig, EpsilonIsChecked) {
  RnnAttrs attrs;
  EXPECT_TRUE(attrs.Validate().ok());
  for (float bad : {0.0f, -0.5f, std::nanf(""), INFINITY}) {
    attrs.layer_norm_epsilon = bad;
    ExpectInvalid(attrs.Validate(), {"layer_norm_epsilon must be a positive number"});
  }
}

// Whether such a number compares as 0 depends on the thread.
TEST(RnnConfig, NumbersThatKernelsTakeForZeroAreRefused) {
  const std::pair<const char*, float RnnAttrs::*> attributes[] = {
      {"cell_clip", &RnnAttrs::cell_clip},
      {"proj_clip", &RnnAttrs::proj_clip},
      {"zoneout_h", &RnnAttrs::zoneout_h},
      {"zoneout_c", &RnnAttrs::zoneout_c},
      {"layer_norm_epsilon", &RnnAttrs::layer_norm_epsilon}};
  constexpr float kSmallest = std::numeric_limits<float>::min();
  for (const auto& [name, attribute] : attributes) {
    RnnAttrs attrs;
    attrs.*attribute = kSmallest;
    EXPECT_TRUE(attrs.Validate().ok());
    for (float bad : {std::nextafter(kSmallest, 0.0f), std::numeric_limits<float>::denorm_min(),
                      -std::numeric_limits<float>::denorm_min()}) {
      attrs.*attribute = bad;
      ExpectInvalid(attrs.Validate(), {name, "at least 1.2e-38 away from 0"});
      const ScopedFloatEnvironment as_in_kernels;
      ExpectInvalid(attrs.Validate(), {name, "at least 1.2e-38 away from 0"});
    }
  }
}

TEST(RnnConfig, VanillaModesTakeNoActivationsThatTheyDoNotHave) {
  for (RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh}) {
    RnnAttrs attrs;
    attrs.mode = mode;
    EXPECT_TRUE(attrs.Validate().ok());
    attrs.activation = Activation::kLinear;
    ExpectInvalid(attrs.Validate(), {"activation must be left at 'tanh'", Name(mode), "'linear'"});
    attrs.activation = Activation::kTanh;
    attrs.recurrent_activation = Activation::kHardSigmoid;
    ExpectInvalid(attrs.Validate(),
                  {"recurrent_activation must be left at 'sigmoid'", Name(mode), "'hard_sigmoid'"});
  }
  RnnAttrs attrs;
  attrs.mode = RnnMode::kVanilla;
  attrs.activation = Activation::kRelu;
  EXPECT_TRUE(attrs.Validate().ok());
  attrs.recurrent_activation = Activation::kHardSigmoidKeras2;
  ExpectInvalid(attrs.Validate(), {"recurrent_activation must be left at 'sigmoid'", "'rnn'"});
  for (RnnMode mode : {RnnMode::kLstm, RnnMode::kGru, RnnMode::kGruResetBefore}) {
    attrs.mode = mode;
    RnnConfig config;
    ASSERT_TRUE(MakeRnnConfig(attrs, 1, 4, 5, 3, 2, &config).ok());
    EXPECT_EQ(config.activation, Activation::kRelu);
    EXPECT_EQ(config.recurrent_activation, Activation::kHardSigmoidKeras2);
  }
}

TEST(RnnConfig, ResolvesAutoSelectAndFullProjection) {
  RnnAttrs attrs;
  RnnConfig config;
  attrs.input_mode = InputMode::kAuto;
  ASSERT_TRUE(MakeRnnConfig(attrs, 1, 4, 4, 3, 2, &config).ok());
  EXPECT_EQ(config.input_mode, InputMode::kSkip);
  EXPECT_TRUE(config.skips_input(0));
  EXPECT_FALSE(config.skips_input(1));
  ASSERT_TRUE(MakeRnnConfig(attrs, 1, 4, 5, 3, 2, &config).ok());
  EXPECT_EQ(config.input_mode, InputMode::kLinear);
  EXPECT_FALSE(config.skips_input(0));

  attrs.num_proj = 4;
  ASSERT_TRUE(MakeRnnConfig(attrs, 1, 4, 5, 3, 2, &config).ok());
  EXPECT_EQ(config.num_proj, 0);
  EXPECT_EQ(config.hidden_size(), 4);
  attrs.num_proj = 3;
  attrs.direction = Direction::kBidirectional;
  ASSERT_TRUE(MakeRnnConfig(attrs, 2, 4, 5, 3, 2, &config).ok());
  EXPECT_EQ(config.num_proj, 3);
  EXPECT_EQ(config.hidden_size(), 3);
  EXPECT_EQ(config.output_size(), 6);
  EXPECT_EQ(config.layer_input_size(0), 5);
  EXPECT_EQ(config.layer_input_size(1), 6);
  EXPECT_EQ(config.num_pseudo_layers(), 4);
}

TEST(RnnConfig, RejectsSizesOutOfRange) {
  RnnAttrs attrs;
  RnnConfig config;
  config.num_units = 77;
  ExpectInvalid(MakeRnnConfig(attrs, 0, 4, 5, 3, 2, &config), {"num_layers", "0"});
  ExpectInvalid(MakeRnnConfig(attrs, 1, 0, 5, 3, 2, &config), {"num_units", "0"});
  ExpectInvalid(MakeRnnConfig(attrs, 1, -4, 5, 3, 2, &config), {"num_units", "-4"});
  ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 0, 3, 2, &config), {"input_size", "0"});
  ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 5, -1, 2, &config), {"time steps", "-1"});
  ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 5, 3, -2, &config), {"batch size", "-2"});
  attrs.num_proj = 5;
  ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 5, 3, 2, &config), {"num_proj", "4", "5"});
  attrs.num_proj = 0;
  attrs.input_mode = InputMode::kSkip;
  ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 5, 3, 2, &config), {"skip_input", "4", "5"});
  EXPECT_EQ(config.num_units, 77) << "a rejected problem must not change the result";
  attrs.input_mode = InputMode::kLinear;
  EXPECT_TRUE(MakeRnnConfig(attrs, 1, 4, 5, /*max_time=*/0, /*batch=*/0, &config).ok());
}

TEST(RnnConfig, RejectsOverflowInEachSize) {
  RnnAttrs attrs;
  RnnConfig config;
  for (int64_t huge : {kHuge, kHuge / 2, int64_t{1} << 62, int64_t{1} << 60}) {
    ExpectInvalid(MakeRnnConfig(attrs, huge, 4, 5, 3, 2, &config), {"too large", "num_layers"});
    ExpectInvalid(MakeRnnConfig(attrs, 1, huge, 5, 3, 2, &config), {"too large", "num_units"});
    ExpectInvalid(MakeRnnConfig(attrs, 1, 4, huge, 3, 2, &config), {"too large", "input_size"});
    ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 5, huge, 2, &config), {"too large", "time steps"});
    ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 5, 3, huge, &config), {"too large", "batch size"});
  }
  // Each factor on its own is harmless.
  const int64_t big = int64_t{1} << 30;
  ExpectInvalid(MakeRnnConfig(attrs, 1, big, big, 3, 2, &config), {"too large"});
  ExpectInvalid(MakeRnnConfig(attrs, 1, 4, 5, big, big, &config), {"too large"});
  EXPECT_TRUE(MakeRnnConfig(attrs, 1, 4, 5, big, 1, &config).ok());
  EXPECT_TRUE(MakeRnnConfig(attrs, 1, 1 << 16, 1 << 16, 1000, 1000, &config).ok());
}

// The bound of RnnConfig::Validate(), computed again with 128-bit numbers: 4 copies of 8 bytes,
// every size rounded up by at most 64, two additional steps, and 8 tensors in addition to the
// gates.
bool Fits(const RnnConfig& c) {
  using Wide = unsigned __int128;
  const Wide units = std::max(c.num_units, c.num_proj) + 64;
  const Wide blocks = Wide(c.num_layers) * c.num_dirs() * units * (c.num_gates() + 8);
  const Wide sequence = Wide(c.max_time + 2) * (c.batch + 64) * (c.input_size + 64 + blocks);
  const Wide weights = blocks * (c.input_size + c.num_dirs() * units + 64 + units);
  return 32 * (sequence + weights) < Wide{1} << 62;
}

// Sets each size in turn to the largest value that fits with the other sizes, and to one more.
TEST(RnnConfig, TheBoundOfSizesIsExact) {
  std::mt19937_64 random(15);
  constexpr int64_t RnnConfig::* kSizes[] = {&RnnConfig::num_layers, &RnnConfig::num_units,
                                             &RnnConfig::input_size, &RnnConfig::max_time,
                                             &RnnConfig::batch};
  for (int repeat = 0; repeat < 200; ++repeat) {
    RnnConfig c;
    c.mode = repeat % 2 == 0 ? RnnMode::kLstm : RnnMode::kGru;
    c.direction = repeat % 3 == 0 ? Direction::kBidirectional : Direction::kUnidirectional;
    c.num_proj = repeat % 4 == 0 ? 3 : 0;
    for (int64_t RnnConfig::* size : kSizes) c.*size = int64_t{3} << random() % 9;
    int64_t& size = c.*kSizes[repeat % 5];
    int64_t too_large = int64_t{1} << 60;
    while (too_large - size > 1) {
      const int64_t middle = size + (too_large - size) / 2;
      const int64_t before = std::exchange(size, middle);
      if (!Fits(c)) too_large = middle, size = before;
    }
    EXPECT_TRUE(c.Validate().ok()) << c.Validate().message();
    ++size;
    ExpectInvalid(c.Validate(), {"too large", "2^62"});
  }
}

// Saved packed weights contain these numbers, and cuDNN uses the first four.
TEST(RnnConfig, NumbersOfModes) {
  int32_t number = 0;
  for (RnnMode mode : {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kLstm, RnnMode::kGru,
                       RnnMode::kGruResetBefore, RnnMode::kVanilla}) {
    EXPECT_EQ(static_cast<int32_t>(mode), number++);
  }
}

// The values for an op without the attribute, and for a problem that has no sizes yet.
TEST(RnnConfig, Defaults) {
  const RnnConfig c;
  EXPECT_EQ(c.seed, 0);
  EXPECT_EQ(c.seed2, 0);
  EXPECT_EQ(c.num_proj, 0);
  EXPECT_EQ(c.num_layers, 1);
  for (int64_t size : {c.num_units, c.input_size, c.max_time, c.batch}) EXPECT_EQ(size, 0);
  EXPECT_TRUE(c.is_training);
  EXPECT_TRUE(c.time_major);
}

TEST(RnnConfig, AttributesAreCheckedWhereverTheyComeFrom) {
  RnnAttrs attrs;
  attrs.dropout = 2;
  RnnConfig made;
  ExpectInvalid(MakeRnnConfig(attrs, 1, 3, 3, 1, 1, &made), {"dropout"});
  RnnConfig config;
  config.num_units = config.input_size = 3;
  ASSERT_TRUE(config.Validate().ok());
  config.num_proj = 2;
  config.mode = RnnMode::kGru;
  ExpectInvalid(config.Validate(), {"num_proj", "gru", "2"});
  config.mode = RnnMode::kLstm;
  config.dropout = -1;
  ExpectInvalid(config.Validate(), {"dropout", "-1"});
}

TEST(RnnConfig, UnresolvedAutoSelectIsInternal) {
  RnnConfig config;
  config.num_units = 3;
  config.input_size = 3;
  config.input_mode = InputMode::kAuto;
  EXPECT_EQ(config.Validate().code(), Code::kInternal);
}

}  // namespace
}  // namespace rnn_ops
