// Tests dropout masks: equal seeds give equal masks, and backward uses the masks of forward.
#include "cc/gpu/cudnn/rnn_dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "tests/cc/gpu/fake_cudnn.h"
#include "tests/cc/gpu/rnn_runs.h"

namespace rnn_ops::gpu {
namespace {

using fake::HostAllocator;
using fake::HostDeviceOps;
using fake::Outcome;
using fake::RnnCase;
using fake::Values;

class RnnDropoutTest : public ::testing::Test {
 protected:
  RnnDropoutTest() : executor_(fake::HostParts(&cudnn_, &ops_, AlgoPolicy::kStandard)) {
    case_ = fake::SmallCase(RnnMode::kGru);
    case_.config.num_layers = 3;
    case_.config.num_units = 8;
    case_.config.dropout = 0.5f;
    case_.dropout_seed = 11;
  }

  Outcome Forward(const RnnCase& c, const Values& in) {
    return RunForward(&executor_, c, in, {0, nullptr, &scratch_});
  }

  const CudnnApi cudnn_ = fake::FakeCudnn();
  const HostDeviceOps ops_;
  HostAllocator scratch_;
  RnnExecutor executor_;
  RnnCase case_;
};

TEST_F(RnnDropoutTest, TheSeedDecides) {
  const Values in = fake::MakeInputs(case_, false);
  const Outcome first = Forward(case_, in);
  ASSERT_TRUE(first.status.ok()) << first.status.message();
  EXPECT_EQ(Forward(case_, in).values.y, first.values.y);
  RnnCase other = case_;
  other.dropout_seed = 12;
  EXPECT_NE(Forward(other, in).values.y, first.values.y);
  RnnCase without = case_;
  without.config.dropout = 0;
  EXPECT_NE(Forward(without, in).values.y, first.values.y);
}

TEST_F(RnnDropoutTest, CallsInBetweenChangeNothing) {
  const Values in = fake::MakeInputs(case_, false);
  const Outcome forward = Forward(case_, in);
  const RnnGpuCall call{0, nullptr, &scratch_};
  const Outcome first = RunBackward(&executor_, case_, in, forward, call);
  RnnCase other = case_;
  other.dropout_seed = 12;
  ASSERT_TRUE(Forward(other, in).status.ok());
  const Outcome second = RunBackward(&executor_, case_, in, forward, call);
  ASSERT_TRUE(second.status.ok()) << second.status.message();
  EXPECT_EQ(first.values.dparams, second.values.dparams);
}

TEST_F(RnnDropoutTest, AGeneratorGoesOnFromCallToCall) {
  const Values in = fake::MakeInputs(case_, false);
  std::vector<std::vector<double>> runs[2];
  for (auto& run : runs) {
    DropoutGenerator generator;
    HostAllocator memory;
    RnnCase c = case_;
    c.generator = &generator;
    c.generator_memory = &memory;
    for (int call = 0; call < 3; ++call) {
      const Outcome forward = Forward(c, in);
      ASSERT_TRUE(forward.status.ok()) << forward.status.message();
      run.push_back(forward.values.y);
      c.dropout_seed += 1;  // no effect after the first call
    }
    EXPECT_EQ(memory.sizes().size(), 1u);
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0][0], Forward(case_, in).values.y)
      << "the first call gives the result without a generator";
  EXPECT_NE(runs[0][1], runs[0][0]);
  EXPECT_NE(runs[0][2], runs[0][1]);
}

TEST_F(RnnDropoutTest, AGeneratorHasStatesForEachStream) {
  const Values in = fake::MakeInputs(case_, false);
  DropoutGenerator generator;
  HostAllocator memory;
  RnnCase c = case_;
  c.generator = &generator;
  c.generator_memory = &memory;
  int stream;
  const Outcome here = Forward(c, in);
  const Outcome there = RunForward(&executor_, c, in, {0, &stream, &scratch_});
  EXPECT_EQ(memory.sizes().size(), 2u);
  EXPECT_EQ(here.values.y, there.values.y);
}

TEST_F(RnnDropoutTest, BackwardFollowsAGeneratorToo) {
  const Values in = fake::MakeInputs(case_, false);
  DropoutGenerator generator;
  HostAllocator memory;
  RnnCase c = case_;
  c.generator = &generator;
  c.generator_memory = &memory;
  const RnnGpuCall call{0, nullptr, &scratch_};
  const Outcome forward = Forward(c, in);
  ASSERT_TRUE(Forward(c, in).status.ok());  // advances the generator
  const Outcome with = RunBackward(&executor_, c, in, forward, call);
  const Outcome without = RunBackward(&executor_, case_, in, Forward(case_, in), call);
  EXPECT_EQ(with.values.dparams, without.values.dparams);
}

TEST_F(RnnDropoutTest, ThreadsShareAGenerator) {
  const Values in = fake::MakeInputs(case_, false);
  DropoutGenerator generator;
  HostAllocator memory;
  RnnCase c = case_;
  c.generator = &generator;
  c.generator_memory = &memory;
  std::vector<std::vector<double>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      HostAllocator scratch;
      result = RunForward(&executor_, c, in, {0, nullptr, &scratch}).values.y;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.sizes().size(), 1u);
  EXPECT_EQ(std::set<std::vector<double>>(results.begin(), results.end()).size(), 4u)
      << "each call has its own masks";
}

// The derivative of sum(y * dy) + sum(h_n * dh_n) by each input, from differences of the forward
// pass with the same seed.
TEST_F(RnnDropoutTest, BackwardUsesTheMasksOfForward) {
  const Values in = fake::MakeInputs(case_, /*zero_padding=*/true);
  const auto loss = [&](const Values& v) {
    const Outcome forward = Forward(case_, v);
    double sum = 0;
    for (size_t k = 0; k < v.dy.size(); ++k) sum += forward.values.y[k] * v.dy[k];
    for (size_t k = 0; k < v.dh_n.size(); ++k) sum += forward.values.h_n[k] * v.dh_n[k];
    return sum;
  };
  const Outcome backward =
      RunBackward(&executor_, case_, in, Forward(case_, in), {0, nullptr, &scratch_});
  ASSERT_TRUE(backward.status.ok()) << backward.status.message();
  const double step = 1e-5;
  const auto check = [&](std::vector<double> Values::* input, const std::vector<double>& gradient) {
    for (size_t k = 0; k < gradient.size(); k += 7) {
      Values up = in, down = in;
      (up.*input)[k] += step;
      (down.*input)[k] -= step;
      EXPECT_NEAR((loss(up) - loss(down)) / (2 * step), gradient[k], 1e-8) << k;
    }
  };
  check(&Values::x, backward.values.dx);
  check(&Values::params, backward.values.dparams);
}

}  // namespace
}  // namespace rnn_ops::gpu
