// Tests of the block LSTM: comparison with the scalar reference, and the invariants that
// rnn_*_test.cc checks for the stack.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops {
namespace cpu {
namespace testing {
namespace {

using Values = BlockLstmValues;

BlockLstmProblem RandomProblem(std::mt19937_64& random, Dtype dtype) {
  auto any = [&](std::vector<int64_t> of) { return of[random() % of.size()]; };
  BlockLstmProblem p = {};
  p.dtype = dtype;
  p.use_peephole = random() % 2;
  p.cell_clip = static_cast<float>(any({0, -1, 3, 1})) * 0.5f;
  p.max_time = any({1, 2, 5, 8});
  p.batch = 1 + static_cast<int64_t>(random() % 13);
  p.input_size = any({1, 2, 5, 16, 17, 40});
  p.num_units = random() % 2 ? any({1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65})
                             : 1 + static_cast<int64_t>(random() % 70);
  p.seq_len = random() % 2 ? p.max_time : static_cast<int64_t>(random() % (p.max_time + 1));
  return p;
}

Values RunBoth(const KernelTable& table, const BlockLstmProblem& p, const Values& inputs,
               const RunOptions& options = {}) {
  BlockLstmRun run(table, p, inputs, options);
  run.Forward();
  run.Backward();
  return run.values;
}

// Returns the largest error in units of epsilon. The inputs of the backward pass are outputs of the
// forward pass, so the tolerance covers both passes.
double CheckAgainstReference(const BlockLstmProblem& p, uint64_t seed) {
  const Values inputs = RandomInputs(p, seed);
  Values want = inputs;
  reference::RunBlockLstm(p, &want);
  const double tolerance = 32 * Epsilon(p.dtype);
  double worst = 0;
  for (const KernelTable* table : Tables(RnnProblem())) {
    SCOPED_TRACE(std::string(table->isa) + ": " + Describe(p) + " seed=" + std::to_string(seed));
    RunOptions options;
    options.num_threads = 1 + seed % 3;
    const Values got = RunBoth(*table, p, inputs, options);
    worst = std::max(worst, ExpectNear(kBlockOutputs, got, want, tolerance));
    worst = std::max(worst, ExpectNear(kBlockGradients, got, want, tolerance));
  }
  return worst / Epsilon(p.dtype);
}

TEST(BlockLstmKernels, RandomProblems) {
  std::mt19937_64 random(41);
  for (Dtype dtype : {kFloat32, kFloat64}) {
    double worst = 0;
    for (uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
      worst = std::max(worst, CheckAgainstReference(RandomProblem(random, dtype), seed));
    }
    std::cout << "worst error in " << DtypeName(dtype) << ": " << worst << " eps\n";
  }
}

TEST(BlockLstmKernels, ProblemsLargerThanTheBlocks) {
  CheckAgainstReference({{true, 0.5f, 20, 30, 530, 21, 20}, kFloat64}, 1);
  CheckAgainstReference({{false, 0.0f, 3, 300, 3, 35, 2}, kFloat32}, 2);
  // The weights are so large that threads split the units of many sequences.
  CheckAgainstReference({{true, 0.5f, 2, 40, 4, 520, 2}, kFloat32}, 3);
  CheckAgainstReference({{false, 0.0f, 2, 40, 4, 520, 2}, kFloat64}, 4);
}

TEST(BlockLstmKernels, OneNumberBehindTheLength) {
  for (Dtype dtype : kDtypes) CheckAgainstReference({{true, 0.0f, 3, 1, 2, 1, 2}, dtype}, 6);
}

TEST(BlockLstmKernels, EmptyProblems) {
  for (Dtype dtype : kDtypes) {
    for (bool peephole : {false, true}) {
      CheckAgainstReference({{peephole, 0.0f, 0, 4, 3, 9, 0}, dtype}, 3);
      CheckAgainstReference({{peephole, 0.0f, 4, 0, 3, 9, 4}, dtype}, 4);
      CheckAgainstReference({{peephole, 0.0f, 4, 5, 3, 9, 0}, dtype}, 5);
    }
  }
}

TEST(BlockLstmKernels, NarrowTypesAreFloat32Rounded) {
  std::mt19937_64 random(42);
  for (int k = 0; k < 30; ++k) {
    const BlockLstmProblem p = RandomProblem(random, k % 2 ? kFloat16 : kBFloat16);
    const Values inputs = RandomInputs(p, k);
    BlockLstmProblem wide_problem = p;
    wide_problem.dtype = kFloat32;
    auto round = [&p](const Fields<Values>& fields, Values values) {
      for (const auto& field : fields) {
        for (double& v : values.*field.vec) v = RoundTo(p.dtype, v);
      }
      return values;
    };
    for (const KernelTable* table : Tables(RnnProblem())) {
      SCOPED_TRACE(std::string(table->isa) + ": " + Describe(p));
      BlockLstmRun narrow(*table, p, inputs);
      BlockLstmRun wide(*table, wide_problem, inputs);
      narrow.Forward();
      wide.Forward();
      ExpectSame(kBlockOutputs, narrow.values, round(kBlockOutputs, wide.values));
      narrow.Backward();
      wide.SetOutputs(narrow.values);
      wide.Backward();
      ExpectSame(kBlockGradients, narrow.values, round(kBlockGradients, wide.values));
    }
  }
}

TEST(BlockLstmKernels, ThreadsDoNotChangeABit) {
  for (Dtype dtype : kDtypes) {
    for (int64_t batch : {1, 2, 7, 37}) {
      const bool peephole = batch % 2 == 1;
      // Enough work to split even one sequence among the threads.
      const BlockLstmProblem p = {{peephole, 1.0f, 24, batch, 19, 69, 23}, dtype};
      const Values inputs = RandomInputs(p, dtype);
      for (const KernelTable* table : Tables(RnnProblem())) {
        const Values want = RunBoth(*table, p, inputs);
        for (int32_t threads = 2; threads <= 8; ++threads) {
          SCOPED_TRACE(std::string(table->isa) + ", " + std::to_string(threads) +
                       " threads: " + Describe(p));
          RunOptions options;
          options.num_threads = threads;
          const Values got = RunBoth(*table, p, inputs, options);
          ExpectSame(kBlockOutputs, got, want);
          ExpectSame(kBlockGradients, got, want);
        }
      }
    }
  }
}

TEST(BlockLstmKernels, ContentBeforeTheCallDoesNotMatter) {
  std::mt19937_64 random(43);
  for (int k = 0; k < 40; ++k) {
    const BlockLstmProblem p = RandomProblem(random, kDtypes[k % 4]);
    const Values inputs = RandomInputs(p, k);
    for (const KernelTable* table : Tables(RnnProblem())) {
      SCOPED_TRACE(std::string(table->isa) + ": " + Describe(p));
      const Values want = RunBoth(*table, p, inputs);
      for (int fill : {0x00, 0x41}) {
        RunOptions options;
        options.fill = static_cast<unsigned char>(fill);
        const Values got = RunBoth(*table, p, inputs, options);
        ExpectSame(kBlockOutputs, got, want);
        ExpectSame(kBlockGradients, got, want);
      }
    }
  }
}

TEST(BlockLstmKernels, NanStaysInItsRowAndStepsBeyondTheLengthAreNotRead) {
  constexpr int64_t B = 7, H = 19, kRow = 3;
  const BlockLstmProblem p = {{true, 0.75f, 5, B, 4, H, 4}, kFloat32};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Values clean = RandomInputs(p, 1);
  Values beyond = clean, dirty = clean;
  std::fill(beyond.x.begin() + 4 * B * 4, beyond.x.end(), nan);
  std::fill(beyond.h_grad.begin() + 4 * B * H, beyond.h_grad.end(), nan);
  std::fill(beyond.cs_grad.begin() + 4 * B * H, beyond.cs_grad.end(), nan);
  dirty.x[(2 * B + kRow) * 4] = nan;
  RunOptions options;
  options.expect_nan = true;
  for (const KernelTable* table : Tables(RnnProblem())) {
    SCOPED_TRACE(table->isa);
    const Values want = RunBoth(*table, p, clean);
    const Values padded = RunBoth(*table, p, beyond);
    ExpectSame(kBlockOutputs, padded, want);
    ExpectSame(kBlockGradients, padded, want);
    const Values got = RunBoth(*table, p, dirty, options);
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
}  // namespace testing
}  // namespace cpu
}  // namespace rnn_ops
