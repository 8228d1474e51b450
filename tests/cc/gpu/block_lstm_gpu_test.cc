// Tests the executor of the block LSTM on host memory: its results, its calls, and a failure of
// each call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "cc/gpu/rnn_gpu.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/gpu/block_lstm_runs.h"
#include "tests/cc/gpu/fake_cuda.h"

namespace rnn_ops::gpu {
namespace {

using cpu::testing::kBlockGradients;
using cpu::testing::kBlockOutputs;
using fake::BlockValues;
using fake::ExactAllocator;
using fake::FakeCuda;
using fake::ProductParts;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Dtype kDtypes[] = {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16};
constexpr double kEpsilon32 = 1.2e-7, kEpsilon64 = 2.3e-16;

BlockLstmProblem Problem(Dtype dtype, int64_t T, int64_t B, int64_t I, int64_t H, int64_t steps,
                         bool peephole, float clip = 0) {
  BlockLstmProblem p;
  p.dtype = dtype;
  p.max_time = T, p.batch = B, p.input_size = I, p.num_units = H;
  p.seq_len = steps;
  p.use_peephole = peephole;
  p.cell_clip = clip;
  return p;
}

BlockLstmProblem RandomProblem(std::mt19937_64& random, Dtype dtype) {
  const auto any = [&random](std::vector<int64_t> of) { return of[random() % of.size()]; };
  const int64_t T = any({1, 2, 3, 5});
  const int64_t steps = random() % 2 ? T : static_cast<int64_t>(random() % (T + 1));
  return Problem(dtype, T, any({1, 2, 3, 7, 13}), any({1, 2, 3, 7, 17}),
                 any({1, 2, 3, 5, 8, 13, 31}), steps, random() % 2 != 0,
                 0.5f * static_cast<float>(any({0, -1, 1, 3})));
}

constexpr int kAmpere = 8, kTuring = 7;  // the major parts of compute capabilities

BlockValues Compute(const BlockLstmProblem& p, const BlockValues& inputs, int64_t gate_bytes = 0,
                    int compute_capability_major = kAmpere) {
  FakeCuda cuda;
  cuda.compute_capability_major = compute_capability_major;
  ProductParts parts(&cuda);
  if (gate_bytes > 0) parts.libraries.chunk_bytes = gate_bytes;
  BlockValues values = inputs;
  ExactAllocator forward, backward;
  const Status status =
      RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &values);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(cuda.pushed().empty());
  return values;
}

void CheckAgainstReference(const BlockLstmProblem& p, uint64_t seed) {
  const BlockValues inputs = fake::MakeBlockInputs(p, seed);
  const double epsilon = p.dtype == Dtype::kFloat64 ? kEpsilon64 : kEpsilon32;
  // The weight gradients are sums over all rows. The roundings of a sum add up like a random walk.
  const double rows = static_cast<double>(p.seq_len * p.batch);
  const double bound = (16 + std::sqrt(rows)) * epsilon;
  SCOPED_TRACE(fake::Describe(p) + " seed=" + std::to_string(seed));
  const BlockValues got = Compute(p, inputs), want = fake::BlockReference(p, inputs);
  cpu::testing::ExpectNear(kBlockOutputs, got, want, bound);
  cpu::testing::ExpectNear(kBlockGradients, got, want, bound);
}

// tests/ops/parity has 16-bit types, on the mock GPU too.
TEST(BlockLstmGpu, RandomProblems) {
  std::mt19937_64 random(51);
  for (Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64}) {
    for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
      CheckAgainstReference(RandomProblem(random, dtype), seed);
    }
  }
}

// More rows than one thread sums, than threads of a column sum, and than the grid has in y.
TEST(BlockLstmGpu, ManyRows) {
  CheckAgainstReference(Problem(Dtype::kFloat64, 5, 13, 2, 3, 5, true), 1);
  CheckAgainstReference(Problem(Dtype::kFloat64, 83, 109, 1, 1, 83, true), 2);
  CheckAgainstReference(Problem(Dtype::kFloat64, 1, 65537, 1, 1, 1, false), 3);
  CheckAgainstReference(Problem(Dtype::kFloat64, 2, 2, 1, 257, 2, true), 4);
}

TEST(BlockLstmGpu, BFloat16BeforeAmpereIsRejected) {
  const BlockLstmProblem p = Problem(Dtype::kBFloat16, 2, 2, 3, 4, 2, true);
  FakeCuda cuda;
  cuda.compute_capability_major = kTuring;
  ProductParts parts(&cuda);
  ExactAllocator forward, backward;
  BlockValues values = fake::MakeBlockInputs(p, 1);
  const Status status =
      RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &values);
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("bfloat16"), HasSubstr("7.x")));
  const BlockLstmProblem half = Problem(Dtype::kFloat16, 2, 2, 3, 4, 2, true);
  const BlockValues inputs = fake::MakeBlockInputs(half, 1);
  EXPECT_EQ(Compute(half, inputs, 0, kTuring).w_grad, Compute(half, inputs).w_grad);
}

TEST(BlockLstmGpu, EmptyProblemsGiveZeros) {
  for (Dtype dtype : kDtypes) {
    for (bool peephole : {false, true}) {
      for (const BlockLstmProblem& p :
           {Problem(dtype, 0, 4, 3, 9, 0, peephole), Problem(dtype, 4, 0, 3, 9, 4, peephole),
            Problem(dtype, 4, 5, 3, 9, 0, peephole)}) {
        const BlockValues got = Compute(p, fake::MakeBlockInputs(p, 1));
        for (const auto* fields : {&kBlockOutputs, &kBlockGradients}) {
          for (const auto& field : *fields) EXPECT_THAT(got.*field.vec, Each(0.0));
        }
        EXPECT_EQ(got.h.size(), static_cast<size_t>(p.max_time * p.batch * 9));
      }
    }
  }
}

TEST(BlockLstmGpu, WithoutPeepholeTheirWeightsAreNotRead) {
  const BlockLstmProblem p = Problem(Dtype::kFloat32, 3, 2, 3, 5, 2, false);
  BlockValues inputs = fake::MakeBlockInputs(p, 1);
  for (auto* values : {&inputs.wci, &inputs.wcf, &inputs.wco}) {
    std::fill(values->begin(), values->end(), NAN);
  }
  const BlockValues got = Compute(p, inputs);
  for (const auto* gradient : {&got.wci_grad, &got.wcf_grad, &got.wco_grad}) {
    EXPECT_THAT(*gradient, ElementsAre(0, 0, 0, 0, 0));
  }
  for (double value : got.h) EXPECT_FALSE(std::isnan(value));
}

TEST(BlockLstmGpu, TheGateBufferMayHoldAnyNumberOfSteps) {
  for (Dtype dtype : kDtypes) {
    const BlockLstmProblem p = Problem(dtype, 7, 3, 5, 4, 7, true, 0.5f);
    const BlockValues inputs = fake::MakeBlockInputs(p, 1);
    const BlockValues want = Compute(p, inputs);
    const int64_t step = 3 * 4 * 4 * (dtype == Dtype::kFloat64 ? 8 : 4);
    for (int64_t bytes : {int64_t{1}, step, 2 * step + 1, 3 * step, 6 * step}) {
      const BlockValues got = Compute(p, inputs, bytes);
      EXPECT_EQ(got.h, want.h) << bytes;
      EXPECT_EQ(got.w_grad, want.w_grad) << bytes;
    }
  }
}

TEST(BlockLstmGpu, NanStaysInItsRowAndTheClipKeepsIt) {
  const BlockLstmProblem p = Problem(Dtype::kFloat32, 3, 4, 2, 3, 3, true, 0.5f);
  BlockValues inputs = fake::MakeBlockInputs(p, 1);
  constexpr int64_t kRow = 2;
  inputs.x[(1 * 4 + kRow) * 2] = NAN;
  const BlockValues got = Compute(p, inputs);
  for (int64_t at = 0; at < 3 * 4 * 3; ++at) {
    const bool poisoned = at / 3 % 4 == kRow && at / 12 >= 1;
    EXPECT_EQ(std::isnan(got.cs[at]), poisoned) << at;
    EXPECT_EQ(std::isnan(got.h[at]), poisoned) << at;
  }
}

// The calls of both passes of `p` after a first call, which creates and loads everything.
// `gate_steps`: the number of steps that fit the buffer of gates.
std::vector<std::string> CallsOf(const BlockLstmProblem& p, int64_t gate_steps) {
  FakeCuda cuda;
  ProductParts parts(&cuda);
  parts.libraries.chunk_bytes = gate_steps * p.batch * 4 * p.num_units * SizeOf(MathDtype(p.dtype));
  BlockValues values = fake::MakeBlockInputs(p, 1);
  ExactAllocator forward, backward;
  for (int call = 0; call < 2; ++call) {
    cuda.Clear();
    EXPECT_TRUE(RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &values).ok());
  }
  return cuda.calls();
}

const std::vector<std::string> kStart = {"StreamGetCtx", "CtxGetCurrent",      "CtxPushCurrent",
                                         "CtxGetDevice", "DeviceGetAttribute", "SetStream",
                                         "SetWorkspace", "SetMathMode"};

std::vector<std::string> Joined(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// A GPU has run these calls (docs/design/measurements.md, "Runs on GPUs").
TEST(BlockLstmGpu, TheCallsOfOneStep) {
  EXPECT_EQ(CallsOf(Problem(Dtype::kFloat16, 1, 2, 3, 4, 1, false), 1),
            Joined({kStart,
                    {"LaunchKernel convert_f16_to_f32", "GemmEx_64", "GemmEx_64",
                     "LaunchKernel block_lstm_forward_f16"},
                    kStart,
                    {"LaunchKernel block_lstm_backward_f16", "GemmEx_64",
                     "LaunchKernel convert_f32_to_f16", "GemmEx_64", "GemmEx_64", "GemmEx_64",
                     "LaunchKernel block_lstm_sums_f16", "LaunchKernel block_lstm_finish_sums_f16",
                     "MemsetD8Async", "MemsetD8Async", "MemsetD8Async"}}));
}

TEST(BlockLstmGpu, TheCallsOfThreeStepsInTwoBuffers) {
  const std::vector<std::string> forward = {"GemmEx_64", "LaunchKernel block_lstm_forward_bf16"};
  const std::vector<std::string> back = {"LaunchKernel block_lstm_backward_bf16", "GemmEx_64"};
  EXPECT_EQ(
      CallsOf(Problem(Dtype::kBFloat16, 3, 2, 3, 4, 3, true), 2),
      Joined({kStart,
              {"LaunchKernel convert_bf16_to_f32", "GemmEx_64"},
              forward,
              forward,
              {"GemmEx_64"},
              forward,
              kStart,
              back,
              back,
              back,
              // dx and dw of x, then dw of h, which is the sum of two products.
              {"LaunchKernel convert_f32_to_bf16", "GemmEx_64", "GemmEx_64", "GemmEx_64",
               "GemmEx_64", "LaunchKernel convert_f32_to_bf16", "LaunchKernel block_lstm_sums_bf16",
               "LaunchKernel block_lstm_finish_sums_bf16"}}));
}

TEST(BlockLstmGpu, ProductsAccumulateInFloat32AndTf32IsAskedFor) {
  const struct {
    Dtype dtype;
    bool tf32;
    cublasComputeType_t compute;
  } cases[] = {{Dtype::kFloat32, false, CUBLAS_COMPUTE_32F},
               {Dtype::kFloat32, true, CUBLAS_COMPUTE_32F_FAST_TF32},
               {Dtype::kFloat64, true, CUBLAS_COMPUTE_64F},
               {Dtype::kFloat16, true, CUBLAS_COMPUTE_32F},
               {Dtype::kBFloat16, false, CUBLAS_COMPUTE_32F}};
  for (const auto& c : cases) {
    FakeCuda cuda;
    ProductParts parts(&cuda);
    BlockLstmProblem p = Problem(c.dtype, 4, 2, 3, 4, 4, true);
    p.allow_tf32 = c.tf32;
    BlockValues values = fake::MakeBlockInputs(p, 1);
    ExactAllocator forward, backward;
    ASSERT_TRUE(RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &values).ok());
    // Forward: x w and h w for each step. Backward: dh for each step, dx, dw of x, and dw of h
    // twice.
    ASSERT_EQ(cuda.products().size(), 1u + 4 + 4 + 1 + 1 + 2) << fake::Describe(p);
    for (const FakeCuda::Product& product : cuda.products()) {
      EXPECT_EQ(product.compute, c.compute) << fake::Describe(p);
      EXPECT_EQ(product.math_mode, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
      // A sum that another product is added to must not have been rounded to 16 bits.
      if (product.beta != 0) {
        EXPECT_TRUE(product.result_type == CUDA_R_32F || product.result_type == CUDA_R_64F);
      }
    }
  }
}

TEST(BlockLstmGpu, TheWorkspaceFitsTheArchitecture) {
  for (int major : {6, 8, 9, 12}) {
    FakeCuda cuda;
    cuda.compute_capability_major = major;
    ProductParts parts(&cuda);
    const BlockLstmProblem p = Problem(Dtype::kFloat32, 1, 1, 1, 1, 1, false);
    BlockValues values = fake::MakeBlockInputs(p, 1);
    ExactAllocator forward, backward;
    ASSERT_TRUE(RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &values).ok());
    EXPECT_EQ(cuda.workspace_bytes(), size_t{major >= 9 ? 32u : 8u} << 20) << major;
  }
}

// Runs with a failure of each call in turn until a run has no failure. Returns the number of
// failures.
int64_t FailEachCall(const BlockLstmProblem& p) {
  const BlockValues inputs = fake::MakeBlockInputs(p, 1);
  const BlockValues want = Compute(p, inputs);
  for (int64_t n = 0;; ++n) {
    FakeCuda cuda;
    {
      ProductParts parts(&cuda);
      BlockValues values = inputs;
      ExactAllocator forward, backward;
      cuda.FailAt(n);
      const Status status =
          RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &values);
      EXPECT_TRUE(cuda.pushed().empty()) << n;
      if (!cuda.failed()) {
        EXPECT_TRUE(status.ok()) << status.message();
        return n;
      }
      // The failed call is the last call.
      EXPECT_EQ(static_cast<int64_t>(cuda.calls().size()), n + 1);
      const std::string call = cuda.calls().back();
      const std::string function = call.substr(0, call.find(' '));
      EXPECT_EQ(status.code(), Code::kInternal) << call;
      EXPECT_THAT(status.message(), HasSubstr(function + " failed with C")) << call;
      EXPECT_THAT(status.message(), HasSubstr("text of ")) << call;
      if (function != call) {
        EXPECT_THAT(status.message(), HasSubstr(call.substr(function.size() + 1))) << call;
      }
      // A failure has no later effect: the next call of the same executor is correct.
      BlockValues again = inputs;
      const Status second =
          RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &again);
      EXPECT_TRUE(second.ok()) << second.message();
      EXPECT_EQ(again.h, want.h);
      EXPECT_EQ(again.w_grad, want.w_grad);
    }
    EXPECT_EQ(cuda.live_modules(), 0) << n;
    EXPECT_EQ(cuda.live_handles(), 0) << n;
  }
}

TEST(BlockLstmGpu, EveryCallMayFail) {
  EXPECT_GT(FailEachCall(Problem(Dtype::kBFloat16, 3, 2, 2, 3, 2, false)), 40);
  EXPECT_GT(FailEachCall(Problem(Dtype::kFloat32, 2, 2, 2, 3, 2, true)), 30);
  EXPECT_GT(FailEachCall(Problem(Dtype::kFloat32, 2, 2, 2, 3, 0, true)), 15);
}

TEST(BlockLstmGpu, OutOfMemoryIsResourceExhausted) {
  const BlockLstmProblem p = Problem(Dtype::kFloat16, 3, 2, 2, 3, 3, true);
  const BlockValues inputs = fake::MakeBlockInputs(p, 1);
  for (int64_t direction : {0, 1}) {
    for (int64_t n = 0;; ++n) {
      FakeCuda cuda;
      ProductParts parts(&cuda);
      BlockValues values = inputs;
      ExactAllocator forward(direction == 0 ? n : -1), backward(direction == 1 ? n : -1);
      const Status status =
          RunBlockLstm(parts.libraries, p, &forward, &backward, cuda.stream(), &values);
      EXPECT_TRUE(cuda.pushed().empty());
      const int64_t count = direction == 0 ? forward.count() : backward.count();
      if (count <= n) {
        EXPECT_TRUE(status.ok());
        EXPECT_EQ(n, direction == 0 ? 3 : 6);
        break;
      }
      EXPECT_EQ(status.code(), Code::kResourceExhausted);
      EXPECT_THAT(status.message(), HasSubstr("There is no GPU memory for "));
    }
  }
}

TEST(CublasHandles, AreReusedInTheirContextAndNeverShared) {
  FakeCuda cuda;
  ASSERT_EQ(cuda.driver().CtxPushCurrent(cuda.context()), CUDA_SUCCESS);
  {
    CublasHandles handles(&cuda.cublas());
    constexpr uint64_t a = 1, b = 2;  // ids of contexts
    cublasHandle_t first = nullptr;
    {
      CublasHandles::Lease one, two;
      ASSERT_TRUE(handles.Acquire(a, &one).ok());
      ASSERT_TRUE(handles.Acquire(a, &two).ok());
      EXPECT_NE(one.get(), two.get());
      first = one.get();
    }
    CublasHandles::Lease again, last, other;
    ASSERT_TRUE(handles.Acquire(a, &again).ok());
    ASSERT_TRUE(handles.Acquire(a, &last).ok());
    ASSERT_TRUE(handles.Acquire(b, &other).ok());
    EXPECT_TRUE(again.get() == first || last.get() == first);
    EXPECT_EQ(cuda.Count("Create"), 3);
    EXPECT_EQ(cuda.live_handles(), 3);
  }
  EXPECT_EQ(cuda.live_handles(), 0);
}

// All overlapping calls together hold the device memory of a few handles only.
TEST(CublasHandles, AContextHasAFewAndFurtherUsersWait) {
  FakeCuda cuda;
  ASSERT_EQ(cuda.driver().CtxPushCurrent(cuda.context()), CUDA_SUCCESS);
  CublasHandles handles(&cuda.cublas());
  constexpr int kMost = CublasHandles::kMostPerContext;
  constexpr uint64_t context = 1;
  auto taken = std::make_unique<CublasHandles::Lease[]>(kMost);
  for (int k = 0; k < kMost; ++k) ASSERT_TRUE(handles.Acquire(context, &taken[k]).ok());
  std::atomic<bool> served{false};
  std::thread further([&] {
    CublasHandles::Lease lease;
    EXPECT_TRUE(handles.Acquire(context, &lease).ok());
    served = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(served);
  taken.reset();
  further.join();
  EXPECT_TRUE(served);
  EXPECT_EQ(cuda.Count("Create"), kMost);
}

}  // namespace
}  // namespace rnn_ops::gpu
