// Peephole weights: the vectors by which gates multiply c.
#ifndef TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PEEPHOLES_H_
#define TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PEEPHOLES_H_

#include <algorithm>
#include <cstdint>

#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/pass/backward/recurrence.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/layer_norm.h"
#include "cc/cpu/product/transposed.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Pads the rows of i, f and o, [H] each, to whole vectors. A null row becomes zeros. Returns
// `padded`, [3, padded].
template <typename T>
const T* PadPeepholes(const T* const (&rows)[3], const Sizes<T>& s, T* padded) {
  for (int k = 0; k < 3; ++k) {
    T* to = padded + k * s.padded;
    const T* from = rows[k];
    std::fill(from == nullptr ? to : std::copy(from, from + s.units, to), to + s.padded, T(0));
  }
  return padded;
}

// The tensors of the cell of a problem. `peepholes` has space for [3, padded] if IsLstmPeephole.
// `layer_norm` has space for LayerNormElements if the cell has layer normalization. `kept` as in
// AllCellTensors.
template <typename T>
AllCellTensors<T> TensorsOf(const RnnProblem& p, const CallTensors& t, const Sizes<T>& s,
                            T* peepholes, T* layer_norm, T* const (&kept)[2]) {
  const T* const w = p.has_peepholes ? t.in<T>(Arg::peepholes) : nullptr;
  const T* padded = nullptr;
  if (IsLstmPeephole(p)) {
    const bool given = w != nullptr;
    padded = PadPeepholes({w, given ? w + s.units : w, given ? w + 2 * s.units : w}, s, peepholes);
  }
  if (p.has_layer_norm) PackLayerNorm(t, s, layer_norm);
  return AllCellTensors<T>(p, padded, {kept[0], kept[1]}, s.padded, layer_norm);
}

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

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PEEPHOLES_H_
