// Peephole weights: the vectors by which gates multiply c.
#ifndef TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PEEPHOLES_H_
#define TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PEEPHOLES_H_

#include <algorithm>
#include <cstdint>

#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/layer_norm.h"

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

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PEEPHOLES_H_
