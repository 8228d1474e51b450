// Tests CudnnRNNV3 on the engine of LayerRNN, on host memory: its results over the problems of the
// CPU's tests, and a failure of each call.
//
//   stack_gpu_test FILE...   the problems of CudnnRNNV3 in these files, see problems_test.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cc/gpu/steps/stack.h"
#include "tests/cc/cpu/rnn_cases.h"
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
using fake::ProductParts;
using ::testing::AllOf;
using ::testing::HasSubstr;
using R = RnnValues;

// One call and its gradient, with values as doubles.
class StackRun {
 public:
  StackRun(const RnnCase& c, const R& inputs)
      : values(inputs), case_(c), tensors_(c.problem.dtype, &values) {
    static_cast<RnnConfig&>(problem) = c.problem;
    problem.dtype = c.problem.dtype;
    problem.lengths = case_.lengths.data();
  }

  Status Forward(const ProductParts& parts, LayerAlgorithm algorithm, DeviceAllocator* scratch,
                 void* stream) {
    const auto n = cpu::reference::ElementsOf(case_.problem);
    RnnForwardArgs args;
    args.problem = problem;
    args.dropout_seed = uint64_t{case_.problem.dropout_key[1]} << 32 | case_.problem.dropout_key[0];
    args.x = tensors_.In(&R::x), args.h0 = tensors_.In(&R::h0), args.c0 = tensors_.In(&R::c0);
    args.params = tensors_.In(&R::params);
    args.y = tensors_.Out(&R::y, n.y), args.h_n = tensors_.Out(&R::h_n, n.h),
    args.c_n = tensors_.Out(&R::c_n, n.c);
    args.reserve = &reserves_, args.algorithm = &code;
    RNN_OPS_RETURN_IF_ERROR(
        RunStackForward(parts.libraries, algorithm, args, {0, stream, scratch}));
    reserve = reserves_.memory, reserve_bytes = reserves_.bytes;
    tensors_.Read(cpu::testing::kRnnOutputs);
    return Status();
  }

  Status Backward(const ProductParts& parts, LayerAlgorithm algorithm, DeviceAllocator* scratch,
                  void* stream) {
    const auto n = cpu::reference::ElementsOf(case_.problem);
    RnnBackwardArgs args;
    args.problem = problem;
    args.x = tensors_.In(&R::x), args.h0 = tensors_.In(&R::h0), args.c0 = tensors_.In(&R::c0);
    args.params = tensors_.In(&R::params), args.y = tensors_.In(&R::y);
    args.dy = tensors_.In(&R::dy), args.dh_n = tensors_.In(&R::dh_n),
    args.dc_n = tensors_.In(&R::dc_n);
    args.reserve = reserve, args.reserve_bytes = reserve_bytes, args.algorithm = code;
    args.dx = tensors_.Out(&R::dx, n.x), args.dh0 = tensors_.Out(&R::dh0, n.h);
    args.dc0 = tensors_.Out(&R::dc0, n.c), args.dparams = tensors_.Out(&R::dparams, n.params);
    RNN_OPS_RETURN_IF_ERROR(
        RunStackBackward(parts.libraries, algorithm, args, {0, stream, scratch}));
    tensors_.Read(cpu::testing::kRnnGradients);
    return Status();
  }

  R values;  // results appear here
  StackProblem problem;
  void* reserve = nullptr;
  int64_t reserve_bytes = 0;
  int8_t code = 0;

 private:
  class Reserves : public DeviceAllocator {
   public:
    void* Allocate(int64_t size) override {
      bytes = size;
      return memory = memory_.Allocate(size);
    }
    void* memory = nullptr;
    int64_t bytes = 0;

   private:
    ExactAllocator memory_;
  };

  const RnnCase case_;
  fake::DeviceTensors<R> tensors_;
  Reserves reserves_;
};

struct Computed {
  R values;
  std::vector<std::string> calls;
};

// `backward`: the algorithm of the gradient.
Computed Compute(const RnnCase& c, const R& inputs, LayerAlgorithm forward,
                 LayerAlgorithm backward) {
  FakeCuda cuda;
  ProductParts parts(&cuda);
  ExactAllocator memory;
  StackRun run(c, inputs);
  Status status = run.Forward(parts, forward, &memory, cuda.stream());
  EXPECT_TRUE(status.ok()) << status.message();
  if (status.ok() && c.problem.is_training) {
    EXPECT_EQ(run.code, kStackAlgorithm);
    EXPECT_EQ(run.reserve_bytes, StackReserveBytes(run.problem));
    status = run.Backward(parts, backward, &memory, cuda.stream());
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_TRUE(cuda.pushed().empty());
  return {run.values, cuda.calls()};
}

class StackGpu : public ::testing::TestWithParam<LayerAlgorithm> {
 protected:
  R Run(const RnnCase& c, const R& inputs) {
    return Compute(c, inputs, GetParam(), GetParam()).values;
  }
  // Returns whether gradients could be compared.
  bool Check(const RnnCase& c, uint64_t seed);
};

bool StackGpu::Check(const RnnCase& c, uint64_t seed) {
  SCOPED_TRACE(cpu::testing::Describe(c) + " seed=" + std::to_string(seed));
  if (std::all_of(c.lengths.begin(), c.lengths.end(), [](int32_t n) { return n == 0; })) {
    return true;  // rnn_gpu.h runs such calls without the engine
  }
  const R inputs = cpu::testing::RandomInputs(c, seed);
  return fake::ExpectRight(c, inputs, Run(c, inputs), static_cast<double>(c.problem.num_layers));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, StackGpu, fake::kAlgorithms, fake::NameOf);

TEST_P(StackGpu, Problems) {
  fake::CheckFiles([](const cpu::RnnProblem& p) { return p.weight_layout == cpu::kOpaqueWeights; },
                   [this](const RnnCase& c, uint64_t seed) { return Check(c, seed); });
}

TEST_P(StackGpu, RandomProblems) {
  std::mt19937_64 random(52);
  int undecided = 0, count = 0;
  for (Dtype dtype : cpu::testing::kDtypes) {
    for (uint64_t seed = 0; seed < 60; ++seed, ++count) {
      if (!Check(cpu::testing::RandomCase(random, dtype), seed)) ++undecided;
      if (HasFailure()) return;
    }
  }
  std::cout << count << " problems, " << undecided << " undecided\n";
  EXPECT_LT(undecided, count / 4);
}

// A problem of two bidirectional layers with the options that `change` sets.
template <typename F>
RnnCase Case(Dtype dtype, RnnMode mode, F&& change) {
  RnnCase c = cpu::testing::MakeCase(dtype, static_cast<int32_t>(mode), 5, 3, 4, 6);
  c.problem.num_layers = 2, c.problem.direction = Direction::kBidirectional;
  c.problem.dropout_key[0] = 17, c.problem.dropout_key[1] = 71;
  c.lengths = {5, 0, 3};
  change(&c.problem);
  return c;
}

// One case of each path.
std::vector<RnnCase> Kinds(Dtype dtype) {
  const auto nothing = [](cpu::RnnProblem*) {};
  RnnCase simple = Case(dtype, RnnMode::kLstm, [](cpu::RnnProblem* p) {
    p->num_layers = 3, p->direction = Direction::kUnidirectional;
  });
  simple.lengths = {5, 5, 5};
  return {
      simple,
      Case(dtype, RnnMode::kTanh, nothing),
      Case(dtype, RnnMode::kGru, [](cpu::RnnProblem* p) { p->time_major = false; }),
      Case(dtype, RnnMode::kGru,
           [](cpu::RnnProblem* p) { p->input_mode = InputMode::kSkip, p->input_size = 6; }),
      Case(dtype, RnnMode::kLstm,
           [](cpu::RnnProblem* p) { p->num_proj = 3, p->dropout = 0.4f, p->time_major = false; }),
      Case(dtype, RnnMode::kLstm,
           [](cpu::RnnProblem* p) {
             p->num_layers = 3, p->direction = Direction::kUnidirectional, p->dropout = 0.5f;
           }),
  };
}

TEST_P(StackGpu, Kinds) {
  for (Dtype dtype : cpu::testing::kDtypes) {
    for (const RnnCase& c : Kinds(dtype)) Check(c, 3);
  }
}

TEST_P(StackGpu, AllOutputsMayBeDropped) {
  Check(Case(Dtype::kFloat32, RnnMode::kLstm, [](cpu::RnnProblem* p) { p->dropout = 1; }), 3);
}

// Without dropout, inference gives the bits of training, and both layouts give the same bits.
TEST_P(StackGpu, InferenceAndBothLayouts) {
  for (RnnCase c : Kinds(Dtype::kFloat16)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const R inputs = cpu::testing::RandomInputs(c, 1), want = Run(c, inputs);
    RnnCase other = c;
    other.problem.time_major = !c.problem.time_major;
    const auto in_other = [&](const R& values, const RnnCase& from) {
      return cpu::testing::OtherLayout(from, from.problem.time_major, values);
    };
    const R got = in_other(Run(other, in_other(inputs, c)), other);
    ExpectSame(kRnnOutputs, got, want);
    ExpectSame(kRnnGradients, got, want);
    if (c.problem.dropout > 0) continue;
    c.problem.is_training = false;
    ExpectSame(kRnnOutputs, Run(c, inputs), want);
  }
}

TEST_P(StackGpu, PaddingHasNoEffect) {
  for (const RnnCase& c : Kinds(Dtype::kFloat32)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const cpu::RnnProblem& p = c.problem;
    const R inputs = cpu::testing::RandomInputs(c, 2);
    R padded = inputs;
    for (int64_t t = 0; t < p.max_time; ++t) {
      for (int64_t b = 0; b < p.batch; ++b) {
        if (t < c.lengths[b]) continue;
        const int64_t row = p.time_major ? t * p.batch + b : b * p.max_time + t;
        std::fill_n(padded.x.begin() + row * p.input_size, p.input_size, NAN);
        std::fill_n(padded.dy.begin() + row * p.output_size(), p.output_size(), NAN);
      }
    }
    const R got = Run(c, padded), want = Run(c, inputs);
    ExpectSame(kRnnOutputs, got, want);
    ExpectSame(kRnnGradients, got, want);
  }
}

// The other algorithm, a second time, and in a reserve space that a program made larger.
TEST_P(StackGpu, GradientsOfOneReserveSpace) {
  for (const RnnCase& c : Kinds(Dtype::kFloat32)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const R inputs = cpu::testing::RandomInputs(c, 2);
    const R want = Run(c, inputs);
    FakeCuda cuda;
    ProductParts parts(&cuda);
    ExactAllocator memory;
    StackRun run(c, inputs);
    ASSERT_TRUE(run.Forward(parts, GetParam(), &memory, cuda.stream()).ok());
    for (LayerAlgorithm algorithm : {LayerAlgorithm::kSteps, LayerAlgorithm::kPersistent}) {
      ASSERT_TRUE(run.Backward(parts, algorithm, &memory, cuda.stream()).ok());
      ExpectNear(kRnnGradients, run.values, want, 64 * Epsilon(Dtype::kFloat32));
    }
    run.reserve_bytes += 256;
    const Status status = run.Backward(parts, GetParam(), &memory, cuda.stream());
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("reserve_space must be the output of the forward op"));
    run.code = static_cast<int8_t>(run.code | kReserveOfProgram);
    EXPECT_TRUE(run.Backward(parts, GetParam(), &memory, cuda.stream()).ok());
  }
}

TEST_P(StackGpu, AReserveSpaceOfAnotherProblemGivesNan) {
  const auto without = Case(Dtype::kFloat32, RnnMode::kLstm, [](cpu::RnnProblem*) {});
  const auto with =
      Case(Dtype::kFloat32, RnnMode::kLstm, [](cpu::RnnProblem* p) { p->dropout = 0.5f; });
  FakeCuda cuda;
  ProductParts parts(&cuda);
  ExactAllocator memory;
  StackRun one(without, cpu::testing::RandomInputs(without, 2));
  StackRun other(with, cpu::testing::RandomInputs(with, 2));
  ASSERT_TRUE(one.Forward(parts, GetParam(), &memory, cuda.stream()).ok());
  ASSERT_TRUE(other.Forward(parts, GetParam(), &memory, cuda.stream()).ok());
  ASSERT_EQ(one.reserve_bytes, other.reserve_bytes);
  std::swap(one.reserve, other.reserve);
  for (StackRun* run : {&one, &other}) {
    ASSERT_TRUE(run->Backward(parts, GetParam(), &memory, cuda.stream()).ok());
    for (double value : run->values.dparams) EXPECT_TRUE(std::isnan(value));
    EXPECT_TRUE(std::isnan(run->values.dx[0]));
    EXPECT_TRUE(std::isnan(run->values.dh0[0]));
  }
}

// The masks depend on the key.
TEST(Stack, AnotherKeyDrawsOtherMasks) {
  RnnCase c = Kinds(Dtype::kFloat32)[5];
  const R inputs = cpu::testing::RandomInputs(c, 2);
  const auto steps = LayerAlgorithm::kSteps;
  const R first = Compute(c, inputs, steps, steps).values;
  for (int word : {0, 1}) {
    RnnCase other = c;
    ++other.problem.dropout_key[word];
    EXPECT_NE(Compute(other, inputs, steps, steps).values.y, first.y);
  }
}

// Only the lengths move from the host, and only where a row is short. Nothing waits.
TEST(Stack, CopiesFromTheHost) {
  for (const RnnCase& c : Kinds(Dtype::kFloat32)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const auto steps = LayerAlgorithm::kSteps;
    const auto calls = Compute(c, cpu::testing::RandomInputs(c, 1), steps, steps).calls;
    int64_t copies = 0;
    for (const std::string& call : calls) {
      copies += call.rfind("Memcpy", 0) == 0;
      EXPECT_TRUE(call.find("Synchronize") == std::string::npos) << call;
    }
    EXPECT_EQ(copies, c.lengths[1] == 5 ? 0 : 2);
  }
}

Status RunBoth(const ProductParts& parts, FakeCuda* cuda, StackRun* run, LayerAlgorithm algorithm,
               DeviceAllocator* memory) {
  RNN_OPS_RETURN_IF_ERROR(run->Forward(parts, algorithm, memory, cuda->stream()));
  return run->Backward(parts, algorithm, memory, cuda->stream());
}

// The next call of the same executor is right.
void ExpectRight(const ProductParts& parts, FakeCuda* cuda, const RnnCase& c, const R& inputs,
                 const R& want) {
  ExactAllocator memory;
  StackRun again(c, inputs);
  ASSERT_TRUE(RunBoth(parts, cuda, &again, LayerAlgorithm::kSteps, &memory).ok());
  ExpectSame(kRnnOutputs, again.values, want);
  ExpectSame(kRnnGradients, again.values, want);
}

// A replay of a graph could not read the lengths again.
TEST(Stack, ACaptureOfLengthsIsRefused) {
  RnnCase c = cpu::testing::MakeCase(Dtype::kFloat32, /*mode=*/2, 3, 2, 4, 5);
  for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{3, 3}, {3, 2}}) {
    c.lengths = lengths;
    FakeCuda cuda;
    cuda.is_capturing = true;
    ProductParts parts(&cuda);
    ExactAllocator memory;
    StackRun run(c, cpu::testing::RandomInputs(c, 1));
    const Status status = run.Forward(parts, LayerAlgorithm::kSteps, &memory, cuda.stream());
    EXPECT_EQ(status.code(), lengths[1] == 3 ? Code::kOk : Code::kFailedPrecondition);
  }
}

TEST(Stack, EveryCallMayFail) {
  const auto steps = LayerAlgorithm::kSteps;
  for (const RnnCase& c : Kinds(Dtype::kBFloat16)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const R inputs = cpu::testing::RandomInputs(c, 1);
    const R want = Compute(c, inputs, steps, steps).values;
    bool failed = true;
    for (int64_t n = 0; failed; ++n) {
      FakeCuda cuda;
      ProductParts parts(&cuda);
      ExactAllocator memory;
      StackRun run(c, inputs);
      cuda.FailAt(n);
      const Status status = RunBoth(parts, &cuda, &run, steps, &memory);
      failed = cuda.failed();
      EXPECT_EQ(status.ok(), !failed);
      EXPECT_TRUE(cuda.pushed().empty()) << n;
      if (!failed) {
        EXPECT_GT(n, 100);
        continue;
      }
      EXPECT_EQ(status.code(), Code::kInternal);
      EXPECT_THAT(status.message(), AllOf(HasSubstr(" failed with C"), HasSubstr("text of ")));
      if (n % 16 == 0) ExpectRight(parts, &cuda, c, inputs, want);
    }
  }
}

TEST(Stack, OutOfMemoryIsResourceExhausted) {
  const auto steps = LayerAlgorithm::kSteps;
  for (const RnnCase& c : Kinds(Dtype::kFloat32)) {
    SCOPED_TRACE(cpu::testing::Describe(c));
    const R inputs = cpu::testing::RandomInputs(c, 1);
    const R want = Compute(c, inputs, steps, steps).values;
    FakeCuda cuda;
    ProductParts parts(&cuda);
    for (int64_t n = 0;; ++n) {
      ExactAllocator memory(n);
      StackRun run(c, inputs);
      const Status status = RunBoth(parts, &cuda, &run, steps, &memory);
      if (memory.count() <= n) {
        EXPECT_TRUE(status.ok());
        EXPECT_GT(n, 10);
        break;
      }
      EXPECT_EQ(status.code(), Code::kResourceExhausted);
      EXPECT_THAT(status.message(), HasSubstr("There is no GPU memory for "));
      ExpectRight(parts, &cuda, c, inputs, want);
    }
  }
}

// The scratch memory of a layer serves the next layer.
TEST(Stack, MoreLayersNeedNoMoreScratchForEach) {
  const auto steps = LayerAlgorithm::kSteps;
  int64_t counts[2];
  for (int64_t layers : {4, 8}) {
    RnnCase c = cpu::testing::MakeCase(Dtype::kFloat32, 2, 5, 3, 6, 6);
    c.problem.num_layers = layers;
    FakeCuda cuda;
    ProductParts parts(&cuda);
    ExactAllocator memory;
    StackRun run(c, cpu::testing::RandomInputs(c, 1));
    ASSERT_TRUE(RunBoth(parts, &cuda, &run, steps, &memory).ok());
    counts[layers / 8] = memory.count();
  }
  EXPECT_EQ(counts[0], counts[1]);
}

}  // namespace
}  // namespace rnn_ops::gpu

int main(int argc, char** argv) { return rnn_ops::gpu::fake::RunTestsOnFiles(argc, argv); }
