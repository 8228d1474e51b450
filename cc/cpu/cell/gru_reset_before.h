// GRU with the reset gate before the recurrent product, so a step has two products:
//   r, z = s(.)
//   m = r * h_prev
//   n = tanh(x * W_h + b_h + m * R_h)
//   h = (1 - z) * n + z * h_prev
#pragma once

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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
    f.plain = false;
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
