// LSTM with peepholes, with clipping of c, or both:
//   i, f = s(. + c_prev * p_i, p_f); g = tanh(.)
//   c = clip(f * c_prev + i * g)
//   o = s(. + c * p_o); h = o * tanh(c)
// Other functions can replace s and tanh.
#pragma once

#include <limits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"
#include "cc/cpu/cell/lstm.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
