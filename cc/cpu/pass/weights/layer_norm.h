// The weights of normalizations and their gradients, in the order of the cell.
#pragma once

#include <cstdint>

#include "cc/cpu/cell/lstm_layer_norm.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows of the tensor layer_norm. For x and h, this is the row of the first gate, and the other
// three gates follow. c has one row each.
enum LayerNormRow { kGammaX = 0, kBetaX = 4, kGammaH = 8, kBetaH = 12, kGammaC = 16, kBetaC = 17 };

template <typename T>
int64_t LayerNormElements(const Sizes<T>& s) {
  return s.padded * kLayerNormVectors;
}

// Packs LayerNormTensors::weights of a layer.
template <typename T>
void PackLayerNorm(const CallTensors& t, const Sizes<T>& s, T* to) {
  constexpr int V = kLanes<T>;
  const T* const rows = t.in<T>(Arg::layer_norm);
  const T* const bias = t.in<T>(Arg::bias);
  for (int64_t unit = 0; unit < s.units; unit += V, to += kLayerNormVectors * V) {
    const int64_t n = s.units - unit;
    auto row = [&](int k) { return LoadFirst(rows + k * s.units + unit, n); };
    for (int gate = 0; gate < 4; ++gate) {
      Packet<T> shift = padd(row(kBetaX + gate), row(kBetaH + gate));
      if (bias != nullptr) shift = padd(shift, LoadFirst(bias + gate * s.units + unit, n));
      Store(to + (kScaleX + gate) * V, row(kGammaX + gate));
      Store(to + (kScaleH + gate) * V, row(kGammaH + gate));
      Store(to + (kShift + gate) * V, shift);
    }
    Store(to + kScaleC * V, row(kGammaC));
    Store(to + kShiftC * V, row(kBetaC));
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
