// Steppers that share the weights of a model, and what calls of servers need.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cc/step/model.h"
#include "cc/step/rnn_step.h"
#include "gtest/gtest.h"
#include "tests/cc/step/small_models.h"
#include "tests/cc/step/written_file.h"

namespace rnn_ops::step {
namespace {

using testing::AllWeights;
using testing::Call;
using testing::CountingFile;
using testing::Graph;
using testing::Make;
using testing::Stepper;
using testing::Weights;
using testing::WriteFile;

using Floats = std::vector<float>;

Stepper Clone(const Stepper& stepper) {
  RnnStepper* clone = nullptr;
  EXPECT_EQ(rnn_step_clone(stepper.get(), &clone), RNN_STEP_OK) << rnn_step_error();
  return Stepper(clone);
}

int CallWith(const Stepper& stepper, const RnnStepOptions& options, const Floats& x, Floats* y) {
  const void* inputs[] = {x.data()};
  float* outputs[] = {y->data()};
  return rnn_step_call_with(stepper.get(), &options, inputs, outputs);
}

Floats StateOf(const Stepper& stepper) {
  Floats state(rnn_step_state(stepper.get(), 0).elements);
  EXPECT_EQ(rnn_step_get_state(stepper.get(), 0, state.data()), RNN_STEP_OK) << rnn_step_error();
  return state;
}

bool ErrorHas(const std::string& part) {
  return std::string(rnn_step_error()).find(part) != std::string::npos;
}

TEST(Streams, AreSteppersOfTheirOwn) {
  const std::string file = WriteFile(Graph(), AllWeights());
  Stepper first = Make(file);
  const Stepper other = Make(file);
  Call(first.get(), {1, 2});
  Call(other.get(), {1, 2});
  const Stepper clone = Clone(first);
  EXPECT_EQ(StateOf(clone), StateOf(first)) << "a clone has a copy of the states";
  const Floats want = Call(other.get(), {3, 4});
  EXPECT_EQ(Call(first.get(), {3, 4}), want);
  EXPECT_EQ(Call(clone.get(), {3, 4}), want) << "the call of another stream is no step of this one";
  first.reset();
  EXPECT_EQ(Call(Clone(clone).get(), {5, 6}), Call(other.get(), {5, 6}))
      << "a clone outlives its model's first stepper";
}

TEST(Streams, OfAStepperThatIsUsedAreErrors) {
  constexpr int64_t kTime = 100000;
  const Stepper stepper = Make(CountingFile(""), 1, kTime);
  const Floats x(kTime * 2, 1.0f);
  std::atomic<bool> ends{false};
  std::thread caller([&] {
    Floats y(x.size());
    const void* inputs[] = {x.data()};
    float* outputs[] = {y.data()};
    while (!ends) rnn_step_call(stepper.get(), inputs, outputs);  // or meets a clone
  });
  int code = RNN_STEP_OK;
  for (int i = 0; i < 100000 && code == RNN_STEP_OK; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));  // the calls are longer
    RnnStepper* clone = nullptr;
    code = rnn_step_clone(stepper.get(), &clone);
    EXPECT_EQ(clone == nullptr, code != RNN_STEP_OK);
    rnn_step_free(clone);
  }
  EXPECT_EQ(code, RNN_STEP_BUSY);
  EXPECT_TRUE(ErrorHas("Another thread"));
  ends = true;
  caller.join();
  EXPECT_EQ(rnn_step_clone(stepper.get(), nullptr), RNN_STEP_INVALID);
  RnnStepper* clone = nullptr;
  EXPECT_EQ(rnn_step_clone(nullptr, &clone), RNN_STEP_INVALID);
}

TEST(Streams, AnUpdateIsThatOfAll) {
  const Stepper first = Make(CountingFile(""));
  const Stepper second = Clone(first);
  EXPECT_EQ(Call(first.get(), {1, 1}), (Floats{1, 1}));
  const std::string tenfold = CountingFile("", 10);
  ASSERT_EQ(rnn_step_update(second.get(), tenfold.data(), tenfold.size()), RNN_STEP_OK);
  EXPECT_EQ(Call(first.get(), {1, 1}), (Floats{20, 20}));
  EXPECT_EQ(Call(second.get(), {1, 1}), (Floats{10, 10}));
  const std::string another = WriteFile(Graph("\"batch_size\": 2, "), AllWeights());
  EXPECT_EQ(rnn_step_update(first.get(), another.data(), another.size()), RNN_STEP_INVALID);
  EXPECT_TRUE(ErrorHas("batch_size"));
  EXPECT_EQ(Call(second.get(), {1, 1}), (Floats{20, 20}));
}

// Streams in several threads, some of them with calls of other forms, while other threads update.
// A call has one factor for all of its outputs, no step is lost, and no factor comes back.
TEST(Streams, RunSideBySideDuringUpdates) {
  constexpr int kStreams = 4, kUpdates = 60;
  constexpr int64_t kTime = 40;
  const Stepper model = Make(CountingFile("", 1), 1, kTime);
  std::vector<Stepper> streams;
  for (int k = 0; k < kStreams; ++k) streams.push_back(Clone(model));
  std::atomic<bool> ends{false};
  std::atomic<int64_t> calls{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < kStreams; ++k) {
    threads.emplace_back([&, k] {
      float factor = 1;
      int64_t steps = 0;
      for (int64_t call = 0; !ends || call == 0; ++call, ++calls) {
        // WHY a limit: float32 counts to 2^24.
        if (steps > 10000) {
          ASSERT_EQ(rnn_step_reset(streams[k].get(), nullptr, 0), RNN_STEP_OK);
          steps = 0;
        }
        RnnStepOptions options = {};
        options.steps = k == 0 ? 1 + call % kTime : kTime;
        options.last_step = k == 1;
        Floats x(options.steps * 2, 1.0f), y(k == 1 ? 2 : x.size());
        ASSERT_EQ(CallWith(streams[k], options, x, &y), RNN_STEP_OK) << rnn_step_error();
        const float now = y.back() / static_cast<float>(steps + options.steps);
        ASSERT_GE(now, factor) << "the weights of an earlier update";
        factor = now;
        for (size_t i = 0; i < y.size(); ++i) {
          const int64_t t = k == 1 ? options.steps : static_cast<int64_t>(i / 2) + 1;
          ASSERT_EQ(y[i], factor * static_cast<float>(steps + t));
        }
        steps += options.steps;
      }
    });
  }
  std::atomic<int> next{2};
  std::mutex turn;
  std::vector<std::thread> updaters;
  for (int k = 0; k < 2; ++k) {
    updaters.emplace_back([&] {
      for (int i = 0; i < kUpdates; ++i) {
        // In turns, because the factors must not become smaller.
        const std::lock_guard<std::mutex> lock(turn);
        const std::string file = CountingFile("", static_cast<float>(next++));
        const Stepper& any = streams[i % kStreams];
        ASSERT_EQ(rnn_step_update(any.get(), file.data(), file.size()), RNN_STEP_OK)
            << rnn_step_error();
        const Stepper fresh = Clone(model);
        Floats y(kTime * 2);
        ASSERT_EQ(CallWith(fresh, {}, Floats(kTime * 2, 1.0f), &y), RNN_STEP_OK);
        ASSERT_EQ(y[0], static_cast<float>(next - 1)) << "a call after the update";
      }
    });
  }
  for (std::thread& updater : updaters) updater.join();
  ends = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(calls, kStreams);
}

// A long call does not keep the others from the new model.
TEST(Streams, HaveTheNewModelWhileAnUpdateWaitsForACall) {
  const std::string file = CountingFile("");
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::Make(file.data(), file.size(), 1, 1, 1, &model).ok());
  ASSERT_TRUE(model->Reserve(2).ok());
  Place *const long_call = model->first(), *const other = long_call->other;
  ASSERT_NE(other, nullptr);
  ASSERT_TRUE(model->TryUsual(long_call));
  std::thread updater([&] { EXPECT_TRUE(model->Update(file.data(), file.size()).ok()); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int64_t number = 0;
  while (number == 0 && std::chrono::steady_clock::now() < end) {
    if (!model->TryUsual(other)) continue;
    number = other->workspace->number;
    other->lock.Release();
  }
  EXPECT_EQ(number, 1);
  EXPECT_EQ(long_call->workspace->number, 0) << "a call keeps its model";
  long_call->lock.Release();
  updater.join();
  EXPECT_EQ(long_call->workspace->number, 1);
}

// Updates of several threads at once: each stream ends with the weights of one of them.
TEST(Streams, UpdatesTakeTurns) {
  const Stepper model = Make(CountingFile(""));
  ASSERT_EQ(rnn_step_reserve(model.get(), 3), RNN_STEP_OK) << rnn_step_error();
  std::atomic<bool> ends{false};
  std::vector<std::thread> callers, updaters;
  for (int k = 0; k < 2; ++k) {
    callers.emplace_back([&, stream = Clone(model)] {
      while (!ends) {
        const Floats y = Call(stream.get(), {1, 1});
        ASSERT_EQ(y[0], y[1]);
        ASSERT_EQ(rnn_step_reset(stream.get(), nullptr, 0), RNN_STEP_OK);
      }
    });
    updaters.emplace_back([&, k] {
      const std::string file = CountingFile("", static_cast<float>(k + 2));
      for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(rnn_step_update(model.get(), file.data(), file.size()), RNN_STEP_OK);
      }
    });
  }
  for (std::thread& updater : updaters) updater.join();
  ends = true;
  for (std::thread& caller : callers) caller.join();
  const float factor = Call(Clone(model).get(), {1, 1})[0];
  EXPECT_TRUE(factor == 2 || factor == 3) << factor;
  EXPECT_EQ(rnn_step_reserve(model.get(), 0), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_reserve(nullptr, 1), RNN_STEP_INVALID);
}

// A fork while other threads call and update: the child goes on with streams that nobody used.
TEST(Streams, GoOnInAForkedProcess) {
  constexpr int64_t kTime = 2000;
  const Stepper model = Make(CountingFile(""), 1, kTime);
  const Stepper busy = Clone(model), idle = Clone(model);
  const Floats x(kTime * 2, 1.0f);
  const std::string file = CountingFile("");
  std::atomic<bool> ends{false};
  std::thread caller([&] {
    Floats y(x.size());
    const void* inputs[] = {x.data()};
    float* outputs[] = {y.data()};
    while (!ends) {
      ASSERT_EQ(rnn_step_reset(busy.get(), nullptr, 0), RNN_STEP_OK);
      ASSERT_EQ(rnn_step_call(busy.get(), inputs, outputs), RNN_STEP_OK);
    }
  });
  std::thread updater([&] {
    while (!ends) {
      ASSERT_EQ(rnn_step_update(model.get(), file.data(), file.size()), RNN_STEP_OK);
    }
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);  // ends a process that waits forever
      bool good = Call(idle.get(), x).back() == kTime;
      good = good && rnn_step_update(idle.get(), file.data(), file.size()) == RNN_STEP_OK;
      good = good && Call(Clone(idle).get(), x).back() == 2 * kTime;
      _exit(good ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ends = true;
  caller.join();
  updater.join();
}

TEST(Rows, HaveStatesOfTheirOwn) {
  const std::string file = WriteFile(Graph(), AllWeights());
  const Stepper batch = Make(file, 3), one = Make(file);
  Call(batch.get(), {1, 2, 3, 4, 5, 6});
  Floats row(2);
  float* to[] = {row.data()};
  ASSERT_EQ(rnn_step_get_row(batch.get(), 1, to), RNN_STEP_OK) << rnn_step_error();
  ASSERT_EQ(rnn_step_set_state(one.get(), 0, row.data()), RNN_STEP_OK);
  const Floats y = Call(one.get(), {7, 8}), all = Call(batch.get(), {0, 0, 7, 8, 0, 0});
  EXPECT_EQ(Floats(all.begin() + 2, all.begin() + 4), y);
  // Back into another row, which changes this row only.
  Floats before = StateOf(batch);
  row = StateOf(one);
  const float* from[] = {row.data()};
  ASSERT_EQ(rnn_step_set_row(batch.get(), 2, from), RNN_STEP_OK);
  std::copy(row.begin(), row.end(), before.begin() + 4);
  EXPECT_EQ(StateOf(batch), before);
  for (const int64_t wrong : {-1, 3}) {
    EXPECT_EQ(rnn_step_get_row(batch.get(), wrong, to), RNN_STEP_INVALID);
    EXPECT_EQ(rnn_step_set_row(batch.get(), wrong, from), RNN_STEP_INVALID);
    EXPECT_TRUE(ErrorHas("from 0 to 2")) << rnn_step_error();
  }
  EXPECT_EQ(rnn_step_get_row(batch.get(), 0, nullptr), RNN_STEP_INVALID);
  EXPECT_EQ(rnn_step_set_row(batch.get(), 0, nullptr), RNN_STEP_INVALID);
}

TEST(Calls, LeaveIdleRows) {
  const std::string file = WriteFile(Graph(), AllWeights());
  const Stepper stepper = Make(file, 3), other = Make(file, 3);
  const Floats x = {1, 2, 3, 4, 5, 6};
  Call(stepper.get(), x);
  Call(other.get(), x);
  const Floats before = StateOf(stepper), all = Call(other.get(), x), after = StateOf(other);
  const uint8_t idle[] = {0, 1, 0};
  RnnStepOptions options = {};
  options.idle = idle;
  Floats y(6, 9.0f);
  ASSERT_EQ(CallWith(stepper, options, x, &y), RNN_STEP_OK) << rnn_step_error();
  EXPECT_EQ(y, (Floats{all[0], all[1], 0, 0, all[4], all[5]}));
  EXPECT_EQ(StateOf(stepper),
            (Floats{after[0], after[1], before[2], before[3], after[4], after[5]}));
}

TEST(Calls, HaveALastStepOrNot) {
  const Stepper stepper = Make(WriteFile(Graph(), AllWeights()), 1, 3);
  for (const int last : {-1, 2}) {
    RnnStepOptions options = {};
    options.last_step = last;
    Floats y(6);
    EXPECT_EQ(CallWith(stepper, options, Floats(6), &y), RNN_STEP_INVALID);
    EXPECT_STREQ(rnn_step_error(),
                 StrCat("last_step must be 0 or 1, but it is ", last, ".").c_str());
  }
}

TEST(Calls, HaveFewerStepsOrTheLastOutputOnly) {
  constexpr int64_t kBatch = 2, kTime = 5;
  const std::string file = WriteFile(Graph(), AllWeights());
  const Stepper single = Make(file, kBatch), stepper = Make(file, kBatch, kTime);
  int64_t begin = 0;
  for (const int64_t steps : {5, 2, 2, 5, 1, 4}) {
    for (const int last : {0, 1}) {
      RnnStepOptions options = {};
      options.steps = steps;
      options.last_step = last;
      Floats x(kBatch * steps * 2), want;
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((begin + i) % 7) - 3;
      begin += static_cast<int64_t>(x.size());
      want.resize(last != 0 ? kBatch * 2 : x.size());
      for (int64_t t = 0; t < steps; ++t) {
        const float *a = x.data() + t * 2, *b = a + steps * 2;
        const Floats y = Call(single.get(), {a[0], a[1], b[0], b[1]});
        if (last != 0 && t + 1 < steps) continue;
        for (int64_t row = 0; row < kBatch; ++row) {
          const int64_t at = last != 0 ? row : row * steps + t;
          std::copy(y.begin() + row * 2, y.begin() + row * 2 + 2, want.begin() + at * 2);
        }
      }
      Floats y(want.size());
      ASSERT_EQ(CallWith(stepper, options, x, &y), RNN_STEP_OK) << rnn_step_error();
      EXPECT_EQ(y, want) << steps << " " << last;
      EXPECT_EQ(StateOf(stepper), StateOf(single));
    }
  }
  Floats x(kBatch * kTime * 2), y(x.size());
  for (const int64_t wrong : {int64_t{-1}, kTime + 1}) {
    RnnStepOptions options = {};
    options.steps = wrong;
    EXPECT_EQ(CallWith(stepper, options, x, &y), RNN_STEP_INVALID);
    EXPECT_TRUE(ErrorHas("steps must be from 1 to 5")) << rnn_step_error();
  }
  const void* inputs[] = {x.data()};
  float* outputs[] = {y.data()};
  EXPECT_EQ(rnn_step_call_with(stepper.get(), nullptr, inputs, outputs), RNN_STEP_INVALID);
  const Stepper fixed = Make(WriteFile(Graph("\"time\": 5, "), AllWeights()));
  RnnStepOptions options = {};
  options.steps = 2;
  EXPECT_EQ(CallWith(fixed, options, x, &y), RNN_STEP_INVALID);
  EXPECT_TRUE(ErrorHas("which the file fixes")) << rnn_step_error();
}

TEST(Files, HaveMetadata) {
  const std::string file = WriteFile(Graph(), AllWeights());
  const auto with = [&file](const std::string& more) {
    std::string changed = file.substr(8);
    const std::string known = "\"version\": \"1\"";
    changed.replace(changed.find(known), known.size(), known + more);
    uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof(length));
    const std::string header = changed.substr(0, length + more.size());
    return testing::WithHeader(header, changed.substr(header.size()));
  };
  const Stepper none = Make(file);
  EXPECT_STREQ(rnn_step_metadata(none.get(), nullptr), "");
  EXPECT_EQ(rnn_step_metadata(none.get(), "language"), nullptr);
  EXPECT_EQ(rnn_step_metadata(nullptr, nullptr), nullptr);
  const std::string second =
      with(", \"fingerprint\": \"f2\", \"metadata\": \"{\\\"language\\\": \\\"ja\\\"}\"");
  const Stepper clone = Clone(none);
  ASSERT_EQ(rnn_step_update(none.get(), second.data(), second.size()), RNN_STEP_OK)
      << rnn_step_error();
  EXPECT_STREQ(rnn_step_metadata(clone.get(), nullptr), "f2");
  EXPECT_STREQ(rnn_step_metadata(clone.get(), "language"), "ja");
  for (const char* wrong : {"1", "\"[]\"", "\"{\"", "\"{\\\"language\\\": 1}\""}) {
    EXPECT_EQ(Make(with(std::string(", \"metadata\": ") + wrong)), nullptr) << wrong;
  }
  EXPECT_EQ(Make(with(", \"fingerprint\": 1")), nullptr);
}

TEST(Files, OfAnotherVersionAreErrorsThatSayWhatToDo) {
  EXPECT_EQ(Make(WriteFile(Graph(), AllWeights(), "3")), nullptr);
  EXPECT_TRUE(ErrorHas("version '3'") && ErrorHas("versions '1' and '2'") &&
              ErrorHas("export the model"))
      << rnn_step_error();
}

}  // namespace
}  // namespace rnn_ops::step
