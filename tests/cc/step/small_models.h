// Small models, and steppers of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/step/rnn_step.h"
#include "gtest/gtest.h"
#include "tests/cc/step/written_file.h"

namespace rnn_ops::step::testing {

// rnn_tanh with I = H = 2 and an output of two columns: h = tanh(W x + R h), y = h * V + b.
inline const std::vector<float> kKernel = {0.5f, -0.25f, 1.0f, 0.75f};
inline const std::vector<float> kRecurrent = {0.3f, 0.1f, -0.2f, 0.4f};
inline const std::vector<float> kOut = {1.0f, 2.0f, 3.0f, 4.0f};

inline std::vector<Weights> AllWeights() {
  return {{"w", {2, 2}, kKernel},
          {"r", {2, 2}, kRecurrent},
          {"v", {2, 2}, kOut},
          {"b", {2}, {0.5f, -0.5f}}};
}

inline std::string Graph(const std::string& sizes = "") {
  return "{" + sizes +
         "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"has_time\": true, \"dims\": "
         "[2]}],"
         "\"nodes\": [{\"op\": \"rnn\", \"name\": \"layer\", \"kind\": \"LayerRNN\", \"inputs\": "
         "[\"x\"], "
         "\"outputs\": [\"h\"], \"states\": [\"layer_h\"], \"weights\": {\"kernel\": \"w\", "
         "\"recurrent_kernel\": \"r\"}, \"attrs\": {\"rnn_mode\": \"rnn_tanh\", \"activation\": "
         "\"tanh\", "
         "\"recurrent_activation\": \"sigmoid\", \"cell_clip\": 0, \"proj_clip\": 0, "
         "\"zoneout_h\": 0, "
         "\"zoneout_c\": 0, \"layer_norm_epsilon\": 0.001}},"
         "{\"op\": \"dense\", \"name\": \"out\", \"inputs\": [\"h\"], \"outputs\": [\"y\"], "
         "\"weights\": {\"kernel\": \"v\", \"bias\": \"b\"}}],"
         "\"outputs\": [{\"name\": \"scores\", \"value\": \"y\"}]}";
}

struct Free {
  void operator()(RnnStepper* stepper) const { rnn_step_free(stepper); }
};
using Stepper = std::unique_ptr<RnnStepper, Free>;

inline Stepper Make(const std::string& file, int64_t batch = 0, int64_t time = 0, int threads = 1) {
  RnnStepper* stepper = nullptr;
  const int code = rnn_step_new(file.data(), file.size(), batch, time, threads, &stepper);
  EXPECT_EQ(code == RNN_STEP_OK, stepper != nullptr);
  return Stepper(stepper);
}

inline std::vector<float> Call(RnnStepper* stepper, const std::vector<float>& x) {
  std::vector<float> y(rnn_step_output(stepper, 0).elements);
  const void* inputs[] = {x.data()};
  float* outputs[] = {y.data()};
  EXPECT_EQ(rnn_step_call(stepper, inputs, outputs), RNN_STEP_OK) << rnn_step_error();
  return y;
}

// A model that counts its calls: h = relu(h + x), in a file whose names end with `suffix`.
inline std::string CountingFile(const std::string& suffix, float out = 1) {
  std::string graph = Graph();
  const auto replace = [&graph](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = graph.find(from, at)) != std::string::npos; at += to.size()) {
      graph.replace(at, from.size(), to);
    }
  };
  replace("rnn_tanh", "rnn_relu");
  replace("\"x\"", "\"x" + suffix + "\"");
  replace("layer_h", "layer_h" + suffix);
  replace("scores", "scores" + suffix);
  const std::vector<float> one = {1, 0, 0, 1};
  return WriteFile(graph, {{"w", {2, 2}, one},
                           {"r", {2, 2}, one},
                           {"v", {2, 2}, {out, 0, 0, out}},
                           {"b", {2}, {0, 0}}});
}

}  // namespace rnn_ops::step::testing
