// Calls of the kernels by several threads at once, each with helpers of its own. For the thread
// sanitizer: only the baseline is compiled with it, the other levels have the same source.
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops {
namespace cpu {
namespace testing {
namespace {

// Every way to share a call: slices of the batch, shares of the units, both directions, projection.
std::vector<RnnCase> Cases() {
  std::vector<RnnCase> cases;
  for (int32_t mode : kModes) {
    for (int64_t batch : {1, 9}) {
      for (int32_t num_dirs : {1, 2}) {
        RnnCase c = MakeCase(kFloat32, mode, /*T=*/7, batch, /*I=*/5, /*H=*/37);
        c.problem.direction = static_cast<Direction>(num_dirs);
        c.problem.num_layers = 2;
        c.problem.num_proj = mode == 2 && num_dirs == 1 ? 11 : 0;
        for (int64_t b = 0; b < batch; ++b) c.lengths[b] = static_cast<int32_t>(7 - b % 4);
        cases.push_back(c);
      }
    }
  }
  return cases;
}

TEST(ConcurrentKernels, GiveWhatTheyGiveAlone) {
  for (const RnnCase& c : Cases()) {
    SCOPED_TRACE(Describe(c));
    const RnnValues inputs = RandomInputs(c, /*seed=*/7);
    for (const KernelTable* table : Tables()) {
      RnnRun alone(*table, c, inputs, {1});
      ASSERT_EQ(alone.Forward(), 0);
      ASSERT_EQ(alone.Backward(), 0);
      std::vector<std::thread> callers;
      for (int32_t caller = 0; caller < 3; ++caller) {
        callers.emplace_back([&, caller] {
          RnnRun run(*table, c, inputs, {2 + caller});
          EXPECT_EQ(run.Forward(), 0);
          EXPECT_EQ(run.Backward(), 0);
          for (const auto& field : kRnnOutputs) {
            EXPECT_EQ(run.values.*field.vec, alone.values.*field.vec) << field.name;
          }
          for (const auto& field : kRnnGradients) {
            EXPECT_EQ(run.values.*field.vec, alone.values.*field.vec) << field.name;
          }
        });
      }
      for (std::thread& caller : callers) caller.join();
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace rnn_ops
