// Tests what becomes of the failures of a framework during a call.
#include "cc/cpu/call/op_run.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "cc/core/status.h"

namespace rnn_ops::cpu {
namespace {

// Allocates by a function of the test.
class TestHost : public Host {
 public:
  explicit TestHost(std::function<Status()> fails) : fails_(std::move(fails)) {}

  ParallelFor parallel() override {
    return {nullptr,
            {/*count=*/1, /*wake_ns=*/0, /*meet_ns=*/0},
            [](void*, int64_t n, int64_t, void (*fn)(void*, int64_t), void* arg) {
              for (int64_t i = 0; i < n; ++i) fn(arg, i);
            }};
  }
  Status Scratch(int64_t bytes, void** data) override {
    RNN_OPS_RETURN_IF_ERROR(fails_());
    memory_.resize(static_cast<size_t>(bytes) + 64);
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_.data());
    *data = reinterpret_cast<void*>((address + 63) / 64 * 64);
    return Status();
  }
  Status NewReserve(const ReserveSizes&, void**) override { return Internal("not in inference"); }
  PartialShape ShapeOf(Arg) const override { return {}; }
  Status Aligned(Arg, const void**) override { return Internal("not in inference"); }

 private:
  std::function<Status()> fails_;
  std::vector<char> memory_;
};

// One step of a tanh network with one unit and zero weights: h = tanh(0).
Status Forward(const std::function<Status()>& fails, float* h) {
  float x = 1, h0 = 1, params[4] = {}, y = -1;
  const int32_t length = 1;
  RnnConfig config;
  config.mode = RnnMode::kTanh;
  config.is_training = false;
  config.num_units = config.input_size = config.max_time = config.batch = 1;
  CallTensors tensors;
  tensors.SetInput(Arg::input, &x, ElementType::kFloat32, 1);
  tensors.SetInput(Arg::input_h, &h0, ElementType::kFloat32, 1);
  tensors.SetInput(Arg::params, params, ElementType::kFloat32, 4);
  tensors.SetOutput(Arg::output, &y, ElementType::kFloat32, 1);
  tensors.SetOutput(Arg::output_h, h, ElementType::kFloat32, 1);
  RnnProblem problem = MakeRnnProblem(config, kFloat32);
  problem.lengths = {&length, length};
  TestHost host(fails);
  return RunRnnForward(problem, tensors, &host);
}

TEST(OpRun, WithoutAFailureTheCallComputes) {
  float h = -1;
  const Status status = Forward([] { return Status(); }, &h);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(h, 0);
}

TEST(OpRun, AFailureOfTheHostIsThatOfTheCall) {
  float h = -1;
  const Status status = Forward([] { return Status(Code::kResourceExhausted, "full"); }, &h);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(h, -1);
}

TEST(OpRun, BadAllocReachesTheCaller) {
  float h = -1;
  EXPECT_THROW(Forward([]() -> Status { throw std::bad_alloc(); }, &h), std::bad_alloc);
}

// The frames of a kernel have no cleanup for exceptions.
TEST(OpRun, AnyOtherExceptionIsAnError) {
  float h = -1;
  const Status named = Forward([]() -> Status { throw std::length_error("too long"); }, &h);
  EXPECT_EQ(named.code(), Code::kInternal);
  EXPECT_EQ(named.message(), "The memory of the call could not be allocated: too long");
  const Status unnamed = Forward([]() -> Status { throw 1; }, &h);
  EXPECT_EQ(unnamed.code(), Code::kInternal);
  EXPECT_EQ(unnamed.message(), "The memory of the call could not be allocated.");
  EXPECT_EQ(h, -1);
}

}  // namespace
}  // namespace rnn_ops::cpu
