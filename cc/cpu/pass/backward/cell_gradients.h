// The gradients of the weights of cells besides their matrices: peepholes and normalizations.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/cell/lstm_layer_norm.h"
#include "cc/cpu/pass/backward/layer.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/layer_norm.h"
#include "cc/cpu/product/transposed.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The gradients of the three rows for unit block u: the sums of di * c_prev, df * c_prev and
// do * c. See Note [Deterministic reductions].
template <typename T>
void PeepholeGradient(const BackwardLayer<T>& layer, int64_t u, T* const (&to)[3]) {
  using Gate = Lstm<UsualGates>::Gate;
  constexpr int V = kLanes<T>;
  const Sizes<T>& s = layer.sizes;
  const BackwardDirection<T>& dir = layer.dirs[0];
  const int64_t R = layer.seq->rows, n = s.units - u * V;
  const T* const first = dir.c0 + u * V;
  const T* const c = dir.c + u * V;
  const T* const dgates = reinterpret_cast<const T*>(dir.dgates);
  Packet<T> total[3] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
  for (int64_t row0 = 0; row0 < R; row0 += kReductionRows) {
    Packet<T> sum[3] = {Set<T>(T(0)), Set<T>(T(0)), Set<T>(T(0))};
    ForPackedRows(
        *layer.seq, row0, std::min(R, row0 + kReductionRows),
        [&](int64_t row, int64_t t, int64_t j) {
          const T* dg = dgates + row * s.gate_row + u * 4 * V;
          const int64_t before = PreviousStep(*layer.seq, /*dir=*/0, t, j);
          const Packet<T> c_prev = LoadFirst(
              before < 0 ? first + j * s.padded : c + (layer.seq->start[before] + j) * layer.c_row,
              n);
          sum[0] = pmadd(Load(dg + Gate::kInput * V), c_prev, sum[0]);
          sum[1] = pmadd(Load(dg + Gate::kForget * V), c_prev, sum[1]);
          sum[2] = pmadd(Load(dg + Gate::kOutput * V), LoadFirst(c + row * layer.c_row, n), sum[2]);
        });
    for (int k = 0; k < 3; ++k) total[k] = padd(total[k], sum[k]);
  }
  for (int k = 0; k < 3; ++k) StoreFirst(to[k] + u * V, total[k], n);
}

// The gradients of the three rows for all units.
template <typename T>
void PeepholeGradients(const BackwardLayer<T>& layer, T* const (&to)[3],
                       const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const int64_t ns = NsToMove(Area(layer.seq->rows, s.gate_row) * int64_t{sizeof(T)});
  Parallel(parallel, s.blocks, ns, [&](int64_t u) { PeepholeGradient(layer, u, to); });
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
