// Runs the executor of LayerRNN on a FakeCuda, with the problems and values of the tests of the
// CPU.
#ifndef TF_RNN_OPS_TESTS_CC_GPU_LAYER_RUNS_H_
#define TF_RNN_OPS_TESTS_CC_GPU_LAYER_RUNS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/layer/layer_executor.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/gpu/fake_cuda.h"
#include "tests/cc/gpu/product_parts.h"

namespace rnn_ops {
namespace gpu {
namespace fake {

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
  using Vec = std::vector<double>;
  void* Memory(Vec RnnValues::* field);
  void* Output(Vec RnnValues::* field, int64_t elements);
  void Read(const cpu::testing::Fields<RnnValues>& fields);
  LayerInputs Inputs();

  const RnnCase case_;
  ExactAllocator memory_;
  std::vector<std::pair<Vec RnnValues::*, void*>> tensors_;
  int32_t* lengths_ = nullptr;
  int64_t* seed_ = nullptr;
  void* reserve_ = nullptr;
};

// The values with each weight and input changed by half an epsilon, up or down.
RnnValues Perturbed(const RnnValues& values, Dtype dtype);

// Products of 16-bit types have 16-bit operands, so h and the gradients of gates are rounded at
// each step. A network amplifies these errors as it amplifies those of its weights: at most
// `factor` times what half an epsilon there changes.
void ExpectNearAsRounded(const cpu::testing::Fields<RnnValues>& fields, const RnnValues& got,
                         const RnnValues& want, const RnnValues& changed, Dtype dtype,
                         double factor);

}  // namespace fake
}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_CC_GPU_LAYER_RUNS_H_
