// Layer-normalised LSTM (Ba et al. 2016). One block of threads computes a row, because the means
// and variances are over all units:
//   z = N_x(x W) + N_h(h_prev R) + b
//   i, f, o = s(z); g = a(z)
//   c = N_c(f * c_prev + i * g); h = o * a(c)
//   N(v) = gamma * (v - mean) / sqrt(variance + epsilon) + beta
#pragma once

#include "cc/gpu/kernels/elements.h"
#include "cc/gpu/kernels/layer_rows.h"

namespace rnn_ops::gpu::elementwise {

// The mean of `size` values and 1 / sqrt(variance + epsilon).
template <typename A>
struct Moments {
  A mean, slope;

  RNN_OPS_DEVICE A Unit(A value) const { return (value - mean) * slope; }
  // The gradient of a value from that of its unit value d, with the means of d and of d * unit.
  RNN_OPS_DEVICE A Back(A unit, A d, A mean_d, A mean_product) const {
    return (d - mean_d - unit * mean_product) * slope;
  }
};

// All threads of the block must call it. `values` [size]; each thread reads its own columns of each
// of the `blocks` blocks of `units`.
template <typename A>
RNN_OPS_DEVICE Moments<A> MomentsOf(const A* values, int blocks, Int64 units, A epsilon) {
  const A size = A(blocks) * A(units);
  A sum = 0;
  RNN_OPS_NO_UNROLL for (int g = 0; g < blocks; ++g) {
    RNN_OPS_FOR_COLUMNS(u, units) { sum += values[g * units + u]; }
  }
  Moments<A> found;
  found.mean = BlockSum(sum) / size;
  // WHY two passes: the mean of the squares minus the square of the mean would lose bits.
  A squares = 0;
  RNN_OPS_NO_UNROLL for (int g = 0; g < blocks; ++g) {
    RNN_OPS_FOR_COLUMNS(u, units) {
      const A centred = values[g * units + u] - found.mean;
      squares += centred * centred;
    }
  }
  found.slope = A(1) / SquareRoot(BlockSum(squares) / size + epsilon);
  return found;
}

template <typename A>
struct LstmLayerNorm {
  enum Gate { kInput = 0, kForget = 1, kCandidate = 2, kOutput = 3 };
  enum { kGates = 4, kSaved = 8, kCarriesH = 0 };  // saved: x W and h R

  const LayerCall& call;
  Moments<A> x, h;

  RNN_OPS_DEVICE A Weight(int block, Int64 u) const {
    return GetElement<A>(call.element, call.layer_norm, block * call.units + u);
  }
  // i, f, g and o of unit u.
  RNN_OPS_DEVICE void Gates(const CellArgs<A>& args, const A* from_x, const A* from_h, Int64 u,
                            A* gates) const {
    for (int g = 0; g < kGates; ++g) {
      const Int64 at = g * call.units + u;
      const A sum = x.Unit(from_x[at]) * Weight(kGammaX + g, u) + Weight(kBetaX + g, u) +
                    h.Unit(from_h[at]) * Weight(kGammaH + g, u) + Weight(kBetaH + g, u) +
                    BiasOf<A>(call, 0, at);
      gates[g] = g == kCandidate ? args.State(sum) : args.Gate(sum);
    }
  }
};

// A step. The grid is [B, at most one block].
template <typename A>
RNN_OPS_DEVICE void StepLayerNorm(const LayerStep& p) {
  typedef LstmLayerNorm<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    if (p.t >= StepsOf(call, b)) {
      RNN_OPS_FOR_COLUMNS(u, H) { StoreFinished<A>(p, b, u); }
      continue;
    }
    A* from_x = static_cast<A*>(p.gates) + b * C::kSaved * H;
    A* from_h = static_cast<A*>(const_cast<void*>(p.from_h)) + b * C::kGates * H;
    const C cell = {call, MomentsOf(from_x, C::kGates, H, A(call.epsilon)),
                    MomentsOf(from_h, C::kGates, H, A(call.epsilon))};
    // c before its normalization; the gates of the output take the place of from_h.
    A* c = static_cast<A*>(p.c) + b * H;
    const A* c_prev = static_cast<const A*>(p.c_prev) + b * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      A gates[C::kGates];
      cell.Gates(CellArgsOf<A>(call, u), from_x, from_h, u, gates);
      RNN_OPS_NO_UNROLL for (int g = 0; g < C::kGates; ++g) from_x[(C::kGates + g) * H + u] =
          from_h[g * H + u];
      from_h[u] = gates[C::kOutput];
      c[u] = gates[C::kForget] * c_prev[u] + gates[C::kInput] * gates[C::kCandidate];
    }
    const Moments<A> of_c = MomentsOf(c, 1, H, A(call.epsilon));
    RNN_OPS_FOR_COLUMNS(u, H) {
      const A made = of_c.Unit(c[u]) * cell.Weight(kGammaC, u) + cell.Weight(kBetaC, u);
      StoreC(p, b, u, made);
      StoreH(p, b, u, from_h[u] * CellArgsOf<A>(call, u).State(made));
    }
  }
}

// The gradient of a step, for one row.
template <typename A>
struct LayerNormBack {
  typedef LstmLayerNorm<A> C;
  const LayerBackStep& p;
  const Int64 b, H;
  const A *from_x, *from_h, *c_prev;
  A *gates, *c_unit, *dc;  // gates: of LayerBackStep::dsums, replaced by their gradients
  C cell;
  Moments<A> of_c;

  // c' before its normalization, in c_unit.
  RNN_OPS_DEVICE void MakeGates() const {
    RNN_OPS_FOR_COLUMNS(u, H) {
      A made[C::kGates];
      cell.Gates(CellArgsOf<A>(p.call, u), from_x, from_h, u, made);
      for (int g = 0; g < C::kGates; ++g) gates[g * H + u] = made[g];
      c_unit[u] = made[C::kForget] * c_prev[u] + made[C::kInput] * made[C::kCandidate];
    }
  }

  // do = dh * a(c) * s'(o); dc += dh * o * a'(c). Returns the sums of dc^ and of dc^ * c^.
  RNN_OPS_DEVICE void OutputGate(A* sum, A* product) const {
    const A* c = static_cast<const A*>(p.c) + b * H;
    A* dc_scaled = static_cast<A*>(p.dc_scaled) + b * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      const CellArgs<A> args = CellArgsOf<A>(p.call, u);
      const A state = args.State(c[u]), out = gates[C::kOutput * H + u];
      const A dh = GradientOfH<A>(p, b, u);
      gates[C::kOutput * H + u] = dh * state * args.GateSlope(out);
      const A of_shift = GradientOfC<A>(p, b, u) + dh * out * args.StateSlope(state);
      dc_scaled[u] = of_shift;
      c_unit[u] = of_c.Unit(c_unit[u]);
      dc[u] = of_shift * cell.Weight(kGammaC, u);
      *sum += dc[u];
      *product += dc[u] * c_unit[u];
    }
  }

  // di, df and dg, and the sums of the gradients of both normalizations: [x: d, d * x^; h: ...].
  RNN_OPS_DEVICE void OtherGates(A mean_d, A mean_product, A (&sums)[4]) const {
    RNN_OPS_FOR_COLUMNS(u, H) {
      const CellArgs<A> args = CellArgsOf<A>(p.call, u);
      const A in = gates[C::kInput * H + u], forget = gates[C::kForget * H + u];
      const A candidate = gates[C::kCandidate * H + u];
      const A d = of_c.Back(c_unit[u], dc[u], mean_d, mean_product);
      gates[C::kInput * H + u] = d * candidate * args.GateSlope(in);
      gates[C::kForget * H + u] = d * c_prev[u] * args.GateSlope(forget);
      gates[C::kCandidate * H + u] = d * in * args.StateSlope(candidate);
      dc[u] = d * forget;
      RNN_OPS_NO_UNROLL for (int g = 0; g < C::kGates; ++g) {
        const A of_x = gates[g * H + u] * cell.Weight(kGammaX + g, u);
        const A of_h = gates[g * H + u] * cell.Weight(kGammaH + g, u);
        sums[0] += of_x;
        sums[1] += of_x * cell.x.Unit(from_x[g * H + u]);
        sums[2] += of_h;
        sums[3] += of_h * cell.h.Unit(from_h[g * H + u]);
      }
    }
  }

  RNN_OPS_DEVICE void Products(const A (&means)[4]) const {
    RNN_OPS_FOR_COLUMNS(u, H) {
      RNN_OPS_NO_UNROLL for (int g = 0; g < C::kGates; ++g) {
        const Int64 at = g * H + u, to = b * C::kGates * H + at;
        const A of_x = gates[at] * cell.Weight(kGammaX + g, u);
        const A of_h = gates[at] * cell.Weight(kGammaH + g, u);
        const A dx = cell.x.Back(cell.x.Unit(from_x[at]), of_x, means[0], means[1]);
        const A dh = cell.h.Back(cell.h.Unit(from_h[at]), of_h, means[2], means[3]);
        PutElement(p.call.element, dx, p.dgates_x, to);
        PutElement(p.call.element, dh, p.dgates_h, to);
      }
    }
  }
};

template <typename A>
RNN_OPS_DEVICE void BackLayerNorm(const LayerBackStep& p) {
  typedef LstmLayerNorm<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    if (p.t >= StepsOf(call, b)) {
      RNN_OPS_FOR_COLUMNS(u, H) {
        RNN_OPS_NO_UNROLL for (int g = 0; g < C::kGates; ++g) {
          PutElement(call.element, A(0), p.dgates_x, (b * C::kGates + g) * H + u);
          PutElement(call.element, A(0), p.dgates_h, (b * C::kGates + g) * H + u);
        }
      }
      continue;
    }
    const A* from_x = static_cast<const A*>(p.gates) + b * C::kSaved * H;
    const A* from_h = from_x + C::kGates * H;
    const C cell = {call, MomentsOf(from_x, C::kGates, H, A(call.epsilon)),
                    MomentsOf(from_h, C::kGates, H, A(call.epsilon))};
    LayerNormBack<A> row = {p,
                            b,
                            H,
                            from_x,
                            from_h,
                            static_cast<const A*>(p.c_prev) + b * H,
                            static_cast<A*>(p.dsums) + b * C::kGates * H,
                            static_cast<A*>(p.c_unit) + b * H,
                            static_cast<A*>(p.dc) + b * H,
                            cell,
                            {}};
    row.MakeGates();
    row.of_c = MomentsOf(row.c_unit, 1, H, A(call.epsilon));
    A sum = 0, product = 0;
    row.OutputGate(&sum, &product);
    const A mean_d = BlockSum(sum) / A(H), mean_product = BlockSum(product) / A(H);
    A sums[4] = {};
    row.OtherGates(mean_d, mean_product, sums);
    for (int k = 0; k < 4; ++k) sums[k] = BlockSum(sums[k]) / (A(C::kGates) * A(H));
    row.Products(sums);
    if (FirstColumn() == 0) {
      A* stats = static_cast<A*>(p.stats) + b * kStats;
      stats[kMeanX] = cell.x.mean;
      stats[kSlopeX] = cell.x.slope;
      stats[kMeanH] = cell.h.mean;
      stats[kSlopeH] = cell.h.slope;
    }
  }
}

}  // namespace rnn_ops::gpu::elementwise
