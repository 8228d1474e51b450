// The weights of normalizations and their gradients, in the order of the cell.
#ifndef TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_LAYER_NORM_H_
#define TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_LAYER_NORM_H_

#include <cstdint>

#include "cc/cpu/cell/lstm_layer_norm.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/recurrence.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/rows/parallel.h"
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

// The gradients of layer_norm and of the bias (null: no bias). The time loop has computed the sum
// over the steps of each sequence. These sums are added in the order of the sequences, so the bits
// of the result do not depend on the threads.
template <typename T>
void LayerNormGradients(const BackwardLayer<T>& layer, T* to, T* bias,
                        const ParallelFor& parallel) {
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = layer.sizes;
  const int64_t batch = layer.seq->batch, row_size = LayerNormElements(s);
  const int64_t ns = NsToMove(Area(batch, row_size) * int64_t{sizeof(T)});
  Parallel(parallel, s.blocks, ns, [&](int64_t u) {
    const T* sums = layer.dirs[0].norm_sums + u * kLayerNormVectors * V;
    Packet<T> total[kLayerNormVectors];
    for (auto& t : total) t = Set<T>(T(0));
    for (int64_t j = 0; j < batch; ++j, sums += row_size) {
      for (int k = 0; k < kLayerNormVectors; ++k) total[k] = padd(total[k], Load(sums + k * V));
    }
    const int64_t n = s.units - u * V;
    auto store = [&](T* rows, int row, int from) {
      StoreFirst(rows + row * s.units + u * V, total[from], n);
    };
    for (int gate = 0; gate < 4; ++gate) {
      store(to, kGammaX + gate, kScaleX + gate);
      store(to, kGammaH + gate, kScaleH + gate);
      store(to, kBetaX + gate, kShift + gate);
      store(to, kBetaH + gate, kShift + gate);
      if (bias != nullptr) store(bias, gate, kShift + gate);
    }
    store(to, kGammaC, kScaleC);
    store(to, kBetaC, kShiftC);
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_LAYER_NORM_H_
