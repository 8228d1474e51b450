// Models of windows: their states, their calls, and files that are wrong. random_graph_test.cc
// compares their nodes with plain loops.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/step/rnn_step.h"
#include "gtest/gtest.h"
#include "tests/cc/step/reference_graph.h"
#include "tests/cc/step/small_models.h"

namespace rnn_ops::step {
namespace {

using testing::AllWeights;
using testing::Call;
using testing::Make;
using testing::ReferenceGraph;
using testing::Stepper;
using testing::Weights;
using testing::WriteFile;

bool ErrorHas(const std::string& part) {
  return std::string(rnn_step_error()).find(part) != std::string::npos;
}

// A file of windows of 3 steps of 2 numbers, with one node. `node`: its fields but the usual ones.
std::string FileOf(const std::string& node, const std::string& outputs = "[\"y\"]",
                   const std::string& version = "2") {
  const std::string value = outputs.find("\"h\"") == std::string::npos ? "y" : "h";
  return WriteFile(
      "{\"window\": 3, \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"has_time\": false, "
      "\"dims\": [3, 2]}], \"nodes\": [{\"name\": \"node\", \"inputs\": [\"x\"], \"outputs\": " +
          outputs + ", \"states\": [], \"weights\": {}, " + node +
          "}], \"outputs\": [{\"name\": \"out\", \"value\": \"" + value + "\"}]}",
      {}, version);
}

std::string RecurrentFile(const std::string& inputs, const std::string& outputs, float scale = 1) {
  std::vector<Weights> weights = AllWeights();
  weights.resize(2);
  for (float& value : weights[0].values) value *= scale;
  return WriteFile(
      "{\"window\": 3, \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"has_time\": false, "
      "\"dims\": [3, 2]}, {\"name\": \"begin\", \"dtype\": \"float32\", \"has_time\": false, "
      "\"dims\": [2]}], \"nodes\": [{\"op\": \"rnn\", \"name\": \"node\", \"kind\": \"LayerRNN\", "
      "\"inputs\": " +
          inputs +
          ", \"outputs\": [\"y\", \"h\"], \"states\": [], \"weights\": {\"kernel\": \"w\", "
          "\"recurrent_kernel\": \"r\"}, \"attrs\": {\"rnn_mode\": \"rnn_tanh\", \"activation\": "
          "\"tanh\", \"recurrent_activation\": \"sigmoid\", \"cell_clip\": 0, \"proj_clip\": 0, "
          "\"zoneout_h\": 0, \"zoneout_c\": 0, \"layer_norm_epsilon\": 0.001}}], \"outputs\": " +
          outputs + "}",
      weights, "2");
}

const char* const kBoth =
    "[{\"name\": \"all\", \"value\": \"y\"}, {\"name\": \"last\", \"value\": \"h\"}]";
const std::vector<float> kX = {1, 2, 3, 4, 5, 6};

std::vector<std::vector<float>> CallBoth(RnnStepper* stepper, const std::vector<float>& begin) {
  std::vector<float> y(6), h(2);
  const void* inputs[] = {kX.data(), begin.data()};
  float* outputs[] = {y.data(), h.data()};
  EXPECT_EQ(rnn_step_call(stepper, inputs, outputs), RNN_STEP_OK) << rnn_step_error();
  return {y, h};
}

TEST(Window, EachCallBeginsAnew) {
  const Stepper stepper = Make(RecurrentFile("[\"x\"]", kBoth));
  ASSERT_NE(stepper, nullptr) << rnn_step_error();
  EXPECT_EQ(rnn_step_is_window(stepper.get()), 1);
  EXPECT_EQ(rnn_step_time(stepper.get()), 3);
  EXPECT_EQ(rnn_step_num_states(stepper.get()), 0);
  EXPECT_EQ(rnn_step_input(stepper.get(), 0).has_time, 0);
  const auto first = CallBoth(stepper.get(), {9, 9});
  EXPECT_EQ(CallBoth(stepper.get(), {9, 9}), first);
  EXPECT_EQ(std::vector<float>(first[0].begin() + 4, first[0].end()), first[1]);
  // The loop in double.
  double h[2] = {};
  for (int t = 0; t < 3; ++t) {
    const double before[2] = {h[0], h[1]};
    for (int n = 0; n < 2; ++n) {
      double sum = 0;
      for (int k = 0; k < 2; ++k) {
        sum += kX[2 * t + k] * testing::kKernel[2 * k + n];
        sum += before[k] * testing::kRecurrent[2 * k + n];
      }
      h[n] = std::tanh(sum);
      EXPECT_NEAR(first[0][2 * t + n], h[n], 1e-6);
    }
  }
}

TEST(Window, BeginsWithStatesOfTheModel) {
  const Stepper zeros = Make(RecurrentFile("[\"x\"]", kBoth));
  const Stepper given = Make(RecurrentFile("[\"x\", \"begin\"]", kBoth));
  ASSERT_NE(given, nullptr) << rnn_step_error();
  EXPECT_EQ(CallBoth(given.get(), {0, 0}), CallBoth(zeros.get(), {0, 0}));
  EXPECT_NE(CallBoth(given.get(), {1, 0}), CallBoth(zeros.get(), {1, 0}));
  EXPECT_EQ(Make(RecurrentFile("[\"x\", \"begin\", \"begin\"]", kBoth)), nullptr);
  EXPECT_TRUE(ErrorHas("2 initial states instead of 1")) << rnn_step_error();
  EXPECT_EQ(Make(RecurrentFile("[\"x\", \"x\"]", kBoth)), nullptr);
  EXPECT_TRUE(ErrorHas("initial states have other sizes")) << rnn_step_error();
  EXPECT_EQ(Make(RecurrentFile("[\"begin\"]", kBoth)), nullptr);
}

TEST(Window, ClonesAndUpdates) {
  const std::string file = RecurrentFile("[\"x\"]", kBoth),
                    other = RecurrentFile("[\"x\"]", kBoth, 2);
  const Stepper stepper = Make(file);
  RnnStepper* made = nullptr;
  ASSERT_EQ(rnn_step_clone(stepper.get(), &made), RNN_STEP_OK);
  const Stepper clone(made);
  const auto before = CallBoth(clone.get(), {0, 0});
  ASSERT_EQ(rnn_step_update(stepper.get(), other.data(), other.size()), RNN_STEP_OK)
      << rnn_step_error();
  const auto after = CallBoth(clone.get(), {0, 0});
  EXPECT_NE(after, before);
  EXPECT_EQ(after, CallBoth(Make(other).get(), {0, 0}));
  EXPECT_EQ(rnn_step_reset(stepper.get(), nullptr, 0), RNN_STEP_OK);
  EXPECT_EQ(rnn_step_get_states(stepper.get(), nullptr), RNN_STEP_OK);
  EXPECT_EQ(rnn_step_set_row(stepper.get(), 0, nullptr), RNN_STEP_OK);
  EXPECT_EQ(rnn_step_set_row(stepper.get(), 1, nullptr), RNN_STEP_INVALID);
  const std::string stream = WriteFile(testing::Graph(), AllWeights());
  EXPECT_EQ(rnn_step_update(stepper.get(), stream.data(), stream.size()), RNN_STEP_INVALID);
  EXPECT_TRUE(ErrorHas("windows") && ErrorHas("a stream")) << rnn_step_error();
  const Stepper of_stream = Make(stream, 0, 3);
  EXPECT_EQ(rnn_step_update(of_stream.get(), file.data(), file.size()), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_is_window(of_stream.get()), 0);
  EXPECT_EQ(rnn_step_is_window(nullptr), 0);
}

TEST(Window, RowsMayBeIdleButStepsMayNotBeFewer) {
  const Stepper stepper = Make(FileOf("\"op\": \"reverse\""), /*batch=*/2);
  ASSERT_NE(stepper, nullptr) << rnn_step_error();
  std::vector<float> x(12), y(12);
  for (int i = 0; i < 12; ++i) x[i] = static_cast<float>(i + 1);
  const void* inputs[] = {x.data()};
  float* outputs[] = {y.data()};
  const uint8_t idle[] = {1, 0};
  RnnStepOptions options = {};
  options.idle = idle;
  ASSERT_EQ(rnn_step_call_with(stepper.get(), &options, inputs, outputs), RNN_STEP_OK)
      << rnn_step_error();
  EXPECT_EQ(y, (std::vector<float>{0, 0, 0, 0, 0, 0, 11, 12, 9, 10, 7, 8}));
  options = {};
  options.steps = 3;
  EXPECT_EQ(rnn_step_call_with(stepper.get(), &options, inputs, outputs), RNN_STEP_OK);
  options.steps = 2;
  EXPECT_EQ(rnn_step_call_with(stepper.get(), &options, inputs, outputs), RNN_STEP_INVALID);
  EXPECT_TRUE(ErrorHas("steps must be 0 or 3")) << rnn_step_error();
  options = {};
  options.last_step = 1;
  EXPECT_EQ(rnn_step_call_with(stepper.get(), &options, inputs, outputs), RNN_STEP_INVALID);
  EXPECT_TRUE(ErrorHas("last_step must be 0 for a model of windows")) << rnn_step_error();
}

TEST(Window, HasTheNumberOfStepsOfTheFile) {
  const std::string file = FileOf("\"op\": \"reverse\"");
  EXPECT_NE(Make(file, 2, 3), nullptr);
  EXPECT_EQ(Make(file, 2, 4), nullptr);
  EXPECT_TRUE(ErrorHas("time must be 3, which the file fixes, but it is 4")) << rnn_step_error();
}

TEST(Window, ARowWithAHoleInItsMaskIsAnError) {
  ReferenceGraph graph(/*seed=*/1, /*batch=*/2, /*time=*/4, /*windows=*/true);
  auto* const words = graph.Padded({4}, 9);
  graph.Output(graph.Mask(graph.Embedding(words, 9, 1, false), graph.Lengths(words, true), false));
  const Stepper stepper = Make(graph.File(), 2);
  ASSERT_NE(stepper, nullptr) << rnn_step_error();
  float y[8];
  float* outputs[] = {y};
  const int32_t padded[8] = {1, 2, 0, 0, 0, 0, 0, 0}, hole[8] = {1, 2, 3, 0, 1, 0, 3, 0};
  const void* inputs[] = {padded};
  ASSERT_EQ(rnn_step_call(stepper.get(), inputs, outputs), RNN_STEP_OK) << rnn_step_error();
  EXPECT_NE(y[1], 0);
  for (int i = 2; i < 8; ++i) EXPECT_EQ(y[i], 0);
  inputs[0] = hole;
  ASSERT_EQ(rnn_step_call(stepper.get(), inputs, outputs), RNN_STEP_INVALID);
  EXPECT_TRUE(ErrorHas("row 1") && ErrorHas("valid step 2")) << rnn_step_error();
}

// Maxima of NaN are NaN, wherever it is.
TEST(Window, PoolsKeepNaN) {
  const Stepper stepper =
      Make(FileOf("\"op\": \"pool\", \"function\": \"maximum\", \"width\": 3, \"stride\": 1, "
                  "\"padding\": [0, 0]"));
  ASSERT_NE(stepper, nullptr) << rnn_step_error();
  for (const int at : {0, 2, 4}) {
    std::vector<float> x = {1, -5, 3, -6, 2, -7};
    EXPECT_EQ(Call(stepper.get(), x), (std::vector<float>{3, -5}));
    x[at] = NAN;
    EXPECT_TRUE(std::isnan(Call(stepper.get(), x)[0])) << at;
  }
}

TEST(Window, FilesThatAreWrongAreErrors) {
  const std::string pool = "\"op\": \"pool\", \"function\": \"maximum\", ";
  const char* const wrong[] = {
      "\"op\": \"pool\", \"function\": \"minimum\", \"width\": 1, \"stride\": 1, \"padding\": [0, "
      "0]",
      "\"op\": \"crop\", \"begin\": 2, \"count\": 2",
      "\"op\": \"crop\", \"begin\": -1, \"count\": 1",
      "\"op\": \"crop\", \"begin\": 9223372036854775807, \"count\": 1",
      "\"op\": \"crop\", \"begin\": 1, \"count\": 9223372036854775807",
      "\"op\": \"crop\", \"begin\": 0, \"count\": 0",
      "\"op\": \"repeat\", \"times\": 0",
      "\"op\": \"repeat\", \"times\": 9223372036854775807",
      "\"op\": \"repeat\", \"times\": 100000000000",  // more than the memory
      "\"op\": \"permute\", \"order\": [0, 0]",
      "\"op\": \"permute\", \"order\": [1]",
      "\"op\": \"permute\", \"order\": [1, 2]",
      "\"op\": \"mask\", \"hold\": true",
      "\"op\": \"reverse\", \"lengths\": true",
      "\"op\": \"lengths\", \"words\": true",
      "\"op\": \"last_step\", \"lengths\": 1",
  };
  for (const char* node : wrong) EXPECT_EQ(Make(FileOf(node)), nullptr) << node;
  for (const char* sizes :
       {"\"width\": 0, \"stride\": 1, \"padding\": [0, 0]",
        "\"width\": 1, \"stride\": 0, \"padding\": [0, 0]",
        "\"width\": 4, \"stride\": 1, \"padding\": [0, 0]",
        "\"width\": 3, \"stride\": 1, \"padding\": [3, 0]",
        "\"width\": 3, \"stride\": 1, \"padding\": [0, -1]",
        "\"width\": 3, \"stride\": 1, \"padding\": [0]",
        "\"width\": 9223372036854775807, \"stride\": 1, \"padding\": [9223372036854775806, 0]",
        "\"width\": 3, \"stride\": 1"}) {
    EXPECT_EQ(Make(FileOf(pool + sizes)), nullptr) << sizes;
  }
  EXPECT_EQ(Make(FileOf("\"op\": \"reverse\"")
                     .replace(FileOf("\"op\": \"reverse\"").find("window"), 6, "windoy")),
            nullptr);
  EXPECT_TRUE(ErrorHas("'window' is missing")) << rnn_step_error();
  EXPECT_EQ(Make(WriteFile(testing::Graph("\"window\": 3, "), AllWeights(), "2")), nullptr);
  EXPECT_TRUE(ErrorHas("in a model of windows")) << rnn_step_error();
}

}  // namespace
}  // namespace rnn_ops::step
