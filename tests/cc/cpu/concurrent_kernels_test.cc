// Several threads call the kernels at the same time. Each caller has its own worker threads. For
// the thread sanitizer: only the baseline is compiled with it, the other levels have the same
// source.
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops::cpu::testing {
namespace {

// Every way to split a call: slices of the batch, partitions of the units, both directions,
// projection. Also the work of threads in the cells of LayerRNN and for 16-bit types.
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
  for (int32_t mode : kLayerModes) {
    RnnCase c = MakeCase(mode % 2 ? kFloat16 : kFloat32, mode, /*T=*/7, /*B=*/9, /*I=*/5, /*H=*/37);
    UseKerasWeights(true, true, &c);
    cases.push_back(c);
  }
  RnnCase lstm = MakeCase(kFloat32, 2, /*T=*/7, /*B=*/9, /*I=*/5, /*H=*/37);
  UseKerasWeights(false, false, &lstm);
  RnnCase normalized = lstm, zoned_out = lstm, projected = lstm;
  normalized.problem.has_layer_norm = true;
  zoned_out.problem.zoneout_h = zoned_out.problem.zoneout_c = 0.25f;
  zoned_out.problem.zoneout_drawn = true;
  projected.problem.has_peepholes = true;
  projected.problem.num_proj = 11;
  cases.insert(cases.end(), {normalized, zoned_out, projected});
  return cases;
}

// Compares run(threads), called by three threads at the same time, with a single call of run(1).
template <typename Run>
void ExpectAlike(Run&& run) {
  const auto alone = run(1);
  std::vector<std::thread> callers;
  for (int32_t caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] { EXPECT_TRUE(run(2 + caller) == alone); });
  }
  for (std::thread& caller : callers) caller.join();
}

template <typename Values>
void Append(const Fields<Values>& fields, const Values& values, std::vector<Vec>* all) {
  for (const auto& field : fields) all->push_back(values.*field.vec);
}

TEST(ConcurrentKernels, GiveWhatTheyGiveAlone) {
  for (const RnnCase& c : Cases()) {
    SCOPED_TRACE(Describe(c));
    const RnnValues inputs = RandomInputs(c, /*seed=*/7);
    for (const KernelTable* table : Tables(c.problem)) {
      ExpectAlike([&](int32_t threads) {
        std::vector<Vec> all;
        RnnRun run(*table, c, inputs, {threads});
        EXPECT_EQ(run.Forward(), 0);
        EXPECT_EQ(run.Backward(), 0);
        Append(kRnnOutputs, run.values, &all);
        Append(kRnnGradients, run.values, &all);
        RnnCase inference = c;
        inference.problem.is_training = 0;
        RunOptions options = {threads};
        options.kept_plan = threads > 1;  // each caller has its own plan
        RnnRun packed(*table, inference, inputs, options);
        EXPECT_EQ(packed.ForwardPacked(), 0);
        Append(kRnnOutputs, packed.values, &all);
        return all;
      });
    }
  }
}

TEST(ConcurrentKernels, OfBlockLstm) {
  BlockLstmProblem p = {};
  p.dtype = kFloat16;
  p.max_time = p.seq_len = 7;
  p.batch = 9;
  p.input_size = 5;
  p.num_units = 37;
  p.use_peephole = true;
  const BlockLstmValues inputs = RandomInputs(p, /*seed=*/7);
  for (const KernelTable* table : Tables(RnnProblem())) {
    ExpectAlike([&](int32_t threads) {
      std::vector<Vec> all;
      BlockLstmRun run(*table, p, inputs, {threads});
      run.Forward();
      run.Backward();
      Append(kBlockOutputs, run.values, &all);
      Append(kBlockGradients, run.values, &all);
      return all;
    });
  }
}

TEST(ConcurrentKernels, OfLinearRecurrences) {
  LinearRecurrenceProblem p = {};
  p.dtype = kFloat32;
  p.num_gates = 4;
  p.num_states = 2;
  p.num_units = 37;
  p.max_time = 7;
  p.batch = 9;
  p.has_gates = true;
  const LinearValues inputs = RandomInputs(p, true, /*seed=*/7);
  for (const KernelTable* table : Tables(RnnProblem())) {
    ExpectAlike([&](int32_t threads) {
      std::vector<Vec> all;
      LinearRun run(*table, p, inputs, {threads});
      run.Compute();
      Append(kLinearOutputs, run.values, &all);
      return all;
    });
  }
}

}  // namespace
}  // namespace rnn_ops::cpu::testing
