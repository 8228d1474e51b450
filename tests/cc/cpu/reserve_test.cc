#include "cc/cpu/pass/memory/reserve.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {
namespace {

RnnProblem Problem(const std::vector<int32_t>& lengths) {
  RnnProblem p;
  p.dtype = kFloat32;
  p.direction = Direction::kBidirectional;
  p.num_layers = 3;
  p.num_units = 7;
  p.input_size = 5;
  p.max_time = 4;
  p.batch = static_cast<int64_t>(lengths.size());
  p.lengths.steps = lengths.data();
  return p;
}

// Writes a different number to every array of the space. Every number must still be there
// afterwards.
TEST(Reserve, ArraysAreDisjointAndFillTheSpace) {
  for (RnnMode mode : {RnnMode::kTanh, RnnMode::kLstm, RnnMode::kGru, RnnMode::kGruResetBefore}) {
    const std::vector<int32_t> lengths = {4, 2, 1};
    RnnProblem p = Problem(lengths);
    p.mode = mode;
    const Sizes<float> sizes = MakeSizes<float>(p);
    const int64_t rows = 7;
    const int64_t bytes = MakeReserve<float>(nullptr, rows, sizes, p.num_layers).bytes();
    std::vector<double> memory(bytes / 8 + 16, -1);
    auto* base = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~63);
    const Reserve<float> reserve = MakeReserve<float>(base, rows, sizes, p.num_layers);
    reserve.ClearGaps();
    float number = 1;
    std::vector<std::pair<float*, int64_t>> arrays;
    for (int64_t i = 0; i < p.num_pseudo_layers(); ++i) {
      const auto saved = reserve.At(i);
      if (!sizes.dense) arrays.push_back({saved.gates, rows * sizes.gate_row});
      if (sizes.cell.has_c) arrays.push_back({saved.c, rows * sizes.padded});
    }
    for (int64_t l = 0; l + 1 < p.num_layers; ++l) {
      arrays.push_back({reserve.LayerOutput(l), rows * sizes.output});
    }
    for (const auto& [data, n] : arrays) {
      ASSERT_GE(reinterpret_cast<char*>(data), base + 64);
      ASSERT_LE(reinterpret_cast<char*>(data + n), base + bytes);
      std::fill(data, data + n, number++);
    }
    number = 1;
    for (const auto& [data, n] : arrays) {
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(data[i], number);
      ++number;
    }
  }
}

TEST(Fingerprint, DiffersWithWhatShapesTheContent) {
  const std::vector<int32_t> lengths = {4, 2, 1}, others = {4, 1, 2};
  const RnnProblem p = Problem(lengths);
  std::set<uint64_t> seen = {Fingerprint(p, false)};
  const auto add = [&](auto change) {
    RnnProblem q = p;
    change(q);
    EXPECT_TRUE(seen.insert(Fingerprint(q, false)).second);
  };
  EXPECT_TRUE(seen.insert(Fingerprint(p, true)).second);
  add([](RnnProblem& q) { q.dtype = kFloat64; });
  add([](RnnProblem& q) { q.mode = RnnMode::kGru; });
  add([](RnnProblem& q) { q.activation = Activation::kHardSigmoid; });
  add([](RnnProblem& q) { q.recurrent_activation = Activation::kHardSigmoid; });
  add([](RnnProblem& q) { q.input_mode = InputMode::kSkip; });
  add([](RnnProblem& q) { q.direction = Direction::kUnidirectional; });
  add([](RnnProblem& q) { q.time_major = false; });
  add([](RnnProblem& q) { q.dropout = 0.5f; });
  add([](RnnProblem& q) { q.weight_layout = kKerasWeights; });
  add([](RnnProblem& q) { q.has_peepholes = true; });
  add([](RnnProblem& q) { q.has_layer_norm = true; });
  add([](RnnProblem& q) { q.has_layer_norm = true, q.layer_norm_epsilon = 0.5f; });
  add([](RnnProblem& q) { q.zoneout_h = 0.5f; });
  add([](RnnProblem& q) { q.zoneout_c = 0.5f; });
  add([](RnnProblem& q) { q.zoneout_h = 0.5f, q.zoneout_drawn = true; });
  add([](RnnProblem& q) { q.cell_clip = 0.5f; });
  add([](RnnProblem& q) { q.proj_clip = 0.5f; });
  add([](RnnProblem& q) { q.input_masked = true; });
  add([](RnnProblem& q) { q.recurrent_masked = true; });
  add([](RnnProblem& q) { q.num_layers = 2; });
  add([](RnnProblem& q) { q.num_units = 8; });
  add([](RnnProblem& q) { q.input_size = 6; });
  add([](RnnProblem& q) { q.num_proj = 3; });
  add([](RnnProblem& q) { q.max_time = 5; });
  add([](RnnProblem& q) { q.batch = 2; });
  add([&](RnnProblem& q) { q.lengths.steps = others.data(); });
}

TEST(Fingerprint, DoesNotDependOnTheDropoutKey) {
  const std::vector<int32_t> lengths = {1};
  RnnProblem p = Problem(lengths);
  const uint64_t before = Fingerprint(p, false);
  p.dropout_key[0] = 17;
  EXPECT_EQ(Fingerprint(p, false), before);
}

}  // namespace
}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
