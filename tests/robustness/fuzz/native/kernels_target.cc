// Runs the kernel table on memory with exactly the requested sizes. The results must have the same
// bits for another number of threads and for another content of the memory before the call. No
// kernel may write beyond a tensor or write an input (the harness of tests/cc/cpu checks this).
#include <cmath>
#include <cstring>

#include "cc/cpu/dispatch/dispatch.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/rnn_cases.h"
#include "tests/robustness/fuzz/native/drawn.h"

namespace rnn_ops::fuzzing {
namespace {

using cpu::testing::BlockLstmRun;
using cpu::testing::BlockLstmValues;
using cpu::testing::LinearRun;
using cpu::testing::LinearValues;
using cpu::testing::RnnCase;
using cpu::testing::RnnRun;
using cpu::testing::RnnValues;
using cpu::testing::RunOptions;

// Widths near the widths of vectors and tiles.
int64_t DrawWidth(FuzzedDataProvider& bytes) {
  return bytes.ConsumeBool() ? bytes.ConsumeIntegralInRange<int64_t>(1, 20)
                             : bytes.ConsumeIntegralInRange<int64_t>(1, 70);
}

RnnCase DrawCase(FuzzedDataProvider& bytes) {
  RnnCase c = cpu::testing::MakeCase(
      static_cast<Dtype>(bytes.ConsumeIntegralInRange<int32_t>(0, 3)),
      bytes.ConsumeIntegralInRange<int32_t>(0, 3), bytes.ConsumeIntegralInRange<int64_t>(1, 7),
      bytes.ConsumeIntegralInRange<int64_t>(1, 15), DrawWidth(bytes), DrawWidth(bytes));
  cpu::RnnProblem& p = c.problem;
  p.time_major = bytes.ConsumeBool();
  p.bf16_products = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) {
    p.mode = DrawMode(bytes);
    const bool gated = GatesOf(p.mode) > 1;
    if (gated || p.mode == RnnMode::kVanilla) p.activation = DrawActivation(bytes);
    if (gated) p.recurrent_activation = DrawActivation(bytes);
    if (p.mode == RnnMode::kLstm && bytes.ConsumeBool()) {
      p.num_proj = bytes.ConsumeIntegralInRange<int64_t>(0, 2 * p.num_units);
      p.has_peepholes = bytes.ConsumeBool();
      if (bytes.ConsumeBool()) p.cell_clip = 0.5f;
      if (p.num_proj > 0 && bytes.ConsumeBool()) p.proj_clip = 0.25f;
    } else if ((p.mode == RnnMode::kLstm || p.mode == RnnMode::kGru) && bytes.ConsumeBool()) {
      p.zoneout_h = bytes.ConsumeProbability<float>();
      if (p.mode == RnnMode::kLstm) p.zoneout_c = bytes.ConsumeProbability<float>();
      p.zoneout_drawn = p.has_zoneout() && bytes.ConsumeBool();
      p.dropout_key[0] = bytes.ConsumeIntegral<uint32_t>();
    } else if (p.mode == RnnMode::kLstm) {
      p.has_layer_norm = bytes.ConsumeBool();
    }
    const bool input_masked = bytes.ConsumeBool(), recurrent_masked = bytes.ConsumeBool();
    const int rows = bytes.ConsumeIntegralInRange<int>(0, p.mode == RnnMode::kGru ? 2 : 1);
    cpu::testing::UseKerasWeights(rows, input_masked, recurrent_masked, &c);
    const bool rare = input_masked || recurrent_masked || p.has_zoneout() || p.has_layer_norm ||
                      p.has_peepholes || p.cell_clip > 0 || p.proj_clip > 0;
    if (!rare && p.dtype == kFloat32 && bytes.ConsumeBool()) {
      p.int8_weights = true;
      p.is_training = false;
    }
  } else {
    p.num_layers = bytes.ConsumeIntegralInRange<int64_t>(1, 3);
    p.direction = static_cast<Direction>(bytes.ConsumeIntegralInRange<int32_t>(1, 2));
    if (p.mode == RnnMode::kLstm && bytes.ConsumeBool()) {
      p.num_proj = bytes.ConsumeIntegralInRange<int64_t>(0, p.num_units);
    }
    if (bytes.ConsumeIntegralInRange<int>(0, 5) == 0) {
      p.input_mode = InputMode::kSkip;
      p.input_size = p.num_units;
    }
    if (bytes.ConsumeIntegralInRange<int>(0, 4) == 0) {
      p.dropout = bytes.ConsumeProbability<float>();
      p.dropout_key[0] = bytes.ConsumeIntegral<uint32_t>();
    }
  }
  for (int32_t& n : c.lengths) {
    n = bytes.ConsumeIntegralInRange<int32_t>(0, static_cast<int32_t>(p.max_time));
  }
  return c;
}

// Writes arbitrary bits to some elements of the tensors. Returns whether any element was changed.
template <typename Values>
bool MakeWild(FuzzedDataProvider& bytes, const cpu::testing::Fields<Values>& fields, Dtype dtype,
              Values* values) {
  const int count = bytes.ConsumeIntegralInRange<int>(0, 3);
  for (int k = 0; k < count; ++k) {
    auto& numbers = values->*fields[bytes.ConsumeIntegralInRange<size_t>(0, fields.size() - 1)].vec;
    if (numbers.empty()) continue;
    const uint64_t bits = bytes.ConsumeIntegral<uint64_t>();
    double number;
    std::memcpy(&number, &bits, sizeof(number));
    numbers[bytes.ConsumeIntegralInRange<size_t>(0, numbers.size() - 1)] =
        cpu::testing::RoundTo(dtype, number);
  }
  return count > 0;
}

template <typename Values>
void RequireSame(const cpu::testing::Fields<Values>& fields, const Values& a, const Values& b) {
  for (const auto& field : fields) {
    const auto &left = a.*field.vec, &right = b.*field.vec;
    Require(left.size() == right.size(), field.name());
    for (size_t k = 0; k < left.size(); ++k) {
      Require(std::memcmp(&left[k], &right[k], sizeof(left[k])) == 0 ||
                  (std::isnan(left[k]) && std::isnan(right[k])),
              field.name());
    }
  }
}

// The inputs of which arbitrary numbers are valid: not the int8 weights.
cpu::testing::Fields<RnnValues> InputsOf(const RnnCase& c) {
  if (!c.problem.int8_weights) return cpu::testing::kRnnInputs;
  return {{Arg::input, &RnnValues::x},
          {Arg::input_h, &RnnValues::h0},
          {Arg::input_c, &RnnValues::c0},
          {Arg::bias, &RnnValues::bias},
          {Arg::kernel_scale, &RnnValues::kernel_scale},
          {Arg::recurrent_kernel_scale, &RnnValues::recurrent_kernel_scale},
          {Arg::projection_scale, &RnnValues::projection_scale}};
}

void RunRnn(FuzzedDataProvider& bytes) {
  const RnnCase c = DrawCase(bytes);
  RnnValues inputs = cpu::testing::RandomInputs(c, bytes.ConsumeIntegral<uint32_t>());
  const Dtype dtype = c.problem.dtype;
  // Gates without bounds let the states grow beyond the range of the type.
  const bool wild = MakeWild(bytes, InputsOf(c), dtype, &inputs) |
                    MakeWild(bytes, cpu::testing::kRnnGradientInputs, dtype, &inputs) |
                    (c.problem.recurrent_activation >= Activation::kRelu);
  const cpu::KernelTable& table = cpu::Kernels();
  RnnValues first;
  for (int32_t threads : {1, bytes.ConsumeIntegralInRange<int32_t>(2, 4)}) {
    RunOptions options;
    options.num_threads = threads;
    options.fill = threads == 1 ? 0xFF : 0x41;
    options.expect_nan = wild;
    RnnRun run(table, c, inputs, options);
    if (c.problem.int8_weights) {
      Require((threads == 1 ? run.Forward() : run.ForwardPacked()) == 0, Describe(c));
    } else {
      Require(run.Forward() == 0 && run.Backward() == 0, Describe(c));
    }
    if (threads == 1) first = run.values;
    RequireSame(cpu::testing::kRnnOutputs, run.values, first);
    RequireSame(cpu::testing::kRnnGradients, run.values, first);
  }
}

void RunBlock(FuzzedDataProvider& bytes) {
  cpu::BlockLstmProblem p = {};
  p.dtype = static_cast<Dtype>(bytes.ConsumeIntegralInRange<int32_t>(0, 3));
  p.max_time = bytes.ConsumeIntegralInRange<int64_t>(0, 7);
  p.batch = bytes.ConsumeIntegralInRange<int64_t>(0, 15);
  p.input_size = DrawWidth(bytes);
  p.num_units = DrawWidth(bytes);
  p.seq_len = bytes.ConsumeIntegralInRange<int64_t>(0, p.max_time);
  p.use_peephole = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) p.cell_clip = bytes.ConsumeProbability<float>();
  BlockLstmValues inputs = cpu::testing::RandomInputs(p, bytes.ConsumeIntegral<uint32_t>());
  const bool wild = MakeWild(bytes, cpu::testing::kBlockInputs, p.dtype, &inputs) |
                    MakeWild(bytes, cpu::testing::kBlockGradientInputs, p.dtype, &inputs);
  const cpu::KernelTable& table = cpu::Kernels();
  BlockLstmValues first;
  for (int32_t threads : {1, bytes.ConsumeIntegralInRange<int32_t>(2, 4)}) {
    RunOptions options;
    options.num_threads = threads;
    options.fill = threads == 1 ? 0xFF : 0x41;
    options.expect_nan = wild;
    BlockLstmRun run(table, p, inputs, options);
    run.Forward();
    run.Backward();
    if (threads == 1) first = run.values;
    RequireSame(cpu::testing::kBlockOutputs, run.values, first);
    RequireSame(cpu::testing::kBlockGradients, run.values, first);
  }
}

void RunLinear(FuzzedDataProvider& bytes) {
  cpu::LinearRecurrenceProblem p = {};
  p.dtype = bytes.ConsumeBool() ? kFloat64 : kFloat32;
  p.num_gates = bytes.PickValueInArray({1, 3, 4});
  p.num_states = p.num_gates == 4 ? 2 : 1;
  p.transposed = bytes.ConsumeBool();
  p.num_units = DrawWidth(bytes);
  p.max_time = bytes.ConsumeIntegralInRange<int64_t>(1, 7);
  p.batch = bytes.ConsumeIntegralInRange<int64_t>(1, 15);
  p.has_gates = true;
  LinearValues inputs = cpu::testing::RandomInputs(p, true, bytes.ConsumeIntegral<uint32_t>());
  for (auto slope : {&LinearValues::h_by_gates, &LinearValues::c_by_gates, &LinearValues::h_by_h,
                     &LinearValues::h_by_c, &LinearValues::c_by_h, &LinearValues::c_by_c}) {
    if (bytes.ConsumeBool()) (inputs.*slope).clear();
  }
  p.has_gates = !inputs.h_by_gates.empty() || !inputs.c_by_gates.empty();
  const bool wild = MakeWild(bytes, cpu::testing::kLinearInputs, p.dtype, &inputs);
  const cpu::KernelTable& table = cpu::Kernels();
  LinearValues first;
  for (int32_t threads : {1, bytes.ConsumeIntegralInRange<int32_t>(2, 4)}) {
    RunOptions options;
    options.num_threads = threads;
    options.fill = threads == 1 ? 0xFF : 0x41;
    options.expect_nan = wild;
    LinearRun run(table, p, inputs, options);
    run.Compute();
    if (threads == 1) first = run.values;
    RequireSame(cpu::testing::kLinearOutputs, run.values, first);
  }
}

}  // namespace
}  // namespace rnn_ops::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  if (bytes.ConsumeIntegralInRange<int>(0, 3) == 0) {
    if (bytes.ConsumeBool()) {
      rnn_ops::fuzzing::RunLinear(bytes);
    } else {
      rnn_ops::fuzzing::RunBlock(bytes);
    }
  } else {
    rnn_ops::fuzzing::RunRnn(bytes);
  }
  return 0;
}
