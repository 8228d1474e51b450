// Runs the kernels of a table on tensors of doubles. The harness converts the tensors to the dtype
// of the problem, allocates the memory that the caller of a kernel must allocate, with guards
// around it, and converts the results back. A run fails the test if a guard or an input was
// written, or if an output was not written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/runtime/team.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/kernel_args.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/guarded_buffer.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/kernel_tables.h"

namespace rnn_ops::cpu::testing {

using reference::BlockLstmValues;
using reference::LinearValues;
using reference::RnnValues;
using reference::Vec;

// The value of `dtype` nearest to v, ties to even.
double RoundTo(Dtype dtype, double v);
// The distance from 1 to the next larger value of `dtype`.
double Epsilon(Dtype dtype);
const char* DtypeName(Dtype dtype);

// A ParallelFor on a real team of threads.
class TeamOfThreads {
 public:
  explicit TeamOfThreads(int32_t num_threads);
  ~TeamOfThreads();
  ParallelFor Get();

 private:
  std::vector<std::thread> helpers_;
  std::unique_ptr<Team> team_;
};

// The memory that a kernel requests, surrounded by guards.
class GuardedMemory {
 public:
  // `fill`: the byte that fills new memory. `reserve`: if not null, the reserve space.
  explicit GuardedMemory(unsigned char fill, GuardedBuffer* reserve = nullptr)
      : fill_(fill), reserve_(reserve) {}

  MemorySource Get();
  bool GuardsIntact() const { return scratch_ == nullptr || scratch_->GuardsIntact(); }
  std::unique_ptr<GuardedBuffer> TakeNewReserve() { return std::move(new_reserve_); }

 private:
  const unsigned char fill_;
  GuardedBuffer* const reserve_;
  std::unique_ptr<GuardedBuffer> scratch_, new_reserve_;
};

// The memory that a kernel requests, without running the kernel.
template <typename Args>
MemorySizes AskedMemory(int32_t (*kernel)(const Args*), Args args) {
  MemorySizes asked = {};
  args.memory = {&asked, [](void* context, const MemorySizes& sizes, MemoryBlocks*) {
                   *static_cast<MemorySizes*>(context) = sizes;
                   return false;
                 }};
  EXPECT_EQ(kernel(&args), kStopped);
  return asked;
}

template <typename Values>
struct Field {
  Arg arg;
  Vec Values::* vec;
  const char* prefix = "";  // prefix of the name, for gradients

  std::string name() const { return prefix + std::string(Name(arg)); }
};
template <typename Values>
using Fields = std::vector<Field<Values>>;

extern const Fields<RnnValues> kRnnInputs, kRnnGradientInputs, kRnnOutputs, kRnnGradients;
extern const Fields<BlockLstmValues> kBlockInputs, kBlockGradientInputs, kBlockOutputs,
    kBlockGradients;
extern const Fields<LinearValues> kLinearInputs, kLinearOutputs;

struct RnnCase {
  RnnProblem problem = {};       // without lengths
  std::vector<int32_t> lengths;  // [B]
};
// The problem as a line in the format of tests/robustness/problem/README.md.
std::string Describe(const RnnCase& c);
std::string Describe(const BlockLstmProblem& p);

struct RunOptions {
  int32_t num_threads = 1;
  unsigned char fill = 0xFF;  // byte in outputs, reserve space and scratch before the call
  bool expect_nan = false;    // NaN in an output does not mean "not written"
  // Whether a forward pass is the second run of a kept plan. The plan is made for another number of
  // threads, and the first run has its own tensors, which are gone in the second.
  bool kept_plan = false;
};

// The common part of the runs of all op families: one buffer for each tensor.
template <typename Values>
class Run {
 public:
  Run(Dtype dtype, const Values& inputs, const RunOptions& options, bool int8_weights = false)
      : values(inputs), dtype_(dtype), options_(options), int8_weights_(int8_weights) {}

  Values values;  // results appear here

 protected:
  ElementType TypeOfInput(Arg arg) const;
  // Allocates buffers for the fields: filled with `values`, or with the fill byte.
  void Provide(const Fields<Values>& fields);
  void ProvideOutputs(const Fields<Values>& fields);
  void* At(Vec Values::* vec);
  // Sets the fields in `tensors`. Inputs without elements are absent.
  void SetInputs(const Fields<Values>& fields, CallTensors* tensors);
  void SetOutputs(const Fields<Values>& fields, CallTensors* tensors);
  // Runs a kernel that has no reserve space.
  template <typename Args>
  void Compute(int32_t (*kernel)(const Args*), Args args);
  // Checks guards and inputs, and converts `outputs`.
  void Collect(const Fields<Values>& outputs, const std::string& what);

  struct Tensor {
    Vec Values::* vec;
    std::string name;
    std::unique_ptr<GuardedBuffer> buffer;
    std::vector<unsigned char> before;  // inputs
    bool input;
  };
  Dtype dtype_;
  RunOptions options_;
  bool int8_weights_;
  std::vector<Tensor> tensors_;
};

class RnnRun : public Run<RnnValues> {
 public:
  RnnRun(const KernelTable& table, const RnnCase& c, const RnnValues& inputs,
         const RunOptions& options = {});
  int32_t Forward();
  // Runs inference on packed weights; the unpacked weights are absent.
  int32_t ForwardPacked();
  // Call after Forward, any number of times.
  int32_t Backward() { return Backward(case_); }
  // Uses the reserve space of this run's forward pass, but another problem with the same sizes.
  int32_t Backward(const RnnCase& other) { return Backward(table_, other); }
  // Uses the kernels of another table.
  int32_t BackwardWith(const KernelTable& table) { return Backward(table, case_); }

  // Replaces the y that Backward reads.
  void SetOutput(const Vec& y);

  void OverwriteReserve(unsigned char byte);
  // A copy of the reserve space.
  std::vector<unsigned char> ReserveBytes() const;
  // The packed weights. Call after ForwardPacked.
  const std::vector<unsigned char>& packed_bytes() const { return packed_bytes_; }

 private:
  int32_t Forward(void* packed);
  int32_t RunKeptPlan(const RnnArgs& args);
  int32_t Backward(const KernelTable& table, const RnnCase& c);
  const KernelTable& table_;
  RnnCase case_;
  std::unique_ptr<GuardedBuffer> reserve_;
  std::vector<unsigned char> packed_bytes_;
};

class BlockLstmRun : public Run<BlockLstmValues> {
 public:
  BlockLstmRun(const KernelTable& table, const BlockLstmProblem& problem,
               const BlockLstmValues& inputs, const RunOptions& options = {});
  void Forward();
  void Backward();  // call after Forward
  // Replaces the outputs of Forward that Backward reads.
  void SetOutputs(const BlockLstmValues& from);

 private:
  const KernelTable& table_;
  BlockLstmProblem problem_;
};

class LinearRun : public Run<LinearValues> {
 public:
  LinearRun(const KernelTable& table, const LinearRecurrenceProblem& problem,
            const LinearValues& inputs, const RunOptions& options = {});
  // The problem must have steps and sequences.
  void Compute();

 private:
  const KernelTable& table_;
  LinearRecurrenceProblem problem_;
};

// The values of the line that Describe returns with seed=SEED (tests/robustness/problem/README.md),
// in the dtype of the problem. Their size is such that the functions neither saturate nor vanish.
RnnValues RandomInputs(const RnnCase& c, uint64_t seed);
// Converts between time-major and batch-major. `time_major`: the present layout of the values.
RnnValues OtherLayout(const RnnCase& c, bool time_major, const RnnValues& values);
BlockLstmValues RandomInputs(const BlockLstmProblem& p, uint64_t seed);
LinearValues RandomInputs(const LinearRecurrenceProblem& p, bool has_states, uint64_t seed);

// Checks |got - want| <= tolerance * max(1, the largest |want| of the tensor) for each field.
// Returns the largest quotient |got - want| / max(1, the largest |want| of the tensor).
template <typename Values>
double ExpectNear(const Fields<Values>& fields, const Values& got, const Values& want,
                  double tolerance);
// Checks that all bits are equal, including the signs of zeros.
template <typename Values>
void ExpectSame(const Fields<Values>& fields, const Values& got, const Values& want);

}  // namespace rnn_ops::cpu::testing
