// Compares the kernels of the stack with the scalar reference, for every instruction set of this
// machine.
#include <algorithm>
#include <iostream>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops {
namespace cpu {
namespace testing {
namespace {

// In units of the largest value of each tensor; see docs/numerics.md.
double Tolerance(Dtype dtype) { return 32 * Epsilon(dtype); }

RnnValues Expected(const RnnCase& c, const RnnValues& inputs) {
  RnnValues want = inputs;
  RnnProblem p = c.problem;
  p.lengths = reference::LengthsOf(c.lengths);
  reference::RunStack(p, &want);
  return want;
}

// Returns the largest error in units of epsilon.
double CheckAgainstReference(const RnnCase& c, uint64_t seed, int32_t num_threads) {
  double worst = 0;
  const RnnValues inputs = RandomInputs(c, seed);
  const RnnValues want = Expected(c, inputs);
  for (const KernelTable* table : Tables(c.problem)) {
    SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c) + " seed=" + std::to_string(seed));
    RnnRun run(*table, c, inputs, {num_threads});
    const double tolerance = Tolerance(c.problem.dtype);
    EXPECT_EQ(run.Forward(), 0);
    worst = std::max(worst, ExpectNear(kRnnOutputs, run.values, want, tolerance));
    EXPECT_EQ(run.Backward(), 0);
    worst = std::max(worst, ExpectNear(kRnnGradients, run.values, want, tolerance));
    if (c.problem.dropout > 0) continue;
    // Inference returns exactly the same outputs.
    RnnCase inference = c;
    inference.problem.is_training = 0;
    RnnRun infer(*table, inference, inputs, {num_threads});
    EXPECT_EQ(infer.Forward(), 0);
    ExpectSame(kRnnOutputs, infer.values, run.values);
    // Packed weights give the same bits, except in the shortest calls, which do not use packed
    // weights.
    RnnRun packed(*table, inference, inputs, {num_threads});
    EXPECT_EQ(packed.ForwardPacked(), 0);
    if (c.problem.max_time * c.problem.batch > 4) {
      ExpectSame(kRnnOutputs, packed.values, run.values);
    } else {
      worst = std::max(worst, ExpectNear(kRnnOutputs, packed.values, want, tolerance));
    }
  }
  return worst / Epsilon(c.problem.dtype);
}

using CaseMaker = RnnCase (*)(std::mt19937_64& random, Dtype dtype);

void CheckRandomProblems(CaseMaker make, Dtype dtype) {
  std::mt19937_64 random(dtype);
  double worst = 0;
  for (uint64_t seed = 0; seed < 250 && !::testing::Test::HasFailure(); ++seed) {
    worst = std::max(worst, CheckAgainstReference(make(random, dtype), seed, 1 + seed % 3));
  }
  std::cout << "worst error in " << DtypeName(dtype) << ": " << worst << " eps\n";
}

TEST(RnnKernels, EveryTableOfThisMachineIsThere) {
  ASSERT_FALSE(Tables().empty());
  EXPECT_STREQ(Tables()[0]->isa, "baseline");
  for (const KernelTable* table : Tables()) {
    EXPECT_EQ(table->version, kKernelTableVersion);
    const std::string level = std::string(table->isa).substr(0, 6);
    EXPECT_EQ(table->vector_bytes, level == "avx512" ? 64
                                   : level[0] == 'a' ? 32
                                                     : 16)
        << table->isa;
  }
}

TEST(RnnKernels, RandomProblemsInFloat64) { CheckRandomProblems(RandomCase, kFloat64); }

TEST(RnnKernels, RandomProblemsInFloat32) { CheckRandomProblems(RandomCase, kFloat32); }

TEST(RnnKernels, RandomLayersInFloat64) { CheckRandomProblems(RandomLayerCase, kFloat64); }

TEST(RnnKernels, RandomLayersInFloat32) { CheckRandomProblems(RandomLayerCase, kFloat32); }

TEST(RnnKernels, RandomGatesInFloat64) { CheckRandomProblems(RandomGatesCase, kFloat64); }

TEST(RnnKernels, RandomGatesInFloat32) { CheckRandomProblems(RandomGatesCase, kFloat32); }

TEST(RnnKernels, RandomLayerNormsInFloat64) { CheckRandomProblems(RandomLayerNormCase, kFloat64); }

TEST(RnnKernels, RandomLayerNormsInFloat32) { CheckRandomProblems(RandomLayerNormCase, kFloat32); }

TEST(RnnKernels, RandomZoneoutInFloat64) { CheckRandomProblems(RandomZoneoutCase, kFloat64); }

TEST(RnnKernels, RandomZoneoutInFloat32) { CheckRandomProblems(RandomZoneoutCase, kFloat32); }

// All tensors that are widened from a 16-bit type, also with packed weights.
TEST(RnnKernels, MasksOf16Bits) {
  for (Dtype dtype : {kFloat16, kBFloat16}) {
    for (int32_t mode : kLayerModes) {
      RnnCase c = MakeCase(dtype, mode, 5, 3, 4, 9);
      UseKerasWeights(true, true, &c);
      CheckAgainstReference(c, 7, 2);
    }
  }
}

// Larger than every block of the kernels: depths of 256 and 512, and chunks and reductions of 256
// rows. The weights are so large that threads split the units of many sequences.
TEST(RnnKernels, ProblemsLargerThanTheBlocks) {
  std::mt19937_64 random(3);
  double worst = 0;
  auto check = [&worst](const RnnCase& c, uint64_t seed, int32_t num_threads) {
    worst = std::max(worst, CheckAgainstReference(c, seed, num_threads));
  };
  for (int32_t mode : kModes) {
    RnnCase c = MakeCase(mode % 2 ? kFloat32 : kFloat64, mode, 29, 19, 530, 35);
    c.problem.time_major = mode % 2;
    RandomLengths(random, &c);
    check(c, mode, 2);
  }
  check(MakeCase(kFloat64, 3, 2, 3, 4, 520), 5, 1);
  RnnCase projected = MakeCase(kFloat64, 2, 3, 300, 3, 20);
  projected.problem.num_proj = 18;
  check(projected, 6, 1);
  for (int32_t mode : kModes) {
    for (int32_t masks = 0; masks < 4; ++masks) {
      RnnCase layer = MakeCase(mode % 2 ? kFloat32 : kFloat64, mode, 29, 19, 530, 35);
      layer.problem.time_major = masks % 2;
      UseKerasWeights(masks & 1, masks & 2, &layer);
      if (masks != 1) RandomLengths(random, &layer);
      check(layer, mode, 1 + masks % 2);
    }
    RnnCase wide = MakeCase(kFloat32, mode, 2, 5, 4, 520);
    UseKerasWeights(true, true, &wide);
    check(wide, mode, 3);
    // Forwards, and backwards for the 9 MB of weights of an LSTM.
    check(MakeCase(kFloat64, mode, 2, 40, 4, 520), mode, 2);
    check(MakeCase(kFloat32, mode, 2, 40, 4, 520), mode, 1);
  }
  // The cell with two products, in slices of the batch and (forwards) in partitions of its units.
  for (int32_t masks = 0; masks < 4; ++masks) {
    for (RnnCase c : {MakeCase(kFloat64, 4, 29, 19, 530, 35), MakeCase(kFloat32, 4, 2, 5, 4, 520),
                      MakeCase(kFloat64, 4, 3, 300, 3, 20), MakeCase(kFloat64, 4, 2, 40, 4, 520)}) {
      UseKerasWeights(masks & 1, masks & 2, &c);
      if (masks != 1) RandomLengths(random, &c);
      check(c, masks, 1 + masks);
    }
  }
  std::cout << "worst error: " << worst << " eps\n";
}

TEST(RnnKernels, EmptyProblems) {
  for (int32_t mode : kLayerModes) {
    for (Dtype dtype : kDtypes) {
      for (int time_major = 0; time_major < 2; ++time_major) {
        // T = 0, B = 0, both, and only sequences of length 0.
        for (RnnCase c : {MakeCase(dtype, mode, 0, 5, 3, 9), MakeCase(dtype, mode, 4, 0, 3, 9),
                          MakeCase(dtype, mode, 0, 0, 3, 9), MakeCase(dtype, mode, 4, 5, 3, 9)}) {
          c.problem.time_major = time_major;
          c.problem.num_layers = 2;
          c.problem.direction = Direction::kBidirectional;
          std::fill(c.lengths.begin(), c.lengths.end(), 0);
          if (HasCell(c)) CheckAgainstReference(c, 7, 2);
          c.problem.num_layers = 1;
          c.problem.direction = Direction::kUnidirectional;
          for (int masked = 0; masked < 2; ++masked) {
            UseKerasWeights(masked, masked, &c);
            CheckAgainstReference(c, 7, 2);
          }
        }
      }
    }
  }
}

// With bf16_products only the operands of products are rounded, so the error is the error of a few
// roundings. relu is not tested, because its slope jumps where rounding changes a sign.
TEST(RnnKernels, Bf16ProductsRoundOnlyTheirOperands) {
  std::mt19937_64 random(6);
  double worst_output = 0, worst_gradient = 0;
  for (int64_t k = 0; k < 60; ++k) {
    RnnCase c = MakeCase(kBFloat16, 1 + k % 3, 1 + random() % 30, 1 + random() % 20,
                         1 + random() % 70, 1 + random() % 90);
    c.problem.num_layers = 1 + k % 2;
    c.problem.direction = static_cast<Direction>(1 + k / 2 % 2);
    c.problem.time_major = k % 5 != 0;
    if (k % 4 == 0) UseKerasWeights(false, false, &c);  // one layer, one direction
    if (k % 3 == 0) RandomLengths(random, &c);
    const RnnValues inputs = RandomInputs(c, k);
    const RnnValues want = Expected(c, inputs);
    SCOPED_TRACE(Describe(c));
    for (const KernelTable* table : Tables(c.problem)) {
      RnnRun run(*table, c, inputs, {1 + static_cast<int32_t>(k % 3)});
      EXPECT_EQ(run.Forward(), 0);
      worst_output = std::max(worst_output,
                              ExpectNear(kRnnOutputs, run.values, want, 1.5 * Epsilon(kBFloat16)));
      EXPECT_EQ(run.Backward(), 0);
      worst_gradient = std::max(
          worst_gradient, ExpectNear(kRnnGradients, run.values, want, 2 * Epsilon(kBFloat16)));
    }
  }
  std::cout << "worst errors: " << worst_output / Epsilon(kBFloat16) << " and "
            << worst_gradient / Epsilon(kBFloat16) << " eps\n";
}

// float16, and bfloat16 without bf16_products, compute in float32 and round once at the end.
TEST(RnnKernels, NarrowTypesAreFloat32Rounded) {
  std::mt19937_64 random(4);
  for (int k = 0; k < 150; ++k) {
    const Dtype dtype = k % 2 ? kFloat16 : kBFloat16;
    RnnCase c = k < 30    ? RandomCase(random, dtype)
                : k < 60  ? RandomLayerCase(random, dtype)
                : k < 90  ? RandomGatesCase(random, dtype)
                : k < 120 ? RandomLayerNormCase(random, dtype)
                          : RandomZoneoutCase(random, dtype);
    c.problem.bf16_products = false;
    const RnnValues inputs = RandomInputs(c, k);
    RnnCase wide_case = c;
    wide_case.problem.dtype = kFloat32;
    auto round = [dtype](const Fields<RnnValues>& fields, RnnValues values) {
      for (const auto& field : fields) {
        for (double& v : values.*field.vec) v = RoundTo(dtype, v);
      }
      return values;
    };
    for (const KernelTable* table : Tables(c.problem)) {
      SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
      RnnRun narrow(*table, c, inputs);
      RnnRun wide(*table, wide_case, inputs);
      ASSERT_EQ(narrow.Forward(), 0);
      ASSERT_EQ(wide.Forward(), 0);
      ExpectSame(kRnnOutputs, narrow.values, round(kRnnOutputs, wide.values));
      ASSERT_EQ(narrow.Backward(), 0);
      // The caller of the narrow kernel passes the rounded output to the backward pass.
      wide.SetOutput(narrow.values.y);
      ASSERT_EQ(wide.Backward(), 0);
      ExpectSame(kRnnGradients, narrow.values, round(kRnnGradients, wide.values));
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace rnn_ops
