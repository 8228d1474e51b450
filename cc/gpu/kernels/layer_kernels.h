// The kernels of LayerRNN whose units do not depend on each other. The equations are in cells/.
#pragma once

#include "cc/gpu/kernels/cells/gru.h"
#include "cc/gpu/kernels/cells/lstm.h"
#include "cc/gpu/kernels/cells/vanilla.h"
#include "cc/gpu/kernels/layer_rows.h"

namespace rnn_ops::gpu::elementwise {

// ---- Forward ----

// An invalid length is stored as -1, so that it differs from every length of a gradient.
RNN_OPS_DEVICE void StoreHeader(const LayerCall& call, Int64 b, bool valid) {
  StepsIn(call.header)[b] = valid ? (int)StepsOf(call, b) : -1;
  if (b > 0) return;
  call.header->fingerprint = call.fingerprint;
  for (int k = 0; k < 2; ++k) call.header->seed[k] = call.seed ? call.seed[k] : 0;
}

template <typename A>
RNN_OPS_DEVICE void BeginLayer(const LayerBegin& p) {
  const LayerCall& call = p.call;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool empty = StepsOf(call, b) == 0, valid = IsLengthValid(call.lengths, call.max_time, b);
    RNN_OPS_FOR_COLUMNS(k, call.hidden > call.units ? call.hidden : call.units) {
      if (call.header && k == 0) StoreHeader(call, b, valid);
      if (k < call.hidden) {
        const Int64 at = b * call.hidden + k;
        const A h = valid ? GetElement<A>(call.element, call.input_h, at) : NotANumber<A>();
        PutElement(call.element, h, p.h_first, at);
        if (p.h_state) static_cast<A*>(p.h_state)[at] = h;
        StoreMasked(call, p.masked_h, b, k, h);
        if (empty) PutElement(call.element, h, p.h_n, at);
      }
      if (p.c_first && k < call.units) {
        const Int64 at = b * call.units + k;
        const A c = valid ? GetElement<A>(call.element, call.input_c, at) : NotANumber<A>();
        static_cast<A*>(p.c_first)[at] = c;
        if (empty) PutElement(call.element, c, p.c_n, at);
      }
    }
  }
}

// h of one unit, before a projection.
template <typename A>
RNN_OPS_DEVICE void StoreUnit(const LayerStep& p, Int64 b, Int64 u, A h) {
  if (p.m) {
    PutElement(p.call.element, h, p.m, b * p.call.units + u);
  } else {
    StoreH(p, b, u, h);
  }
}

// A step of Lstm, Gru and Vanilla.
template <template <typename> class Cell, typename A>
RNN_OPS_DEVICE void StepCell(const LayerStep& p) {
  typedef Cell<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool running = p.t < StepsOf(call, b);
    A* gates = static_cast<A*>(p.gates) + b * C::kSaved * H;
    const A* from_h = static_cast<const A*>(p.from_h) + b * C::kGates * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      if (!running) {
        StoreFinished<A>(p, b, u);
        continue;
      }
      CellArgs<A> args = CellArgsOf<A>(call, u);
      if (p.h_state) args.h_prev = static_cast<const A*>(p.h_state)[b * H + u];
      if (C::kHasC) args.c_prev = static_cast<const A*>(p.c_prev)[b * H + u];
      A x[C::kGates], h[C::kGates], saved[C::kSaved];
      for (int g = 0; g < C::kGates; ++g) {
        x[g] = gates[g * H + u] + BiasOf<A>(call, 0, g * H + u);
        h[g] = from_h[g * H + u] + BiasOf<A>(call, 1, g * H + u);
      }
      A c = 0, h_new = 0;
      C::Forward(args, x, h, saved, &c, &h_new);
      for (int k = 0; k < C::kSaved; ++k) gates[k * H + u] = saved[k];
      if (C::kHasC) StoreC(p, b, u, Kept<A>(call, 1, p.t, b, u).Mix(args.c_prev, c));
      StoreUnit(p, b, u, Kept<A>(call, 0, p.t, b, u).Mix(args.h_prev, h_new));
    }
  }
}

// The first part of a step of GruResetBefore: z, r and m.
template <typename A>
RNN_OPS_DEVICE void StepResetBefore(const LayerStep& p) {
  typedef GruResetBefore<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    A* gates = static_cast<A*>(p.gates) + b * C::kSaved * H;
    const A* from_h = static_cast<const A*>(p.from_h) + b * C::kGates * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      const CellArgs<A> args = CellArgsOf<A>(call, u);
      const A h_prev = static_cast<const A*>(p.h_state)[b * H + u];
      for (int g = 0; g < C::kCandidate; ++g) {
        A& gate = gates[g * H + u];
        gate = args.Gate(gate + BiasOf<A>(call, 0, g * H + u) + from_h[g * H + u]);
      }
      const A reset = gates[C::kReset * H + u];
      PutElement(call.element, reset * h_prev * MaskOf<A>(call, C::kCandidate, b, u), p.m,
                 b * H + u);
    }
  }
}

// The second part: n and h. from_h has m R_n in the columns of n.
template <typename A>
RNN_OPS_DEVICE void FinishResetBefore(const LayerStep& p) {
  typedef GruResetBefore<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool running = p.t < StepsOf(call, b);
    A* gates = static_cast<A*>(p.gates) + b * C::kSaved * H;
    const A* from_h = static_cast<const A*>(p.from_h) + b * C::kGates * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      if (!running) {
        StoreFinished<A>(p, b, u);
        continue;
      }
      CellArgs<A> args = CellArgsOf<A>(call, u);
      args.h_prev = static_cast<const A*>(p.h_state)[b * H + u];
      const Int64 column = C::kCandidate * H + u;
      const A x = gates[column] + BiasOf<A>(call, 0, column);
      const A candidate = C::Candidate(args, x, from_h[column]);
      gates[column] = candidate;
      StoreH(p, b, u, C::NewH(args, gates[u], candidate));
    }
  }
}

// h of an LSTM with a projection. The grid is [B, P].
template <typename A>
RNN_OPS_DEVICE void StepProjection(const LayerStep& p) {
  const LayerCall& call = p.call;
  const A limit = RoundToElement(call.element, A(call.proj_clip));
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool running = p.t < StepsOf(call, b);
    RNN_OPS_FOR_COLUMNS(k, call.hidden) {
      const Int64 at = b * call.hidden + k;
      if (!running) {
        PutElement(call.element, A(0), p.y, at);
        continue;
      }
      const A h = static_cast<const A*>(p.from_m)[at];
      StoreH(p, b, k, limit > A(0) ? Limited(h, limit) : h);
    }
  }
}

// ---- Backward ----

// dgates of one unit; of a finished row zeros.
template <typename A>
RNN_OPS_DEVICE void StoreGates(const LayerBackStep& p, Int64 b, Int64 u, int first, int end,
                               const CellGradients<A>& d) {
  for (int g = first; g < end; ++g) {
    const Int64 at = (b * p.call.gates + g) * p.call.units + u;
    PutElement(p.call.element, d.dx[g], p.dgates_x, at);
    if (p.dgates_h != p.dgates_x) PutElement(p.call.element, d.dh[g], p.dgates_h, at);
  }
}

template <template <typename> class Cell, typename A>
RNN_OPS_DEVICE void BackCell(const LayerBackStep& p) {
  typedef Cell<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool running = p.t < StepsOf(call, b);
    const A* gates = static_cast<const A*>(p.gates) + b * C::kSaved * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      const Int64 at = b * H + u;
      CellGradients<A> d = {};
      if (!running) {
        StoreGates(p, b, u, 0, C::kGates, d);
        if (p.m) PutElement(call.element, A(0), p.m, at);
        continue;
      }
      CellArgs<A> args = CellArgsOf<A>(call, u);
      // The gradient of a clipped c is 0, which would hide NaN.
      if (args.cell_clip > A(0) && !HasGradient(call, b)) args.cell_clip = A(0);
      if (C::kCarriesH) args.h_prev = GetElement<A>(call.element, p.h_prev, at);
      if (C::kHasC) args.c_prev = static_cast<const A*>(p.c_prev)[at];
      A saved[C::kSaved];
      for (int k = 0; k < C::kSaved; ++k) saved[k] = gates[k * H + u];
      const A dh = p.dm ? static_cast<const A*>(p.dm)[at] : GradientOfH<A>(p, b, u);
      const A kept_h = Kept<A>(call, 0, p.t, b, u).factor;
      A kept_dc = 0;
      if (C::kHasC) {
        const A dc = GradientOfC<A>(p, b, u);
        kept_dc = Kept<A>(call, 1, p.t, b, u).factor * dc;
        d.dc = dc - kept_dc;
      }
      C::Backward(args, saved, dh - kept_h * dh, &d);
      StoreGates(p, b, u, 0, C::kGates, d);
      if (C::kHasC) static_cast<A*>(p.dc)[at] = d.dc + kept_dc;
      if (p.direct) static_cast<A*>(p.direct)[at] = d.direct + kept_h * dh;
      if (p.m) PutElement(call.element, d.m, p.m, at);
    }
  }
}

// The gradient of GruResetBefore up to the second product.
template <typename A>
RNN_OPS_DEVICE void BackResetBefore(const LayerBackStep& p) {
  typedef GruResetBefore<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool running = p.t < StepsOf(call, b);
    const A* gates = static_cast<const A*>(p.gates) + b * C::kSaved * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      const Int64 at = b * H + u;
      CellGradients<A> d = {};
      if (running) {
        CellArgs<A> args = CellArgsOf<A>(call, u);
        args.h_prev = GetElement<A>(call.element, p.h_prev, at);
        const A saved[C::kSaved] = {gates[u], gates[H + u], gates[2 * H + u]};
        C::Backward(args, saved, GradientOfH<A>(p, b, u), &d);
        static_cast<A*>(p.direct)[at] = d.direct;
      }
      StoreGates(p, b, u, C::kUpdate, C::kUpdate + 1, d);
      StoreGates(p, b, u, C::kCandidate, C::kGates, d);
    }
  }
}

// The rest, with dm.
template <typename A>
RNN_OPS_DEVICE void BackResetBeforeSecond(const LayerBackStep& p) {
  typedef GruResetBefore<A> C;
  const LayerCall& call = p.call;
  const Int64 H = call.units;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool running = p.t < StepsOf(call, b);
    const A* gates = static_cast<const A*>(p.gates) + b * C::kSaved * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      const Int64 at = b * H + u;
      CellGradients<A> d = {};
      A m = 0;
      if (running) {
        CellArgs<A> args = CellArgsOf<A>(call, u);
        args.h_prev = GetElement<A>(call.element, p.h_prev, at);
        const A saved[C::kSaved] = {gates[u], gates[H + u], gates[2 * H + u]};
        const A mask = MaskOf<A>(call, C::kCandidate, b, u);
        d.direct = static_cast<const A*>(p.direct)[at];
        C::BackAfterSecond(args, saved, static_cast<const A*>(p.dm)[at] * mask, &d);
        static_cast<A*>(p.direct)[at] = d.direct;
        m = saved[C::kReset] * args.h_prev * mask;
      }
      StoreGates(p, b, u, C::kReset, C::kReset + 1, d);
      PutElement(call.element, m, p.m, at);
    }
  }
}

// The gradient of the product with the projection. The grid is [B, P].
template <typename A>
RNN_OPS_DEVICE void BackProjection(const LayerBackStep& p) {
  const LayerCall& call = p.call;
  const A limit = RoundToElement(call.element, A(call.proj_clip));
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool running = p.t < StepsOf(call, b);
    RNN_OPS_FOR_COLUMNS(k, call.hidden) {
      const Int64 at = b * call.hidden + k;
      A dh = 0;
      if (running) {
        dh = GradientOfH<A>(p, b, k);
        const A h = GetElement<A>(call.element, p.y, at);
        const bool clipped = limit > A(0) && (h >= limit || h <= -limit);
        if (clipped && HasGradient(call, b)) dh = 0;
      }
      PutElement(call.element, dh, p.dprojected, at);
    }
  }
}

template <typename A>
RNN_OPS_DEVICE void EndLayer(const LayerEnd& p) {
  const LayerBackStep& step = p.step;
  const LayerCall& call = step.call;
  RNN_OPS_FOR_ROWS(b, call.batch) {
    const bool empty = StepsOf(call, b) == 0, valid = HasGradient(call, b);
    RNN_OPS_FOR_COLUMNS(k, call.hidden > call.units ? call.hidden : call.units) {
      if (k < call.hidden) {
        const Int64 at = b * call.hidden + k;
        const A dh = empty ? GetElement<A>(call.element, step.dh_n, at) : CarriedH<A>(step, b, k);
        PutElement(call.element, valid ? dh : NotANumber<A>(), p.dh0, at);
      }
      if (p.dc0 && k < call.units) {
        const Int64 at = b * call.units + k;
        const A dc =
            empty ? GetElement<A>(call.element, step.dc_n, at) : static_cast<const A*>(step.dc)[at];
        PutElement(call.element, valid ? dc : NotANumber<A>(), p.dc0, at);
      }
    }
  }
}

// ---- Masks ----

template <typename A>
RNN_OPS_DEVICE void MultiplyByMasks(const ApplyMasks& p) {
  RNN_OPS_FOR_ROWS(r, p.rows) {
    RNN_OPS_FOR_COLUMNS(k, p.width) {
      const bool running = IsRunning(p.steps, r);
      const A value = running ? GetElement<A>(p.element, p.from, r * p.width + k) : A(0);
      RNN_OPS_NO_UNROLL for (int g = 0; g < p.gates; ++g) {
        const Int64 mask_at = (g * p.steps.batch + r % p.steps.batch) * p.width + k;
        const A mask = running && p.masks ? GetElement<A>(p.element, p.masks, mask_at) : A(1);
        PutElement(p.element, value * mask, p.to, (g * p.all_rows + p.first_row + r) * p.width + k);
      }
    }
  }
}

template <typename A>
RNN_OPS_DEVICE void SumOverMasks(const SumMasked& p) {
  RNN_OPS_FOR_ROWS(r, p.rows) {
    RNN_OPS_FOR_COLUMNS(k, p.width) {
      A sum = 0;
      const int gates = IsRunning(p.steps, r) ? p.gates : 0;
      RNN_OPS_NO_UNROLL for (int g = 0; g < gates; ++g) {
        const Int64 mask_at = (g * p.steps.batch + r % p.steps.batch) * p.width + k;
        sum += static_cast<const A*>(p.from)[(g * p.rows + r) * p.width + k] *
               GetElement<A>(p.element, p.masks, mask_at);
      }
      PutElement(p.element, sum, p.to, r * p.width + k);
    }
  }
}

// ---- Stacks ----

template <typename A>
RNN_OPS_DEVICE void MoveRows(const MoveSequence& p) {
  const Word64 key = p.rate > 0 && !p.stores_key ? *p.stored_key : p.key;
  const Word64 threshold = (Word64)((double)p.rate * 4294967296.0);
  const A scale = p.rate < 1 ? A(1) / (A(1) - A(p.rate)) : A(0);
  RNN_OPS_FOR_ROWS(row, p.max_time * p.batch) {
    const Int64 b = row % p.batch, to_step = row / p.batch;
    const Int64 steps = p.lengths ? p.lengths[b] : p.max_time;
    const bool running = to_step < steps;
    const Int64 t = p.to_reversed ? steps - 1 - to_step : to_step;
    const Int64 from_step = p.from_reversed ? steps - 1 - t : t;
    const Int64 to = (p.to_time_major ? row : b * p.max_time + to_step) * p.to_row;
    const Int64 from =
        (p.from_time_major ? from_step * p.batch + b : b * p.max_time + from_step) * p.from_row;
    RNN_OPS_FOR_COLUMNS(k, p.width) {
      if (p.stores_key && row == 0 && k == 0) *p.stored_key = p.key;
      A value = running ? GetElement<A>(p.element, p.from, from + k) : A(0);
      if (running && p.rate > 0) {
        const Word64 place = (Word64)t * (Word64)p.batch + (Word64)b;
        const bool drops = RandomWord(key, p.first_column + k, p.layer, place) < threshold;
        value = drops ? A(0) : value * scale;
      }
      if (p.adds) value += GetElement<A>(p.element, p.to, to + k);
      PutElement(p.element, value, p.to, to + k);
    }
  }
}

template <typename A>
RNN_OPS_DEVICE void CopyGateBlocks(const CopyGates& p) {
  RNN_OPS_FOR_ROWS(r, p.rows) {
    RNN_OPS_FOR_COLUMNS(k, p.gates * p.units) {
      const Int64 g = k / p.units, u = k % p.units;
      const Int64 from_gate = p.swaps && g < 2 ? 1 - g : g;
      const A value =
          p.from ? GetElement<A>(p.element, p.from,
                                 r * p.from_row + from_gate * p.from_gate + u * p.from_unit)
                 : A(r == u ? 1 : 0);
      PutElement(p.element, value, p.to, r * p.to_row + g * p.to_gate + u * p.to_unit);
    }
  }
}

// ---- Integers and sums ----

template <typename A>
RNN_OPS_DEVICE void DequantizeMatrix(const Dequantize& p) {
  RNN_OPS_FOR_ROWS(r, p.rows) {
    RNN_OPS_FOR_COLUMNS(k, p.columns) {
      const Int64 at = r * p.columns + k;
      PutElement(p.element, A(p.from[at]) * A(p.scales[k]), p.to, at);
    }
  }
}

template <typename A>
RNN_OPS_DEVICE void SumOverRows(const SumRows& p) {
  RNN_OPS_FOR_ROWS(chunk, p.chunks) {
    const Int64 first = chunk * p.chunk_rows;
    const Int64 end = first + p.chunk_rows < p.rows ? first + p.chunk_rows : p.rows;
    RNN_OPS_FOR_COLUMNS(k, p.columns) {
      A sum = 0;
      RNN_OPS_NO_UNROLL for (Int64 r = first; r < end; ++r) {
        if (!IsRunning(p.steps, r)) continue;
        A value = GetElement<A>(p.a_element, p.a, r * p.a_size + k);
        if (p.b) {
          A factor = static_cast<const A*>(p.b)[r * p.b_size + k];
          if (p.stats) {
            const A* stats = static_cast<const A*>(p.stats) + r * p.stats_size;
            factor = (factor - stats[0]) * stats[1];
          }
          value *= factor;
        }
        sum += value;
      }
      static_cast<A*>(p.partial)[chunk * p.columns + k] = sum;
    }
  }
}

template <typename A>
RNN_OPS_DEVICE void FinishSumOverRows(const FinishRowSums& p) {
  RNN_OPS_FOR_COLUMNS(k, p.columns) {
    A sum = 0;
    RNN_OPS_NO_UNROLL for (Int64 chunk = 0; chunk < p.chunks; ++chunk) {
      sum += static_cast<const A*>(p.partial)[chunk * p.columns + k];
    }
    PutElement(p.element, sum, p.to, k);
  }
}

}  // namespace rnn_ops::gpu::elementwise
