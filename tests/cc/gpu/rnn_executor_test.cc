// Tests the executor on the cuDNN mock against the reference of the CPU tests.
#include "cc/gpu/cudnn/rnn_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "tests/cc/gpu/fake_cudnn.h"
#include "tests/cc/gpu/rnn_runs.h"

namespace rnn_ops::gpu {
namespace {

using fake::ExpectResults;
using fake::HostAllocator;
using fake::HostDeviceOps;
using fake::Outcome;
using fake::RnnCase;
using fake::SmallCase;
using fake::Values;

// Both sides compute in float64, in different orders.
constexpr double kFloat64Bound = 1e-13;

constexpr RnnMode kModes[] = {RnnMode::kRelu, RnnMode::kTanh, RnnMode::kLstm, RnnMode::kGru};

class RnnExecutorTest : public ::testing::Test {
 protected:
  void TearDown() override {
    executor_.reset();
    fake::TheQuirks() = fake::Quirks();
    EXPECT_EQ(fake::LiveObjects(), 0);
  }

  RnnExecutor* executor(AlgoPolicy policy = AlgoPolicy::kStandard) {
    executor_ = std::make_unique<RnnExecutor>(fake::HostParts(&cudnn_, &ops_, policy));
    return executor_.get();
  }

  void Check(RnnExecutor* executor, const RnnCase& c, double bound = kFloat64Bound) {
    ExpectResults(executor, c, fake::MakeInputs(c, /*zero_padding=*/false), fake::Expected(c),
                  bound);
  }

  // A call with its own scratch memory.
  RnnGpuCall call() { return {0, nullptr, &scratch_}; }

  const CudnnApi cudnn_ = fake::FakeCudnn();
  const HostDeviceOps ops_;
  HostAllocator scratch_;
  std::unique_ptr<RnnExecutor> executor_;
};

// All combinations of the properties that change the arguments of cuDNN.
std::vector<RnnCase> Sweep() {
  std::vector<RnnCase> cases;
  for (RnnMode mode : kModes) {
    for (Direction direction : {Direction::kUnidirectional, Direction::kBidirectional}) {
      for (int64_t layers : {1, 2, 3}) {
        for (bool time_major : {true, false}) {
          for (const std::vector<int32_t>& lengths :
               {std::vector<int32_t>{4, 4, 4}, {4, 2, 3}, {2, 2, 2}, {2, 0, 3}, {0, 1, 0}}) {
            RnnCase c = SmallCase(mode);
            c.config.direction = direction;
            c.config.num_layers = layers;
            c.config.time_major = time_major;
            c.lengths = lengths;
            cases.push_back(c);
          }
        }
      }
    }
  }
  return cases;
}

std::vector<RnnCase> Variants(RnnCase c) {
  std::vector<RnnCase> cases = {c};
  c.config.num_layers = 2;
  c.config.direction = Direction::kBidirectional;
  c.config.time_major = false;
  c.lengths = {3, 0, 4};
  cases.push_back(c);
  return cases;
}

TEST_F(RnnExecutorTest, EveryCombination) {
  RnnExecutor* executor = this->executor();
  for (const RnnCase& c : Sweep()) Check(executor, c);
}

TEST_F(RnnExecutorTest, EveryCombinationWithAnotherLayoutOfWeights) {
  fake::TheQuirks().padded_weights = true;
  RnnExecutor* executor = this->executor();
  for (const RnnCase& c : Sweep()) Check(executor, c);
}

TEST_F(RnnExecutorTest, Projection) {
  for (bool padded : {false, true}) {
    fake::TheQuirks().padded_weights = padded;
    RnnExecutor* executor = this->executor();
    RnnCase projecting = SmallCase(RnnMode::kLstm);
    projecting.config.num_proj = 2;
    for (const RnnCase& c : Variants(projecting)) Check(executor, c);
  }
}

TEST_F(RnnExecutorTest, SkipInput) {
  RnnExecutor* executor = this->executor();
  for (RnnMode mode : kModes) {
    RnnCase skipping = SmallCase(mode);
    skipping.config.input_mode = InputMode::kSkip;
    skipping.config.input_size = skipping.config.num_units;
    for (const RnnCase& c : Variants(skipping)) Check(executor, c);
  }
}

TEST_F(RnnExecutorTest, OneRowOrOneStep) {
  RnnExecutor* executor = this->executor();
  for (bool time_major : {true, false}) {
    RnnCase row = SmallCase(RnnMode::kGru);
    row.config.num_layers = 2;
    row.config.time_major = time_major;
    row.config.batch = 1;
    row.lengths = {3};
    Check(executor, row);
    RnnCase step = row;
    step.config.batch = 3;
    step.config.max_time = 1;
    step.lengths = {1, 0, 1};
    Check(executor, step);
  }
}

TEST_F(RnnExecutorTest, EveryType) {
  // Relative to the largest element: inputs and outputs are rounded, and backward reads the rounded
  // y.
  const std::pair<Dtype, double> bounds[] = {
      {Dtype::kFloat64, kFloat64Bound},
      {Dtype::kFloat32, 0x1p-21},
      {Dtype::kFloat16, 0x1p-9},
      {Dtype::kBFloat16, 0x1p-6},
  };
  for (bool refuse : {false, true}) {
    fake::TheQuirks().refuse_bfloat16 = refuse;
    for (bool padded : {false, true}) {
      fake::TheQuirks().padded_weights = padded;
      RnnExecutor* executor = this->executor();
      for (const auto& [dtype, bound] : bounds) {
        for (RnnMode mode : kModes) {
          RnnCase typed = SmallCase(mode);
          typed.dtype = dtype;
          for (const RnnCase& c : Variants(typed)) Check(executor, c, bound);
        }
      }
    }
  }
}

TEST_F(RnnExecutorTest, PersistentAlgorithms) {
  for (AlgoPolicy policy : {AlgoPolicy::kPersistStatic, AlgoPolicy::kSmallH}) {
    for (bool refuse : {false, true}) {
      fake::TheQuirks().refuse_persistent = refuse;
      RnnExecutor* executor = this->executor(policy);
      for (Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
        RnnCase c = SmallCase(RnnMode::kLstm);
        c.dtype = dtype;
        c.lengths = {4, 4, 4};
        Check(executor, c, dtype == Dtype::kFloat32 ? 0x1p-21 : kFloat64Bound);
      }
    }
  }
}

TEST_F(RnnExecutorTest, InferenceKeepsNothing) {
  RnnExecutor* executor = this->executor();
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.config.num_layers = 2;
  c.config.dropout = 0.5f;  // no effect
  c.config.is_training = false;
  Check(executor, c);
  const Outcome forward = RunForward(executor, c, fake::MakeInputs(c, false), call());
  EXPECT_EQ(forward.reserve_requests, 0);
}

TEST_F(RnnExecutorTest, ReserveSpaceIsAskedForOnceAndNotWritten) {
  RnnExecutor* executor = this->executor();
  const RnnCase c = SmallCase(RnnMode::kGru);
  const Values in = fake::MakeInputs(c, false);
  const Outcome forward = RunForward(executor, c, in, call());
  EXPECT_EQ(forward.reserve_requests, 1);
  EXPECT_EQ(forward.reserve.size() % 8, 0u);
  const Outcome first = RunBackward(executor, c, in, forward, call());
  ASSERT_TRUE(first.status.ok()) << first.status.message();
  EXPECT_EQ(first.reserve, forward.reserve);
  const Outcome second = RunBackward(executor, c, in, forward, call());
  ASSERT_TRUE(second.status.ok()) << second.status.message();
  EXPECT_EQ(second.values.dparams, first.values.dparams);
  EXPECT_EQ(second.values.dx, first.values.dx);
}

TEST_F(RnnExecutorTest, AskedForOnceAlsoWhenCandidatesAreTried) {
  RnnExecutor* executor = this->executor(AlgoPolicy::kPersistStatic);
  RnnCase c = SmallCase(RnnMode::kGru);
  c.dtype = Dtype::kFloat32;
  c.lengths = {4, 4, 4};
  EXPECT_EQ(RunForward(executor, c, fake::MakeInputs(c, false), call()).reserve_requests, 1);
}

// The bytes of scratch memory of a first and of a second forward call.
std::pair<int64_t, int64_t> ScratchOfTwoCalls(RnnExecutor* executor, const RnnCase& c) {
  int64_t bytes[2];
  for (int64_t& total : bytes) {
    HostAllocator scratch;
    const Outcome forward =
        RunForward(executor, c, fake::MakeInputs(c, false), {0, nullptr, &scratch});
    EXPECT_TRUE(forward.status.ok()) << forward.status.message();
    total = std::accumulate(scratch.sizes().begin(), scratch.sizes().end(), int64_t{0});
  }
  return {bytes[0], bytes[1]};
}

TEST_F(RnnExecutorTest, WhatATrialTakesDoesNotGrowWithTheLength) {
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.dtype = Dtype::kBFloat16;
  const auto trial_bytes = [&](int32_t steps) {
    c.config.max_time = steps;
    c.lengths = {steps, steps - 1, steps};
    const auto [first, second] = ScratchOfTwoCalls(this->executor(), c);
    return first - second;
  };
  EXPECT_EQ(trial_bytes(40), trial_bytes(4));
}

TEST_F(RnnExecutorTest, TheCallUsesTheMemoryOfItsTrials) {
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.dtype = Dtype::kFloat32;
  c.lengths = {4, 4, 4};
  c.config.is_training = false;  // so that the call needs what the trial needs
  const auto [first, second] = ScratchOfTwoCalls(executor(AlgoPolicy::kSmallH), c);
  EXPECT_EQ(first, second);
}

TEST_F(RnnExecutorTest, AReserveSpaceOfAnotherSizeIsRefused) {
  RnnExecutor* executor = this->executor();
  const RnnCase c = SmallCase(RnnMode::kLstm);
  const Values in = fake::MakeInputs(c, false);
  Outcome forward = RunForward(executor, c, in, call());
  for (size_t size : {size_t{0}, forward.reserve.size() - 256, forward.reserve.size() + 256}) {
    forward.reserve.resize(size);
    const Outcome backward = RunBackward(executor, c, in, forward, call());
    EXPECT_EQ(backward.status.code(), Code::kInvalidArgument);
    EXPECT_NE(backward.status.message().find("reserve_space"), std::string::npos);
  }
}

// XLA allocates this size before the lengths are known.
TEST_F(RnnExecutorTest, ReserveBytesSufficeForAnyLengthsAndBackwardTakesThem) {
  for (AlgoPolicy policy : {AlgoPolicy::kStandard, AlgoPolicy::kHeuristic, AlgoPolicy::kSmallH}) {
    RnnExecutor* executor = this->executor(policy);
    for (int64_t units : {4, 150}) {  // 150 is too many units for SMALL_H in backward
      RnnCase c = SmallCase(RnnMode::kLstm);
      c.dtype = Dtype::kFloat32;
      c.config.num_units = units;
      c.config.num_layers = 2;
      c.config.dropout = 0.5f;
      StackProblem problem = c.Problem();
      problem.lengths = nullptr;
      int64_t bytes = 0;
      ASSERT_TRUE(executor->ReserveBytes(problem, 0, &bytes).ok());
      size_t most = 0;
      for (const std::vector<int32_t>& lengths :
           {std::vector<int32_t>{4, 4, 4}, {4, 2, 3}, {1, 0, 1}, {2, 2, 2}}) {
        c.lengths = lengths;
        const Values in = fake::MakeInputs(c, false);
        Outcome forward = RunForward(executor, c, in, call());
        ASSERT_TRUE(forward.status.ok()) << forward.status.message();
        most = std::max(most, forward.reserve.size());
        const Outcome want = RunBackward(executor, c, in, forward, call());
        forward.reserve.resize(static_cast<size_t>(bytes));
        forward.algorithm |= kReserveOfProgram;
        const Outcome got = RunBackward(executor, c, in, forward, call());
        ASSERT_TRUE(got.status.ok()) << got.status.message();
        EXPECT_EQ(got.values.dparams, want.values.dparams);
      }
      EXPECT_EQ(most, static_cast<size_t>(bytes));
    }
  }
}

// The process that compiled a program may have had another policy, GPU or cuDNN. So the reserve
// space of the program has a size that no call in this process has.
TEST_F(RnnExecutorTest, TheReserveSpaceOfAProgramMayHaveAnySizeThatIsLargeEnough) {
  for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{4, 2, 3}, {3, 3, 3}}) {
    RnnExecutor* executor = this->executor();
    RnnCase c = SmallCase(RnnMode::kLstm);
    c.lengths = lengths;
    const Values in = fake::MakeInputs(c, false);
    Outcome forward = RunForward(executor, c, in, call());
    const size_t needed = forward.reserve.size();
    const Outcome want = RunBackward(executor, c, in, forward, call());
    forward.algorithm |= kReserveOfProgram;
    for (size_t more : {0, 256, 10240}) {
      forward.reserve.resize(needed + more);
      const Outcome got = RunBackward(executor, c, in, forward, call());
      ASSERT_TRUE(got.status.ok()) << got.status.message();
      EXPECT_EQ(got.values.dparams, want.values.dparams);
      EXPECT_EQ(got.values.dx, want.values.dx);
    }
    for (size_t size : {size_t{0}, needed - 256, needed + 8}) {
      forward.reserve.resize(size);
      const Status status = RunBackward(executor, c, in, forward, call()).status;
      EXPECT_EQ(status.code(), Code::kInvalidArgument);
      const std::string expected = StrCat("which has at least ", needed, " bytes, but it has ");
      EXPECT_NE(status.message().find(expected), std::string::npos) << status.message();
    }
  }
}

// Backward runs in another library, in another process or under another policy than forward.
TEST_F(RnnExecutorTest, BackwardRunsTheAlgorithmOfForwardInAnotherExecutor) {
  for (Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    RnnCase c = SmallCase(RnnMode::kLstm);
    c.dtype = dtype;
    c.lengths = {4, 4, 4};
    const Values in = fake::MakeInputs(c, false);
    for (AlgoPolicy policy :
         {AlgoPolicy::kStandard, AlgoPolicy::kSmallH, AlgoPolicy::kPersistStatic}) {
      RnnExecutor* executor = this->executor(policy);
      const Outcome forward = RunForward(executor, c, in, call());
      const Outcome same = RunBackward(executor, c, in, forward, call());
      ASSERT_TRUE(same.status.ok()) << same.status.message();
      const Outcome other =
          RunBackward(this->executor(AlgoPolicy::kHeuristic), c, in, forward, call());
      ASSERT_TRUE(other.status.ok()) << other.status.message();
      EXPECT_EQ(other.values.dparams, same.values.dparams);
      EXPECT_EQ(other.values.dx, same.values.dx);
    }
  }
}

TEST_F(RnnExecutorTest, BackwardRejectsAnAlgorithmThatForwardDoesNotSet) {
  RnnExecutor* executor = this->executor();
  const RnnCase c = SmallCase(RnnMode::kLstm);
  const Values in = fake::MakeInputs(c, false);
  Outcome forward = RunForward(executor, c, in, call());
  for (int8_t algorithm : {0, -1, -64, 33, 64, 97, 127}) {
    forward.algorithm = algorithm;
    const Status status = RunBackward(executor, c, in, forward, call()).status;
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("host_reserved"), std::string::npos) << status.message();
  }
}

// XLA allocates a reserve space before the lengths are known.
TEST_F(RnnExecutorTest, WithoutStepsTheReserveSpaceOfAProgramMayHaveAnySize) {
  RnnExecutor* executor = this->executor();
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.lengths = {0, 0, 0};
  const Values in = fake::MakeInputs(c, false);
  Outcome forward = RunForward(executor, c, in, call());
  int64_t largest = 0;
  ASSERT_TRUE(executor->ReserveBytes(c.Problem(), 0, &largest).ok());
  const auto status = [&](int64_t bytes, int8_t algorithm) {
    forward.reserve.resize(static_cast<size_t>(bytes));
    forward.algorithm = algorithm;
    const Outcome backward = RunBackward(executor, c, in, forward, call());
    if (backward.status.ok()) {
      EXPECT_EQ(backward.values.dh0, in.dh_n);
    }
    return backward.status.code();
  };
  EXPECT_EQ(status(0, 0), Code::kOk);
  EXPECT_EQ(status(largest, 0), Code::kInvalidArgument);
  for (int64_t bytes : {int64_t{0}, largest - 256, largest, largest + 256}) {
    EXPECT_EQ(status(bytes, kReserveOfProgram), Code::kOk) << bytes;
  }
  EXPECT_EQ(status(largest + 8, kReserveOfProgram), Code::kInvalidArgument);
}

TEST_F(RnnExecutorTest, WithoutStepsCudnnIsNotNeeded) {
  const CudnnApi nothing;  // any call of it crashes
  RnnExecutor executor(fake::HostParts(&nothing, &ops_, AlgoPolicy::kStandard));
  for (bool time_major : {true, false}) {
    for (int which = 0; which < 3; ++which) {
      RnnCase c = SmallCase(RnnMode::kLstm);
      c.config.time_major = time_major;
      c.config.num_layers = 2;
      c.lengths = {0, 0, 0};
      if (which == 1) c.config.max_time = 0;
      if (which == 2) c.config.batch = 0, c.lengths.clear();
      const Values in = fake::MakeInputs(c, false);
      ExpectResults(&executor, c, in, fake::Expected(c), 0);
      EXPECT_EQ(RunForward(&executor, c, in, call()).reserve_requests, 0);
    }
  }
}

TEST_F(RnnExecutorTest, AMissingBiasOfSkippedInputIsAnErrorThatSaysSo) {
  fake::TheQuirks().no_skip_bias = true;
  RnnExecutor* executor = this->executor();
  RnnCase c = SmallCase(RnnMode::kGru);
  c.config.input_mode = InputMode::kSkip;
  c.config.input_size = c.config.num_units;
  const Status status = RunForward(executor, c, fake::MakeInputs(c, false), call()).status;
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  for (const char* part : {"bias", "pseudo-layer 0", "skip_input", "absent", "cuDNN 99900"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part << ": " << status.message();
  }
}

TEST_F(RnnExecutorTest, SizesThatCudnnDoesNotTakeAreRefused) {
  RnnExecutor* executor = this->executor();
  const auto expect_refused = [&](const RnnConfig& config, const char* text) {
    const std::vector<int32_t> lengths(config.batch, static_cast<int32_t>(config.max_time));
    RnnForwardArgs forward;
    RnnBackwardArgs backward;
    int8_t algorithm = 0;
    forward.algorithm = &algorithm;
    backward.algorithm = CodeOf({}, Dtype::kFloat64);
    for (StackProblem* problem : {&forward.problem, &backward.problem}) {
      static_cast<RnnConfig&>(*problem) = config;
      problem->lengths = lengths.data();
    }
    for (const Status& status :
         {executor->Forward(forward, call()), executor->Backward(backward, call())}) {
      EXPECT_EQ(status.code(), Code::kInvalidArgument);
      EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
    }
  };
  RnnConfig wide = SmallCase(RnnMode::kGru).config;
  wide.input_size = int64_t{1} << 31;
  expect_refused(wide, "The input size must be at most 2147483647 on a GPU");
  RnnConfig many = SmallCase(RnnMode::kGru).config;
  many.max_time = 65536;
  expect_refused(many,
                 "The number of time steps must be at most 65535 on a GPU, because cuDNN accepts "
                 "no larger value, but it is 65536.");
}

TEST_F(RnnExecutorTest, MoreStepsRunWhereTheRowsAreShorter) {
  RnnCase c = SmallCase(RnnMode::kTanh);
  c.config.max_time = 70000;
  c.config.num_units = c.config.input_size = 1;
  c.lengths = {100, 2, 3};
  RnnExecutor* executor = this->executor();
  const Values in = fake::MakeInputs(c, false);
  const Outcome forward = RunForward(executor, c, in, call());
  ASSERT_TRUE(forward.status.ok()) << forward.status.message();
  const Outcome backward = RunBackward(executor, c, in, forward, call());
  EXPECT_TRUE(backward.status.ok()) << backward.status.message();
}

// XLA asks before the lengths are known.
TEST_F(RnnExecutorTest, ReserveBytesOfMoreStepsAreThoseOfTheMostStepsThatRun) {
  RnnExecutor* executor = this->executor();
  StackProblem problem = SmallCase(RnnMode::kLstm).Problem();
  int64_t most = 0, bytes = 0;
  problem.max_time = 65535;
  ASSERT_TRUE(executor->ReserveBytes(problem, 0, &most).ok());
  problem.max_time = 70000;
  const Status status = executor->ReserveBytes(problem, 0, &bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(bytes, most);
  problem.time_major = false;  // such a call is not cut off
  const Status refused = executor->ReserveBytes(problem, 0, &bytes);
  EXPECT_NE(refused.message().find("at most 65535"), std::string::npos) << refused.message();
}

TEST_F(RnnExecutorTest, TheMostStepsThatCudnnTakesRun) {
  RnnCase c = SmallCase(RnnMode::kTanh);
  c.config.max_time = 65535;
  c.config.batch = 1;
  c.config.num_units = c.config.input_size = 1;
  c.lengths = {65535};
  EXPECT_TRUE(RunForward(executor(), c, fake::MakeInputs(c, false), call()).status.ok());
}

// All sizes around the limits of the kernels for few units, forward and backward.
TEST_F(RnnExecutorTest, TheHeuristicRunsEverySize) {
  for (bool one_reserve : {false, true}) {
    fake::TheQuirks().one_reserve = one_reserve;
    RnnExecutor* executor = this->executor(AlgoPolicy::kHeuristic);
    for (const auto& [mode, units] : {std::pair<RnnMode, int64_t>{RnnMode::kLstm, 4},
                                      {RnnMode::kLstm, 129},
                                      {RnnMode::kGru, 193},
                                      {RnnMode::kTanh, 257}}) {
      for (int64_t layers : {1, 2}) {
        RnnCase c = SmallCase(mode);
        c.dtype = Dtype::kFloat32;
        c.config.max_time = 2;
        c.config.num_units = units;
        c.config.num_layers = layers;
        c.lengths = {2, 2, 2};
        Check(executor, c, 0x1p-20);
        c.lengths = {2, 1, 2};
        Check(executor, c, 0x1p-20);
      }
    }
  }
}

TEST_F(RnnExecutorTest, TheHeuristicWithDropoutUsesTheMasksOfForward) {
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.dtype = Dtype::kFloat32;
  c.config.num_units = 150;  // another algorithm in backward
  c.config.num_layers = 2;
  c.config.dropout = 0.5f;
  c.lengths = {4, 4, 4};
  const Values in = fake::MakeInputs(c, false);
  Outcome outcomes[2];
  for (int which : {0, 1}) {
    RnnExecutor* executor =
        this->executor(which == 0 ? AlgoPolicy::kHeuristic : AlgoPolicy::kStandard);
    const Outcome forward = RunForward(executor, c, in, call());
    outcomes[which] = RunBackward(executor, c, in, forward, call());
    ASSERT_TRUE(outcomes[which].status.ok()) << outcomes[which].status.message();
  }
  EXPECT_EQ(outcomes[0].values.dparams, outcomes[1].values.dparams);
}

TEST_F(RnnExecutorTest, ReserveSpaceThatNobodyReadsAgainIsNotCopied) {
  RnnCase c = SmallCase(RnnMode::kGru);
  const Values in = fake::MakeInputs(c, false);
  RnnExecutor* executor = this->executor();
  const Outcome forward = RunForward(executor, c, in, call());
  const Outcome kept = RunBackward(executor, c, in, forward, call());
  HostAllocator scratch;
  const Outcome used =
      RunBackward(executor, c, in, forward, {0, nullptr, &scratch}, /*keeps_reserve=*/false);
  ASSERT_TRUE(used.status.ok()) << used.status.message();
  EXPECT_EQ(used.values.dparams, kept.values.dparams);
  EXPECT_NE(used.reserve, forward.reserve);
  for (int64_t bytes : scratch.sizes()) {
    EXPECT_LT(bytes, static_cast<int64_t>(forward.reserve.size()));
  }
}

TEST_F(RnnExecutorTest, ThreadsAndStreamsShareAnExecutor) {
  RnnExecutor* executor = this->executor();
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([=] {
      for (int64_t layers : {1, 2, 1, 2}) {
        RnnCase c = SmallCase(kModes[k % 4]);
        c.config.num_layers = layers;
        const Values in = fake::MakeInputs(c, false), expected = fake::Expected(c);
        int stream;
        HostAllocator scratch;
        const RnnGpuCall call{0, k % 2 == 0 ? nullptr : &stream, &scratch};
        const Outcome forward = RunForward(executor, c, in, call);
        EXPECT_LE(fake::Difference(forward.values.y, expected.y), kFloat64Bound);
        const Outcome backward = RunBackward(executor, c, in, forward, call);
        EXPECT_LE(fake::Difference(backward.values.dparams, expected.dparams), kFloat64Bound);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rnn_ops::gpu
