// GRU, with the reset gate after or before the product.
#pragma once

#include "cc/gpu/kernels/cells/cell.h"

namespace rnn_ops::gpu::elementwise {

// GRU with the reset gate after the product, as in cuDNN:
//   z, r = s(.); n = a(x_n + r * h_n); h = z * h_prev + (1 - z) * n

template <typename A>
struct Gru {
  enum Gate { kUpdate = 0, kReset = 1, kCandidate = 2 };
  enum { kFromH = 3 };  // h_n among the saved numbers
  enum { kGates = 3, kSaved = 4, kHasC = 0, kCarriesH = 1, kProducts = 1 };

  RNN_OPS_DEVICE static void Forward(const CellArgs<A>& args, const A* x, const A* h, A* saved, A*,
                                     A* h_new) {
    const A update = args.Gate(x[kUpdate] + h[kUpdate]);
    const A reset = args.Gate(x[kReset] + h[kReset]);
    const A candidate = args.State(x[kCandidate] + reset * h[kCandidate]);
    saved[kUpdate] = update;
    saved[kReset] = reset;
    saved[kCandidate] = candidate;
    saved[kFromH] = h[kCandidate];
    *h_new = update * args.h_prev + (A(1) - update) * candidate;
  }

  // dn = dh * (1 - z) * a'(n); dz = dh * (h_prev - n) * s'(z); dr = dn * h_n * s'(r).
  RNN_OPS_DEVICE static void Backward(const CellArgs<A>& args, const A* saved, A dh,
                                      CellGradients<A>* d) {
    const A update = saved[kUpdate], reset = saved[kReset], candidate = saved[kCandidate];
    const A d_candidate = dh * (A(1) - update) * args.StateSlope(candidate);
    d->dx[kUpdate] = d->dh[kUpdate] = dh * (args.h_prev - candidate) * args.GateSlope(update);
    d->dx[kReset] = d->dh[kReset] = d_candidate * saved[kFromH] * args.GateSlope(reset);
    d->dx[kCandidate] = d_candidate;
    d->dh[kCandidate] = d_candidate * reset;
    d->direct = dh * update;
  }
};

// GRU with the reset gate before the product, as in the paper. A step has two products:
//   z, r = s(.); m = r * h_prev
//   n = a(x_n + m R_n); h = z * h_prev + (1 - z) * n

// The names and functions of other cells, in two parts: before and after the second product.
template <typename A>
struct GruResetBefore {
  enum Gate { kUpdate = 0, kReset = 1, kCandidate = 2 };
  enum { kGates = 3, kSaved = 3, kHasC = 0, kCarriesH = 1, kProducts = 2 };

  RNN_OPS_DEVICE static A Candidate(const CellArgs<A>& args, A x, A from_m) {
    return args.State(x + from_m);
  }
  RNN_OPS_DEVICE static A NewH(const CellArgs<A>& args, A update, A candidate) {
    return update * args.h_prev + (A(1) - update) * candidate;
  }

  // dn and dz as in Gru, without dr.
  RNN_OPS_DEVICE static void Backward(const CellArgs<A>& args, const A* saved, A dh,
                                      CellGradients<A>* d) {
    const A update = saved[kUpdate], candidate = saved[kCandidate];
    d->dx[kCandidate] = dh * (A(1) - update) * args.StateSlope(candidate);
    d->dx[kUpdate] = dh * (args.h_prev - candidate) * args.GateSlope(update);
    d->direct = dh * update;
  }

  // dr = dm * h_prev * s'(r); dh_prev += dm * r.
  RNN_OPS_DEVICE static void BackAfterSecond(const CellArgs<A>& args, const A* saved, A dm,
                                             CellGradients<A>* d) {
    d->dx[kReset] = dm * args.h_prev * args.GateSlope(saved[kReset]);
    d->direct += dm * saved[kReset];
  }
};

}  // namespace rnn_ops::gpu::elementwise
