// Tests the executor of LayerRNN on host memory: its results over the problems of the CPU's tests,
// its calls, and a failure of each call.
//
//   layer_gpu_test FILE...   the problems of LayerRNN in these files, see problems_test.cc
//
// The tests LayerGpuBy run with each algorithm; persistent_steps_test.cc has the rest of the
// persistent kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/dropout.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"
#include "tests/cc/gpu/fake_cuda.h"
#include "tests/cc/gpu/layer_runs.h"

namespace rnn_ops::gpu {
namespace {

using cpu::testing::Epsilon;
using cpu::testing::ExpectNear;
using cpu::testing::ExpectSame;
using cpu::testing::kRnnGradients;
using cpu::testing::kRnnOutputs;
using cpu::testing::RnnCase;
using cpu::testing::RnnValues;
using fake::ExactAllocator;
using fake::FakeCuda;
using fake::LayerRun;
using fake::ProductParts;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 7;

LayerAlgorithm algorithm = LayerAlgorithm::kSteps;

class LayerGpuBy : public ::testing::TestWithParam<LayerAlgorithm> {
 protected:
  void SetUp() override { algorithm = GetParam(); }
  void TearDown() override { algorithm = LayerAlgorithm::kSteps; }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, LayerGpuBy, fake::kAlgorithms, fake::NameOf);

struct Computed {
  RnnValues values;
  std::vector<std::string> calls;
};

Computed Compute(const RnnCase& c, const RnnValues& inputs, bool gives_lengths = true,
                 int64_t chunk_bytes = 0) {
  FakeCuda cuda;
  ProductParts parts(&cuda);
  if (chunk_bytes > 0) parts.libraries.chunk_bytes = chunk_bytes;
  ExactAllocator forward, backward;
  LayerRun run(c, inputs, kSeed, gives_lengths);
  run.algorithm = algorithm;
  Status status = run.Forward(parts.libraries, &forward, cuda.stream());
  if (status.ok() && c.problem.is_training) {
    status = run.Backward(parts.libraries, &backward, cuda.stream());
  }
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(cuda.pushed().empty());
  return {run.values, cuda.calls()};
}

// A case with the key of kSeed.
RnnCase Keyed(RnnCase c) {
  const DropoutKey key = MakeDropoutKey(kSeed, 0, 0);
  c.problem.dropout_key[0] = key.k0, c.problem.dropout_key[1] = key.k1;
  return c;
}

// Returns whether gradients could be compared.
bool Check(const RnnCase& c, uint64_t seed) {
  SCOPED_TRACE(cpu::testing::Describe(c) + " seed=" + std::to_string(seed));
  const RnnValues inputs = cpu::testing::RandomInputs(c, seed);
  bool full = true;
  for (int32_t length : c.lengths) full = full && length == c.problem.max_time;
  return fake::ExpectRight(c, inputs, Compute(c, inputs, !full || seed % 2 == 0).values);
}

TEST_P(LayerGpuBy, Problems) {
  fake::CheckFiles(
      [](const cpu::RnnProblem& p) {
        return p.weight_layout == cpu::kKerasWeights && !p.int8_weights;
      },
      [](const RnnCase& c, uint64_t seed) { return Check(Keyed(c), seed); });
}

// All cells with all options that they have, in every type.
TEST_P(LayerGpuBy, RandomProblems) {
  std::mt19937_64 random(51);
  int undecided = 0, count = 0;
  for (Dtype dtype : cpu::testing::kDtypes) {
    for (uint64_t seed = 0; seed < 150; ++seed) {
      const RnnCase c = seed % 3 == 0   ? cpu::testing::RandomLayerCase(random, dtype)
                        : seed % 3 == 1 ? cpu::testing::RandomGatesCase(random, dtype)
                                        : cpu::testing::RandomLayerNormCase(random, dtype);
      ++count;
      if (!Check(Keyed(c), seed)) ++undecided;
      if (HasFailure()) return;
    }
  }
  std::cout << count << " problems, " << undecided << " undecided\n";
  EXPECT_GT(count, 200);
}

// A problem with the options that `change` sets.
template <typename F>
RnnCase Case(Dtype dtype, RnnMode mode, F&& change) {
  RnnCase c = cpu::testing::MakeCase(dtype, static_cast<int32_t>(mode), 5, 3, 4, 6);
  cpu::testing::UseKerasWeights(false, false, &c);
  c.lengths = {5, 0, 3};
  change(&c.problem);
  return Keyed(c);
}

// One case of each kind of step.
std::vector<RnnCase> KindsOfSteps(Dtype dtype) {
  const auto nothing = [](cpu::RnnProblem*) {};
  const auto masks = [](cpu::RnnProblem* p) { p->input_masked = p->recurrent_masked = true; };
  return {
      Case(dtype, RnnMode::kTanh, nothing),
      Case(dtype, RnnMode::kGru, nothing),
      Case(dtype, RnnMode::kGruResetBefore, masks),
      Case(dtype, RnnMode::kLstm, masks),
      Case(dtype, RnnMode::kLstm, [](cpu::RnnProblem* p) { p->has_layer_norm = true; }),
      Case(dtype, RnnMode::kLstm,
           [](cpu::RnnProblem* p) {
             p->num_proj = 3, p->proj_clip = 0.02f, p->has_peepholes = true, p->cell_clip = 0.5f;
           }),
      Case(dtype, RnnMode::kLstm,
           [](cpu::RnnProblem* p) {
             p->zoneout_h = 0.3f, p->zoneout_c = 0.4f, p->zoneout_drawn = true;
           }),
      Case(dtype, RnnMode::kGru,
           [](cpu::RnnProblem* p) { p->zoneout_h = 0.25f, p->time_major = false; }),
  };
}

TEST_P(LayerGpuBy, KindsOfSteps) {
  for (Dtype dtype : cpu::testing::kDtypes) {
    for (const RnnCase& c : KindsOfSteps(dtype)) Check(c, 3);
  }
}

TEST_P(LayerGpuBy, TheBuffersMayHoldAnyNumberOfSteps) {
  for (Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    for (const RnnCase& training : KindsOfSteps(dtype)) {
      for (bool is_training : {true, false}) {
        RnnCase c = training;
        c.problem.is_training = is_training;
        SCOPED_TRACE(cpu::testing::Describe(c));
        const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
        const RnnValues want = Compute(c, inputs).values;
        for (int64_t bytes : {1, 500, 1000, 2000}) {
          const RnnValues got = Compute(c, inputs, true, bytes).values;
          ExpectSame(kRnnOutputs, got, want);
          // Sums of products in parts round differently.
          ExpectNear(kRnnGradients, got, want, 4 * Epsilon(dtype));
        }
      }
    }
  }
}

TEST_P(LayerGpuBy, PaddingHasNoEffect) {
  for (const RnnCase& c : KindsOfSteps(Dtype::kFloat32)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const cpu::RnnProblem& p = c.problem;
    const RnnValues inputs = cpu::testing::RandomInputs(c, 2);
    RnnValues padded = inputs;
    for (int64_t t = 0; t < p.max_time; ++t) {
      for (int64_t b = 0; b < p.batch; ++b) {
        if (t < c.lengths[b]) continue;
        const int64_t row = p.time_major ? t * p.batch + b : b * p.max_time + t;
        const auto fill = [row](std::vector<double>* values, int64_t width) {
          std::fill_n(values->begin() + row * width, width, NAN);
        };
        fill(&padded.x, p.input_size), fill(&padded.dy, p.hidden_size());
      }
    }
    // The states of a row without steps pass through, and its masks are not read.
    ASSERT_EQ(c.lengths[1], 0);
    const int64_t gates = padded.kernel.size() / (p.input_size * p.num_units);
    for (auto* mask : {&padded.input_mask, &padded.recurrent_mask}) {
      const int64_t width = mask->size() / (gates * p.batch);
      for (int64_t g = 0; g < gates; ++g) {
        std::fill_n(mask->begin() + (g * p.batch + 1) * width, width, NAN);
      }
    }
    const int64_t S = p.hidden_size();
    std::fill_n(padded.h0.begin() + S, S, NAN);
    RnnValues got = Compute(c, padded).values;
    const RnnValues want = Compute(c, inputs).values;
    for (int64_t k = S; k < 2 * S; ++k) {
      EXPECT_TRUE(std::isnan(got.h_n[k]));
      got.h_n[k] = want.h_n[k];
    }
    ExpectSame(kRnnOutputs, got, want);
    ExpectSame(kRnnGradients, got, want);
  }
}

// KindsOfSteps and steps whose slope may be 0, which must not hide NaN.
std::vector<RnnCase> KindsThatMayHideNan(Dtype dtype) {
  std::vector<RnnCase> kinds = KindsOfSteps(dtype);
  kinds.push_back(Case(dtype, RnnMode::kRelu, [](cpu::RnnProblem*) {}));
  for (Activation activation : {Activation::kHardSigmoid, Activation::kLinear}) {
    kinds.push_back(
        Case(dtype, RnnMode::kVanilla, [&](cpu::RnnProblem* p) { p->activation = activation; }));
  }
  kinds.push_back(Case(dtype, RnnMode::kLstm, [](cpu::RnnProblem* p) { p->cell_clip = 1.2e-38f; }));
  return kinds;
}

void ExpectNanInWeights(const RnnValues& values) {
  for (const auto* gradient : {&values.dbias, &values.dkernel, &values.drecurrent_kernel,
                               &values.dprojection, &values.dpeepholes, &values.dlayer_norm}) {
    for (double value : *gradient) EXPECT_TRUE(std::isnan(value));
  }
}

// The gradients of the initial states of row b.
void ExpectNanInStates(const RnnValues& values, const RnnCase& c, int64_t b) {
  const int64_t S = c.problem.hidden_size(), H = c.problem.num_units;
  for (int64_t k = 0; k < S; ++k) EXPECT_TRUE(std::isnan(values.dh0[b * S + k])) << b;
  if (values.dc0.empty()) return;
  for (int64_t k = 0; k < H; ++k) EXPECT_TRUE(std::isnan(values.dc0[b * H + k])) << b;
}

// A length that only the device knows cannot raise an error, so its row is NaN. Other rows stay.
TEST_P(LayerGpuBy, AnInvalidLengthGivesNanInItsRow) {
  for (const RnnCase& c : KindsThatMayHideNan(Dtype::kFloat32)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const RnnValues inputs = cpu::testing::RandomInputs(c, 2);
    const RnnValues want = Compute(c, inputs).values;
    for (int32_t invalid :
         {-1, 6, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
      FakeCuda cuda;
      ProductParts parts(&cuda);
      ExactAllocator memory;
      LayerRun run(c, inputs, kSeed, true);
      run.algorithm = algorithm;
      run.SetLengths({5, invalid, 3});
      ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
      const int64_t S = c.problem.hidden_size(), B = 3, T = 5;
      for (int64_t k = 0; k < T * B * S; ++k) {
        const int64_t row = k / S, b = c.problem.time_major ? row % B : row / T;
        if (b == 1) {
          EXPECT_TRUE(std::isnan(run.values.y[k])) << k;
        } else {
          EXPECT_EQ(run.values.y[k], want.y[k]) << k;
        }
      }
      for (int64_t k = 0; k < S; ++k) EXPECT_TRUE(std::isnan(run.values.h_n[S + k]));
      if (!run.values.c_n.empty()) {
        EXPECT_TRUE(std::isnan(run.values.c_n[c.problem.num_units]));
      }
      for (int32_t length : {invalid, 5}) {  // also if only the forward call has an invalid length
        run.SetLengths({5, length, 3});
        ASSERT_TRUE(run.Backward(parts.libraries, &memory, cuda.stream()).ok());
        ExpectNanInWeights(run.values);
        ExpectNanInStates(run.values, c, 1);
      }
    }
  }
}

TEST_P(LayerGpuBy, AnInvalidLengthWithoutStepsGivesNan) {
  for (RnnCase c : KindsOfSteps(Dtype::kFloat32)) {
    c.problem.max_time = 0, c.lengths.assign(3, 0);
    FakeCuda cuda;
    ProductParts parts(&cuda);
    ExactAllocator memory;
    LayerRun run(c, cpu::testing::RandomInputs(c, 2), kSeed, true);
    run.algorithm = algorithm;
    run.SetLengths({0, 1, 0});
    ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
    EXPECT_TRUE(std::isnan(run.values.h_n[c.problem.hidden_size()]));
    ASSERT_TRUE(run.Backward(parts.libraries, &memory, cuda.stream()).ok());
    ExpectNanInStates(run.values, c, 1);
    EXPECT_EQ(run.values.dh0[0], run.values.dh_n[0]);
  }
}

// Clipping and activations with slopes of 0 do not hide NaN.
TEST_P(LayerGpuBy, AReserveSpaceOfAnotherCallGivesNan) {
  for (int64_t steps : {5, 1}) {
    for (RnnCase c : KindsThatMayHideNan(Dtype::kFloat32)) {
      c.problem.max_time = steps;
      c.lengths = {static_cast<int32_t>(steps), 0, 1};
      SCOPED_TRACE(cpu::testing::Describe(c));
      FakeCuda cuda;
      ProductParts parts(&cuda);
      ExactAllocator memory;
      LayerRun run(c, cpu::testing::RandomInputs(c, 2), kSeed, true);
      run.algorithm = algorithm;
      ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
      run.SpoilReserve();
      ASSERT_TRUE(run.Backward(parts.libraries, &memory, cuda.stream()).ok());
      ExpectNanInWeights(run.values);
      for (int64_t b : {0, 1, 2}) ExpectNanInStates(run.values, c, b);
      EXPECT_TRUE(std::isnan(run.values.dx[0]));
    }
  }
}

// The lengths and the seed are on the device, so that another one cannot raise an error.
TEST_P(LayerGpuBy, OtherLengthsGiveNanInTheirRows) {
  for (const RnnCase& c : KindsThatMayHideNan(Dtype::kFloat32)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const RnnValues inputs = cpu::testing::RandomInputs(c, 2);
    const RnnValues want = Compute(c, inputs).values;
    const std::vector<int32_t> others[] = {{4, 0, 3}, {5, 1, 3}, {0, 0, 3}, {3, 0, 5}};
    for (const std::vector<int32_t>& lengths : others) {
      SCOPED_TRACE(::testing::PrintToString(lengths));
      FakeCuda cuda;
      ProductParts parts(&cuda);
      ExactAllocator memory;
      LayerRun run(c, inputs, kSeed, true);
      run.algorithm = algorithm;
      ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
      run.SetLengths(lengths);
      ASSERT_TRUE(run.Backward(parts.libraries, &memory, cuda.stream()).ok());
      const int64_t S = c.problem.hidden_size();
      for (int64_t b = 0; b < 3; ++b) {
        if (lengths[b] != c.lengths[b]) {
          ExpectNanInStates(run.values, c, b);
          if (lengths[b] > 0) ExpectNanInWeights(run.values);
          continue;
        }
        for (int64_t k = b * S; k < (b + 1) * S; ++k) EXPECT_EQ(run.values.dh0[k], want.dh0[k]);
      }
    }
  }
}

TEST_P(LayerGpuBy, AnotherSeedGivesNan) {
  const RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, [](cpu::RnnProblem* p) {
    p->zoneout_h = 0.3f, p->zoneout_c = 0.4f, p->zoneout_drawn = true;
  });
  for (const auto& [seed, seed2] : {std::pair<int64_t, int64_t>{kSeed + 1, 0}, {kSeed, 1}}) {
    FakeCuda cuda;
    ProductParts parts(&cuda);
    ExactAllocator memory;
    LayerRun run(c, cpu::testing::RandomInputs(c, 2), kSeed, true);
    run.algorithm = algorithm;
    ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
    run.SetSeed(seed, seed2);
    ASSERT_TRUE(run.Backward(parts.libraries, &memory, cuda.stream()).ok());
    ExpectNanInWeights(run.values);
    for (int64_t b : {0, 1, 2}) ExpectNanInStates(run.values, c, b);
  }
}

TEST_P(LayerGpuBy, EmptyProblems) {
  for (const RnnCase& c : KindsOfSteps(Dtype::kFloat32)) {
    for (bool no_steps : {true, false}) {
      RnnCase empty = c;
      if (no_steps) {
        empty.problem.max_time = 0;
        empty.lengths.assign(3, 0);
      } else {
        empty.problem.batch = 0;
        empty.lengths.clear();
      }
      Check(empty, 4);
    }
  }
}

// One product and one kernel, and a second pair where the cell has a second product. Nothing waits
// or moves between host and device, so a CUDA graph can capture a call.
TEST(LayerGpu, TheCallsOfAStep) {
  const auto kinds = KindsOfSteps(Dtype::kFloat32);
  const int64_t launches[] = {1, 1, 2, 1, 1, 2, 1, 1};
  for (size_t k = 0; k < kinds.size(); ++k) {
    RnnCase c = kinds[k];
    SCOPED_TRACE(cpu::testing::Describe(c));
    int64_t counts[2][2];
    for (int64_t steps : {5, 6}) {
      c.problem.max_time = steps;
      const auto calls = Compute(c, cpu::testing::RandomInputs(c, 1)).calls;
      int64_t* count = counts[steps - 5];
      count[0] = count[1] = 0;
      for (const std::string& call : calls) {
        count[0] += call.rfind("LaunchKernel", 0) == 0;
        count[1] += call.rfind("Gemm", 0) == 0;
        EXPECT_TRUE(call.find("Memcpy") == std::string::npos &&
                    call.find("Synchronize") == std::string::npos &&
                    call.find("HostFunc") == std::string::npos)
            << call;
      }
    }
    // The forward pass and the backward pass have the same numbers.
    EXPECT_EQ(counts[1][0] - counts[0][0], 2 * launches[k]);
    EXPECT_EQ(counts[1][1] - counts[0][1], 2 * launches[k]);
  }
}

// With one row or one step, a batch-major tensor is time-major too.
TEST_P(LayerGpuBy, OneRowOrOneStepNeedsNoTransposition) {
  for (RnnCase c : KindsOfSteps(Dtype::kFloat32)) {
    for (bool one_row : {true, false}) {
      if (one_row) {
        c.problem.batch = 1, c.problem.max_time = 5, c.lengths = {4};
      } else {
        c.problem.batch = 3, c.problem.max_time = 1, c.lengths = {1, 0, 1};
      }
      c.problem.time_major = true;
      const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
      const Computed want = Compute(c, inputs);
      c.problem.time_major = false;
      const Computed got = Compute(c, inputs);
      EXPECT_EQ(got.calls, want.calls);
      ExpectSame(kRnnOutputs, got.values, want.values);
      ExpectSame(kRnnGradients, got.values, want.values);
      Check(c, 1);
    }
  }
}

// More rows of a batch than a grid has, and more rows of all steps than one thread sums.
TEST(LayerGpu, ManyRows) {
  for (bool norm : {false, true}) {
    RnnCase c = cpu::testing::MakeCase(Dtype::kFloat64, norm ? 2 : 3, 2, 66000, 1, 1);
    cpu::testing::UseKerasWeights(!norm, !norm, &c);
    c.problem.has_layer_norm = norm, c.problem.layer_norm_epsilon = 1;
    c.problem.time_major = norm;
    Check(Keyed(c), 1);
  }
}

// A thread of a row has more than one unit.
TEST(LayerGpu, WideRows) {
  RnnCase c = cpu::testing::MakeCase(Dtype::kFloat32, 2, 3, 2, 4, 300);
  cpu::testing::UseKerasWeights(false, false, &c);
  c.problem.has_layer_norm = true, c.problem.layer_norm_epsilon = 1;
  Check(Keyed(c), 1);
}

TEST_P(LayerGpuBy, TheSameBitsInEachRun) {
  for (const RnnCase& c : KindsOfSteps(Dtype::kBFloat16)) {
    const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    const RnnValues first = Compute(c, inputs).values, second = Compute(c, inputs).values;
    ExpectSame(kRnnOutputs, second, first);
    ExpectSame(kRnnGradients, second, first);
  }
}

Status RunBoth(const ProductParts& parts, FakeCuda* cuda, LayerRun* run, DeviceAllocator* memory) {
  RNN_OPS_RETURN_IF_ERROR(run->Forward(parts.libraries, memory, cuda->stream()));
  return run->Backward(parts.libraries, memory, cuda->stream());
}

TEST(LayerGpu, EveryCallMayFail) {
  for (const RnnCase& c : KindsOfSteps(Dtype::kBFloat16)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    const RnnValues want = Compute(c, inputs).values;
    bool failed = true;
    for (int64_t n = 0; failed; ++n) {
      FakeCuda cuda;
      ProductParts parts(&cuda);
      ExactAllocator memory;
      LayerRun run(c, inputs, kSeed, true);
      run.algorithm = algorithm;
      cuda.FailAt(n);
      const Status status = RunBoth(parts, &cuda, &run, &memory);
      failed = cuda.failed();
      EXPECT_EQ(status.ok(), !failed);
      EXPECT_TRUE(cuda.pushed().empty()) << n;
      if (!failed) {
        EXPECT_GT(n, 40);
        continue;
      }
      const std::string call = cuda.calls().back();
      EXPECT_EQ(status.code(), Code::kInternal) << call;
      EXPECT_THAT(status.message(),
                  AllOf(HasSubstr(call.substr(0, call.find(' ')) + " failed with C"),
                        HasSubstr("text of ")));
      // The next call of the same executor is correct.
      LayerRun again(c, inputs, kSeed, true);
      again.algorithm = algorithm;
      ASSERT_TRUE(RunBoth(parts, &cuda, &again, &memory).ok());
      ExpectSame(kRnnOutputs, again.values, want);
      ExpectSame(kRnnGradients, again.values, want);
    }
  }
}

// Each allocation of both passes in turn.
TEST_P(LayerGpuBy, OutOfMemoryIsResourceExhausted) {
  for (const RnnCase& c : KindsOfSteps(Dtype::kBFloat16)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    const RnnValues want = Compute(c, inputs).values;
    FakeCuda cuda;
    ProductParts parts(&cuda);
    ExactAllocator forward;
    ASSERT_TRUE(
        LayerRun(c, inputs, kSeed, true).Forward(parts.libraries, &forward, cuda.stream()).ok());
    for (int64_t n = 0;; ++n) {
      ExactAllocator memory(n);
      LayerRun run(c, inputs, kSeed, true);
      run.algorithm = algorithm;
      const Status status = RunBoth(parts, &cuda, &run, &memory);
      EXPECT_TRUE(cuda.pushed().empty());
      if (memory.count() <= n) {
        EXPECT_TRUE(status.ok());
        EXPECT_GT(n, forward.count() + 3);  // the gradient allocates too
        break;
      }
      EXPECT_EQ(status.code(), Code::kResourceExhausted);
      EXPECT_THAT(status.message(), HasSubstr("There is no GPU memory for "));
      // The next call of the same executor is correct.
      ExactAllocator enough;
      LayerRun again(c, inputs, kSeed, true);
      again.algorithm = algorithm;
      ASSERT_TRUE(RunBoth(parts, &cuda, &again, &enough).ok());
      ExpectSame(kRnnOutputs, again.values, want);
      ExpectSame(kRnnGradients, again.values, want);
    }
    EXPECT_EQ(cuda.live_handles(), 1);
  }
}

}  // namespace
}  // namespace rnn_ops::gpu

int main(int argc, char** argv) { return rnn_ops::gpu::fake::RunTestsOnFiles(argc, argv); }
