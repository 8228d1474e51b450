// LSTM, with peepholes p and clipping of c where they are given:
//   i, f = s(. + p_0 * c_prev, p_1 * c_prev); g = a(.)
//   c = clip(f * c_prev + i * g)
//   o = s(. + p_2 * c); h = o * a(c)
#pragma once

#include "cc/gpu/kernels/cells/cell.h"

namespace rnn_ops::gpu::elementwise {

template <typename A>
struct Lstm {
  enum Gate { kInput = 0, kForget = 1, kCandidate = 2, kOutput = 3 };
  enum { kGates = 4, kSaved = 4, kHasC = 1, kCarriesH = 0, kProducts = 1 };

  RNN_OPS_DEVICE static A Clipped(const CellArgs<A>& args, A c) {
    return args.cell_clip > A(0) ? Limited(c, args.cell_clip) : c;
  }

  RNN_OPS_DEVICE static void Forward(const CellArgs<A>& args, const A* x, const A* h, A* saved,
                                     A* c, A* h_new) {
    A in = x[kInput] + h[kInput], forget = x[kForget] + h[kForget];
    if (args.has_peepholes) {
      in += args.c_prev * args.peepholes[0];
      forget += args.c_prev * args.peepholes[1];
    }
    in = args.Gate(in);
    forget = args.Gate(forget);
    const A candidate = args.State(x[kCandidate] + h[kCandidate]);
    *c = Clipped(args, forget * args.c_prev + in * candidate);
    A out = x[kOutput] + h[kOutput];
    if (args.has_peepholes) out += *c * args.peepholes[2];
    out = args.Gate(out);
    saved[kInput] = in;
    saved[kForget] = forget;
    saved[kCandidate] = candidate;
    saved[kOutput] = out;
    *h_new = out * args.State(*c);
  }

  // do = dh * a(c) * s'(o); dc += dh * o * a'(c) + do * p_2, and 0 where c was clipped.
  // di = dc * g * s'(i); df = dc * c_prev * s'(f); dg = dc * i * a'(g).
  // dc_prev = dc * f + di * p_0 + df * p_1.
  RNN_OPS_DEVICE static void Backward(const CellArgs<A>& args, const A* saved, A dh,
                                      CellGradients<A>* d) {
    const A in = saved[kInput], forget = saved[kForget], candidate = saved[kCandidate];
    const A out = saved[kOutput];
    const A unclipped = forget * args.c_prev + in * candidate;
    const A state = args.State(Clipped(args, unclipped));
    const A d_out = dh * state * args.GateSlope(out);
    A dc = d->dc + dh * out * args.StateSlope(state);
    if (args.has_peepholes) dc += d_out * args.peepholes[2];
    const bool clipped =
        args.cell_clip > A(0) && (unclipped > args.cell_clip || unclipped < -args.cell_clip);
    if (clipped) dc = A(0);
    d->dx[kInput] = dc * candidate * args.GateSlope(in);
    d->dx[kForget] = dc * args.c_prev * args.GateSlope(forget);
    d->dx[kCandidate] = dc * in * args.StateSlope(candidate);
    d->dx[kOutput] = d_out;
    for (int g = 0; g < kGates; ++g) d->dh[g] = d->dx[g];
    d->dc = dc * forget;
    if (args.has_peepholes) {
      d->dc += d->dx[kInput] * args.peepholes[0] + d->dx[kForget] * args.peepholes[1];
    }
    d->direct = A(0);
    d->m = out * state;
  }
};

}  // namespace rnn_ops::gpu::elementwise
