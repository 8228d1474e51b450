// Tests the persistent kernels of LayerRNN on fibers: each kernel of the list against the
// reference, which kernel runs what, and what happens where none can run. layer_gpu_test.cc has
// their values over all problems.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/core/op/dropout.h"
#include "cc/gpu/kernels/kernel_list.h"
#include "cc/gpu/launch/persistent_kernels.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/rnn_cases.h"
#include "tests/cc/gpu/fake_cuda.h"
#include "tests/cc/gpu/layer_runs.h"
#include "tests/cc/gpu/slow_driver.h"

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
using fake::SlowDriver;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 7;

// A training problem with lengths, and with what only general kernels have.
RnnCase Case(Dtype dtype, RnnMode mode, int64_t B, int64_t H, bool is_general = false) {
  RnnCase c = cpu::testing::MakeCase(dtype, static_cast<int32_t>(mode), 3, B, 2, H);
  cpu::testing::UseKerasWeights(false, is_general, &c);
  for (int64_t b = 0; b < B; ++b) c.lengths[b] = static_cast<int32_t>(3 - b % 4 % 3);
  if (is_general) {
    c.problem.zoneout_h = 0.25f, c.problem.zoneout_drawn = true;
    c.problem.recurrent_activation = Activation::kHardSigmoid;
  }
  const DropoutKey key = MakeDropoutKey(kSeed, 0, 0);
  c.problem.dropout_key[0] = key.k0, c.problem.dropout_key[1] = key.k1;
  return c;
}

struct Computed {
  Status status;
  RnnValues values;
};

Computed Compute(FakeCuda* cuda, ProductParts* parts, const RnnCase& c, const RnnValues& inputs,
                 LayerAlgorithm algorithm = LayerAlgorithm::kPersistent) {
  ExactAllocator memory;
  LayerRun run(c, inputs, kSeed, true);
  run.algorithm = algorithm;
  Status status = run.Forward(parts->libraries, &memory, cuda->stream());
  if (status.ok()) status = run.Backward(parts->libraries, &memory, cuda->stream());
  EXPECT_TRUE(cuda->pushed().empty());
  return {status, run.values};
}

RnnValues Compute(const RnnCase& c, const RnnValues& inputs,
                  LayerAlgorithm algorithm = LayerAlgorithm::kPersistent) {
  FakeCuda cuda;
  ProductParts parts(&cuda);
  const Computed computed = Compute(&cuda, &parts, c, inputs, algorithm);
  EXPECT_TRUE(computed.status.ok()) << computed.status.message();
  return computed.values;
}

// The kernels that a call launches.
std::set<std::string> Launched(const FakeCuda& cuda) {
  const std::string prefix = "LaunchCooperativeKernel ";
  std::set<std::string> names;
  for (const std::string& call : cuda.calls()) {
    if (call.rfind(prefix, 0) == 0) names.insert(call.substr(prefix.size()));
  }
  return names;
}

struct Row {
  std::string name;
  bool is_forward;
  RnnMode mode;
  Dtype dtype;
  int width, tile;
  bool is_general;
};

RnnMode ModeOf(const std::string& cell) {
  return cell == "Lstm"             ? RnnMode::kLstm
         : cell == "Gru"            ? RnnMode::kGru
         : cell == "GruResetBefore" ? RnnMode::kGruResetBefore
                                    : RnnMode::kTanh;
}
Dtype DtypeOf(const std::string& operand) {
  return operand == "Half"       ? Dtype::kFloat16
         : operand == "BFloat16" ? Dtype::kBFloat16
                                 : Dtype::kFloat32;
}

std::vector<Row> Rows() {
#define RNN_OPS_ROW(pass, cell, operand, width, tile, general)     \
  {#pass "_" #cell "_" #operand "_" #width "_" #tile "_" #general, \
   std::string(#pass) == "Forward",                                \
   ModeOf(#cell),                                                  \
   DtypeOf(#operand),                                              \
   width,                                                          \
   tile,                                                           \
   general},
  return {RNN_OPS_PERSISTENT_KERNELS(RNN_OPS_ROW)};
#undef RNN_OPS_ROW
}

// A network amplifies the rounding of 16-bit factors; layer_gpu_test.cc bounds that. Here a wrong
// element of a large product must show.
double Tolerance(Dtype dtype) {
  return dtype == Dtype::kFloat32 ? 64 * Epsilon(dtype) : 8 * Epsilon(dtype);
}

void ExpectRight(const RnnCase& c, uint64_t seed, std::set<std::string>* launched) {
  const RnnValues inputs = cpu::testing::RandomInputs(c, seed);
  FakeCuda cuda;
  cuda.order_of_blocks = seed;
  ProductParts parts(&cuda);
  const Computed computed = Compute(&cuda, &parts, c, inputs);
  ASSERT_TRUE(computed.status.ok()) << computed.status.message();
  cpu::RnnProblem p = c.problem;
  p.lengths = cpu::reference::LengthsOf(c.lengths);
  RnnValues want = inputs;
  cpu::reference::RunStack(p, &want);
  ExpectNear(kRnnOutputs, computed.values, want, Tolerance(p.dtype));
  want.given_y = computed.values.y;
  cpu::reference::RunStack(p, &want);
  ExpectNear(kRnnGradients, computed.values, want, 4 * Tolerance(p.dtype));
  *launched = Launched(cuda);
}

class EachKernel : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Widths, EachKernel, ::testing::Values(256, 512, 1024));

// Each kernel at a size that no other kernel of its kind runs.
TEST_P(EachKernel, IsRight) {
  int count = 0;
  for (const Row& row : Rows()) {
    if (row.width != GetParam()) continue;
    SCOPED_TRACE(row.name);
    const int64_t H = row.width == 256 ? 37 : row.width / 2 + 3;
    const int64_t B = row.tile == 16 ? 5 : 18;
    RnnCase c = Case(row.dtype, row.mode, B, H, row.is_general);
    c.problem.max_time = 2;
    for (int32_t& length : c.lengths) length = std::min(length, 2);
    std::set<std::string> launched;
    ExpectRight(c, ++count, &launched);
    EXPECT_EQ(launched.count(row.name), 1) << ::testing::PrintToString(launched);
    if (HasFailure()) return;
  }
  EXPECT_GT(count, 20);
}

TEST(PersistentSteps, LargestSizes) {
  const std::pair<Dtype, int64_t> sizes[] = {
      {Dtype::kFloat32, 256}, {Dtype::kBFloat16, 256}, {Dtype::kBFloat16, 512}};
  for (const auto& [dtype, H] : sizes) {
    RnnCase c = Case(dtype, RnnMode::kLstm, 64, H);
    c.problem.max_time = 2, c.lengths.assign(64, 2);
    std::set<std::string> launched;
    ExpectRight(c, 1, &launched);
    EXPECT_EQ(launched.size(), 2);
  }
}

TEST(PersistentSteps, MoreThan64RowsAreParts) {
  for (int64_t B : {65, 70, 128}) {
    for (bool is_general : {false, true}) {
      std::set<std::string> launched;
      ExpectRight(Case(Dtype::kFloat32, RnnMode::kGru, B, 5, is_general), 2, &launched);
      EXPECT_EQ(launched.size(), B < 80 && !is_general ? 3 : 2);
    }
  }
}

// One launch for all steps.
TEST(PersistentSteps, TheCallsOfAPass) {
  RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, 3, 8);
  std::vector<std::string> calls[2];
  for (int64_t more : {0, 1}) {
    c.problem.max_time = 3 + more;
    FakeCuda cuda;
    ProductParts parts(&cuda);
    ASSERT_TRUE(Compute(&cuda, &parts, c, cpu::testing::RandomInputs(c, 1)).status.ok());
    calls[more] = cuda.calls();
    EXPECT_EQ(cuda.Count("LaunchCooperativeKernel Forward_Lstm_Float32_256_16_false"), 1);
    EXPECT_EQ(cuda.Count("LaunchCooperativeKernel Backward_Lstm_Float32_256_64_false"), 1);
    EXPECT_EQ(cuda.Count("Memcpy") + cuda.Count("StreamSynchronize"), 0);
  }
  EXPECT_EQ(calls[0], calls[1]);
}

TEST(PersistentSteps, NoKernelRunsTheseProblems) {
  std::vector<RnnCase> cases = {
      Case(Dtype::kFloat64, RnnMode::kLstm, 2, 4),
      Case(Dtype::kFloat32, RnnMode::kGruResetBefore, 2, 4, /*is_general=*/true),
      Case(Dtype::kFloat32, RnnMode::kTanh, 129, 4),
      Case(Dtype::kFloat32, RnnMode::kTanh, 1, 1025),
      Case(Dtype::kFloat32, RnnMode::kTanh, 2, 4, /*is_general=*/true),
  };
  for (int k = 0; k < 2; ++k) cases.push_back(Case(Dtype::kFloat32, RnnMode::kLstm, 2, 4));
  cases[1].problem.zoneout_h = 0, cases[1].problem.zoneout_drawn = false;  // it lacks zoneout
  cases[5].problem.num_proj = 2;
  cases[6].problem.has_layer_norm = true;
  for (const RnnCase& c : cases) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    const RnnValues want = Compute(c, inputs, LayerAlgorithm::kSteps);
    FakeCuda cuda;
    ProductParts parts(&cuda);
    const Computed got = Compute(&cuda, &parts, c, inputs);
    ASSERT_TRUE(got.status.ok()) << got.status.message();
    EXPECT_TRUE(Launched(cuda).empty());
    ExpectSame(kRnnOutputs, got.values, want);
  }
}

// The lines of both passes.
std::string Lines(const std::string& forward, const std::string& backward = "") {
  const std::string start = "tf_rnn_ops: a kernel for each step runs instead of ";
  return start + "Forward_Lstm_Float32_256_16_false: " + forward + "\n" + start +
         "Backward_Lstm_Float32_256_64_false: " + (backward.empty() ? forward : backward) + "\n";
}
constexpr char kRefused[] =
    "cuFuncSetAttribute failed with another error (1) in cuFuncSetAttribute: text of the driver";

// A GPU or a driver that cannot run them: the steps run one by one, and a line of the log says so.
TEST(PersistentSteps, OtherGpusRunTheStepsOneByOne) {
  const RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, 3, 40);
  const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
  const RnnValues want = Compute(c, inputs, LayerAlgorithm::kSteps);
  ::testing::internal::CaptureStderr();
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    FakeCuda cuda;
    ProductParts parts(&cuda);
    if (kind == 0) cuda.compute_capability_major = 7;
    if (kind == 1) cuda.multiprocessors = 4;
    if (kind == 2) cuda.launches_cooperatively = false;
    if (kind == 3) cuda.largest_shared_bytes = 1000;
    const Computed got = Compute(&cuda, &parts, c, inputs);
    ASSERT_TRUE(got.status.ok()) << got.status.message();
    EXPECT_TRUE(Launched(cuda).empty());
    ExpectSame(kRnnOutputs, got.values, want);
    ExpectSame(kRnnGradients, got.values, want);
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string needs =
      "it needs compute capability 8.0 and cooperative launches, and the GPU ";
  EXPECT_EQ(log, Lines(needs + "has 7.x and has them") +
                     Lines("it needs 10 multiprocessors and the GPU has 4",
                           "it needs 5 multiprocessors and the GPU has 4") +
                     Lines(needs + "has 8.x and lacks them") + Lines(kRefused));
}

TEST(PersistentSteps, TheOrderOfBlocksHasNoEffect) {
  for (Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    const RnnCase c = Case(dtype, RnnMode::kGru, 4, 40, true);
    const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    const RnnValues want = Compute(c, inputs);
    for (uint64_t order : {2, 3, 4, 5, 6}) {
      FakeCuda cuda;
      cuda.order_of_blocks = order;
      ProductParts parts(&cuda);
      const RnnValues got = Compute(&cuda, &parts, c, inputs).values;
      ExpectSame(kRnnOutputs, got, want);
      ExpectSame(kRnnGradients, got, want);
    }
  }
}

// A block that does not run: the others stop waiting, the results are NaN, and the next call says
// so. The call after that is right.
TEST(PersistentSteps, ABlockThatHangsGivesAnError) {
  for (int64_t H : {40, 530}) {
    SCOPED_TRACE(H);
    RnnCase c = Case(Dtype::kBFloat16, H == 40 ? RnnMode::kLstm : RnnMode::kGru, 2, H);
    c.lengths.assign(2, 3);
    const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    const RnnValues want = Compute(c, inputs);
    FakeCuda cuda;
    ProductParts parts(&cuda, /*max_spins=*/20000);
    ExactAllocator memory;
    LayerRun run(c, inputs, kSeed, true);
    run.algorithm = LayerAlgorithm::kPersistent;
    cuda.block_that_hangs = 1;
    ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
    EXPECT_TRUE(std::isnan(run.values.y[0]));
    EXPECT_TRUE(std::isnan(run.values.h_n[0]));
    cuda.block_that_hangs = -1;
    Computed next = Compute(&cuda, &parts, c, inputs);
    EXPECT_EQ(next.status.code(), Code::kInternal);
    EXPECT_THAT(next.status.message(), HasSubstr("TF_RNN_OPS_GPU_ALGO=steps"));
    next = Compute(&cuda, &parts, c, inputs);
    ASSERT_TRUE(next.status.ok()) << next.status.message();
    ExpectSame(kRnnOutputs, next.values, want);

    // The same in the backward pass.
    ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
    cuda.block_that_hangs = 1;
    ASSERT_TRUE(run.Backward(parts.libraries, &memory, cuda.stream()).ok());
    EXPECT_TRUE(std::isnan(run.values.dh0[0]));
    EXPECT_TRUE(std::isnan(run.values.dkernel[0]));
    cuda.block_that_hangs = -1;
    EXPECT_EQ(Compute(&cuda, &parts, c, inputs).status.code(), Code::kInternal);
  }
}

// A block that runs after all others have given up must not take what is there for their results.
TEST(PersistentSteps, ALateBlockComputesNothingWrong) {
  for (int64_t H : {40, 530}) {
    RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, 3, H);
    c.problem.max_time = 4, c.lengths = {4, 2, 2};
    const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    const RnnValues want = Compute(c, inputs);
    FakeCuda cuda;
    cuda.block_that_hangs = 1, cuda.late_block_runs = true;
    ProductParts parts(&cuda, /*max_spins=*/20000);
    ExactAllocator memory;
    LayerRun run(c, inputs, kSeed, true);
    run.algorithm = LayerAlgorithm::kPersistent;
    ASSERT_TRUE(run.Forward(parts.libraries, &memory, cuda.stream()).ok());
    for (auto field : {&RnnValues::y, &RnnValues::h_n, &RnnValues::c_n}) {
      int nan = 0;
      const auto &got = run.values.*field, &right = want.*field;
      for (size_t k = 0; k < got.size(); ++k) {
        nan += std::isnan(got[k]);
        if (std::isnan(got[k])) continue;
        EXPECT_EQ(got[k], right[k]) << k;
      }
      EXPECT_GT(nan, 0);
    }
  }
}

const PersistentKernel& KernelOf(PersistentPass pass) {
  return *FindPersistentKernel({pass, RnnMode::kLstm, Dtype::kFloat32, 40, 3, false});
}

// Null if the kernel cannot run.
LoadedKernel* Prepare(PersistentKernels* kernels, uint64_t context, PersistentPass pass) {
  LoadedKernel* loaded = nullptr;
  std::string reason;
  const Status status =
      kernels->Prepare(SlowDriver::Context(context), KernelOf(pass), 40, &loaded, &reason);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(reason, "");
  return loaded;
}

// The driver may compile for seconds.
TEST(PersistentKernels, ACompilationHoldsUpNeitherOtherKernelsNorOtherContexts) {
  SlowDriver driver;
  PersistentKernels kernels(&driver.api());
  driver.HoldNextModule();
  const auto prepare_slowly = [&] { return Prepare(&kernels, 1, PersistentPass::kForward); };
  auto slow = std::async(std::launch::async, prepare_slowly);
  driver.AwaitHeld();
  auto others = std::async(std::launch::async, [&] {
    std::vector<char> memory(KernelOf(PersistentPass::kForward).ExchangeBytes(40));
    for (int call = 0; call < 2; ++call) {
      EXPECT_NE(Prepare(&kernels, 1, PersistentPass::kBackward), nullptr);
      LoadedKernel* const loaded = Prepare(&kernels, 2, PersistentPass::kForward);
      ASSERT_NE(loaded, nullptr);
      elementwise::PersistentForward args = {};
      args.step.call.units = 40;
      const LaunchPlace place = {SlowDriver::Context(2), nullptr};
      EXPECT_TRUE(kernels.Launch(place, loaded, memory.data(), args).ok());
    }
  });
  EXPECT_EQ(others.wait_for(SlowDriver::kPatience), std::future_status::ready);
  // A second call with the same kernel waits instead of compiling it again.
  auto second = std::async(std::launch::async, prepare_slowly);
  driver.Release();
  LoadedKernel* const loaded = slow.get();
  EXPECT_NE(loaded, nullptr);
  EXPECT_EQ(second.get(), loaded);
  EXPECT_EQ(driver.loads(), 3);
}

TEST(PersistentKernels, OneSlowCompilationIsAnnounced) {
  constexpr std::chrono::milliseconds kSlow(5);
  SlowDriver driver;
  PersistentKernels kernels(&driver.api(), /*max_spins=*/1, kSlow);
  const auto log_of = [&](PersistentPass pass) {
    ::testing::internal::CaptureStderr();
    driver.HoldNextModule();
    auto prepared = std::async(std::launch::async, [&] { return Prepare(&kernels, 1, pass); });
    driver.AwaitHeld();
    std::this_thread::sleep_for(2 * kSlow);
    driver.Release();
    EXPECT_NE(prepared.get(), nullptr);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log_of(PersistentPass::kForward), HasSubstr(KernelOf(PersistentPass::kForward).name));
  EXPECT_EQ(log_of(PersistentPass::kBackward), "");

  PersistentKernels others(&driver.api());
  ::testing::internal::CaptureStderr();
  EXPECT_NE(Prepare(&others, 1, PersistentPass::kForward), nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// A kernel that gave up is told once, to the next call in its context.
TEST(PersistentKernels, EachContextHasItsGiveUp) {
  SlowDriver driver;
  PersistentKernels kernels(&driver.api());
  LoadedKernel* const loaded = Prepare(&kernels, 1, PersistentPass::kForward);
  ASSERT_NE(loaded, nullptr);
  ASSERT_NE(Prepare(&kernels, 2, PersistentPass::kForward), nullptr);
  *loaded->gave_up = 1;
  EXPECT_NE(Prepare(&kernels, 2, PersistentPass::kBackward), nullptr);
  LoadedKernel* other = nullptr;
  std::string reason;
  const Status status = kernels.Prepare(SlowDriver::Context(1), KernelOf(PersistentPass::kBackward),
                                        40, &other, &reason);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(other, nullptr);
  EXPECT_NE(Prepare(&kernels, 1, PersistentPass::kBackward), nullptr);
}

// A replay of a graph could not report a block that does not run.
TEST(PersistentSteps, ACapturedCallRunsAKernelForEachStep) {
  const RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, 3, 40);
  const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
  const RnnValues want = Compute(c, inputs, LayerAlgorithm::kSteps);
  FakeCuda cuda;
  cuda.is_capturing = true;
  ProductParts parts(&cuda);
  const Computed got = Compute(&cuda, &parts, c, inputs);
  ASSERT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_TRUE(Launched(cuda).empty());
  ExpectSame(kRnnOutputs, got.values, want);
  ExpectSame(kRnnGradients, got.values, want);
}

// A lack of memory for a module passes.
TEST(PersistentSteps, AFailureToLoadThatPassesIsRetried) {
  const RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, 3, 40);
  const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
  FakeCuda cuda;
  ProductParts parts(&cuda);
  const auto modules = [&] { return cuda.Count("ModuleLoadData"); };
  ASSERT_TRUE(Compute(&cuda, &parts, c, inputs, LayerAlgorithm::kSteps).status.ok());
  int64_t loads = modules();
  bool skipped = false;
  cuda.no_memory_for_modules = true;
  for (int call = 0; call < 8; ++call) {
    cuda.Clear();
    ASSERT_TRUE(Compute(&cuda, &parts, c, inputs).status.ok());
    EXPECT_TRUE(Launched(cuda).empty());
    skipped = skipped || modules() == 0;
  }
  EXPECT_TRUE(skipped);
  cuda.no_memory_for_modules = false;
  for (loads = 0; loads < 40 && Launched(cuda).size() < 2; ++loads) {
    cuda.Clear();
    ASSERT_TRUE(Compute(&cuda, &parts, c, inputs).status.ok());
  }
  EXPECT_EQ(Launched(cuda).size(), 2);
}

TEST(PersistentSteps, NanStaysInItsRowAndLargeStatesAreRight) {
  for (Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    RnnCase c = Case(dtype, RnnMode::kLstm, 3, 20);
    RnnValues inputs = cpu::testing::RandomInputs(c, 1);
    RnnValues marked = inputs;
    marked.h0[1 * 20 + 7] = NAN;
    const RnnValues want = Compute(c, inputs), got = Compute(c, marked);
    for (size_t k = 0; k < got.y.size(); ++k) {
      const size_t row = k / 20 % 3;
      if (row != 1) {
        EXPECT_EQ(got.y[k], want.y[k]);
      } else if (k / 60 < static_cast<size_t>(c.lengths[1])) {
        EXPECT_TRUE(std::isnan(got.y[k])) << k;
      }
    }
    for (double& value : inputs.h0) value *= 1e37;
    const RnnValues large = Compute(c, inputs);
    const RnnValues steps = Compute(c, inputs, LayerAlgorithm::kSteps);
    ExpectNear(kRnnOutputs, large, steps, 8 * Epsilon(dtype));
  }
}

// A failure of any call is an error, or the steps run one by one; the next call is right.
TEST(PersistentSteps, EveryCallMayFail) {
  const RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, 3, 12);
  const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
  const RnnValues want = Compute(c, inputs);
  bool failed = true;
  int errors = 0, steps = 0;
  for (int64_t n = 0; failed; ++n) {
    FakeCuda cuda;
    ProductParts parts(&cuda);
    cuda.FailAt(n);
    const Computed got = Compute(&cuda, &parts, c, inputs);
    failed = cuda.failed();
    if (!failed) continue;
    const bool loads = got.status.ok();
    (loads ? steps : errors)++;
    if (loads) ExpectNear(kRnnOutputs, got.values, want, 8 * Epsilon(Dtype::kFloat32));
    const Computed again = Compute(&cuda, &parts, c, inputs);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    ExpectNear(kRnnOutputs, again.values, want, 8 * Epsilon(Dtype::kFloat32));
    ExpectNear(kRnnGradients, again.values, want, 32 * Epsilon(Dtype::kFloat32));
  }
  // Host memory, and three calls to load each of the two modules.
  EXPECT_EQ(steps, 7);
  EXPECT_GT(errors, 30);
}

// The context may use fewer multiprocessors than the GPU has. Later calls do without the kernel.
TEST(PersistentSteps, ALaunchThatIsTooLargeIsNotRepeated) {
  const RnnCase c = Case(Dtype::kFloat32, RnnMode::kLstm, 3, 40);
  const RnnValues inputs = cpu::testing::RandomInputs(c, 1);
  const RnnValues want = Compute(c, inputs, LayerAlgorithm::kSteps);
  FakeCuda cuda;
  cuda.multiprocessors_of_context = 5;  // enough for the backward pass
  ProductParts parts(&cuda);
  const Status status = Compute(&cuda, &parts, c, inputs).status;
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("cuLaunchCooperativeKernel failed"));
  const Computed next = Compute(&cuda, &parts, c, inputs);
  ASSERT_TRUE(next.status.ok()) << next.status.message();
  ExpectSame(kRnnOutputs, next.values, want);
}

// The driver gets the module of the kernel, with whole register numbers.
TEST(PersistentSteps, ThePtxOfEachKernelIsItsOwn) {
  const std::vector<Row> rows = Rows();
  for (size_t k = 0; k < rows.size(); ++k) {
    SCOPED_TRACE(rows[k].name);
    std::string ptx;
    ASSERT_TRUE(PersistentPtx(static_cast<int>(k), &ptx).ok());
    const std::string entry = ".visible .entry ";
    const size_t at = ptx.find(entry);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(ptx.compare(at, entry.size() + rows[k].name.size() + 1, entry + rows[k].name + "("),
              0);
    EXPECT_EQ(ptx.find(entry, at + 1), std::string::npos);
    // The largest number of each kind of register is near the number that is declared.
    std::map<std::string, long> last, declared;
    for (size_t p = ptx.find('%'); p != std::string::npos; p = ptx.find('%', p + 1)) {
      const size_t digits = ptx.find_first_not_of("abcdefghijklmnopqrstuvwxyz", p + 1);
      const std::string kind = ptx.substr(p + 1, digits - p - 1);
      ASSERT_TRUE(ptx[digits] != '+' && ptx[digits] != '-') << ptx.substr(p, 20);
      if (ptx[digits] == '<') declared[kind] = std::atol(&ptx[digits + 1]);
      if (std::isdigit(ptx[digits])) last[kind] = std::max(last[kind], std::atol(&ptx[digits]));
    }
    EXPECT_GE(declared.size(), 4);
    for (const auto& [kind, number] : declared) {
      EXPECT_LT(last[kind], number) << kind;
      EXPECT_GE(10 * (last[kind] + 1), 9 * number) << kind;
    }
  }
  std::string unused;
  EXPECT_EQ(PersistentPtx(static_cast<int>(rows.size()), &unused).code(), Code::kInternal);
}

}  // namespace
}  // namespace rnn_ops::gpu
