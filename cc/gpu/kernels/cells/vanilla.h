// One gate: h = a(.).
#pragma once

#include "cc/gpu/kernels/cells/cell.h"

namespace rnn_ops::gpu::elementwise {

template <typename A>
struct Vanilla {
  enum { kGates = 1, kSaved = 1, kHasC = 0, kCarriesH = 0, kProducts = 1 };

  RNN_OPS_DEVICE static void Forward(const CellArgs<A>& args, const A* x, const A* h, A* saved, A*,
                                     A* h_new) {
    *h_new = saved[0] = args.State(x[0] + h[0]);
  }

  RNN_OPS_DEVICE static void Backward(const CellArgs<A>& args, const A* saved, A dh,
                                      CellGradients<A>* d) {
    d->dx[0] = d->dh[0] = dh * args.StateSlope(saved[0]);
    d->direct = A(0);
  }
};

}  // namespace rnn_ops::gpu::elementwise
