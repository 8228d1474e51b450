// LSTM: i, f, o = s(.), g = tanh(.); c = f * c_prev + i * g; h = o * tanh(c); or with other
// functions in the place of s and tanh.
#ifndef TF_RNN_OPS_CC_CPU_CELL_LSTM_H_
#define TF_RNN_OPS_CC_CPU_CELL_LSTM_H_

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

template <template <typename> class Gates>
struct Lstm {
  // The gates in the weights and in the gate buffer: i, f, g, o.
  enum Gate { kInput, kForget, kCandidate, kOutput };
  static constexpr bool kInStacks = true;

  static constexpr CellFormat Format(int32_t /*weight_layout*/) {
    constexpr GateOrder kOrder = {4, {kInput, kForget, kCandidate, kOutput}};
    CellFormat f = {4, 4, kOrder, kOrder};
    f.has_c = true;
    f.keeps_gates = true;
    return f;
  }

  template <typename T>
  using Tensors = Gates<T>;

  // The new c once more, with the bits that Forward had; g: a unit block's gates.
  template <typename T>
  static EIGEN_ALWAYS_INLINE Packet<T> NewC(const T* g, const Packet<T>& c_prev) {
    constexpr int V = kLanes<T>;
    return pmadd(Load(g + kForget * V), c_prev,
                 pmul(Load(g + kInput * V), Load(g + kCandidate * V)));
  }

  template <typename T, typename O, int NV>
  struct Forward : SumsInGates<T, O, NV, 4> {
    Gates<T> gates;

    Forward(const StepRows<T, O>& rows, const Gates<T>& gates)
        : SumsInGates<T, O, NV, 4>{rows}, gates(gates) {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      constexpr int V = kLanes<T>;
      const StepRows<T, O>& rows = this->rows;
      const Packet<T> in = gates.Gate(acc[kInput]);
      const Packet<T> forget = gates.Gate(acc[kForget]);
      const Packet<T> candidate = gates.State(acc[kCandidate]);
      const Packet<T> out = gates.Gate(acc[kOutput]);
      const Packet<T> c = pmadd(forget, Load(rows.c_prev[i] + u * V), pmul(in, candidate));
      T* g = rows.gates[i] + u * 4 * V;
      Store(g + kInput * V, in);
      Store(g + kForget * V, forget);
      Store(g + kCandidate * V, candidate);
      Store(g + kOutput * V, out);
      Store(rows.c[i] + u * V, c);
      StoreFirst(rows.out[i] + u * V, pmul(out, gates.State(c)), rows.units - u * V);
    }
  };

  // do = dh * tanh(c) * s'(o); dc += dh * o * tanh'(c); di = dc * g * s'(i); df = dc * c_prev *
  // s'(f); dg = dc * i * tanh'(g); dc_prev = dc * f.
  template <typename T, typename E>
  static void Backward(const UnitRange& range, const GradientRow<T, E>& row,
                       const Gates<T>& gates) {
    constexpr int V = kLanes<T>;
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const T* g = row.gates + 4 * unit;
      const Packet<T> in = Load(g + kInput * V), forget = Load(g + kForget * V),
                      candidate = Load(g + kCandidate * V), out = Load(g + kOutput * V);
      const Packet<T> tanh_c = gates.State(Load(row.c + unit));
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> dc = pmadd(pmul(dh, out), gates.StateSlope(tanh_c), Load(row.dc + unit));
      const Packet<T> c_prev = Load(row.c_prev + unit);
      auto store = [&](Gate gate, const Packet<T>& value) {
        StoreGradient<4, T>(row.dgates, unit, gate, value, range.size);
      };
      store(kInput, pmul(pmul(dc, candidate), gates.GateSlope(in)));
      store(kForget, pmul(pmul(dc, c_prev), gates.GateSlope(forget)));
      store(kCandidate, pmul(pmul(dc, in), gates.StateSlope(candidate)));
      store(kOutput, pmul(pmul(dh, tanh_c), gates.GateSlope(out)));
      Store(row.dc + unit, pmul(dc, forget));
      if (row.m != nullptr) Store(row.m + unit, pmul(out, tanh_c));
    });
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_CELL_LSTM_H_
