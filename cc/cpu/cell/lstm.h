// LSTM:
//   i, f, o = s(.); g = tanh(.)
//   c = f * c_prev + i * g
//   h = o * tanh(c)
// Other functions can replace s and tanh.
#pragma once

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
