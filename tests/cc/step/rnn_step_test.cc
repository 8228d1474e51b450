// The C interface, as a program sees it.

#include "cc/step/rnn_step.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/core/runtime/float_environment.h"
#include "cc/step/workers.h"
#include "gtest/gtest.h"
#include "tests/cc/step/small_models.h"
#include "tests/cc/step/written_file.h"

// The number of allocations of a stepper's memory until one fails.
static std::atomic<int64_t> allocations_left{INT64_MAX};

extern "C" void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return allocations_left.fetch_sub(1) <= 0 ? nullptr : memalign(alignment, size);
}

namespace rnn_ops::step {
namespace {

using testing::AllWeights;
using testing::Call;
using testing::CountingFile;
using testing::Graph;
using testing::kKernel;
using testing::kOut;
using testing::kRecurrent;
using testing::Make;
using testing::Stepper;
using testing::Weights;
using testing::WriteFile;

// One row and step of the model, which changes h.
std::vector<float> Expected(const float* x, std::vector<double>* h) {
  std::vector<double> sums(2);
  for (int n = 0; n < 2; ++n) {
    for (int k = 0; k < 2; ++k)
      sums[n] += x[k] * kKernel[k * 2 + n] + (*h)[k] * kRecurrent[k * 2 + n];
  }
  for (int n = 0; n < 2; ++n) (*h)[n] = std::tanh(sums[n]);
  std::vector<float> y(2);
  for (int n = 0; n < 2; ++n) {
    y[n] = static_cast<float>((*h)[0] * kOut[n] + (*h)[1] * kOut[2 + n] + (n == 0 ? 0.5 : -0.5));
  }
  return y;
}

TEST(RnnStep, KeepsTheStatesOfEveryRow) {
  const std::string file = WriteFile(Graph(), AllWeights());
  constexpr int kBatch = 3, kTime = 2;
  const Stepper stepper = Make(file, kBatch, kTime);
  ASSERT_NE(stepper, nullptr) << rnn_step_error();
  EXPECT_EQ(rnn_step_batch(stepper.get()), kBatch);
  EXPECT_EQ(rnn_step_time(stepper.get()), kTime);
  std::vector<std::vector<double>> h(kBatch, {0, 0});
  for (int call = 0; call < 5; ++call) {
    std::vector<float> x(kBatch * kTime * 2);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i + 7 * call));
    if (call == 3) {
      const int64_t row = 1;
      ASSERT_EQ(rnn_step_reset(stepper.get(), &row, 1), RNN_STEP_OK);
      h[1] = {0, 0};
    }
    const std::vector<float> y = Call(stepper.get(), x);
    for (int b = 0; b < kBatch; ++b) {
      for (int t = 0; t < kTime; ++t) {
        const int at = (b * kTime + t) * 2;
        const std::vector<float> want = Expected(x.data() + at, &h[b]);
        EXPECT_NEAR(y[at], want[0], 1e-5);
        EXPECT_NEAR(y[at + 1], want[1], 1e-5);
      }
    }
  }
  std::vector<float> state(rnn_step_state(stepper.get(), 0).elements);
  ASSERT_EQ(rnn_step_get_state(stepper.get(), 0, state.data()), RNN_STEP_OK);
  EXPECT_NEAR(state[2], h[1][0], 1e-5);
}

TEST(RnnStep, StatesCanBeMovedToAnotherStepper) {
  const std::string file = WriteFile(Graph(), AllWeights());
  const Stepper first = Make(file), second = Make(file);
  Call(first.get(), {1, 2});
  float state[2];
  ASSERT_EQ(rnn_step_get_state(first.get(), 0, state), RNN_STEP_OK);
  ASSERT_EQ(rnn_step_set_state(second.get(), 0, state), RNN_STEP_OK);
  EXPECT_EQ(Call(first.get(), {3, 4}), Call(second.get(), {3, 4}));
  ASSERT_EQ(rnn_step_reset(first.get(), nullptr, 0), RNN_STEP_OK);
  EXPECT_EQ(Call(first.get(), {1, 2}), Call(Make(file).get(), {1, 2}));
  EXPECT_EQ(rnn_step_get_state(first.get(), 1, state), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_set_state(first.get(), -1, state), RNN_STEP_INVALID);
}

TEST(RnnStep, DescribesItsTensors) {
  const Stepper stepper = Make(WriteFile(Graph(), AllWeights()), 3, 4);
  ASSERT_EQ(rnn_step_num_inputs(stepper.get()), 1);
  const RnnStepTensor x = rnn_step_input(stepper.get(), 0), y = rnn_step_output(stepper.get(), 0);
  EXPECT_STREQ(x.name, "x");
  EXPECT_STREQ(y.name, "scores");
  EXPECT_EQ(std::vector<int64_t>(x.shape, x.shape + x.rank), (std::vector<int64_t>{3, 4, 2}));
  EXPECT_EQ(x.elements, 24);
  EXPECT_EQ(x.type, RNN_STEP_FLOAT32);
  EXPECT_TRUE(x.has_time);
  const RnnStepTensor state = rnn_step_state(stepper.get(), 0);
  EXPECT_STREQ(state.name, "layer_h");
  EXPECT_EQ(std::vector<int64_t>(state.shape, state.shape + state.rank),
            (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(rnn_step_input(stepper.get(), 1).name, nullptr);
  EXPECT_EQ(rnn_step_version(), RNN_STEP_VERSION);
}

TEST(RnnStep, RejectsWrongArguments) {
  const std::string file = WriteFile(Graph("\"batch_size\": 2, \"time\": 3, "), AllWeights());
  EXPECT_NE(Make(file), nullptr);
  EXPECT_NE(Make(file, 2, 3), nullptr);
  EXPECT_EQ(Make(file, 1, 0), nullptr);
  EXPECT_EQ(Make(file, 0, 1), nullptr);
  EXPECT_EQ(Make(file, -1, 0), nullptr);
  EXPECT_EQ(Make(file, 2, 3, 0), nullptr);
  EXPECT_EQ(Make(file, 2, 3, 1 << 20), nullptr);
  EXPECT_EQ(Make(WriteFile(Graph(), AllWeights()), int64_t{1} << 40, 1), nullptr);
  const Stepper stepper = Make(WriteFile(Graph(), AllWeights()));
  float x[2] = {1, 2}, y[2];
  const void* inputs[] = {x};
  float* outputs[] = {x};
  EXPECT_EQ(rnn_step_call(stepper.get(), inputs, outputs), RNN_STEP_INVALID);
  EXPECT_NE(std::string(rnn_step_error()).find("overlaps"), std::string::npos);
  outputs[0] = nullptr;
  EXPECT_EQ(rnn_step_call(stepper.get(), inputs, outputs), RNN_STEP_INVALID);
  inputs[0] = nullptr;
  outputs[0] = y;
  EXPECT_EQ(rnn_step_call(stepper.get(), inputs, outputs), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_call(nullptr, inputs, outputs), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_get_state(stepper.get(), 0, nullptr), RNN_STEP_INVALID);
  inputs[0] = x;
  EXPECT_EQ(rnn_step_call(stepper.get(), nullptr, outputs), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_call(stepper.get(), inputs, nullptr), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_new(file.data(), file.size(), 0, 0, 1, nullptr), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_update(nullptr, file.data(), file.size()), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_get_states(stepper.get(), nullptr), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_set_states(stepper.get(), nullptr), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_batch(nullptr) + rnn_step_time(nullptr), 0);
  EXPECT_EQ(rnn_step_num_inputs(nullptr) + rnn_step_num_outputs(nullptr), 0);
  EXPECT_EQ(rnn_step_input(nullptr, 0).name, nullptr);
  rnn_step_free(nullptr);
  const int64_t rows[] = {0, 1};
  EXPECT_EQ(rnn_step_reset(stepper.get(), rows, 2), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_reset(stepper.get(), rows, -1), RNN_STEP_INVALID);
  // The failed calls did not change the states.
  EXPECT_EQ(Call(stepper.get(), {1, 2}),
            Call(Make(WriteFile(Graph(), AllWeights())).get(), {1, 2}));
}

// Every graph with one piece replaced: none may crash, and each is an error or a stepper that runs.
TEST(RnnStep, SurvivesDamagedGraphs) {
  const std::string graph = Graph();
  int made = 0;
  for (const char* piece : {"0", "-1", "null", "[]", "{}", "\"x\"", "1e9", "\"h\""}) {
    for (size_t begin = 0; begin < graph.size(); ++begin) {
      if (graph[begin] != '"' && (graph[begin] < '0' || graph[begin] > '9') && graph[begin] != '[')
        continue;
      size_t end = begin + 1;
      if (graph[begin] == '"') end = graph.find('"', begin + 1) + 1;
      if (graph[begin] == '[') end = graph.find(']', begin + 1) + 1;
      if (end == 0) continue;
      const std::string damaged = graph.substr(0, begin) + piece + graph.substr(end);
      const Stepper stepper = Make(WriteFile(damaged, AllWeights()));
      if (stepper == nullptr) continue;
      ++made;
      std::vector<float> x(rnn_step_input(stepper.get(), 0).elements);
      Call(stepper.get(), x);
    }
  }
  EXPECT_GT(made, 0);
}

TEST(RnnStep, WeightsOfOtherShapesAreErrors) {
  for (size_t k = 0; k < AllWeights().size(); ++k) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{},
                                              {0},
                                              {1},
                                              {3},
                                              {2, 0},
                                              {0, 2},
                                              {1, 2},
                                              {2, 1},
                                              {3, 3},
                                              {2, 2, 1}}) {
      std::vector<Weights> weights = AllWeights();
      weights[k].shape = shape;
      int64_t count = 1;
      for (const int64_t size : shape) count *= size;
      weights[k].values.assign(count, 0.5f);
      EXPECT_EQ(Make(WriteFile(Graph(), weights)), nullptr)
          << weights[k].name << " " << ::testing::PrintToString(shape);
    }
  }
  EXPECT_EQ(Make(WriteFile(Graph(), {})), nullptr);
  std::string unknown = Graph();
  unknown.replace(unknown.find("\"bias\""), 6, "\"bais\"");
  EXPECT_EQ(Make(WriteFile(unknown, AllWeights())), nullptr);
  EXPECT_NE(std::string(rnn_step_error()).find("bais"), std::string::npos);
}

TEST(RnnStep, AFileThatWantsTooMuchMemoryIsInvalid) {
  const std::string rest =
      "\"inputs\": [\"x\"], \"outputs\": [\"y\"], \"states\": [\"s\"], \"weights\": "
      "{\"kernel\": \"k\"}}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", "
      "\"has_time\": true, \"dims\": [2]}], \"outputs\": [{\"name\": \"y\", \"value\": \"y\"}]}";
  const std::vector<Weights> weights = {{"k", {2, 2, 1}, {1, 2, 3, 4}}};
  for (const int64_t dilation : {int64_t{1}, int64_t{1} << 38}) {
    const std::string graph =
        "{\"nodes\": [{\"op\": \"conv\", \"name\": \"c\", \"groups\": 1, \"dilation\": " +
        std::to_string(dilation) + ", " + rest;
    const std::string file = WriteFile(graph, weights);
    RnnStepper* stepper = nullptr;
    const int code = rnn_step_new(file.data(), file.size(), 1, 1, 1, &stepper);
    EXPECT_EQ(code, dilation == 1 ? RNN_STEP_OK : RNN_STEP_INVALID) << rnn_step_error();
    if (dilation > 1) {
      EXPECT_NE(std::string(rnn_step_error()).find("state 's'"), std::string::npos);
    }
    rnn_step_free(stepper);
  }
}

TEST(RnnStep, AStackOfAnotherModeIsAnError) {
  std::string graph = Graph();
  const auto replace = [&graph](const std::string& from, const std::string& to) {
    ASSERT_NE(graph.find(from), std::string::npos);
    graph.replace(graph.find(from), from.size(), to);
  };
  replace("LayerRNN", "CudnnRNNV3\", \"num_layers\": 1, \"num_units\": 2, \"x\": \"");
  replace("\"kernel\": \"w\", \"recurrent_kernel\": \"r\"", "\"params\": \"p\"");
  replace("\"attrs\": {",
          "\"attrs\": {\"input_mode\": \"linear_input\", \"num_proj\": 0, "
          "\"direction\": \"unidirectional\", ");
  std::vector<Weights> weights = AllWeights();
  weights.push_back({"p", {12}, std::vector<float>(12, 0.5f)});
  EXPECT_NE(Make(WriteFile(graph, weights)), nullptr) << rnn_step_error();
  replace("rnn_tanh", "gru_reset_before");
  weights.back() = {"p", {42}, std::vector<float>(42, 0.5f)};
  EXPECT_EQ(Make(WriteFile(graph, weights)), nullptr);
}

TEST(RnnStep, OneThreadAtATime) {
  constexpr int64_t kBatch = 64, kTime = 2000;  // a call takes some milliseconds
  constexpr int kMostCalls = 2000;
  const Stepper stepper = Make(CountingFile(""), kBatch, kTime);
  const std::vector<float> x(kBatch * kTime * 2, 1.0f);
  std::atomic<int> busy{0}, done{0};
  // Two threads call until one of them is rejected.
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k) {
    threads.emplace_back([&] {
      std::vector<float> y(x.size());
      const void* inputs[] = {x.data()};
      float* outputs[] = {y.data()};
      while (busy == 0 && done < kMostCalls) {
        const int code = rnn_step_call(stepper.get(), inputs, outputs);
        ASSERT_TRUE(code == RNN_STEP_OK || code == RNN_STEP_BUSY);
        (code == RNN_STEP_OK ? done : busy) += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(busy, 0);
  // The rejected calls changed nothing.
  std::vector<float> state(rnn_step_state(stepper.get(), 0).elements);
  ASSERT_EQ(rnn_step_get_state(stepper.get(), 0, state.data()), RNN_STEP_OK);
  EXPECT_EQ(state, std::vector<float>(state.size(), static_cast<float>(done * kTime)));
}

TEST(Workers, RunClosuresOnThreadsOfTheirOwn) {
  constexpr int kCount = 2;
  constexpr std::chrono::minutes kPatience{4};
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> running;
  Workers workers(kCount);  // ends before what the closures use
  for (int k = 0; k < kCount; ++k) {
    workers.Schedule([&] {  // each of them waits for the other one
      std::unique_lock<std::mutex> lock(mutex);
      running.insert(std::this_thread::get_id());
      changed.notify_all();
      changed.wait_for(lock, kPatience, [&] { return running.size() == kCount; });
    });
  }
  std::unique_lock<std::mutex> lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return running.size() == kCount; }));
  EXPECT_EQ(running.count(std::this_thread::get_id()), 0u);
}

TEST(RnnStep, UpdatesKeepTheStatesAndTheNames) {
  const Stepper stepper = Make(CountingFile(""));
  const RnnStepTensor x = rnn_step_input(stepper.get(), 0);
  EXPECT_EQ(Call(stepper.get(), {1, 2}), (std::vector<float>{1, 2}));
  const std::string twice = CountingFile("_1", 2);
  ASSERT_EQ(rnn_step_update(stepper.get(), twice.data(), twice.size()), RNN_STEP_OK)
      << rnn_step_error();
  EXPECT_EQ(Call(stepper.get(), {1, 2}), (std::vector<float>{4, 8}));
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.shape[2], 2);
  EXPECT_STREQ(rnn_step_output(stepper.get(), 0).name, "scores");
  EXPECT_STREQ(rnn_step_state(stepper.get(), 0).name, "layer_h");
  float* outputs[] = {nullptr};
  const void* inputs[] = {nullptr};
  EXPECT_EQ(rnn_step_call(stepper.get(), inputs, outputs), RNN_STEP_INVALID);
  EXPECT_NE(std::string(rnn_step_error()).find("'x'"), std::string::npos);
}

TEST(RnnStep, UpdatesByOtherModelsChangeNothing) {
  const Stepper stepper = Make(CountingFile(""), 2, 3);
  std::vector<Weights> wide = AllWeights();
  wide[2] = {"v", {2, 3}, {1, 2, 3, 4, 5, 6}};
  wide[3] = {"b", {3}, {0, 0, 0}};
  std::string integers = Graph();
  integers.replace(integers.find("float32"), 7, "int32");
  const std::pair<std::string, const char*> files[] = {
      {WriteFile(Graph(), wide), "outputs"},
      {WriteFile(Graph("\"time\": 2, "), AllWeights()), "time 3"},
      {WriteFile(Graph("\"batch_size\": 3, "), AllWeights()), "batch_size 2"},
      {WriteFile(integers, AllWeights()), "float32"},
      {"", "bytes"}};
  for (const auto& [file, part] : files) {
    EXPECT_EQ(rnn_step_update(stepper.get(), file.data(), file.size()), RNN_STEP_INVALID);
    EXPECT_NE(std::string(rnn_step_error()).find(part), std::string::npos) << rnn_step_error();
  }
  EXPECT_EQ(Call(stepper.get(), std::vector<float>(12, 1))[0], 1);
}

TEST(RnnStep, AllStatesAtOnce) {
  const Stepper stepper = Make(CountingFile(""));
  const float set[] = {3, 4};
  const float* from[] = {set};
  ASSERT_EQ(rnn_step_set_states(stepper.get(), from), RNN_STEP_OK);
  const float* none[] = {nullptr};
  ASSERT_EQ(rnn_step_set_states(stepper.get(), none), RNN_STEP_OK);
  float got[2] = {};
  float* to[] = {got};
  ASSERT_EQ(rnn_step_get_states(stepper.get(), to), RNN_STEP_OK);
  EXPECT_EQ(got[0] + got[1], 7);
}

// Threads that update a stepper without a pause while another one calls it: no step is lost, and
// nothing is rejected.
TEST(RnnStep, UpdatesDuringCalls) {
  const std::string files[] = {CountingFile(""), CountingFile("_1")};
  for (const int64_t time : {1, 200}) {  // a call of 200 steps is longer than a pause of an update
    const Stepper stepper = Make(files[0], 1, time);
    std::atomic<bool> ended{false};
    int64_t calls = 0;
    std::thread caller([&] {
      std::vector<float> x(2 * time, 1.0f), y(2 * time);
      const void* inputs[] = {x.data()};
      float* outputs[] = {y.data()};
      for (; !ended; ++calls) {
        // WHY a limit: float32 counts to 2^24.
        if (calls % 1000 == 0) {
          ASSERT_EQ(rnn_step_reset(stepper.get(), nullptr, 0), RNN_STEP_OK);
        }
        ASSERT_EQ(rnn_step_call(stepper.get(), inputs, outputs), RNN_STEP_OK) << rnn_step_error();
        ASSERT_EQ(y.back(), static_cast<float>((calls % 1000 + 1) * time));
      }
    });
    std::vector<std::thread> updaters;
    for (int k = 0; k < 2; ++k) {
      updaters.emplace_back([&, k] {
        for (int i = 0; i < 60; ++i) {
          const std::string& file = files[(i + k) % 2];
          EXPECT_EQ(rnn_step_update(stepper.get(), file.data(), file.size()), RNN_STEP_OK)
              << rnn_step_error();
        }
      });
    }
    for (std::thread& updater : updaters) updater.join();
    ended = true;
    caller.join();
    EXPECT_GT(calls, 0);
  }
}

TEST(RnnStep, SteppersRunSideBySide) {
  const std::string file = WriteFile(Graph(), AllWeights());
  constexpr int kBatch = 16, kTime = 8, kCalls = 20;
  const auto run = [&](int seed) {
    const Stepper stepper = Make(file, kBatch, kTime, /*threads=*/2);
    std::vector<float> x(kBatch * kTime * 2), y;
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i + seed));
    for (int call = 0; call < kCalls; ++call) {
      const int64_t absent = kBatch;
      EXPECT_EQ(rnn_step_reset(stepper.get(), &absent, 1), RNN_STEP_INVALID);
      y = Call(stepper.get(), x);
    }
    return y;
  };
  constexpr int kThreads = 4;
  std::vector<std::vector<float>> results(kThreads);
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) threads.emplace_back([&, k] { results[k] = run(k); });
  for (std::thread& thread : threads) thread.join();
  for (int k = 0; k < kThreads; ++k) EXPECT_EQ(results[k], run(k));
}

// An LSTM or a GRU with I = 3 and H = 20, whose output is that of the layer.
std::string LayerFile(const std::string& mode) {
  const int64_t columns = mode == "lstm" ? 80 : 60;
  std::string graph = Graph();
  const auto replace = [&graph](const std::string& from, const std::string& to) {
    graph.replace(graph.find(from), from.size(), to);
  };
  replace("rnn_tanh", mode);
  replace("\"dims\": [2]", "\"dims\": [3]");
  replace("\"value\": \"y\"", "\"value\": \"h\"");
  replace("\"recurrent_kernel\": \"r\"", "\"recurrent_kernel\": \"r\", \"bias\": \"bias\"");
  if (mode == "lstm") replace("\"layer_h\"", "\"layer_h\", \"layer_c\"");
  const auto wave = [](std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i) values[i] = 0.3f * std::sin(static_cast<float>(i * i));
    return values;
  };
  const auto weights = [&wave](const std::string& name, const std::vector<int64_t>& shape) {
    return Weights{name, shape, wave(shape)};
  };
  return WriteFile(graph,
                   {weights("w", {3, columns}), weights("r", {20, columns}),
                    mode == "lstm" ? weights("bias", {columns}) : weights("bias", {2, columns}),
                    weights("v", {20, 2}), weights("b", {2})});
}

// Steppers of other sizes have plans of their own: calls in turns give what one call gives.
TEST(RnnStep, SizesOfACallDoNotChangeTheResult) {
  constexpr int64_t kTime = 12;
  for (const std::string mode : {"lstm", "gru"}) {
    const std::string file = LayerFile(mode);
    for (const int64_t batch : {1, 3}) {
      std::vector<float> x(batch * kTime * 3);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
      const std::vector<float> want = Call(Make(file, batch, kTime).get(), x);
      const int64_t times[] = {1, 2, 4};
      std::vector<Stepper> steppers;
      std::vector<std::vector<float>> got;
      for (const int64_t time : times) {
        steppers.push_back(Make(file, batch, time, /*threads=*/2));
        got.emplace_back(want.size());
      }
      for (int64_t t = 0; t < kTime; ++t) {
        for (size_t k = 0; k < steppers.size(); ++k) {
          if (t % times[k] != 0) continue;
          std::vector<float> part;
          for (int64_t b = 0; b < batch; ++b) {
            const auto row = x.begin() + (b * kTime + t) * 3;
            part.insert(part.end(), row, row + times[k] * 3);
          }
          const std::vector<float> y = Call(steppers[k].get(), part);
          for (int64_t b = 0; b < batch; ++b) {
            const auto row = y.begin() + b * times[k] * 20;
            std::copy(row, row + times[k] * 20, got[k].begin() + (b * kTime + t) * 20);
          }
        }
      }
      for (size_t k = 0; k < steppers.size(); ++k) EXPECT_EQ(got[k], want) << mode << times[k];
    }
  }
}

TEST(RnnStep, AllMemoryIsThatOfTheNewStepper) {
  const std::string file = LayerFile("lstm");
  int failed = 0;
  for (;; ++failed) {
    allocations_left = failed;
    RnnStepper* stepper = nullptr;
    const int code = rnn_step_new(file.data(), file.size(), 2, 5, 1, &stepper);
    const Stepper owned(stepper);
    if (code == RNN_STEP_OK) break;
    EXPECT_EQ(code, RNN_STEP_NO_MEMORY);
    EXPECT_EQ(stepper, nullptr);
    EXPECT_NE(std::string(rnn_step_error()).find("memory"), std::string::npos);
  }
  // The weights, panels and states of two nodes, a value between them, and a plan.
  EXPECT_GE(failed, 10);
  allocations_left = INT64_MAX;
  const Stepper stepper = Make(file, 2, 5), other = Make(file, 2, 5);
  const std::vector<float> x(2 * 5 * 3, 0.5f);
  const std::vector<float> want = Call(other.get(), x);
  allocations_left = 0;
  EXPECT_EQ(Call(stepper.get(), x), want);
  allocations_left = INT64_MAX;
}

// Denormal numbers are zeros in a call, and results are rounded to nearest.
TEST(RnnStep, TheFloatEnvironmentOfTheCallerHasNoEffect) {
  std::vector<Weights> weights = AllWeights();
  weights[2].values = {1e-39f, 2, 1e-39f, 4};
  weights[3].values = {0, -0.5f};
  const std::string file = WriteFile(Graph(), weights);
  const auto run = [&file] {
    const Stepper stepper = Make(file);
    std::vector<float> results;
    for (const float x : {0.7f, 1e-39f, 3.0f}) {
      const std::vector<float> y = Call(stepper.get(), {x, -x});
      results.insert(results.end(), y.begin(), y.end());
    }
    return results;
  };
  const std::vector<float> want = run();
  for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(direction), 0);
    const std::vector<float> got = run();
    ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
    EXPECT_EQ(got, want);
  }
  std::vector<float> got;
  {
    const ScopedFloatEnvironment flushes_denormals;
    got = run();
  }
  EXPECT_EQ(got, want);
}

// A layer that is large enough for several threads, with the same result for any number of them.
TEST(RnnStep, ThreadsDoNotChangeTheResult) {
  constexpr int64_t kWide = 700;
  std::vector<Weights> weights = AllWeights();
  const auto wave = [](int64_t count, float scale) {
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i) values[i] = scale * std::sin(static_cast<float>(i));
    return values;
  };
  weights[0] = {"w", {2, kWide}, wave(2 * kWide, 1)};
  weights[1] = {"r", {kWide, kWide}, wave(kWide * kWide, 0.05f)};
  weights[2] = {"v", {kWide, kWide}, wave(kWide * kWide, 1)};
  weights[3] = {"b", {kWide}, wave(kWide, 1)};
  const std::string file = WriteFile(Graph(), weights);
  constexpr int64_t kBatch = 16, kTime = 8;
  const std::vector<float> x = wave(kBatch * kTime * 2, 1);
  const Stepper one = Make(file, kBatch, kTime, 1), several = Make(file, kBatch, kTime, 4);
  for (int call = 0; call < 3; ++call) EXPECT_EQ(Call(one.get(), x), Call(several.get(), x));
  // A process that is forked has none of the threads.
  const pid_t child = fork();
  if (child == 0) _exit(Call(one.get(), x) == Call(several.get(), x) ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rnn_ops::step
