// If the arithmetic is exact, results depend on nothing: not on the instruction set, the number of
// threads and the layout. The results of a sequence never depend on other sequences. That inexact
// results do not depend on threads and layout either is checked by problems_test.cc.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops::cpu::testing {
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

// Steps [t, t + steps) of a tensor of the op with T steps.
Vec StepsOf(const RnnProblem& p, const Vec& tensor, int64_t t, int64_t steps) {
  const int64_t columns = static_cast<int64_t>(tensor.size()) / (p.max_time * p.batch);
  const int64_t sequences = p.time_major ? 1 : p.batch, row = p.time_major ? p.batch : 1;
  Vec part;
  for (int64_t b = 0; b < sequences; ++b) {
    const auto begin = tensor.begin() + (b * p.max_time + t) * row * columns;
    part.insert(part.end(), begin, begin + steps * row * columns);
  }
  return part;
}

// Sequences step by step with packed weights, on one plan, and all their steps at once with
// unpacked weights (Note [Streams] in stream.h). They need more rows than kUnpackedRows.
void ExpectStepsOf(const KernelTable& table, const RnnCase& whole, int64_t steps) {
  const RnnProblem& p = whole.problem;
  const RnnValues inputs = RandomInputs(whole, /*seed=*/3);
  RnnRun at_once(table, whole, inputs);
  ASSERT_EQ(at_once.Forward(), 0);
  RnnCase part = whole;
  part.problem.max_time = steps;
  part.lengths.assign(p.batch, static_cast<int32_t>(steps));
  RunOptions options;
  options.kept_plan = true;
  RnnValues state = inputs;
  for (int64_t t = 0; t < p.max_time; t += steps) {
    state.x = StepsOf(p, inputs.x, t, steps);
    RnnRun step(table, part, state, options);
    ASSERT_EQ(step.ForwardPacked(), 0);
    EXPECT_TRUE(step.values.y == StepsOf(p, at_once.values.y, t, steps)) << "step " << t;
    state.h0 = step.values.h_n;
    state.c0 = step.values.c_n;
  }
  EXPECT_TRUE(state.h0 == at_once.values.h_n);
  EXPECT_TRUE(state.c0 == at_once.values.c_n);
}

void ExpectStreams(const std::vector<RnnCase>& cases) {
  for (const RnnCase& of : cases) {
    SCOPED_TRACE(Describe(of));
    for (const KernelTable* table : Tables(of.problem)) {
      SCOPED_TRACE(table->isa);
      for (const int64_t steps : {1, 3, 6}) ExpectStepsOf(*table, of, steps);
    }
  }
}

RnnCase StreamCase(int32_t mode, int64_t B, int64_t I, int64_t H) {
  RnnCase c = MakeCase(kFloat32, mode, /*T=*/18, B, I, H);
  c.problem.is_training = false;
  return c;
}

// The options of a layer that have other code.
std::vector<RnnCase> LayerOptions(const RnnCase& c) {
  std::vector<RnnCase> cases(2, c);
  cases[0].problem.recurrent_activation = Activation::kHardSigmoid;
  cases[1].problem.int8_weights = true;
  if (c.problem.mode != RnnMode::kLstm) return cases;
  const auto add = [&](auto change) {
    cases.push_back(c);
    change(&cases.back().problem);
  };
  add([](RnnProblem* p) { p->has_peepholes = true; });
  add([](RnnProblem* p) {
    p->has_peepholes = true;
    p->cell_clip = 0.5f;
  });
  add([](RnnProblem* p) { p->num_proj = 5; });
  add([](RnnProblem* p) {
    p->num_proj = 9;
    p->proj_clip = 0.25f;
  });
  add([](RnnProblem* p) { p->has_layer_norm = true; });
  add([](RnnProblem* p) { p->zoneout_h = p->zoneout_c = 0.25f; });
  return cases;
}

TEST(RnnExactness, StreamsInStepsAndAtOnce) {
  for (const int32_t mode : kLayerModes) {
    for (const int64_t H : {1, 8, 20, 33, 70}) {
      for (const int64_t I : {1, 7, 9, 40}) {
        RnnCase c = StreamCase(mode, /*B=*/1, I, H);
        UseKerasWeights(false, false, &c);
        ExpectStreams({c});
        if (H == 20 && I == 9) ExpectStreams(LayerOptions(c));
      }
    }
  }
}

// One more than kStreams runs on the usual pass.
TEST(RnnExactness, SeveralStreamsInStepsAndAtOnce) {
  for (const int32_t mode : kLayerModes) {
    for (const int64_t B : {2, 3, 4, 5}) {
      for (const bool time_major : {false, true}) {
        for (const int64_t I : {1, 9}) {
          RnnCase c = StreamCase(mode, B, I, /*H=*/20);
          UseKerasWeights(false, false, &c);
          c.problem.time_major = time_major;
          ExpectStreams({c});
          if (B == 3 && I == 9) ExpectStreams(LayerOptions(c));
        }
      }
    }
  }
}

TEST(RnnExactness, StreamsOfStacksInStepsAndAtOnce) {
  for (const int32_t mode : kModes) {
    for (const int64_t B : {1, 2, 4}) {
      for (const int64_t L : {2, 3}) {
        RnnCase c = StreamCase(mode, B, /*I=*/5, /*H=*/20);
        c.problem.num_layers = L;
        ExpectStreams({c});
        if (c.problem.mode != RnnMode::kLstm) continue;
        c.problem.num_proj = 12;
        ExpectStreams({c});
      }
    }
  }
}

}  // namespace
}  // namespace rnn_ops::cpu::testing
