// LSTM, with peepholes, and as TensorFlow's BlockLSTMV2.
#pragma once

#include <limits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// LSTM:
//   i, f, o = s(.); g = tanh(.)
//   c = f * c_prev + i * g
//   h = o * tanh(c)
// Other functions can replace s and tanh.

// The gates of a unit block, or the gradients of the gates, in the order of the gate buffer: i, f,
// g, o.
template <typename T>
struct LstmGates {
  Packet<T> in, forget, candidate, out;

  static EIGEN_ALWAYS_INLINE LstmGates At(const T* g) {
    constexpr int V = kLanes<T>;
    return {Load(g), Load(g + V), Load(g + 2 * V), Load(g + 3 * V)};
  }
  EIGEN_ALWAYS_INLINE void StoreTo(T* g) const {
    constexpr int V = kLanes<T>;
    Store(g, in), Store(g + V, forget), Store(g + 2 * V, candidate), Store(g + 3 * V, out);
  }
  EIGEN_ALWAYS_INLINE void StoreGradients(const GateGradients<T>& dgates, int64_t unit,
                                          int64_t units) const {
    StoreGradient<4, T>(dgates, unit, 0, in, units);
    StoreGradient<4, T>(dgates, unit, 1, forget, units);
    StoreGradient<4, T>(dgates, unit, 2, candidate, units);
    StoreGradient<4, T>(dgates, unit, 3, out, units);
  }
};

template <template <typename> class Gates>
struct Lstm {
  // The order of the gates in the weights and in the gate buffer: i, f, g, o.
  enum Gate { kInput, kForget, kCandidate, kOutput };
  static constexpr bool kInStacks = true;

  static constexpr CellFormat Format(int32_t /*weight_layout*/) {
    constexpr GateOrder kOrder = {4, {kInput, kForget, kCandidate, kOutput}};
    CellFormat f = {4, 4, kOrder, kOrder};
    f.has_c = true;
    f.saves_gates = true;
    return f;
  }

  template <typename T>
  using Tensors = Gates<T>;

  // Computes the new c again, with the same bits as Forward. `g`: the gates of a unit block.
  template <typename T>
  static EIGEN_ALWAYS_INLINE Packet<T> NewC(const T* g, const Packet<T>& c_prev) {
    constexpr int V = kLanes<T>;
    return pmadd(Load(g + kForget * V), c_prev,
                 pmul(Load(g + kInput * V), Load(g + kCandidate * V)));
  }

  template <typename T, int NV>
  struct Forward : SumsInGates<T, NV, 4> {
    Gates<T> gates;

    Forward(const StepRows<T>& rows, const Gates<T>& gates)
        : SumsInGates<T, NV, 4>{rows}, gates(gates) {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      constexpr int V = kLanes<T>;
      const StepRows<T>& rows = this->rows;
      const Packet<T> in = gates.Gate(acc[kInput]);
      const Packet<T> forget = gates.Gate(acc[kForget]);
      const Packet<T> candidate = gates.State(acc[kCandidate]);
      const Packet<T> out = gates.Gate(acc[kOutput]);
      const Packet<T> c = pmadd(forget, Load(rows.c_prev[i] + u * V), pmul(in, candidate));
      LstmGates<T>{in, forget, candidate, out}.StoreTo(rows.gates[i] + u * 4 * V);
      Store(rows.c[i] + u * V, c);
      rows.StoreOut(i, u * V, pmul(out, gates.State(c)));
    }
  };

  // do = dh * tanh(c) * s'(o); dc += dh * o * tanh'(c).
  // di = dc * g * s'(i); df = dc * c_prev * s'(f).
  // dg = dc * i * tanh'(g); dc_prev = dc * f.
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const Gates<T>& gates) {
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const auto [in, forget, candidate, out] = LstmGates<T>::At(past.gates + 4 * unit);
      const Packet<T> tanh_c = gates.State(Load(past.c + unit));
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> dc = pmadd(pmul(dh, out), gates.StateSlope(tanh_c), Load(row.dc + unit));
      const Packet<T> c_prev = Load(past.c_prev + unit);
      const LstmGates<T> gradients = {pmul(pmul(dc, candidate), gates.GateSlope(in)),
                                      pmul(pmul(dc, c_prev), gates.GateSlope(forget)),
                                      pmul(pmul(dc, in), gates.StateSlope(candidate)),
                                      pmul(pmul(dh, tanh_c), gates.GateSlope(out))};
      gradients.StoreGradients(row.dgates, unit, range.size);
      Store(row.dc + unit, pmul(dc, forget));
      if (row.m != nullptr) Store(row.m + unit, pmul(out, tanh_c));
    });
  }
};

// LSTM with peepholes, with clipping of c, or both:
//   i, f = s(. + c_prev * p_i, p_f); g = tanh(.)
//   c = clip(f * c_prev + i * g)
//   o = s(. + c * p_o); h = o * tanh(c)
// Other functions can replace s and tanh.

template <typename T, template <typename> class Gates>
struct PeepholeTensors {
  Gates<T> gates;
  const T *i, *f, *o;  // [padded]
  T limit;             // infinity: no clipping

  explicit PeepholeTensors(const CellInputs<T>& in)
      : gates(in),
        i(in.peepholes),
        f(i + in.padded),
        o(f + in.padded),
        limit(in.problem.cell_clip > 0 ? static_cast<T>(in.problem.cell_clip)
                                       : std::numeric_limits<T>::infinity()) {}
};

template <template <typename> class Gates>
struct LstmPeephole {
  using Gate = typename Lstm<Gates>::Gate;
  static constexpr bool kInStacks = true;

  static constexpr CellFormat Format(int32_t weight_layout) {
    CellFormat f = Lstm<Gates>::Format(weight_layout);
    f.pairs = false;
    f.quads = false;
    return f;
  }

  template <typename T>
  using Tensors = PeepholeTensors<T, Gates>;

  template <typename T, int NV>
  struct Forward : SumsInGates<T, NV, 4> {
    Tensors<T> tensors;

    Forward(const StepRows<T>& rows, const Tensors<T>& tensors)
        : SumsInGates<T, NV, 4>{rows}, tensors(tensors) {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      constexpr int V = kLanes<T>;
      const StepRows<T>& rows = this->rows;
      const Tensors<T>& t = tensors;
      const Packet<T> c_prev = Load(rows.c_prev[i] + u * V);
      const Packet<T> in = t.gates.Gate(pmadd(c_prev, Load(t.i + u * V), acc[Gate::kInput]));
      const Packet<T> forget = t.gates.Gate(pmadd(c_prev, Load(t.f + u * V), acc[Gate::kForget]));
      const Packet<T> candidate = t.gates.State(acc[Gate::kCandidate]);
      const Packet<T> c = Limit<T>(pmadd(forget, c_prev, pmul(in, candidate)), t.limit);
      const Packet<T> out = t.gates.Gate(pmadd(c, Load(t.o + u * V), acc[Gate::kOutput]));
      LstmGates<T>{in, forget, candidate, out}.StoreTo(rows.gates[i] + u * 4 * V);
      Store(rows.c[i] + u * V, c);
      StoreFirst(rows.out[i] + u * V, pmul(out, t.gates.State(c)), rows.units - u * V);
    }
  };

  // do = dh * tanh(c) * s'(o); dc += dh * o * tanh'(c) + do * p_o, and dc = 0 where c was clipped.
  // dc_prev = dc * f + di * p_i + df * p_f. The formulas of di, df and dg are the same as in Lstm.
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const Tensors<T>& t) {
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const auto [in, forget, candidate, out] = LstmGates<T>::At(past.gates + 4 * unit);
      const Packet<T> tanh_c = t.gates.State(Load(past.c + unit));
      const Packet<T> c_prev = Load(past.c_prev + unit);
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> d_out = pmul(pmul(dh, tanh_c), t.gates.GateSlope(out));
      Packet<T> dc = pmadd(pmul(dh, out), t.gates.StateSlope(tanh_c), Load(row.dc + unit));
      dc = pmadd(d_out, Load(t.o + unit), dc);
      // c before clipping, with the same bits as in Forward.
      const Packet<T> unlimited = pmadd(forget, c_prev, pmul(in, candidate));
      dc = Select(Less(Set<T>(t.limit), Abs(unlimited)), Set<T>(T(0)), dc);
      const Packet<T> d_in = pmul(pmul(dc, candidate), t.gates.GateSlope(in));
      const Packet<T> d_forget = pmul(pmul(dc, c_prev), t.gates.GateSlope(forget));
      const Packet<T> d_candidate = pmul(pmul(dc, in), t.gates.StateSlope(candidate));
      LstmGates<T>{d_in, d_forget, d_candidate, d_out}.StoreGradients(row.dgates, unit, range.size);
      const Packet<T> from_gates = pmadd(d_in, Load(t.i + unit), pmul(d_forget, Load(t.f + unit)));
      Store(row.dc + unit, pmadd(dc, forget, from_gates));
      if (row.m != nullptr) Store(row.m + unit, pmul(out, tanh_c));
    });
  }
};

// The cell of BlockLSTMV2: LSTM with clipping of c, with or without peepholes. All gates are
// outputs.
//   i, f = s(. + c_prev * w_ci, w_cf); g = tanh(.)
//   c = clip(f * c_prev + i * g)
//   o = s(. + c * w_co); h = o * tanh(c)

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
