// Problems of the stack that several tests use.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "tests/cc/cpu/kernel_harness.h"

namespace rnn_ops::cpu::testing {

constexpr int32_t kModes[] = {0, 1, 2, 3};  // relu, tanh, LSTM, GRU

// The modes of LayerRNN: all rows of kCellFacts.
constexpr auto kLayerModes = [] {
  std::array<int32_t, std::size(kCellFacts)> modes{};
  for (size_t k = 0; k < modes.size(); ++k) modes[k] = static_cast<int32_t>(kCellFacts[k].mode);
  return modes;
}();
constexpr Dtype kDtypes[] = {kFloat32, kFloat64, kFloat16, kBFloat16};

// A training problem of one layer. All sequences have T steps. Tests change the fields that they
// need.
inline RnnCase MakeCase(Dtype dtype, int32_t mode, int64_t T, int64_t B, int64_t I, int64_t H) {
  RnnCase c;
  c.problem.dtype = dtype;
  c.problem.mode = static_cast<RnnMode>(mode);
  c.problem.max_time = T;
  c.problem.batch = B;
  c.problem.input_size = I;
  c.problem.num_units = H;
  c.problem.bf16_products = true;
  c.lengths.assign(B, static_cast<int32_t>(T));
  return c;
}

inline void RandomLengths(std::mt19937_64& random, RnnCase* c) {
  for (int32_t& n : c->lengths) n = static_cast<int32_t>(random() % (c->problem.max_time + 1));
}

// The weights in Keras's layout, for a problem of one layer.
inline void UseKerasWeights(int32_t bias_rows, bool input_masked, bool recurrent_masked,
                            RnnCase* c) {
  c->problem.weight_layout = kKerasWeights;
  c->problem.bias_rows = bias_rows;
  c->problem.input_masked = input_masked;
  c->problem.recurrent_masked = recurrent_masked;
}

inline bool HasCell(const RnnCase& c) {
  return FactsOf(c.problem.mode).in_cudnn || c.problem.weight_layout == kKerasWeights;
}

// With the default bias of the mode.
inline void UseKerasWeights(bool input_masked, bool recurrent_masked, RnnCase* c) {
  UseKerasWeights(FactsOf(c->problem.mode).bias_rows, input_masked, recurrent_masked, c);
}

// All features and all kinds of tails. Most sizes are near multiples of the vector widths.
inline RnnCase RandomCase(std::mt19937_64& random, Dtype dtype) {
  auto any = [&](std::vector<int64_t> of) { return of[random() % of.size()]; };
  auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  const int64_t H = chance(50) ? any({1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65, 70})
                               : 1 + static_cast<int64_t>(random() % 70);
  RnnCase c = MakeCase(dtype, any({0, 1, 2, 2, 3}), any({1, 2, 3, 5, 9}), 1 + random() % 13,
                       any({1, 1, 2, 5, 16, 17, 40}), H);
  RnnProblem& p = c.problem;
  p.num_layers = any({1, 1, 2, 3});
  p.direction = static_cast<Direction>(any({1, 2}));
  p.time_major = chance(50);
  if (p.mode == RnnMode::kLstm && chance(40)) p.num_proj = 1 + random() % H;
  if (chance(15)) p.input_mode = InputMode::kSkip, p.input_size = H;
  if (chance(60)) RandomLengths(random, &c);
  if (chance(20)) {
    p.dropout = 0.375;
    p.dropout_key[0] = static_cast<uint32_t>(random());
    p.dropout_key[1] = static_cast<uint32_t>(random());
  }
  return c;
}

// A random case of one layer with Keras's weights. Some calls are so short that weights are not
// packed.
inline RnnCase RandomLayerCase(std::mt19937_64& random, Dtype dtype) {
  const bool is_short = random() % 4 == 0;
  RnnCase c = RandomCase(random, dtype);
  const RnnProblem from = c.problem;
  c = MakeCase(dtype, static_cast<int32_t>(from.mode), is_short ? 1 + random() % 2 : from.max_time,
               is_short ? 1 + random() % 2 : from.batch, from.input_size, from.num_units);
  c.problem.time_major = from.time_major;
  UseKerasWeights(random() % (FactsOf(from.mode).bias_rows + 1), random() % 5 < 2, random() % 5 < 2,
                  &c);
  if (random() % 2 == 0) RandomLengths(random, &c);
  return c;
}

// A z of a GRU below 0 takes h beyond its candidates, and every rounding grows with the steps.
inline void BoundGrowth(RnnCase* c) {
  constexpr int32_t kSteps = 4;
  RnnProblem& p = c->problem;
  const bool is_gru = p.mode == RnnMode::kGru || p.mode == RnnMode::kGruResetBefore;
  if (!is_gru || p.recurrent_activation != Activation::kTanh || p.max_time <= kSteps) return;
  p.max_time = kSteps;
  for (int32_t& n : c->lengths) n = std::min(n, kSteps);
}

// A random case with the cells and activations that only LayerRNN has.
inline RnnCase RandomGatesCase(std::mt19937_64& random, Dtype dtype) {
  RnnCase c = RandomLayerCase(random, dtype);
  RnnProblem& p = c.problem;
  constexpr int32_t kFirst = static_cast<int32_t>(RnnMode::kLstm);
  p.mode = static_cast<RnnMode>(kFirst + random() % (std::size(kCellFacts) - kFirst));
  p.bias_rows = static_cast<int32_t>(random() % (FactsOf(p.mode).bias_rows + 1));
  p.activation = static_cast<Activation>(random() % 6);
  p.recurrent_activation = static_cast<Activation>(random() % 6);
  if (random() % 2 == 0) p.activation = Activation::kTanh;
  if (p.mode == RnnMode::kLstm && random() % 2 == 0) {
    p.has_peepholes = random() % 2 == 0;
    if (random() % 2 == 0) p.cell_clip = 0.75f;
    if (random() % 3 > 0) p.num_proj = 1 + static_cast<int64_t>(random() % (2 * p.num_units));
    if (p.num_proj > 0 && random() % 2 == 0) p.proj_clip = 0.25f;
  }
  if (!FactsOf(p.mode).chooses_activation) p.activation = Activation::kTanh;
  // Gates that are not bounded by 1 let states grow without bound.
  if (p.recurrent_activation >= Activation::kRelu || !FactsOf(p.mode).has_recurrent_gates) {
    p.recurrent_activation = Activation::kSigmoid;
  }
  BoundGrowth(&c);
  return c;
}

// An LSTM with layer normalization. WHY not a small epsilon: rounding errors would grow from step
// to step.
inline RnnCase RandomLayerNormCase(std::mt19937_64& random, Dtype dtype) {
  RnnCase c = RandomLayerCase(random, dtype);
  RnnProblem& p = c.problem;
  p.mode = RnnMode::kLstm;
  p.bias_rows = static_cast<int32_t>(random() % 2);
  p.has_layer_norm = true;
  p.layer_norm_epsilon = 1;
  if (random() % 2 == 0) p.activation = static_cast<Activation>(random() % 6);
  if (random() % 2 == 0) p.recurrent_activation = static_cast<Activation>(random() % 4);
  return c;
}

// Zoneout of an LSTM or a GRU, with random masks or with the rates.
inline RnnCase RandomZoneoutCase(std::mt19937_64& random, Dtype dtype) {
  RnnCase c = RandomLayerCase(random, dtype);
  RnnProblem& p = c.problem;
  p.mode = random() % 2 ? RnnMode::kLstm : RnnMode::kGru;
  p.bias_rows = static_cast<int32_t>(random() % 2);
  p.zoneout_h = 0.25f * static_cast<float>(random() % 5);
  if (p.mode == RnnMode::kLstm) p.zoneout_c = 0.375f * static_cast<float>(random() % 3);
  p.zoneout_drawn = p.has_zoneout() && random() % 2 == 0;
  p.dropout_key[0] = static_cast<uint32_t>(random());
  if (random() % 2 == 0) p.activation = static_cast<Activation>(random() % 6);
  if (random() % 2 == 0) p.recurrent_activation = static_cast<Activation>(random() % 4);
  BoundGrowth(&c);
  return c;
}

// Inference on int8 weights. There is no float64 of it.
inline RnnCase RandomQuantizedCase(std::mt19937_64& random, Dtype dtype) {
  constexpr int32_t kQuantizedModes[] = {1, 2, 3};
  RnnCase c = MakeCase(dtype == kFloat64 ? kFloat32 : dtype, kQuantizedModes[random() % 3],
                       1 + random() % 6, 1 + random() % 20, 1 + random() % 90, 1 + random() % 70);
  UseKerasWeights(false, false, &c);
  c.problem.int8_weights = true;
  c.problem.is_training = false;
  return c;
}

}  // namespace rnn_ops::cpu::testing
