// Tests what the executor gives to cuDNN, and that the executor survives a failure of any call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cc/gpu/cudnn/rnn_dropout.h"
#include "tests/cc/gpu/fake_cudnn.h"
#include "tests/cc/gpu/recording_cudnn.h"
#include "tests/cc/gpu/rnn_runs.h"

namespace rnn_ops::gpu {
namespace {

using fake::HostAllocator;
using fake::HostDeviceOps;
using fake::Outcome;
using fake::Recording;
using fake::RnnCase;
using fake::SmallCase;
using fake::Values;
using ::testing::HasSubstr;

class RnnCallsTest : public ::testing::Test {
 protected:
  RnnCallsTest() : ops_(recording_.hook()) { Reset(); }

  void TearDown() override {
    executor_.reset();
    EXPECT_EQ(fake::LiveObjects(), 0);
  }

  // Makes a new executor, whose caches are empty.
  void Reset(AlgoPolicy policy = AlgoPolicy::kStandard) {
    executor_.reset();
    executor_ = std::make_unique<RnnExecutor>(fake::HostParts(&recording_.cudnn(), &ops_, policy));
  }

  Outcome Forward(const RnnCase& c) {
    HostAllocator scratch(recording_.hook());
    const RnnGpuCall call{0, &stream_, &scratch};
    return RunForward(executor_.get(), c, fake::MakeInputs(c, false), call);
  }
  Outcome Backward(const RnnCase& c, const Outcome& forward) {
    HostAllocator scratch(recording_.hook());
    const RnnGpuCall call{0, &stream_, &scratch};
    return RunBackward(executor_.get(), c, fake::MakeInputs(c, false), forward, call);
  }

  // Makes the first call of the function `name` in the next pass fail. The pass must be like the
  // recorded one.
  void FailNext(const std::string& name) {
    const auto& calls = recording_.calls();
    const auto call = std::find(calls.begin(), calls.end(), name);
    ASSERT_NE(call, calls.end()) << name;
    recording_.FailAt(call - calls.begin());
  }

  Recording recording_;
  const HostDeviceOps ops_;
  std::unique_ptr<RnnExecutor> executor_;
  int stream_ = 0;
};

// Another number of steps, another stream or another training mode needs no new descriptor of a
// network.
TEST_F(RnnCallsTest, OtherCallsOfANetworkMakeNoPlan) {
  RnnCase c = SmallCase(RnnMode::kGru);
  c.dtype = Dtype::kFloat32;
  c.lengths = {4, 4, 4};
  for (AlgoPolicy policy : {AlgoPolicy::kHeuristic, AlgoPolicy::kPersistStatic}) {
    Reset(policy);
    ASSERT_TRUE(Forward(c).status.ok());
    recording_.Clear();
    RnnCase longer = c;
    longer.config.max_time = 6;
    longer.lengths = {6, 6, 6};
    ASSERT_TRUE(Forward(longer).status.ok());
    int other_stream = 0;
    HostAllocator scratch(recording_.hook());
    const Values in = fake::MakeInputs(c, false);
    ASSERT_TRUE(RunForward(executor_.get(), c, in, {0, &other_stream, &scratch}).status.ok());
    c.config.is_training = false;
    ASSERT_TRUE(Forward(c).status.ok());
    c.config.is_training = true;
    EXPECT_THAT(recording_.calls(), ::testing::Not(::testing::Contains("SetRNNDescriptor_v8")));
  }
}

// In the mock, SMALL_H needs more reserve space than STANDARD for a few steps, and less for many
// steps.
TEST_F(RnnCallsTest, ReserveSpaceIsLargeEnoughForTheAlgorithmsOfBothPasses) {
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.dtype = Dtype::kFloat32;
  c.config.num_units = 150;  // too many for SMALL_H in backward
  for (int32_t steps : {4, 40}) {
    c.config.max_time = steps;
    c.lengths = {steps, steps, steps};
    size_t needs[2], given = 0;
    for (AlgoPolicy policy : {AlgoPolicy::kStandard, AlgoPolicy::kSmallH}) {
      Reset(policy);
      const Outcome forward = Forward(c);
      needs[policy == AlgoPolicy::kSmallH] = std::get<18>(LAST_ARGUMENTS(RNNForward));
      const Status status = Backward(c, forward).status;
      ASSERT_TRUE(status.ok()) << status.message();
      given = std::get<20>(LAST_ARGUMENTS(RNNBackwardData_v8));
      EXPECT_GE(forward.reserve.size(), given);
    }
    EXPECT_EQ(needs[1] > needs[0], steps == 4);
    EXPECT_EQ(given, std::max(needs[0], needs[1]));
  }
}

TEST_F(RnnCallsTest, TheDescriptorSaysWhatTheProblemIs) {
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.config.direction = Direction::kBidirectional;
  c.config.num_layers = 2;
  c.config.num_proj = 2;
  ASSERT_TRUE(Forward(c).status.ok());
  const auto& [rnn, algo, mode, bias, direction, input, type, precision, math, input_size, units,
               proj, layers, dropout, flags] = LAST_ARGUMENTS(SetRNNDescriptor_v8);
  EXPECT_NE(rnn, nullptr);
  EXPECT_EQ(algo, CUDNN_RNN_ALGO_STANDARD);
  EXPECT_EQ(mode, CUDNN_LSTM);
  EXPECT_EQ(bias, CUDNN_RNN_DOUBLE_BIAS);
  EXPECT_EQ(direction, CUDNN_BIDIRECTIONAL);
  EXPECT_EQ(input, CUDNN_LINEAR_INPUT);
  EXPECT_EQ(type, CUDNN_DATA_DOUBLE);
  EXPECT_EQ(precision, CUDNN_DATA_DOUBLE);
  EXPECT_EQ(math, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(input_size, 3);
  EXPECT_EQ(units, 4);
  EXPECT_EQ(proj, 2);
  EXPECT_EQ(layers, 2);
  EXPECT_NE(dropout, nullptr);
  EXPECT_EQ(flags, static_cast<uint32_t>(CUDNN_RNN_PADDED_IO_ENABLED));
}

TEST_F(RnnCallsTest, RowsOfOneLengthTakeAPersistentKernelWhereTimeIsFirst) {
  const auto algo = [&](bool time_major, std::vector<int32_t> lengths) {
    Reset(AlgoPolicy::kHeuristic);
    RnnCase c = SmallCase(RnnMode::kLstm);
    c.dtype = Dtype::kFloat32;
    c.config.max_time = 4;
    c.config.time_major = time_major;
    c.lengths = std::move(lengths);
    EXPECT_TRUE(Forward(c).status.ok());
    return std::get<1>(LAST_ARGUMENTS(SetRNNDescriptor_v8));
  };
  EXPECT_EQ(algo(true, {4, 4, 4}), CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H);
  EXPECT_EQ(algo(true, {2, 2, 2}), CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H);
  EXPECT_EQ(algo(true, {2, 2, 1}), CUDNN_RNN_ALGO_STANDARD);
  EXPECT_EQ(algo(false, {4, 4, 4}), CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H);
  EXPECT_EQ(algo(false, {2, 2, 2}), CUDNN_RNN_ALGO_STANDARD);
}

TEST_F(RnnCallsTest, MathTypes) {
  const std::tuple<Dtype, bool, cudnnMathType_t> expected[] = {
      {Dtype::kFloat32, false, CUDNN_FMA_MATH},
      {Dtype::kFloat32, true, CUDNN_DEFAULT_MATH},
      {Dtype::kFloat64, true, CUDNN_DEFAULT_MATH},
      {Dtype::kFloat16, false, CUDNN_TENSOR_OP_MATH},
      {Dtype::kBFloat16, false, CUDNN_DEFAULT_MATH}};
  for (const auto& [dtype, allow_tf32, math] : expected) {
    RnnCase c = SmallCase(RnnMode::kTanh);
    c.dtype = dtype;
    c.allow_tf32 = allow_tf32;
    ASSERT_TRUE(Forward(c).status.ok());
    EXPECT_EQ(std::get<8>(LAST_ARGUMENTS(SetRNNDescriptor_v8)), math) << Name(dtype);
  }
}

TEST_F(RnnCallsTest, TheStreamIsTheCallers) {
  ASSERT_TRUE(Forward(SmallCase(RnnMode::kTanh)).status.ok());
  EXPECT_EQ(static_cast<void*>(std::get<1>(LAST_ARGUMENTS(SetStream))), &stream_);
}

TEST_F(RnnCallsTest, DropoutIsSeededInForwardAndRestoredInBackward) {
  RnnCase c = SmallCase(RnnMode::kGru);
  c.config.num_layers = 2;
  c.config.dropout = 0.25f;
  c.dropout_seed = 0x123456789abcdef0;
  const Outcome forward = Forward(c);
  ASSERT_TRUE(forward.status.ok()) << forward.status.message();
  EXPECT_EQ(std::get<2>(LAST_ARGUMENTS(SetDropoutDescriptor)), 0.25f);
  EXPECT_EQ(std::get<5>(LAST_ARGUMENTS(SetDropoutDescriptor)), c.dropout_seed);
  recording_.Clear();
  ASSERT_TRUE(Backward(c, forward).status.ok());
  EXPECT_THAT(recording_.calls(), ::testing::Contains("RestoreDropoutDescriptor"));
  EXPECT_THAT(recording_.calls(), ::testing::Not(::testing::Contains("SetDropoutDescriptor")));
}

TEST_F(RnnCallsTest, AGeneratorIsSeededOnce) {
  DropoutGenerator generator;
  HostAllocator memory;
  RnnCase c = SmallCase(RnnMode::kGru);
  c.config.num_layers = 2;
  c.config.dropout = 0.25f;
  c.generator = &generator;
  c.generator_memory = &memory;
  ASSERT_TRUE(Forward(c).status.ok());
  recording_.Clear();
  ASSERT_TRUE(Forward(c).status.ok());
  EXPECT_THAT(recording_.calls(), ::testing::Contains("RestoreDropoutDescriptor"));
  EXPECT_THAT(recording_.calls(), ::testing::Not(::testing::Contains("SetDropoutDescriptor")));
}

TEST_F(RnnCallsTest, AGeneratorThatCouldNotBeSeededIsSeededLater) {
  DropoutGenerator recorded, generator;
  HostAllocator recorded_memory, memory;
  RnnCase c = SmallCase(RnnMode::kGru);
  c.config.num_layers = 2;
  c.config.dropout = 0.25f;
  ASSERT_TRUE(Forward(c).status.ok());
  recording_.Clear();
  c.generator = &recorded;
  c.generator_memory = &recorded_memory;
  ASSERT_TRUE(Forward(c).status.ok());
  FailNext("SetDropoutDescriptor");
  recording_.Clear();
  c.generator = &generator;
  c.generator_memory = &memory;
  EXPECT_EQ(Forward(c).status.code(), Code::kInternal);
  EXPECT_EQ(recording_.calls().back(), "SetDropoutDescriptor");
  recording_.Clear();
  ASSERT_TRUE(Forward(c).status.ok());
  EXPECT_THAT(recording_.calls(), ::testing::Contains("SetDropoutDescriptor"));
  EXPECT_EQ(memory.sizes().size(), 1u);
}

TEST_F(RnnCallsTest, OneLayerDrawsNoMasks) {
  RnnCase c = SmallCase(RnnMode::kGru);
  c.config.dropout = 0.25f;
  ASSERT_TRUE(Forward(c).status.ok());
  EXPECT_THAT(recording_.calls(), ::testing::Not(::testing::Contains("DropoutGetStatesSize")));
  EXPECT_EQ(std::get<2>(LAST_ARGUMENTS(SetDropoutDescriptor)), 0.0f);
}

TEST_F(RnnCallsTest, ErrorsNameTheFunctionTheExpressionAndCudnnsText) {
  RnnCase c = SmallCase(RnnMode::kGru);
  c.lengths = {4, 4, 4};
  ASSERT_TRUE(Forward(c).status.ok());
  recording_.Clear();
  ASSERT_TRUE(Forward(c).status.ok());
  FailNext("RNNForward");
  const Status status = Forward(c).status;
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("cudnnRNNForward failed with "
                                          "CUDNN_STATUS_EXECUTION_FAILED (5000) in "
                                          "cudnnRNNForward(handle, descriptors.rnn(),"));
}

TEST_F(RnnCallsTest, NoMemoryIsResourceExhausted) {
  RnnCase c = SmallCase(RnnMode::kGru);
  c.lengths = {4, 4, 4};
  ASSERT_TRUE(Forward(c).status.ok());
  recording_.Clear();
  ASSERT_TRUE(Forward(c).status.ok());
  FailNext("Allocate");
  const Status status = Forward(c).status;
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("cuDNN's work space of 1000 bytes"));
}

// Makes each call fail in turn. Nothing may leak, and the next call must be correct.
class EveryFailureTest : public RnnCallsTest {
 protected:
  // Returns the number of calls that a forward and a backward pass make.
  int64_t FailEach(const RnnCase& c, AlgoPolicy policy) {
    const Values expected = fake::Expected(c), in = fake::MakeInputs(c, false);
    const double bound = c.dtype == Dtype::kFloat64 ? 1e-13 : 0x1p-6;
    int64_t failures = 0;
    for (int64_t number = 0;; ++number) {
      Reset(policy);
      recording_.Clear();
      recording_.FailAt(number);
      Outcome forward = Forward(c);
      Outcome backward;
      if (forward.status.ok()) backward = Backward(c, forward);
      if (static_cast<int64_t>(recording_.calls().size()) <= number) return failures;
      recording_.FailAt(-1);
      const std::string failed = recording_.calls()[number];
      const Status& status = forward.status.ok() ? backward.status : forward.status;
      // If a candidate fails, the call may skip the candidate and succeed. Float64 has only one.
      failures += status.ok() ? 0 : 1;
      EXPECT_FALSE(status.ok() && c.dtype == Dtype::kFloat64) << failed << " failed unnoticed";
      EXPECT_TRUE(status.ok() || !status.message().empty());
      if (!status.ok()) {
        EXPECT_EQ(status.code(), failed == "Allocate" ? Code::kResourceExhausted : Code::kInternal)
            << failed << ": " << status.message();
      }
      ExpectResults(executor_.get(), c, in, expected, bound);
      executor_.reset();
      EXPECT_EQ(fake::LiveObjects(), 0) << "after the failure of " << failed;
      if (HasFailure()) return failures;
    }
  }
};

TEST_F(EveryFailureTest, Plain) {
  RnnCase c = SmallCase(RnnMode::kGru);
  c.lengths = {4, 4, 4};
  EXPECT_GT(FailEach(c, AlgoPolicy::kStandard), 40);
}

TEST_F(EveryFailureTest, BatchMajorWithEmptyRows) {
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.config.num_layers = 2;
  c.config.time_major = false;
  c.lengths = {4, 0, 2};
  EXPECT_GT(FailEach(c, AlgoPolicy::kStandard), 80);
}

TEST_F(EveryFailureTest, ConvertedWithAnotherLayoutOfWeights) {
  fake::TheQuirks().refuse_bfloat16 = fake::TheQuirks().padded_weights = true;
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.dtype = Dtype::kBFloat16;
  EXPECT_GT(FailEach(c, AlgoPolicy::kStandard), 80);
  fake::TheQuirks() = fake::Quirks();
}

TEST_F(EveryFailureTest, AnotherAlgorithmInBackward) {
  RnnCase c = SmallCase(RnnMode::kLstm);
  c.dtype = Dtype::kFloat32;
  c.config.num_units = 130;
  c.config.max_time = 2;
  c.lengths = {2, 2, 2};
  EXPECT_GE(FailEach(c, AlgoPolicy::kSmallH), 20);
}

TEST_F(EveryFailureTest, Tried) {
  RnnCase c = SmallCase(RnnMode::kTanh);
  c.dtype = Dtype::kFloat32;
  c.lengths = {4, 4, 4};
  // Fewer failures: the call skips a candidate whose trial fails, and reuses the memory of the
  // trial.
  EXPECT_GE(FailEach(c, AlgoPolicy::kPersistStatic), 20);
}

}  // namespace
}  // namespace rnn_ops::gpu
