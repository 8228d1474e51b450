// Runs the executor of LayerRNN on a FakeCuda, with the problems and values of the tests of the
// CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/steps/layer.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/problem_line.h"
#include "tests/cc/gpu/device_tensors.h"
#include "tests/cc/gpu/fake_cuda.h"
#include "tests/cc/gpu/product_parts.h"

namespace rnn_ops::gpu::fake {

using cpu::testing::RnnCase;
using cpu::testing::RnnValues;

// The problem of a case, with the key that `seed` and 0 give where zoneout draws.
LayerProblem ProblemOf(const RnnCase& c);

// One call and its gradient. Memory of outputs is NaN before a pass.
class LayerRun {
 public:
  // `seed`: for zoneout, if it draws. `gives_lengths`: false if all rows have T steps and the call
  // has no tensor of lengths.
  LayerRun(const RnnCase& c, const RnnValues& inputs, uint64_t seed, bool gives_lengths);

  Status Forward(const ProductLibraries& libraries, DeviceAllocator* allocator, void* stream);
  Status Backward(const ProductLibraries& libraries, DeviceAllocator* allocator, void* stream);

  void SetLengths(const std::vector<int32_t>& lengths);
  void SetSeed(int64_t seed, int64_t seed2);
  // Overwrites the header of the reserve space.
  void SpoilReserve();

  RnnValues values;  // results appear here
  LayerProblem problem;
  LayerAlgorithm algorithm = LayerAlgorithm::kSteps;

 private:
  LayerInputs Inputs();

  const RnnCase case_;
  DeviceTensors<RnnValues> tensors_;
  int32_t* lengths_ = nullptr;
  int64_t* seed_ = nullptr;
  void* reserve_ = nullptr;
};

// The values with each weight and input changed by half an epsilon, up or down.
RnnValues Perturbed(const RnnValues& values, Dtype dtype);

// Compares the results of a case with the reference. Returns whether gradients could be compared.
// `layers`: a factor of all bounds.
bool ExpectRight(const RnnCase& c, const RnnValues& inputs, const RnnValues& got,
                 double layers = 1);

// Products of 16-bit types have 16-bit operands, so h and the gradients of gates are rounded at
// each step. A network amplifies these errors as it amplifies those of its weights: at most
// `factor` times what half an epsilon there changes.
void ExpectNearAsRounded(const cpu::testing::Fields<RnnValues>& fields, const RnnValues& got,
                         const RnnValues& want, const RnnValues& changed, Dtype dtype,
                         double factor);

// The algorithms of LayerRNN, and their names for parametrized tests.
const auto kAlgorithms = ::testing::Values(LayerAlgorithm::kSteps, LayerAlgorithm::kPersistent);
std::string NameOf(const ::testing::TestParamInfo<LayerAlgorithm>& info);

// The main function of a test with files of problems (see problems_test.cc) as arguments.
int RunTestsOnFiles(int argc, char** argv);
// Runs `check` on the problems of the files that `applies` accepts, until one fails. It returns
// whether gradients could be compared.
void CheckFiles(const std::function<bool(const cpu::RnnProblem&)>& applies,
                const std::function<bool(const RnnCase&, uint64_t seed)>& check);

}  // namespace rnn_ops::gpu::fake
