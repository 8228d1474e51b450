// LSTM: i, f, o = s(.), g = tanh(.); c = f * c_prev + i * g; h = o * tanh(c).
#ifndef TF_RNN_OPS_CC_CPU_CELL_LSTM_H_
#define TF_RNN_OPS_CC_CPU_CELL_LSTM_H_

#include "cc/cpu/cell/cell.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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
  using Tensors = NoTensors;

  template <typename T, typename O, int NV>
  struct Forward : SumsInGates<T, O, NV, 4> {
    Forward(const StepRows<T, O>& rows, const NoTensors&) : SumsInGates<T, O, NV, 4>{rows} {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t u, const Packet<T>* acc) const {
      constexpr int V = kLanes<T>;
      const StepRows<T, O>& rows = this->rows;
      const Packet<T> in = Sigmoid<T>(acc[kInput]);
      const Packet<T> forget = Sigmoid<T>(acc[kForget]);
      const Packet<T> candidate = Tanh<T>(acc[kCandidate]);
      const Packet<T> out = Sigmoid<T>(acc[kOutput]);
      const Packet<T> c = pmadd(forget, Load(rows.c_prev[i] + u * V), pmul(in, candidate));
      T* g = rows.gates[i] + u * 4 * V;
      Store(g + kInput * V, in);
      Store(g + kForget * V, forget);
      Store(g + kCandidate * V, candidate);
      Store(g + kOutput * V, out);
      Store(rows.c[i] + u * V, c);
      StoreFirst(rows.h[i] + u * V, pmul(out, Tanh<T>(c)), rows.units - u * V);
    }
  };

  // do = dh * tanh(c) * s'(o); dc += dh * o * tanh'(c); di = dc * g * s'(i); df = dc * c_prev *
  // s'(f); dg = dc * i * tanh'(g); dc_prev = dc * f.
  template <typename T, typename E>
  static void Backward(const UnitRange& range, const GradientRow<T, E>& row, const NoTensors&) {
    constexpr int V = kLanes<T>;
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const T* g = row.gates + 4 * unit;
      const Packet<T> in = Load(g + kInput * V), forget = Load(g + kForget * V),
                      candidate = Load(g + kCandidate * V), out = Load(g + kOutput * V);
      const Packet<T> tanh_c = Tanh<T>(Load(row.c + unit));
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      const Packet<T> dc = pmadd(pmul(dh, out), TanhSlope<T>(tanh_c), Load(row.dc + unit));
      const Packet<T> c_prev = Load(row.c_prev + unit);
      auto store = [&](Gate gate, const Packet<T>& value) {
        StoreGradient<4, T>(row.dgates, unit, gate, value, range.size);
      };
      store(kInput, pmul(pmul(dc, candidate), SigmoidSlope<T>(in)));
      store(kForget, pmul(pmul(dc, c_prev), SigmoidSlope<T>(forget)));
      store(kCandidate, pmul(pmul(dc, in), TanhSlope<T>(candidate)));
      store(kOutput, pmul(pmul(dh, tanh_c), SigmoidSlope<T>(out)));
      Store(row.dc + unit, pmul(dc, forget));
      if (row.projected != nullptr) Store(row.projected + unit, pmul(out, tanh_c));
    });
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_CELL_LSTM_H_
