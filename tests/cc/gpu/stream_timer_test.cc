// Timing with a driver whose clock stands still but for the work.
#include "cc/gpu/stream_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

struct CUevent_st {
  float milliseconds;
};

namespace rnn_ops {
namespace gpu {
namespace {

using ::testing::ElementsAre;

// One fallible call after another; `fail_at` counts them.
struct FakeClock {
  float milliseconds = 0;
  int events = 0;
  int fail_at = -1;
  std::vector<std::string> calls;

  CUresult Note(const char* name) {
    calls.push_back(name);
    return fail_at >= 0 && fail_at-- == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
};
FakeClock fake_clock;

DriverApi FakeDriver() {
  DriverApi api;
  api.GetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_INVALID_VALUE";
    return CUDA_SUCCESS;
  };
  api.GetErrorString = [](CUresult, const char** text) {
    *text = "on purpose";
    return CUDA_SUCCESS;
  };
  api.EventCreate = [](CUevent* event, unsigned) {
    const CUresult result = fake_clock.Note("EventCreate");
    if (result != CUDA_SUCCESS) return result;
    *event = new CUevent_st{0};
    ++fake_clock.events;
    return CUDA_SUCCESS;
  };
  api.EventDestroy = [](CUevent event) {
    delete event;
    --fake_clock.events;
    return CUDA_SUCCESS;
  };
  api.EventRecord = [](CUevent event, CUstream) {
    event->milliseconds = fake_clock.milliseconds;
    return fake_clock.Note("EventRecord");
  };
  api.EventSynchronize = [](CUevent) { return fake_clock.Note("EventSynchronize"); };
  api.EventElapsedTime = [](float* milliseconds, CUevent start, CUevent end) {
    *milliseconds = end->milliseconds - start->milliseconds;
    return fake_clock.Note("EventElapsedTime");
  };
  return api;
}

class StreamTimerTest : public ::testing::Test {
 protected:
  void SetUp() override { fake_clock = FakeClock(); }
  void TearDown() override { EXPECT_EQ(fake_clock.events, 0); }

  Status Time(double* seconds, const Status& outcome = Status()) {
    return TimeOnStream(
        driver_, nullptr,
        [&] {
          fake_clock.calls.push_back("work");
          fake_clock.milliseconds += 250;
          return outcome;
        },
        seconds);
  }

  const DriverApi driver_ = FakeDriver();
};

TEST_F(StreamTimerTest, TheTimeOfTheWork) {
  double seconds = 0;
  ASSERT_TRUE(Time(&seconds).ok());
  EXPECT_EQ(seconds, 0.25);
  EXPECT_THAT(fake_clock.calls, ElementsAre("EventCreate", "EventCreate", "EventRecord", "work",
                                            "EventRecord", "EventSynchronize", "EventElapsedTime"));
}

TEST_F(StreamTimerTest, WorkThatFailsIsWaitedForToo) {
  double seconds = 0;
  EXPECT_EQ(Time(&seconds, Unimplemented("no")).code(), Code::kUnimplemented);
  EXPECT_THAT(fake_clock.calls, ElementsAre("EventCreate", "EventCreate", "EventRecord", "work",
                                            "EventRecord", "EventSynchronize"));
}

TEST_F(StreamTimerTest, EveryFailureIsReportedAndFreesTheEvents) {
  for (int number = 0; number < 6; ++number) {
    fake_clock = FakeClock();
    fake_clock.fail_at = number;
    double seconds = 0;
    const Status status = Time(&seconds);
    EXPECT_EQ(status.code(), Code::kInternal) << number;
    EXPECT_THAT(status.message(), ::testing::HasSubstr("on purpose"));
    EXPECT_EQ(fake_clock.events, 0) << number;
  }
}

}  // namespace
}  // namespace gpu
}  // namespace rnn_ops
