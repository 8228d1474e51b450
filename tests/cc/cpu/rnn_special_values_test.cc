// Tests of NaN, infinities and saturation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops::cpu::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

RunOptions AllowNan() {
  RunOptions options;
  options.expect_nan = true;
  return options;
}

RnnValues RunBoth(const KernelTable& table, const RnnCase& c, const RnnValues& inputs) {
  RnnRun run(table, c, inputs, AllowNan());
  EXPECT_EQ(run.Forward(), 0);
  EXPECT_EQ(run.Backward(), 0);
  return run.values;
}

// Checks that NaN and infinities are exactly where the reference has them, and that finite values
// are near.
void ExpectAlike(const Fields<RnnValues>& fields, RnnValues got, RnnValues want, double eps) {
  for (const auto& field : fields) {
    Vec& a = got.*field.vec;
    Vec& b = want.*field.vec;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isfinite(a[i]) && std::isfinite(b[i])) continue;
      EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
          << field.name() << "[" << i << "] is " << a[i] << " instead of " << b[i];
      a[i] = b[i] = 0;
    }
  }
  ExpectNear(fields, got, want, 32 * eps);
}

// Uses activations that are linear between two bounds, if the cell has a choice.
void UseHardSigmoid(RnnCase* c) {
  RnnProblem& p = c->problem;
  if (FactsOf(p.mode).has_recurrent_gates) p.recurrent_activation = Activation::kHardSigmoid;
}
void UseLines(RnnCase* c) {
  UseHardSigmoid(c);
  if (FactsOf(c->problem.mode).chooses_activation) c->problem.activation = Activation::kLinear;
}

// With NaN in the input of one sequence, NaN must be in the outputs of that sequence from that step
// on, and in the gradients that sum over all sequences. NaN must not be in the other sequences.
void CheckNanStaysInItsRow(void (*change)(RnnCase*)) {
  for (int32_t mode : kLayerModes) {
    for (Dtype dtype : {kFloat32, kFloat64, kBFloat16}) {
      constexpr int64_t T = 6, B = 9, I = 5, H = 19, kRow = 4, kStep = 2;
      RnnCase c = MakeCase(dtype, mode, T, B, I, H);
      change(&c);
      if (!HasCell(c)) continue;
      const RnnValues clean = RandomInputs(c, mode);
      RnnValues dirty = clean;
      dirty.x[(kStep * B + kRow) * I + 3] = kNan;
      for (const KernelTable* table : Tables(c.problem)) {
        SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
        const RnnValues want = RunBoth(*table, c, clean);
        const RnnValues got = RunBoth(*table, c, dirty);
        for (int64_t t = 0; t < T; ++t) {
          for (int64_t b = 0; b < B; ++b) {
            for (int64_t u = 0; u < H; ++u) {
              const int64_t at = (t * B + b) * H + u;
              if (b == kRow && t >= kStep) {
                ASSERT_TRUE(std::isnan(got.y[at])) << "y at step " << t;
              } else {
                ASSERT_EQ(got.y[at], want.y[at]) << "y at step " << t << " of row " << b;
              }
            }
            for (int64_t k = 0; k < I; ++k) {
              const int64_t at = (t * B + b) * I + k;
              if (b == kRow) continue;
              ASSERT_EQ(got.dx[at], want.dx[at]) << "dx at " << t << " of row " << b;
            }
          }
        }
        for (int64_t b = 0; b < B; ++b) {
          for (int64_t u = 0; u < H; ++u) {
            const int64_t at = b * H + u;
            ASSERT_EQ(std::isnan(got.h_n[at]), b == kRow);
            if (b == kRow) continue;
            ASSERT_EQ(got.dh0[at], want.dh0[at]);
          }
        }
        // The gradient of a weight of input 3 is a sum over all rows that contains NaN.
        const bool opaque = c.problem.weight_layout == kOpaqueWeights;
        const int64_t columns = static_cast<int64_t>(clean.kernel.size()) / I;
        EXPECT_TRUE(std::isnan(opaque ? got.dparams[3] : got.dkernel[3 * columns]));
      }
    }
  }
}

TEST(RnnSpecialValues, NanStaysInItsRow) {
  CheckNanStaysInItsRow([](RnnCase*) {});
  CheckNanStaysInItsRow([](RnnCase* c) { UseKerasWeights(false, false, c); });
  CheckNanStaysInItsRow([](RnnCase* c) { UseKerasWeights(true, true, c); });
  CheckNanStaysInItsRow([](RnnCase* c) {
    UseKerasWeights(false, false, c);
    UseLines(c);
  });
}

// Values beyond the length of a sequence are not read: NaN in the padding is nowhere in the
// results.
TEST(RnnSpecialValues, PaddingIsNotRead) {
  std::mt19937_64 random(31);
  for (int32_t mode : kLayerModes) {
    for (Dtype dtype : kDtypes) {
      RnnCase c = MakeCase(dtype, mode, 7, 8, 3, 20);
      c.problem.direction = Direction::kBidirectional;
      c.problem.num_layers = 2;
      RandomLengths(random, &c);
      RnnCase layer = MakeCase(dtype, mode, 7, 8, 3, 20);
      UseKerasWeights(true, true, &layer);
      layer.lengths = c.lengths;
      for (const RnnCase& problem : {c, layer}) {
        if (!HasCell(problem)) continue;
        const RnnValues clean = RandomInputs(problem, mode);
        const int64_t outputs = problem.problem.num_dirs() * 20;
        RnnValues dirty = clean;
        for (int64_t row = 0; row < 7 * 8; ++row) {
          if (row / 8 < c.lengths[row % 8]) continue;
          std::fill_n(dirty.x.begin() + row * 3, 3, kNan);
          std::fill_n(dirty.dy.begin() + row * outputs, outputs, kNan);
        }
        for (const KernelTable* table : Tables(problem.problem)) {
          SCOPED_TRACE(std::string(table->isa) + ": " + Describe(problem));
          const RnnValues want = RunBoth(*table, problem, clean);
          const RnnValues got = RunBoth(*table, problem, dirty);
          ExpectSame(kRnnOutputs, got, want);
          ExpectSame(kRnnGradients, got, want);
        }
      }
    }
  }
}

// An infinite input saturates its gates. Gradients that are finite in exact arithmetic must be
// finite, also if H is not a multiple of the vector width.
void CheckInfinity(void (*change)(RnnCase*)) {
  for (int32_t mode : kLayerModes) {
    for (Dtype dtype : {kFloat32, kFloat64}) {
      for (int64_t H : {1, 3, 8, 13, 16, 21}) {
        RnnCase c = MakeCase(dtype, mode, 3, 6, 4, H);
        change(&c);
        if (!HasCell(c)) continue;
        RnnValues inputs = RandomInputs(c, mode);
        inputs.x[(1 * 6 + 2) * 4 + 1] = kInf;
        inputs.x[(2 * 6 + 3) * 4 + 1] = -kInf;
        RnnValues want = inputs;
        RnnProblem p = c.problem;
        p.lengths = reference::LengthsOf(c.lengths);
        reference::RunStack(p, &want);
        for (const KernelTable* table : Tables(c.problem)) {
          SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
          const RnnValues got = RunBoth(*table, c, inputs);
          ExpectAlike(kRnnOutputs, got, want, Epsilon(dtype));
          ExpectAlike(kRnnGradients, got, want, Epsilon(dtype));
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(RnnSpecialValues, InfinityDoesAsInTheReference) {
  CheckInfinity([](RnnCase*) {});
  CheckInfinity([](RnnCase* c) { UseKerasWeights(false, false, c); });
  CheckInfinity([](RnnCase* c) { UseKerasWeights(false, true, c); });
  CheckInfinity([](RnnCase* c) {
    UseKerasWeights(false, false, c);
    UseHardSigmoid(c);
  });
  CheckInfinity([](RnnCase* c) {
    UseKerasWeights(false, false, c);
    UseLines(c);
  });
  CheckInfinity([](RnnCase* c) {
    UseKerasWeights(false, false, c);
    UseHardSigmoid(c);
    if (FactsOf(c->problem.mode).chooses_activation) c->problem.activation = Activation::kRelu;
  });
}

// An infinite gradient propagates as in the reference, also if H is not a multiple of the vector
// width. No value is negative, so infinities do not cancel.
TEST(RnnSpecialValues, InfiniteGradientDoesAsInTheReference) {
  for (int32_t mode : {0, 1}) {
    for (Dtype dtype : {kFloat32, kFloat64}) {
      for (int64_t H : {1, 3, 8, 13, 16, 21}) {
        RnnCase c = MakeCase(dtype, mode, 4, 3, 2, H);
        RnnValues inputs = RandomInputs(c, mode);
        for (auto vec : {&RnnValues::x, &RnnValues::h0, &RnnValues::params, &RnnValues::dy}) {
          for (double& v : inputs.*vec) v = RoundTo(dtype, std::abs(v) + 0.25);
        }
        for (double& w : inputs.params) w = RoundTo(dtype, w / static_cast<double>(H));
        std::fill_n(inputs.dy.begin() + (3 * 3 + 1) * H, H, kInf);
        RnnValues want = inputs;
        RnnProblem p = c.problem;
        p.lengths = reference::LengthsOf(c.lengths);
        reference::RunStack(p, &want);
        ASSERT_TRUE(std::isinf(want.dx[1 * 2])) << Describe(c);
        for (const KernelTable* table : Tables(c.problem)) {
          SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
          const RnnValues got = RunBoth(*table, c, inputs);
          ExpectAlike(kRnnOutputs, got, want, 4 * Epsilon(dtype));
          ExpectAlike(kRnnGradients, got, want, 4 * Epsilon(dtype));
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Pre-activations of up to 1e30: gates become exactly 0 or 1, and all values stay finite.
void CheckHugePreActivations(bool layer) {
  for (int32_t mode : {1, 2, 3, 4}) {
    for (Dtype dtype : {kFloat32, kFloat64, kBFloat16}) {
      for (double size : {100.0, 1e4, 1e30}) {
        RnnCase c = MakeCase(dtype, mode, 4, 5, 3, 18);
        if (layer) UseKerasWeights(false, true, &c);
        if (!HasCell(c)) continue;
        RnnValues inputs = RandomInputs(c, mode);
        for (double& v : inputs.x) v = RoundTo(dtype, v * size);
        RnnValues want = inputs;
        RnnProblem p = c.problem;
        p.lengths = reference::LengthsOf(c.lengths);
        reference::RunStack(p, &want);
        for (const KernelTable* table : Tables(c.problem)) {
          SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
          RnnRun run(*table, c, inputs);
          ASSERT_EQ(run.Forward(), 0);
          for (double v : run.values.y) ASSERT_LE(std::abs(v), 1);
          // With 1e30 every gate is 0 or 1, and the comparison checks that the right value was
          // chosen.
          if (size == 1e30 && dtype != kBFloat16) {
            ExpectNear(kRnnOutputs, run.values, want, 4 * Epsilon(dtype));
          }
          ASSERT_EQ(run.Backward(), 0);
          for (double v : run.values.dh0) ASSERT_TRUE(std::isfinite(v));
        }
      }
    }
  }
}

TEST(RnnSpecialValues, HugePreActivationsSaturate) {
  CheckHugePreActivations(/*layer=*/false);
  CheckHugePreActivations(/*layer=*/true);
}

// relu does not saturate: an overflow is an infinity in its own sequence only.
TEST(RnnSpecialValues, ReluOverflowsToInfinity) {
  RnnCase c = MakeCase(kFloat32, 0, 3, 5, 1, 6);
  RnnValues inputs = RandomInputs(c, 1);
  for (double& w : inputs.params) w = 2;
  for (double& v : inputs.x) v = 1;
  inputs.x[2] = 3e38;  // step 0 of sequence 2
  for (const KernelTable* table : Tables(c.problem)) {
    RnnRun run(*table, c, inputs, AllowNan());
    ASSERT_EQ(run.Forward(), 0);
    for (int64_t b = 0; b < 5; ++b) {
      for (int64_t u = 0; u < 6; ++u) {
        EXPECT_EQ(run.values.h_n[b * 6 + u] == kInf, b == 2) << table->isa << " row " << b;
      }
    }
  }
}

// If zoneout keeps a state completely, the result is the old state. If zoneout keeps nothing, the
// result is the new state. The other state may be arbitrarily large.
TEST(RnnSpecialValues, ZoneoutTakesOneStateBesideAnyOther) {
  for (int32_t mode : {2, 3}) {
    for (Dtype dtype : {kFloat32, kFloat64, kBFloat16}) {
      RnnCase c = MakeCase(dtype, mode, 3, 5, 4, 11);
      UseKerasWeights(false, false, &c);
      UseLines(&c);
      RnnValues inputs = RandomInputs(c, mode);
      std::fill(inputs.recurrent_kernel.begin(), inputs.recurrent_kernel.end(), 0);
      for (double& v : inputs.x) v = RoundTo(dtype, v * 1e30);
      inputs.x[0] = kInf;
      for (const KernelTable* table : Tables(c.problem)) {
        SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
        const RnnValues without = RunBoth(*table, c, inputs);
        RnnCase kept = c;
        kept.problem.zoneout_h = 1;
        const RnnValues h = RunBoth(*table, kept, inputs);
        for (size_t i = 0; i < h.y.size(); ++i) ASSERT_EQ(h.y[i], inputs.h0[i % inputs.h0.size()]);
        if (mode != 2) continue;
        // Without recurrent weights c does not depend on h.
        kept.problem.zoneout_h = 0.5;
        const RnnValues new_c = RunBoth(*table, kept, inputs);
        ExpectAlike({{Arg::output_c, &RnnValues::c_n}}, new_c, without, 0);
        kept.problem.zoneout_c = 1;
        EXPECT_EQ(RunBoth(*table, kept, inputs).c_n, inputs.c0);
      }
    }
  }
}

TEST(BlockLstmSpecialValues, NanStaysInItsRowAndStepsBeyondTheLengthAreNotRead) {
  constexpr int64_t B = 7, H = 19, kRow = 3;
  const BlockLstmProblem p = {{true, 0.75f, 5, B, 4, H, 4}, kFloat32};
  const BlockLstmValues clean = RandomInputs(p, 1);
  BlockLstmValues beyond = clean, dirty = clean;
  std::fill(beyond.x.begin() + 4 * B * 4, beyond.x.end(), kNan);
  std::fill(beyond.h_grad.begin() + 4 * B * H, beyond.h_grad.end(), kNan);
  std::fill(beyond.cs_grad.begin() + 4 * B * H, beyond.cs_grad.end(), kNan);
  dirty.x[(2 * B + kRow) * 4] = kNan;
  const auto run_both = [&p](const KernelTable& table, const BlockLstmValues& inputs) {
    BlockLstmRun run(table, p, inputs, AllowNan());
    run.Forward();
    run.Backward();
    return run.values;
  };
  for (const KernelTable* table : Tables(RnnProblem())) {
    SCOPED_TRACE(table->isa);
    const BlockLstmValues want = run_both(*table, clean);
    const BlockLstmValues padded = run_both(*table, beyond);
    ExpectSame(kBlockOutputs, padded, want);
    ExpectSame(kBlockGradients, padded, want);
    const BlockLstmValues got = run_both(*table, dirty);
    for (int64_t at = 0; at < 4 * B * H; ++at) {
      const bool poisoned = at / H % B == kRow && at / H / B >= 2;
      ASSERT_EQ(std::isnan(got.h[at]), poisoned) << at;
      // Clipping does not turn NaN into a number.
      ASSERT_EQ(std::isnan(got.cs[at]), poisoned) << at;
      if (poisoned) continue;
      ASSERT_EQ(got.h[at], want.h[at]) << at;
    }
    for (int64_t b = 0; b < B; ++b) {
      for (int64_t u = 0; u < H; ++u) {
        if (b == kRow) continue;
        ASSERT_EQ(got.h_prev_grad[b * H + u], want.h_prev_grad[b * H + u]);
      }
    }
  }
}

}  // namespace
}  // namespace rnn_ops::cpu::testing
