// The elementwise part of BlockLSTMV2 and of its gradient. The equations are those of TensorFlow's
// op.
#pragma once

#include "cc/gpu/kernels/elements.h"
#include "cc/gpu/kernels/kernel_args.h"

namespace rnn_ops::gpu::elementwise {

// i, f = s(. + c_prev * w_ci, w_cf)
// ci = tanh(.)
// c = clip(ci * i + c_prev * f)
// o = s(. + c * w_co)
// co = tanh(c)
// h = co * o
template <typename T>
RNN_OPS_DEVICE void BlockLstmForward(const BlockLstmForwardStep& p) {
  typedef MathType<T> A;
  const Int64 H = p.units;
  RNN_OPS_FOR_ROWS(b, p.batch) {
    const A* gates = static_cast<const A*>(p.gates) + b * kGates * H;
    RNN_OPS_FOR_COLUMNS(u, H) {
      const Int64 at = b * H + u;
      const A c_prev = static_cast<const A*>(p.c_prev)[at];
      A in = gates[u] + Get<T>(p.bias, u);
      A forget = gates[H + u] + Get<T>(p.bias, H + u);
      A candidate = gates[2 * H + u] + Get<T>(p.bias, 2 * H + u);
      A out = gates[3 * H + u] + Get<T>(p.bias, 3 * H + u);
      if (p.wci) {
        in += c_prev * Get<T>(p.wci, u);
        forget += c_prev * Get<T>(p.wcf, u);
      }
      in = Sigmoid(in);
      forget = Sigmoid(forget);
      candidate = Tanh(candidate);
      A c = candidate * in + c_prev * forget;
      const A clip = p.cell_clip;
      // Comparisons that keep NaN.
      if (clip > 0) c = c > clip ? clip : (c < -clip ? -clip : c);
      if (p.wco) out += c * Get<T>(p.wco, u);
      out = Sigmoid(out);
      const A tanh_c = Tanh(c);
      Put<T>(in, p.i, at);
      Put<T>(c, p.cs, at);
      Put<T>(forget, p.f, at);
      Put<T>(out, p.o, at);
      Put<T>(candidate, p.ci, at);
      Put<T>(tanh_c, p.co, at);
      Put<T>(tanh_c * out, p.h, at);
      if (p.c_state) static_cast<A*>(p.c_state)[at] = c;
    }
  }
}

// do = dh * co * s'(o)
// dc += dh * o * tanh'(c) + do * w_co
// di = dc * ci * s'(i)
// df = dc * c_prev * s'(f)
// dci = dc * i * tanh'(ci)
// dc_prev = dc * f + di * w_ci + df * w_cf
// The gradient ignores the clipping, as in TensorFlow.
template <typename T>
RNN_OPS_DEVICE void BlockLstmBackward(const BlockLstmBackwardStep& p) {
  typedef MathType<T> A;
  const Int64 H = p.units;
  RNN_OPS_FOR_ROWS(b, p.batch) {
    RNN_OPS_FOR_COLUMNS(u, H) {
      const Int64 at = b * H + u;
      const A in = Get<T>(p.i, at), forget = Get<T>(p.f, at), out = Get<T>(p.o, at);
      const A candidate = Get<T>(p.ci, at), tanh_c = Get<T>(p.co, at);
      A dh = Get<T>(p.h_grad, at);
      A dc = Get<T>(p.cs_grad, at);
      if (p.dh) dh += static_cast<const A*>(p.dh)[at];
      if (p.dc) dc += static_cast<const A*>(p.dc)[at];
      const A d_out = dh * tanh_c * SigmoidSlope(out);
      dc += dh * out * TanhSlope(tanh_c);
      if (p.wco) dc += d_out * Get<T>(p.wco, u);
      const A d_in = dc * candidate * SigmoidSlope(in);
      const A d_forget = dc * Get<T>(p.cs, at) * SigmoidSlope(forget);
      A dc_prev = dc * forget;
      if (p.wci) dc_prev += d_in * Get<T>(p.wci, u) + d_forget * Get<T>(p.wcf, u);
      const Int64 gate = b * kGates * H + u;
      Put<T>(d_in, p.dgates, gate);
      Put<T>(d_forget, p.dgates, gate + H);
      Put<T>(dc * in * TanhSlope(candidate), p.dgates, gate + 2 * H);
      Put<T>(d_out, p.dgates, gate + 3 * H);
      static_cast<A*>(p.dc_prev)[at] = dc_prev;
    }
  }
}

template <typename T>
RNN_OPS_DEVICE void SumBlockLstm(const BlockLstmSums& p) {
  typedef MathType<T> A;
  const Int64 H = p.units;
  RNN_OPS_FOR_ROWS(chunk, p.chunks) {
    const Int64 first = chunk * p.chunk_rows;
    const Int64 end = first + p.chunk_rows < p.rows ? first + p.chunk_rows : p.rows;
    RNN_OPS_FOR_COLUMNS(u, H) {
      A sum[kGates + kPeepholes] = {};
      for (Int64 row = first; row < end; ++row) {
        A gate[kGates];
        for (int g = 0; g < kGates; ++g) {
          gate[g] = Get<T>(p.dgates, (row * kGates + g) * H + u);
          sum[g] += gate[g];
        }
        if (p.sums > kGates) {
          const A c_prev = row < p.batch ? Get<T>(p.cs_prev, row * H + u)
                                         : Get<T>(p.cs, (row - p.batch) * H + u);
          sum[kGates] += gate[0] * c_prev;
          sum[kGates + 1] += gate[1] * c_prev;
          sum[kGates + 2] += gate[3] * Get<T>(p.cs, row * H + u);
        }
      }
      A* partial = static_cast<A*>(p.partial) + chunk * p.sums * H + u;
      for (int k = 0; k < kGates + kPeepholes; ++k) {
        if (k < p.sums) partial[k * H] = sum[k];
      }
    }
  }
}

template <typename T>
RNN_OPS_DEVICE void FinishBlockLstmSums(const BlockLstmFinishSums& p) {
  typedef MathType<T> A;
  const Int64 H = p.units;
  RNN_OPS_FOR_ROWS(k, p.sums) {
    void* to = k < kGates        ? p.b_grad
               : k == kGates     ? p.wci_grad
               : k == kGates + 1 ? p.wcf_grad
                                 : p.wco_grad;
    RNN_OPS_FOR_COLUMNS(u, H) {
      const A* partial = static_cast<const A*>(p.partial) + k * H + u;
      A sum = 0;
      for (Int64 chunk = 0; chunk < p.chunks; ++chunk) sum += partial[chunk * p.sums * H];
      Put<T>(sum, to, k < kGates ? k * H + u : u);
    }
  }
}

}  // namespace rnn_ops::gpu::elementwise
