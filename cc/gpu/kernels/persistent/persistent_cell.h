// The unit of a cell in a persistent kernel: the functors of cells/. A kernel that is not general
// knows the activations and lacks peepholes, the clip and zoneout, so that its code is short.
#pragma once

#include "cc/gpu/kernels/cells/cell.h"
#include "cc/gpu/kernels/layer_rows.h"

namespace rnn_ops::gpu::elementwise {

template <class Cell, bool kGeneral>
struct PersistentCell {
  typedef CellArgs<float> Args;

  RNN_OPS_DEVICE static Args ArgsOf(const LayerCall& call, Int64 u, float h_prev, float c_prev) {
    Args args = {};
    if (kGeneral) {
      args = CellArgsOf<float>(call, u);
    } else {
      args.activation = Cell::kGates == 1 ? call.activation : kTanhNumber;
      args.recurrent_activation = kSigmoidNumber;
    }
    args.h_prev = h_prev, args.c_prev = c_prev;
    return args;
  }

  // A state (0: h, 1: c) with the part of the old one that zoneout keeps, and that part.
  RNN_OPS_DEVICE static float Mix(const LayerCall& call, unsigned state, Int64 t, Int64 b, Int64 u,
                                  float old, float made) {
    return kGeneral ? Kept<float>(call, state, t, b, u).Mix(old, made) : made;
  }
  RNN_OPS_DEVICE static float KeptFactor(const LayerCall& call, unsigned state, Int64 t, Int64 b,
                                         Int64 u) {
    return kGeneral ? Kept<float>(call, state, t, b, u).factor : 0.0f;
  }
};

}  // namespace rnn_ops::gpu::elementwise
