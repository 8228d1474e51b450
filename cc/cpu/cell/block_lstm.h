// The cell of BlockLSTMV2: LSTM with clipping of c, with or without peepholes. All gates are
// outputs.
//   i, f = s(. + c_prev * w_ci, w_cf); g = tanh(.)
//   c = clip(f * c_prev + i * g)
//   o = s(. + c * w_co); h = o * tanh(c)
#pragma once

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/lstm.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The caller passes c in the step's rows. A row of c has H elements here.
template <typename T>
struct BlockLstmTensors {
  T clip;                    // 0: no clipping
  const T *wci, *wcf, *wco;  // [padded]
  T *i, *f, *o, *ci, *co;    // [R, H]; the backward pass reads them
  const T* cs_grad;          // [R, H], backward
};

template <bool Peephole>
struct BlockLstm {
  using Gate = Lstm<UsualGates>::Gate;
  static constexpr bool kInStacks = false;

  static constexpr CellFormat Format(int32_t weight_layout) {
    CellFormat f = Lstm<UsualGates>::Format(weight_layout);
    f.saves_gates = false;
    f.pairs = false;
    f.quads = false;
    return f;
  }

  template <typename T>
  using Tensors = BlockLstmTensors<T>;

  template <typename T, int NV>
  struct Forward : SumsInGates<T, NV, 4> {
    BlockLstmTensors<T> tensors;

    Forward(const StepRows<T>& rows, const BlockLstmTensors<T>& tensors)
        : SumsInGates<T, NV, 4>{rows}, tensors(tensors) {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      const StepRows<T>& rows = this->rows;
      const BlockLstmTensors<T>& t = tensors;
      const int64_t unit = u * kLanes<T>;
      const int64_t n = rows.units - unit;
      const int64_t at = (rows.first_row + i) * rows.units + unit;
      const Packet<T> c_prev = LoadFirst(rows.c_prev[i] + unit, n);
      Packet<T> in = acc[Gate::kInput], forget = acc[Gate::kForget], out = acc[Gate::kOutput];
      if (Peephole) {
        in = pmadd(c_prev, Load(t.wci + unit), in);
        forget = pmadd(c_prev, Load(t.wcf + unit), forget);
      }
      in = Sigmoid<T>(in);
      forget = Sigmoid<T>(forget);
      const Packet<T> candidate = Tanh<T>(acc[Gate::kCandidate]);
      Packet<T> c = pmadd(forget, c_prev, pmul(in, candidate));
      if (t.clip > T(0)) c = Limit<T>(c, t.clip);
      if (Peephole) out = pmadd(c, Load(t.wco + unit), out);
      out = Sigmoid<T>(out);
      const Packet<T> tanh_c = Tanh<T>(c);
      StoreFirst(t.i + at, in, n);
      StoreFirst(t.f + at, forget, n);
      StoreFirst(t.o + at, out, n);
      StoreFirst(t.ci + at, candidate, n);
      StoreFirst(t.co + at, tanh_c, n);
      StoreFirst(rows.c[i] + unit, c, n);
      StoreFirst(rows.out[i] + unit, pmul(out, tanh_c), n);
    }
  };

  // do = dh * co * s'(o); dc += dh * o * tanh'(c) + do * w_co.
  // dc_prev = dc * f + di * w_ci + df * w_cf.
  // di, df and dg are computed as in Lstm. The clipping is not differentiated, as in TensorFlow.
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const BlockLstmTensors<T>& t) {
    const int64_t first = past.row * range.size;
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const int64_t n = range.size - unit, at = first + unit;
      const Packet<T> in = LoadFirst(t.i + at, n), forget = LoadFirst(t.f + at, n),
                      out = LoadFirst(t.o + at, n), candidate = LoadFirst(t.ci + at, n),
                      tanh_c = LoadFirst(t.co + at, n);
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> d_out = pmul(pmul(dh, tanh_c), SigmoidSlope<T>(out));
      Packet<T> dc = LoadGradient<T>(row.dc, t.cs_grad + first, unit, range.size);
      dc = pmadd(pmul(dh, out), TanhSlope<T>(tanh_c), dc);
      if (Peephole) dc = pmadd(d_out, Load(t.wco + unit), dc);
      const Packet<T> d_in = pmul(pmul(dc, candidate), SigmoidSlope<T>(in));
      const Packet<T> d_forget =
          pmul(pmul(dc, LoadFirst(past.c_prev + unit, n)), SigmoidSlope<T>(forget));
      Packet<T> dc_prev = pmul(dc, forget);
      if (Peephole) {
        dc_prev = pmadd(d_in, Load(t.wci + unit), dc_prev);
        dc_prev = pmadd(d_forget, Load(t.wcf + unit), dc_prev);
      }
      const Packet<T> d_candidate = pmul(pmul(dc, in), TanhSlope<T>(candidate));
      LstmGates<T>{d_in, d_forget, d_candidate, d_out}.StoreGradients(row.dgates, unit, range.size);
      Store(row.dc + unit, dc_prev);
    });
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
