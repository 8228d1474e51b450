// Whole calls of the executor on host memory, and their expected results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cc/core/op/rnn_config.h"
#include "cc/gpu/cudnn/rnn_executor.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/gpu/host_device_ops.h"

namespace rnn_ops::gpu::fake {

using Values = cpu::reference::RnnValues;

// A problem with its own data, which depends only on the configuration.
struct RnnCase {
  RnnConfig config;
  Dtype dtype = Dtype::kFloat64;
  std::vector<int32_t> lengths;
  bool allow_tf32 = false;
  uint64_t dropout_seed = 0;
  DropoutGenerator* generator = nullptr;
  DeviceAllocator* generator_memory = nullptr;

  std::string Describe() const;
  StackProblem Problem() const;
};

// A small case: T = 4, B = 3 with lengths 4, 2, 3, I = 3, H = 4, in float64.
RnnCase SmallCase(RnnMode mode);

// Inputs rounded to the type of the case. The padding of x and dy is NaN unless `zero_padding` is
// true. The same applies to the input and the initial states of sequences without steps, because no
// other result may depend on them.
Values MakeInputs(const RnnCase& c, bool zero_padding);

// The results of the reference of the CPU tests.
Values Expected(const RnnCase& c);

// The parts of an executor on host memory, with the traits of a mock GPU.
RnnExecutorParts HostParts(const CudnnApi* cudnn, const DeviceOps* ops, AlgoPolicy policy);

// The results of a call: its outputs and its reserve space.
struct Outcome {
  Status status;
  Values values;  // only the outputs
  std::vector<char> reserve;
  int8_t algorithm = 0;
  int reserve_requests = 0;
};

// Runs with buffers of exactly the right size. Output buffers are filled with NaN before.
Outcome RunForward(RnnExecutor* executor, const RnnCase& c, const Values& in,
                   const RnnGpuCall& call);
// `forward`: the result of RunForward.
Outcome RunBackward(RnnExecutor* executor, const RnnCase& c, const Values& in,
                    const Outcome& forward, const RnnGpuCall& call, bool keeps_reserve = true);

// The largest difference of an element, relative to the largest element of the tensor or 1. NaN
// counts as infinite unless both are NaN.
double Difference(const std::vector<double>& actual, const std::vector<double>& expected);

// Runs forward and backward on a new allocator, and compares all results with `expected`.
void ExpectResults(RnnExecutor* executor, const RnnCase& c, const Values& in,
                   const Values& expected, double bound);

}  // namespace rnn_ops::gpu::fake
