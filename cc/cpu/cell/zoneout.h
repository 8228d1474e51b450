// Zoneout (Krueger et al. 2017) of an LSTM or a GRU. With h~ and c~ the cell's results from h_prev
// and c_prev: h = k * h_prev + (1 - k) * h~, and c in the same way with a separate k. k is a rate,
// or a random 0 or 1 for each unit of each step. The h~ of an LSTM depends on c~.
#pragma once

#include <algorithm>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The factor k of one state.
template <typename T>
struct Kept {
  T rate;
  const T* drawn;  // [R, padded] of 0 and 1; null: use the rate
  int64_t padded;

  EIGEN_ALWAYS_INLINE Packet<T> At(int64_t row, int64_t unit) const {
    return drawn == nullptr ? Set<T>(rate) : Load(drawn + row * padded + unit);
  }
  // Where one state is selected, an infinite value of the other state has no effect.
  EIGEN_ALWAYS_INLINE Packet<T> Mix(int64_t row, int64_t unit, const Packet<T>& old,
                                    const Packet<T>& made) const {
    const Packet<T> k = At(row, unit);
    if (drawn != nullptr) return Select(Less(Set<T>(T(0)), k), old, made);
    if (rate == T(0)) return made;
    return rate == T(1) ? old : Between<T>(k, old, made);
  }
};

template <typename T>
struct ZoneoutTensors {
  ChosenGates<T> gates;
  Kept<T> h, c;

  explicit ZoneoutTensors(const CellInputs<T>& in)
      : gates(in),
        h{static_cast<T>(in.problem.zoneout_h), in.zoneout_masks[0], in.padded},
        c{static_cast<T>(in.problem.zoneout_c), in.zoneout_masks[1], in.padded} {}
};

template <typename Cell>  // Lstm<ChosenGates> or Gru<ChosenGates>
struct Zoneout {
  static constexpr bool kInStacks = true;
  static constexpr bool kHasC = Cell::Format(0).has_c;

  static constexpr CellFormat Format(int32_t weight_layout) {
    CellFormat f = Cell::Format(weight_layout);
    f.carries_h = true;
    f.pairs = false;
    f.quads = false;
    f.unpacked = false;
    return f;
  }

  template <typename T>
  using Tensors = ZoneoutTensors<T>;

  template <typename T, int NV>
  struct Forward : Cell::template Forward<T, NV> {
    using Made = typename Cell::template Forward<T, NV>;
    ZoneoutTensors<T> tensors;

    Forward(const StepRows<T>& rows, const ZoneoutTensors<T>& tensors)
        : Made(rows, tensors.gates), tensors(tensors) {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      const StepRows<T>& rows = this->rows;
      const int64_t row = rows.first_row + i, unit = u * kLanes<T>, n = rows.units - unit;
      // If c is not kept, the new c overwrites c_prev.
      Packet<T> c_prev = Set<T>(T(0));
      if constexpr (kHasC) c_prev = Load(rows.c_prev[i] + unit);
      Made::Finish(i, u, acc);
      if constexpr (kHasC) {
        T* c = rows.c[i] + unit;
        Store(c, tensors.c.Mix(row, unit, c_prev, Load(c)));
      }
      T* h = rows.out[i] + unit;
      StoreFirst(h, tensors.h.Mix(row, unit, LoadFirst(rows.h_prev[i] + unit, n), LoadFirst(h, n)),
                 n);
    }
  };

  // The gradient of the cell itself from dh~ = (1 - k) * dh and dc~ = (1 - k) * dc with the k of c.
  // k * dh and k * dc are added to the gradients of h_prev and c_prev.
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const ZoneoutTensors<T>& t) {
    constexpr int kBuffer = Cell::Format(0).buffer;
    const Packet<T> one = Set<T>(T(1));
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const int64_t n = range.size - unit;
      PastRow<T> made_past = past;
      GradientRow<T> made = row;
      made_past.gates = past.gates + kBuffer * unit;
      made.dgates.exact = row.dgates.exact + kBuffer * unit;
      made_past.h_prev = past.h_prev + unit;
      made.dh = row.dh + unit;
      made.dy = nullptr;
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> kept_h = t.h.At(past.row, unit);
      Store(made.dh, pmul(dh, psub(one, kept_h)));
      Packet<T> kept_dc = one;
      alignas(64) T c[kLanes<T>];
      if constexpr (kHasC) {
        made.dc = row.dc + unit;
        made_past.c_prev = past.c_prev + unit;
        made_past.c = c;
        Store(c, Cell::template NewC<T>(made_past.gates, Load(made_past.c_prev)));
        const Packet<T> dc = Load(made.dc), kept_c = t.c.At(past.row, unit);
        kept_dc = pmul(dc, kept_c);
        Store(made.dc, pmul(dc, psub(one, kept_c)));
      }
      Cell::template Backward<T>({0, std::min<int64_t>(n, kLanes<T>), n}, made_past, made, t.gates);
      Packet<T> dh_prev = pmul(dh, kept_h);
      if constexpr (Cell::Format(0).carries_h) dh_prev = padd(dh_prev, Load(made.dh));
      Store(made.dh, dh_prev);
      if constexpr (kHasC) Store(made.dc, padd(kept_dc, Load(made.dc)));
    });
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
