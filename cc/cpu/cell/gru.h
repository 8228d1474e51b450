// GRU, with the reset gate after or before the recurrent product.
#pragma once

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// GRU with the reset gate after the recurrent product:
//   r, z = s(.)
//   q = h_prev * R_h + b_Rh
//   n = tanh(x * W_h + b_Wh + r * q)
//   h = (1 - z) * n + z * h_prev
// Other functions can replace s and tanh.

template <template <typename> class Gates>
struct Gru {
  // Vectors of a unit block in the gate buffer: n, r, z, q. So the vectors of the input product
  // (n, r, z) and the vectors of the recurrent product (r, z, q) are each contiguous.
  enum Vector { kCandidate, kReset, kUpdate, kRecurrent };
  static constexpr bool kInStacks = true;

  // The order of the weights is r, z, h in an opaque buffer and z, r, h in the layout of Keras.
  static constexpr CellFormat Format(int32_t weight_layout) {
    const bool keras = weight_layout == kKerasWeights;
    const int reset = keras ? 1 : 0, update = keras ? 0 : 1, candidate = 2;
    CellFormat f = {3, 4, {3, {candidate, reset, update}}, {3, {reset, update, candidate}}};
    f.input_at = kCandidate;
    f.recurrent_at = kReset;
    f.split_bias = candidate;  // the reset gate scales only the recurrent bias
    f.saves_gates = true;
    f.carries_h = true;
    return f;
  }

  template <typename T>
  using Tensors = Gates<T>;

  template <typename T, int NV>
  struct Forward : SumsInGates<T, NV, 4, kReset> {
    Gates<T> gates;

    Forward(const StepRows<T>& rows, const Gates<T>& gates)
        : SumsInGates<T, NV, 4, kReset>{rows}, gates(gates) {}

    EIGEN_ALWAYS_INLINE void Init(int64_t i, int64_t u, Packet<T>* acc) const {
      constexpr int V = kLanes<T>;
      const T* g = this->rows.gates[i] + u * 4 * V;
      acc[0] = Load(g + kReset * V);
      acc[1] = Load(g + kUpdate * V);
      acc[2] = Load(this->rows.split_bias + u * V);
    }

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      constexpr int V = kLanes<T>;
      const StepRows<T>& rows = this->rows;
      T* g = rows.gates[i] + u * 4 * V;
      const int64_t n = rows.units - u * V;
      const Packet<T> reset = gates.Gate(acc[0]);
      const Packet<T> update = gates.Gate(acc[1]);
      const Packet<T> candidate = gates.State(pmadd(reset, acc[2], Load(g + kCandidate * V)));
      const Packet<T> h_prev = LoadFirst(rows.h_prev[i] + u * V, n);
      Store(g + kCandidate * V, candidate);
      Store(g + kReset * V, reset);
      Store(g + kUpdate * V, update);
      Store(g + kRecurrent * V, acc[2]);
      rows.StoreOut(i, u * V, Between<T>(update, h_prev, candidate));
    }
  };

  // dn = dh * (1 - z) * tanh'(n); dz = dh * (h_prev - n) * s'(z).
  // dq = dn * r; dr = dn * q * s'(r).
  // The part of dh_prev that bypasses the weights is dh * z.
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const Gates<T>& gates) {
    constexpr int V = kLanes<T>;
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const T* g = past.gates + 4 * unit;
      const Packet<T> candidate = Load(g + kCandidate * V), reset = Load(g + kReset * V),
                      update = Load(g + kUpdate * V), q = Load(g + kRecurrent * V);
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> dn = pmul(pmul(dh, psub(Set<T>(T(1)), update)), gates.StateSlope(candidate));
      const Packet<T> change = psub(LoadFirst(past.h_prev + unit, range.size - unit), candidate);
      auto store = [&](Vector v, const Packet<T>& value) {
        StoreGradient<4, T>(row.dgates, unit, v, value, range.size);
      };
      store(kCandidate, dn);
      store(kReset, pmul(pmul(dn, q), gates.GateSlope(reset)));
      store(kUpdate, pmul(pmul(dh, change), gates.GateSlope(update)));
      store(kRecurrent, pmul(dn, reset));
      Store(row.dh + unit, pmul(dh, update));
    });
  }
};

// GRU with the reset gate before the recurrent product, so a step has two products:
//   r, z = s(.)
//   m = r * h_prev
//   n = tanh(x * W_h + b_h + m * R_h)
//   h = (1 - z) * n + z * h_prev

struct GruResetBefore {
  // Vectors of a unit block in the gate buffer. The vectors of the first recurrent product are
  // last.
  enum Vector { kCandidate, kReset, kUpdate };
  static constexpr bool kInStacks = true;

  // The order of the weights is z, r, h.
  static constexpr CellFormat Format(int32_t /*weight_layout*/) {
    CellFormat f = {3, 3, {3, {2, 1, 0}}, {2, {1, 0}}};
    f.recurrent_at = kReset;
    f.second_gate = 2;
    f.second_at = kCandidate;
    f.saves_gates = true;
    f.carries_h = true;
    f.pairs = false;
    f.unpacked = false;
    return f;
  }

  template <typename T>
  using Tensors = ChosenGates<T>;

  // Computes r and z, and stores m in rows.out.
  template <typename T, int NV>
  struct Forward : SumsInGates<T, NV, 3, kReset> {
    ChosenGates<T> gates;

    Forward(const StepRows<T>& rows, const ChosenGates<T>& gates)
        : SumsInGates<T, NV, 3, kReset>{rows}, gates(gates) {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      constexpr int V = kLanes<T>;
      const StepRows<T>& rows = this->rows;
      T* g = rows.gates[i] + u * 3 * V;
      const int64_t n = rows.units - u * V;
      const Packet<T> reset = gates.Gate(acc[0]);
      Store(g + kReset * V, reset);
      Store(g + kUpdate * V, gates.Gate(acc[1]));
      StoreFirst(rows.out[i] + u * V, pmul(reset, LoadFirst(rows.h_prev[i] + u * V, n)), n);
    }
  };

  // Computes n and h from the second product, which is in row.h.
  template <typename T>
  static void AfterSecond(const UnitRange& range, const SecondRow<T>& row,
                          const ChosenGates<T>& gates) {
    constexpr int V = kLanes<T>;
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      T* g = row.gates + 3 * unit;
      const int64_t n = range.size - unit;
      const Packet<T> product = LoadFirst(row.h + unit, n);
      const Packet<T> candidate = gates.State(padd(Load(g + kCandidate * V), product));
      Store(g + kCandidate * V, candidate);
      const Packet<T> h_prev = LoadFirst(row.h_prev + unit, n);
      StoreFirst(row.h + unit, Between<T>(Load(g + kUpdate * V), h_prev, candidate), n);
    });
  }

  // dn = dh * (1 - z) * tanh'(n); dz = dh * (h_prev - n) * s'(z). dh is replaced by dh * z.
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const ChosenGates<T>& gates) {
    constexpr int V = kLanes<T>;
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const T* g = past.gates + 3 * unit;
      const Packet<T> candidate = Load(g + kCandidate * V), update = Load(g + kUpdate * V);
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> dn = pmul(pmul(dh, psub(Set<T>(T(1)), update)), gates.StateSlope(candidate));
      const Packet<T> change = psub(LoadFirst(past.h_prev + unit, range.size - unit), candidate);
      StoreGradient<3, T>(row.dgates, unit, kCandidate, dn, range.size);
      StoreGradient<3, T>(row.dgates, unit, kUpdate,
                          pmul(pmul(dh, change), gates.GateSlope(update)), range.size);
      Store(row.dh + unit, pmul(dh, update));
    });
  }

  // With dm, the gradient of m: dr = dm * h_prev * s'(r); dh += dm * r.
  template <typename T>
  static void BackAfterSecond(const UnitRange& range, const PastRow<T>& past,
                              const GradientRow<T>& row, const ChosenGates<T>& gates) {
    constexpr int V = kLanes<T>;
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const Packet<T> reset = Load(past.gates + 3 * unit + kReset * V);
      const Packet<T> h_prev = LoadFirst(past.h_prev + unit, range.size - unit);
      const Packet<T> dm = Load(row.dm + unit);
      StoreGradient<3, T>(row.dgates, unit, kReset, pmul(pmul(dm, h_prev), gates.GateSlope(reset)),
                          range.size);
      Store(row.dh + unit, pmadd(dm, reset, Load(row.dh + unit)));
      Store(row.m + unit, pmul(reset, h_prev));
    });
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
