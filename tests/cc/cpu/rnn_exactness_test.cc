// Results must not depend on the number of threads and on the layout. If the arithmetic is exact,
// results must not depend on the instruction set either.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops {
namespace cpu {
namespace testing {
namespace {

RnnValues RunBoth(const KernelTable& table, const RnnCase& c, const RnnValues& inputs,
                  int32_t num_threads) {
  RnnRun run(table, c, inputs, {num_threads});
  EXPECT_EQ(run.Forward(), 0);
  EXPECT_EQ(run.Backward(), 0);
  return run.values;
}

// Small integers. Weights are in {-1, 0, 1}, with about three weights other than 0 in a row, so
// that every sum is exact in float32.
RnnValues SmallIntegers(const RnnCase& c, uint64_t seed) {
  const reference::RnnElements n = reference::ElementsOf(c.problem);
  std::mt19937_64 random(seed);
  auto fill = [&random](Vec* to, int64_t size, int64_t low, int64_t high) {
    to->resize(size);
    std::uniform_int_distribution<int64_t> uniform(low, high);
    for (double& v : *to) v = static_cast<double>(uniform(random));
  };
  RnnValues v;
  fill(&v.x, n.x, 0, 3);
  fill(&v.h0, n.h, 0, 3);
  fill(&v.dy, n.y, -3, 3);
  fill(&v.dh_n, n.h, -3, 3);
  const int64_t columns =
      std::max(c.problem.input_size, c.problem.num_dirs() * c.problem.num_units);
  for (const auto& [weights, size] : {std::pair<Vec*, int64_t>{&v.params, n.params},
                                      {&v.kernel, n.kernel},
                                      {&v.recurrent_kernel, n.recurrent_kernel}}) {
    fill(weights, size, -columns, columns);
    for (double& w : *weights) w = std::abs(w) <= 1.5 ? w : 0;
  }
  fill(&v.bias, n.bias, -2, 2);
  fill(&v.input_mask, n.input_mask, -1, 1);
  fill(&v.recurrent_mask, n.recurrent_mask, -1, 1);
  return v;
}

double Largest(const RnnValues& values) {
  double largest = 0;
  for (const auto* fields : {&kRnnOutputs, &kRnnGradients}) {
    for (const auto& field : *fields) {
      for (double v : values.*field.vec) largest = std::max(largest, std::abs(v));
    }
  }
  return largest;
}

void CheckLinearArithmetic(RnnCase (*make)(std::mt19937_64&, Dtype)) {
  std::mt19937_64 random(11);
  int64_t nonzero = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RnnCase c = make(random, kFloat32);
    c.problem.mode = RnnMode::kRelu;
    if (c.problem.bias_rows > 0) c.problem.bias_rows = 1;
    c.problem.num_proj = 0;
    c.problem.dropout = 0;
    const RnnValues inputs = SmallIntegers(c, seed);
    RnnValues want = inputs;
    RnnProblem p = c.problem;
    p.lengths = reference::LengthsOf(c.lengths);
    reference::RunStack(p, &want);
    // Far below 2^24, so that partial sums are exact too.
    ASSERT_LT(Largest(want), 1 << 20) << Describe(c);
    for (double v : want.dx) nonzero += v != 0;
    RnnCase other = c;
    other.problem.time_major = !c.problem.time_major;
    const RnnValues other_inputs = OtherLayout(c, c.problem.time_major, inputs);
    RnnValues first;
    for (const KernelTable* table : Tables(c.problem)) {
      for (int32_t threads : {1, 2, 5, 8}) {
        SCOPED_TRACE(std::string(table->isa) + ", " + std::to_string(threads) +
                     " threads: " + Describe(c));
        const RnnValues got = RunBoth(*table, c, inputs, threads);
        ExpectNear(kRnnOutputs, got, want, 0);
        ExpectNear(kRnnGradients, got, want, 0);
        if (first.y.empty()) first = got;
        ExpectSame(kRnnOutputs, got, first);
        ExpectSame(kRnnGradients, got, first);
        if (threads != 2) continue;
        RnnValues swapped = RunBoth(*table, other, other_inputs, threads);
        swapped = OtherLayout(c, !c.problem.time_major, swapped);
        ExpectSame(kRnnOutputs, swapped, first);
        ExpectSame(kRnnGradients, swapped, first);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(nonzero, 1000);
}

TEST(RnnExactness, LinearArithmeticOnIntegersIsExactEverywhere) {
  CheckLinearArithmetic(RandomCase);
}

TEST(RnnExactness, LinearLayersOnIntegersAreExactEverywhere) {
  CheckLinearArithmetic(RandomLayerCase);
}

// Checks that the bits are equal for 1 to 8 threads and for both layouts.
void CheckThreadsAndLayouts(const RnnCase& c) {
  const RnnValues inputs = RandomInputs(c, 5);
  RnnCase other = c;
  other.problem.time_major = 0;
  const RnnValues other_inputs = OtherLayout(c, true, inputs);
  for (const KernelTable* table : Tables(c.problem)) {
    SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
    const RnnValues want = RunBoth(*table, c, inputs, 1);
    for (int32_t threads = 2; threads <= 8; ++threads) {
      SCOPED_TRACE(std::to_string(threads) + " threads");
      const RnnValues got = RunBoth(*table, c, inputs, threads);
      ExpectSame(kRnnOutputs, got, want);
      ExpectSame(kRnnGradients, got, want);
    }
    const RnnValues swapped = OtherLayout(c, false, RunBoth(*table, other, other_inputs, 3));
    ExpectSame(kRnnOutputs, swapped, want);
    ExpectSame(kRnnGradients, swapped, want);
  }
}

TEST(RnnExactness, ThreadsAndLayoutDoNotChangeABit) {
  // Batches of 1 and 2 use other sums over K. With 7, threads split the units. With 40, threads
  // split the batch, and there are several chunks and reduction blocks. The steps are enough for
  // the work to be split.
  struct Shape {
    int64_t batch, steps;
  };
  constexpr Shape kShapes[] = {{1, 80}, {2, 45}, {7, 30}, {40, 12}};
  std::mt19937_64 random(12);
  for (int32_t mode : kModes) {
    for (Dtype dtype : kDtypes) {
      for (const auto& [batch, steps] : kShapes) {
        if (dtype == kFloat16 && batch != 40) continue;  // the arithmetic is float32
        RnnCase c = MakeCase(dtype, mode, steps, batch, 19, 69);
        c.problem.num_layers = 2;
        if (dtype != kFloat32) c.problem.direction = Direction::kBidirectional;
        c.problem.dropout = dtype == kFloat32 ? 0.5f : 0;
        // bfloat16 with a projection computes in float32.
        if (mode == 2 && (dtype == kFloat32 || dtype == kFloat64)) c.problem.num_proj = 38;
        if (batch > 1) RandomLengths(random, &c);
        CheckThreadsAndLayouts(c);
        if (HasFailure()) return;
      }
    }
  }
}

// If the weights are large, threads split the units even for many sequences.
TEST(RnnExactness, ThreadsDoNotChangeABitOfLargeWeights) {
  std::mt19937_64 random(13);
  for (int32_t mode : {2, 3, 4}) {
    for (Dtype dtype : {kFloat32, kBFloat16}) {
      RnnCase c = MakeCase(dtype, mode, /*T=*/4, /*B=*/40, /*I=*/9, /*H=*/424);
      if (!HasCell(c)) UseKerasWeights(false, false, &c);
      RandomLengths(random, &c);
      CheckThreadsAndLayouts(c);
    }
  }
}

TEST(RnnExactness, ThreadsAndLayoutDoNotChangeABitOfALayer) {
  struct Shape {
    int64_t batch, steps;
  };
  constexpr Shape kShapes[] = {{1, 80}, {2, 45}, {7, 30}, {40, 12}};
  std::mt19937_64 random(14);
  for (int32_t mode : kLayerModes) {
    for (int32_t masks = 0; masks < 4; ++masks) {
      for (const auto& [batch, steps] : kShapes) {
        const Dtype dtype = batch == 7 ? kFloat64 : batch == 40 ? kDtypes[masks] : kFloat32;
        RnnCase c = MakeCase(dtype, mode, steps, batch, 19, 69);
        UseKerasWeights(masks & 1, masks & 2, &c);
        if (batch > 1) RandomLengths(random, &c);
        CheckThreadsAndLayouts(c);
        if (masks == 0) {
          // Only these layers may multiply bfloat16 without conversion.
          c.problem.dtype = kBFloat16;
          CheckThreadsAndLayouts(c);
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST(RnnExactness, ThreadsAndLayoutDoNotChangeABitOfALayerNorm) {
  std::mt19937_64 random(15);
  for (const auto& [batch, steps] : {std::pair<int64_t, int64_t>{1, 80}, {7, 30}, {40, 12}}) {
    for (int32_t masks : {0, 3}) {
      RnnCase c = MakeCase(batch == 7    ? kFloat64
                           : batch == 40 ? kBFloat16
                                         : kFloat32,
                           static_cast<int32_t>(RnnMode::kLstm), steps, batch, 19, 69);
      UseKerasWeights(masks & 1, masks & 2, &c);
      c.problem.has_layer_norm = true;
      if (batch > 1) RandomLengths(random, &c);
      CheckThreadsAndLayouts(c);
    }
  }
}

TEST(RnnExactness, ThreadsAndLayoutDoNotChangeABitOfZoneout) {
  std::mt19937_64 random(16);
  for (const auto& [batch, steps] : {std::pair<int64_t, int64_t>{1, 80}, {7, 30}, {40, 12}}) {
    for (RnnMode mode : {RnnMode::kLstm, RnnMode::kGru}) {
      for (bool drawn : {false, true}) {
        RnnCase c = MakeCase(batch == 40 ? kBFloat16 : kFloat32, static_cast<int32_t>(mode), steps,
                             batch, 19, 69);
        UseKerasWeights(drawn, drawn, &c);
        c.problem.zoneout_h = 0.25f;
        if (mode == RnnMode::kLstm) c.problem.zoneout_c = 0.5f;
        c.problem.zoneout_drawn = drawn;
        if (batch > 1) RandomLengths(random, &c);
        CheckThreadsAndLayouts(c);
      }
    }
  }
}

// A call too short to pack its weights, with enough units to be split.
TEST(RnnExactness, ThreadsDoNotChangeABitOfAShortCall) {
  for (int32_t mode : kLayerModes) {
    RnnCase c = MakeCase(kFloat32, mode, /*T=*/2, /*B=*/2, /*I=*/mode >= 2 ? 131 : 600, /*H=*/250);
    if (HasCell(c)) CheckThreadsAndLayouts(c);
    RnnCase layer = c;
    UseKerasWeights(false, false, &layer);
    CheckThreadsAndLayouts(layer);
    if (mode != 2) continue;
    c.problem.num_proj = 70;
    CheckThreadsAndLayouts(c);
  }
}

// The results of a sequence do not depend on the values or the lengths of other sequences.
void CheckRowsAreIndependent(int64_t D, int64_t B, bool layer) {
  constexpr int64_t T = 6;
  std::mt19937_64 random(13);
  for (int32_t mode : kLayerModes) {
    RnnCase c = MakeCase(kFloat32, mode, T, B, 5, 21);
    const int64_t G = kCellFacts[mode].gates;
    c.problem.direction = static_cast<Direction>(D);
    if (layer) UseKerasWeights(true, true, &c);
    if (!HasCell(c)) continue;
    RandomLengths(random, &c);
    const RnnValues inputs = RandomInputs(c, mode);
    for (int64_t b : {int64_t{0}, B / 2, B - 1}) {
      RnnCase other = c;
      RandomLengths(random, &other);
      other.lengths[b] = c.lengths[b];
      RnnValues other_inputs = RandomInputs(c, mode + 100);
      for (auto vec : {&RnnValues::params, &RnnValues::kernel, &RnnValues::recurrent_kernel,
                       &RnnValues::bias}) {
        other_inputs.*vec = inputs.*vec;
      }
      // Copies row b of a tensor [n, B, size].
      auto copy_row = [&](const RnnValues& from, Vec RnnValues::* vec, int64_t n, RnnValues* to) {
        const int64_t size = static_cast<int64_t>((from.*vec).size()) / (n * B);
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = (i * B + b) * size;
          std::copy_n((from.*vec).begin() + at, size, (to->*vec).begin() + at);
        }
      };
      auto copy_inputs = [&](const RnnValues& from, RnnValues* to) {
        for (auto vec : {&RnnValues::x, &RnnValues::dy}) copy_row(from, vec, T, to);
        for (auto vec : {&RnnValues::h0, &RnnValues::c0, &RnnValues::dh_n, &RnnValues::dc_n}) {
          copy_row(from, vec, D, to);
        }
        for (auto vec : {&RnnValues::input_mask, &RnnValues::recurrent_mask}) {
          copy_row(from, vec, G, to);
        }
      };
      auto copy_results = [&](const RnnValues& from, RnnValues* to) {
        for (auto vec : {&RnnValues::y, &RnnValues::dx}) copy_row(from, vec, T, to);
        for (auto vec : {&RnnValues::h_n, &RnnValues::c_n, &RnnValues::dh0, &RnnValues::dc0}) {
          copy_row(from, vec, D, to);
        }
      };
      copy_inputs(inputs, &other_inputs);
      for (const KernelTable* table : Tables(c.problem)) {
        SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
        const RnnValues got = RunBoth(*table, other, other_inputs, 2);
        RnnValues want = got;
        copy_results(RunBoth(*table, c, inputs, 2), &want);
        ExpectSame(kRnnOutputs, got, want);
        ExpectSame(kRnnGradients, got, want);
      }
    }
  }
}

TEST(RnnExactness, RowsAreIndependent) {
  for (int64_t B : {2, 3, 11}) CheckRowsAreIndependent(/*D=*/2, B, /*layer=*/false);
}

TEST(RnnExactness, RowsOfALayerAreIndependent) {
  for (int64_t B : {2, 3, 11}) CheckRowsAreIndependent(/*D=*/1, B, /*layer=*/true);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace rnn_ops
