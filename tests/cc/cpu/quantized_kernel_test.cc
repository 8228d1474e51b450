// The kernels on int8 weights: memory, threads, packed and unpacked weights, and the levels of this
// machine. tests/ops/test_quantized_layer_rnn.py compares the values with a reference.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops {
namespace cpu {
namespace testing {
namespace {

// A problem and its tensors as bytes. The inputs are in memory of their own size, so that a
// sanitizer sees each access outside.
class QuantizedCase {
 public:
  QuantizedCase(std::mt19937_64& random, int32_t mode, int64_t T, int64_t B, int64_t I, int64_t H,
                int64_t P)
      : random_(random) {
    case_ = MakeCase(kFloat32, mode, T, B, I, H);
    RandomLengths(random, &case_);
    RnnProblem& p = case_.problem;
    p.is_training = false;
    p.weight_layout = kKerasWeights;
    p.int8_weights = true;
    p.bias_rows = p.mode == RnnMode::kGru ? 2 : 1;
    p.num_proj = P;
    const int64_t S = p.hidden_size(), columns = p.num_gates() * H;
    Floats(Arg::input, T * B * I, 2.0f);
    Floats(Arg::input_h, B * S, 1.0f);
    if (p.mode == RnnMode::kLstm) Floats(Arg::input_c, B * H, 1.0f);
    Integers(Arg::kernel, I * columns);
    Integers(Arg::recurrent_kernel, S * columns);
    Scales(Arg::kernel_scale, columns, I);
    Scales(Arg::recurrent_kernel_scale, columns, S);
    Floats(Arg::bias, p.bias_rows * columns, 0.5f);
    if (P > 0) {
      Integers(Arg::projection, H * P);
      Scales(Arg::projection_scale, P, H);
    }
    outputs_[Arg::output] = T * B * S;
    outputs_[Arg::output_h] = B * S;
    if (p.mode == RnnMode::kLstm) outputs_[Arg::output_c] = B * H;
  }

  // The outputs of a call, as bytes. With `packs` the weights are packed before.
  std::vector<unsigned char> Run(const KernelTable& table, int32_t threads, bool packs,
                                 unsigned char fill) {
    TeamOfThreads team(threads);
    RnnArgs args = {};
    args.problem = case_.problem;
    args.problem.lengths = case_.lengths.data();
    args.parallel = team.Get();
    for (auto& [arg, bytes] : inputs_) {
      // Only tensors of the op's type have a number of elements.
      const bool typed =
          arg == Arg::input || arg == Arg::input_h || arg == Arg::input_c || arg == Arg::bias;
      args.tensors.SetInput(arg, bytes->data(), typed ? bytes->size() / 4 : 0);
    }
    std::unique_ptr<GuardedBuffer> panels;
    if (packs) {
      const RnnNetwork network = table.rnn_network(&args.problem);
      EXPECT_EQ(network.packed_element, kPackedInt8Quads);
      panels = std::make_unique<GuardedBuffer>(network.packed_bytes, fill);
      args.panels = panels->data();
      GuardedMemory memory(fill);
      args.memory = memory.Get();
      EXPECT_EQ(table.rnn_pack(&args), kDone);
      EXPECT_TRUE(memory.GuardsIntact() && panels->GuardsIntact());
      args.problem.weights_packed = true;
      for (const Arg arg :
           {Arg::kernel, Arg::kernel_scale, Arg::recurrent_kernel, Arg::recurrent_kernel_scale,
            Arg::bias, Arg::projection, Arg::projection_scale}) {
        args.tensors.SetInput(arg, nullptr, 0);
      }
    }
    std::map<Arg, std::unique_ptr<GuardedBuffer>> outputs;
    for (const auto& [arg, elements] : outputs_) {
      outputs[arg] = std::make_unique<GuardedBuffer>(elements * 4, fill);
      args.tensors.SetOutput(arg, outputs[arg]->data(), elements);
    }
    GuardedMemory memory(fill);
    args.memory = memory.Get();
    EXPECT_EQ(table.rnn_forward(&args), kDone);
    EXPECT_TRUE(memory.GuardsIntact());
    std::vector<unsigned char> results;
    for (const auto& [arg, buffer] : outputs) {
      EXPECT_TRUE(buffer->GuardsIntact());
      const std::vector<unsigned char> bytes = buffer->Copy();
      results.insert(results.end(), bytes.begin(), bytes.end());
    }
    return results;
  }

 private:
  void Fill(Arg arg, const std::vector<float>& values) {
    inputs_[arg] = std::make_unique<GuardedBuffer>(values.size() * 4, 0);
    std::memcpy(inputs_[arg]->data(), values.data(), values.size() * 4);
  }
  void Floats(Arg arg, int64_t n, float largest) {
    std::uniform_real_distribution<float> draw(-largest, largest);
    std::vector<float> values(n);
    for (float& value : values) value = draw(random_);
    Fill(arg, values);
  }
  void Integers(Arg arg, int64_t n) {
    inputs_[arg] = std::make_unique<GuardedBuffer>(n, 0);
    for (int64_t k = 0; k < n; ++k) inputs_[arg]->data()[k] = static_cast<uint8_t>(random_());
  }
  void Scales(Arg arg, int64_t n, int64_t depth) {
    const float scale = 1 / (127 * std::sqrt(static_cast<float>(depth)));
    Fill(arg, std::vector<float>(n, scale));
  }

  std::mt19937_64& random_;
  RnnCase case_;
  std::map<Arg, std::unique_ptr<GuardedBuffer>> inputs_;
  std::map<Arg, int64_t> outputs_;
};

std::vector<float> AsFloats(const std::vector<unsigned char>& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(QuantizedKernels, GiveTheSameBitsForEveryWayToRunThem) {
  std::mt19937_64 random(8);
  for (int k = 0; k < 90; ++k) {
    const int32_t mode = kLayerModes[k % 6];
    const int64_t B = 1 + random() % (k % 4 == 0 ? 40 : 5);
    const int64_t I = 1 + random() % 40, H = 1 + random() % 70;
    const int64_t P = mode == 2 && k % 4 < 2 ? 1 + random() % H : 0;
    QuantizedCase c(random, mode, 1 + random() % 6, B, I, H, P);
    SCOPED_TRACE("case " + std::to_string(k));
    for (const KernelTable* table : Tables()) {
      SCOPED_TRACE(table->isa);
      const std::vector<unsigned char> want = c.Run(*table, 1, false, 0xFF);
      for (const float value : AsFloats(want)) ASSERT_TRUE(std::isfinite(value));
      for (const int32_t threads : {1, 2, 3}) {
        for (const bool packs : {false, true}) {
          ASSERT_EQ(c.Run(*table, threads, packs, 0x41), want);
        }
      }
    }
  }
}

// The integers are the same at every level, so only the functions of the gates differ. After one
// step no rounded h has become an operand.
TEST(QuantizedKernels, AgreeAtEveryLevel) {
  std::mt19937_64 random(9);
  for (int k = 0; k < 30; ++k) {
    const int32_t mode = kLayerModes[k % 6];
    if (mode == 4) continue;  // r * h is rounded within the step
    QuantizedCase c(random, mode, 1, 1 + random() % 9, 1 + random() % 300, 1 + random() % 70, 0);
    const std::vector<float> want = AsFloats(c.Run(*Tables()[0], 1, true, 0));
    for (const KernelTable* table : Tables()) {
      const std::vector<float> got = AsFloats(c.Run(*table, 1, true, 0));
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-5f * std::max(1.0f, std::abs(want[i]))) << table->isa;
      }
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace rnn_ops
