// The inputs of the tensors of a stack's cell.
#pragma once

#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/layer_norm.h"
#include "cc/cpu/pass/weights/peepholes.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Pads and packs the weights of a cell besides its matrices. `peepholes` has space for [3, padded]
// if IsLstmPeephole. `layer_norm` has space for LayerNormElements if the cell has layer
// normalization. `masks` are those of zoneout.
template <typename T>
CellInputs<T> CellInputsOf(const RnnProblem& p, const CallTensors& t, const Sizes<T>& s,
                           T* peepholes, T* layer_norm, T* const (&masks)[2]) {
  CellInputs<T> in = {p, nullptr, nullptr, {masks[0], masks[1]}, s.padded};
  if (IsLstmPeephole(p)) {
    const T* const w = p.has_peepholes ? t.in<T>(Arg::peepholes) : nullptr;
    const bool given = w != nullptr;
    in.peepholes =
        PadPeepholes({w, given ? w + s.units : w, given ? w + 2 * s.units : w}, s, peepholes);
  }
  if (p.has_layer_norm) {
    PackLayerNorm(t, s, layer_norm);
    in.layer_norm = layer_norm;
  }
  return in;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
