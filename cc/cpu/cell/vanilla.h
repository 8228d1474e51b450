// The vanilla RNN with one gate: h = act(.).
#pragma once

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Like GateFunction, but the function is a compile-time constant.
template <typename T>
struct TanhFunction {
  explicit TanhFunction(const CellInputs<T>&) {}

  EIGEN_ALWAYS_INLINE Packet<T> Apply(const Packet<T>& x) const { return Tanh<T>(x); }
  EIGEN_ALWAYS_INLINE Packet<T> Slope(const Packet<T>& y) const { return TanhSlope<T>(y); }
};

template <typename T>
struct ReluFunction {
  explicit ReluFunction(const CellInputs<T>&) {}

  EIGEN_ALWAYS_INLINE Packet<T> Apply(const Packet<T>& x) const { return Relu<T>(x); }
  EIGEN_ALWAYS_INLINE Packet<T> Slope(const Packet<T>& y) const {
    const Packet<T> zero = Set<T>(T(0));
    return Select(Less(zero, y), Set<T>(T(1)), zero);
  }
};

template <template <typename> class Function>
struct Vanilla {
  static constexpr bool kInStacks = true;

  static constexpr CellFormat Format(int32_t /*weight_layout*/) {
    return {1, 1, {1, {0}}, {1, {0}}};
  }

  template <typename T>
  using Tensors = Function<T>;

  // The vectors of a panel are unit blocks. The gate buffer is only read.
  template <typename T, int NV>
  struct Forward : SumsInGates<T, NV, 1> {
    Function<T> function;

    Forward(const StepRows<T>& rows, const Function<T>& function)
        : SumsInGates<T, NV, 1>{rows}, function(function) {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t panel, const Packet<T>* acc) const {
      const int64_t first = (this->rows.first_block + panel * NV) * kLanes<T>;
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        const int64_t unit = first + v * kLanes<T>;
        this->rows.StoreOut(i, unit, function.Apply(acc[v]));
      }
    }
  };

  // dgate = dh * act'(h).
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const Function<T>& function) {
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const Packet<T> h = LoadFirst(past.h + unit, range.size - unit);
      const Packet<T> dh = LoadGradient<T>(row.dh, row.dy, unit, range.size);
      StoreGradient<1, T>(row.dgates, unit, 0, pmul(dh, function.Slope(h)), range.size);
    });
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
