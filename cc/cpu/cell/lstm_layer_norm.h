// Layer-normalised LSTM (Ba et al. 2016):
//   z = N_x(x * W) + N_h(h_prev * R) + b
//   i, f, o = s(z); g = tanh(z)
//   c = N_c(f * c_prev + i * g); h = o * tanh(c)
//   N(v) = gamma * (v - mean) / sqrt(variance + epsilon) + beta
// Other functions can replace s and tanh. The mean and the variance are over all units (and gates)
// of a row. So a row can be computed only when both of its products are known.
#pragma once

#include <cmath>
#include <cstdint>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"
#include "cc/cpu/cell/lstm.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Vectors of a unit block in the weights of the normalizations and in their gradients. kScaleX,
// kScaleH and kShift have one vector for each gate. The shifts of N_x and N_h and the bias b have
// the same gradient, so kShift is their sum.
enum LayerNormVector { kScaleX = 0, kScaleH = 4, kShift = 8, kScaleC = 12, kShiftC = 13 };
constexpr int kLayerNormVectors = 14;

template <typename T>
struct LayerNormTensors {
  ChosenGates<T> gates;
  const T* weights;  // [U][kLayerNormVectors][V], zeros beyond H
  T epsilon;

  explicit LayerNormTensors(const CellInputs<T>& in)
      : gates(in), weights(in.layer_norm), epsilon(static_cast<T>(in.problem.layer_norm_epsilon)) {}
};

template <typename T>
T SumOfLanes(const Packet<T>& v) {
  alignas(64) T lanes[kLanes<T>];
  Store(lanes, v);
  T sum = lanes[0];
  for (int i = 1; i < kLanes<T>; ++i) sum += lanes[i];
  return sum;
}

// The normalization of a row [U][NV][V], whose first `units` lanes are valid.
template <typename T, int NV>
struct Normalization {
  const T* row;
  T mean, slope;  // 1 / sqrt(variance + epsilon)

  // WHY two passes: the mean of the squares minus the square of the mean would lose bits.
  Normalization(const T* row, int64_t units, T epsilon) : row(row) {
    const T count = static_cast<T>(NV * units);
    auto itself = [](const Packet<T>& v) { return v; };
    auto centred = [this](const Packet<T>& v) { return psub(v, Set<T>(mean)); };
    auto squared = [](const Packet<T>& v) { return pmul(v, v); };
    mean = Sum(units, itself, itself) / count;
    slope = T(1) / std::sqrt(Sum(units, centred, squared) / count + epsilon);
  }

  // Vector v of a unit block, normalised. Lanes beyond H are not 0: callers multiply them by zeros.
  EIGEN_ALWAYS_INLINE Packet<T> At(int64_t unit, int v) const {
    return pmul(psub(Load(row + NV * unit + v * kLanes<T>), Set<T>(mean)), Set<T>(slope));
  }

 private:
  // The sum of then(of(v)). Lanes beyond `units` are cleared after of().
  template <typename Of, typename Then>
  T Sum(int64_t units, Of&& of, Then&& then) const {
    Packet<T> sum[NV];
    for (auto& s : sum) s = Set<T>(T(0));
    for (int64_t unit = 0; unit < units; unit += kLanes<T>) {
      for (int v = 0; v < NV; ++v) {
        const Packet<T> value = Load(row + NV * unit + v * kLanes<T>);
        sum[v] = padd(sum[v], then(KeepFirst<T>(of(value), units - unit)));
      }
    }
    for (int v = 1; v < NV; ++v) sum[0] = padd(sum[0], sum[v]);
    return SumOfLanes<T>(sum[0]);
  }
};

struct LstmLayerNorm {
  using Gate = Lstm<ChosenGates>::Gate;
  static constexpr bool kInStacks = true;

  static constexpr CellFormat Format(int32_t weight_layout) {
    CellFormat f = Lstm<ChosenGates>::Format(weight_layout);
    f.whole_rows = true;
    f.pairs = false;
    f.quads = false;
    f.unpacked = false;
    return f;
  }

  template <typename T>
  using Tensors = LayerNormTensors<T>;

  // The gates of a unit block.
  template <typename T>
  struct Gates : LstmGates<T> {
    using LstmGates<T>::in, LstmGates<T>::forget, LstmGates<T>::candidate, LstmGates<T>::out;

    EIGEN_ALWAYS_INLINE Gates(const Normalization<T, 4>& x, const Normalization<T, 4>& h,
                              int64_t unit, const LayerNormTensors<T>& t) {
      constexpr int V = kLanes<T>;
      const T* w = t.weights + kLayerNormVectors * unit;
      auto sum = [&](int gate) {
        const Packet<T> from_x =
            pmadd(x.At(unit, gate), Load(w + (kScaleX + gate) * V), Load(w + (kShift + gate) * V));
        return pmadd(h.At(unit, gate), Load(w + (kScaleH + gate) * V), from_x);
      };
      in = t.gates.Gate(sum(Gate::kInput));
      forget = t.gates.Gate(sum(Gate::kForget));
      candidate = t.gates.State(sum(Gate::kCandidate));
      out = t.gates.Gate(sum(Gate::kOutput));
    }
    // c before the normalization.
    EIGEN_ALWAYS_INLINE Packet<T> NewC(const Packet<T>& c_prev) const {
      return pmadd(forget, c_prev, pmul(in, candidate));
    }
  };

  template <typename T>
  static void FinishWholeRow(const WholeRow<T>& row, const LayerNormTensors<T>& t) {
    constexpr int V = kLanes<T>;
    const Normalization<T, 4> x(row.from_x, row.units, t.epsilon);
    const Normalization<T, 4> h(row.from_h, row.units, t.epsilon);
    const UnitRange all = {0, row.units, row.units};
    ForUnitBlocks<T>(all, [&](int64_t unit) {
      const Gates<T> g(x, h, unit, t);
      Store(row.c + unit, g.NewC(Load(row.c_prev + unit)));
      StoreFirst(row.h + unit, g.out, row.units - unit);  // until c is normalised
    });
    const Normalization<T, 1> c_norm(row.c, row.units, t.epsilon);
    ForUnitBlocks<T>(all, [&](int64_t unit) {
      const int64_t n = row.units - unit;
      const T* w = t.weights + kLayerNormVectors * unit;
      const Packet<T> c = pmadd(c_norm.At(unit, 0), Load(w + kScaleC * V), Load(w + kShiftC * V));
      Store(row.c + unit, c);
      StoreFirst(row.h + unit, pmul(LoadFirst(row.h + unit, n), t.gates.State(c)), n);
    });
  }

  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const LayerNormTensors<T>& t) {
    RNN_DCHECK(range.begin == 0 && range.end == range.size);
    RowGradient<T>(range, past, row, t).Run();
  }

 private:
  // The means of d and of d * v^ over a row of NV vectors per unit block.
  template <typename T, int NV>
  struct Means {
    T of_d, of_product;

    Means(const Packet<T>& sum, const Packet<T>& product_sum, int64_t units)
        : of_d(SumOfLanes<T>(sum) / static_cast<T>(NV * units)),
          of_product(SumOfLanes<T>(product_sum) / static_cast<T>(NV * units)) {}

    // Computes dv from d.
    EIGEN_ALWAYS_INLINE Packet<T> Back(const Normalization<T, NV>& norm, int64_t unit, int v,
                                       const Packet<T>& d) const {
      const Packet<T> centred = psub(d, Set<T>(of_d));
      const Packet<T> along = pmul(norm.At(unit, v), Set<T>(of_product));
      return pmul(psub(centred, along), Set<T>(norm.slope));
    }
  };

  // The sums for the means of a row.
  template <typename T, int NV>
  struct Sums {
    Packet<T> d = Set<T>(T(0)), product = Set<T>(T(0));

    EIGEN_ALWAYS_INLINE void Add(const Packet<T>& value, const Packet<T>& normalized) {
      d = padd(d, value);
      product = pmadd(value, normalized, product);
    }
    Means<T, NV> Mean(int64_t units) const { return {d, product, units}; }
  };

  // The gradient of a normalization y = scale * v^ + shift, v^ = slope * (v - mean). With d the
  // gradient of v^: dv = slope * (d - mean of d - v^ * mean of d * v^). The gates are computed
  // again.
  template <typename T>
  class RowGradient {
   public:
    RowGradient(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                const LayerNormTensors<T>& t)
        : range_(range),
          past_(past),
          row_(row),
          t_(t),
          units_(range.size),
          x_(past.gates, units_, t.epsilon),
          h_(past.recurrent_gates, units_, t.epsilon),
          gates_(row.dgates.exact),
          c_made_(row.recurrent_dgates.exact) {}

    void Run() const {
      MakeGates();
      const Normalization<T, 1> c_norm(c_made_, units_, t_.epsilon);
      const Means<T, 1> of_c = OutputGate(c_norm);
      Sums<T, 4> of_x, of_h;
      OtherGates(c_norm, of_c, &of_x, &of_h);
      Products(of_x.Mean(units_), of_h.Mean(units_));
    }

   private:
    static constexpr int V = kLanes<T>;

    void MakeGates() const {
      ForUnitBlocks<T>(range_, [&](int64_t unit) {
        const Gates<T> made(x_, h_, unit, t_);
        made.StoreTo(gates_ + 4 * unit);
        Store(c_made_ + unit, made.NewC(Load(past_.c_prev + unit)));
      });
    }

    // do = dh * tanh(c) * s'(o); dc += dh * o * tanh'(c). dc is replaced by the gradient of c^.
    Means<T, 1> OutputGate(const Normalization<T, 1>& c_norm) const {
      Sums<T, 1> of_c;
      ForUnitBlocks<T>(range_, [&](int64_t unit) {
        const int64_t n = units_ - unit;
        T* g = gates_ + 4 * unit;
        const Packet<T> out = Load(g + Gate::kOutput * V);
        const Packet<T> tanh_c = t_.gates.State(Load(past_.c + unit));
        const Packet<T> dh = KeepFirst<T>(LoadGradient<T>(row_.dh, row_.dy, unit, units_), n);
        Store(g + Gate::kOutput * V, pmul(pmul(dh, tanh_c), t_.gates.GateSlope(out)));
        const Packet<T> dc = KeepFirst<T>(
            pmadd(pmul(dh, out), t_.gates.StateSlope(tanh_c), Load(row_.dc + unit)), n);
        const Packet<T> c_hat = c_norm.At(unit, 0);
        T* sums = row_.norm_sums + kLayerNormVectors * unit;
        Add(dc, sums + kShiftC * V);
        AddProduct(dc, c_hat, sums + kScaleC * V);
        const Packet<T> scaled = pmul(dc, Load(Weights(unit) + kScaleC * V));
        of_c.Add(scaled, c_hat);
        Store(row_.dc + unit, scaled);
      });
      return of_c.Mean(units_);
    }

    // di, df and dg as in an LSTM, from the gradient of c before the normalization.
    void OtherGates(const Normalization<T, 1>& c_norm, const Means<T, 1>& of_c, Sums<T, 4>* of_x,
                    Sums<T, 4>* of_h) const {
      ForUnitBlocks<T>(range_, [&](int64_t unit) {
        const int64_t n = units_ - unit;
        T* g = gates_ + 4 * unit;
        const Packet<T> in = Load(g + Gate::kInput * V), forget = Load(g + Gate::kForget * V),
                        candidate = Load(g + Gate::kCandidate * V);
        const Packet<T> dc = KeepFirst<T>(of_c.Back(c_norm, unit, 0, Load(row_.dc + unit)), n);
        const Packet<T> c_prev = Load(past_.c_prev + unit);
        Packet<T> d[4];
        d[Gate::kInput] = pmul(pmul(dc, candidate), t_.gates.GateSlope(in));
        d[Gate::kForget] = pmul(pmul(dc, c_prev), t_.gates.GateSlope(forget));
        d[Gate::kCandidate] = pmul(pmul(dc, in), t_.gates.StateSlope(candidate));
        d[Gate::kOutput] = Load(g + Gate::kOutput * V);
        Store(row_.dc + unit, pmul(dc, forget));
        T* sums = row_.norm_sums + kLayerNormVectors * unit;
        for (int gate = 0; gate < 4; ++gate) {
          const Packet<T> value = d[gate];
          Store(g + gate * V, value);
          Add(value, sums + (kShift + gate) * V);
          const Packet<T> x_hat = x_.At(unit, gate), h_hat = h_.At(unit, gate);
          AddProduct(value, x_hat, sums + (kScaleX + gate) * V);
          AddProduct(value, h_hat, sums + (kScaleH + gate) * V);
          of_x->Add(ScaledX(unit, gate, value), x_hat);
          of_h->Add(ScaledH(unit, gate, value), h_hat);
        }
      });
    }

    void Products(const Means<T, 4>& of_x, const Means<T, 4>& of_h) const {
      ForUnitBlocks<T>(range_, [&](int64_t unit) {
        for (int gate = 0; gate < 4; ++gate) {
          const Packet<T> d = Load(gates_ + 4 * unit + gate * V);
          const Packet<T> dx = of_x.Back(x_, unit, gate, ScaledX(unit, gate, d));
          const Packet<T> dh = of_h.Back(h_, unit, gate, ScaledH(unit, gate, d));
          StoreGradient<4, T>(row_.dgates, unit, gate, dx, units_);
          StoreGradient<4, T>(row_.recurrent_dgates, unit, gate, dh, units_);
        }
      });
    }

    EIGEN_ALWAYS_INLINE const T* Weights(int64_t unit) const {
      return t_.weights + kLayerNormVectors * unit;
    }
    EIGEN_ALWAYS_INLINE Packet<T> ScaledX(int64_t unit, int gate, const Packet<T>& d) const {
      return pmul(d, Load(Weights(unit) + (kScaleX + gate) * V));
    }
    EIGEN_ALWAYS_INLINE Packet<T> ScaledH(int64_t unit, int gate, const Packet<T>& d) const {
      return pmul(d, Load(Weights(unit) + (kScaleH + gate) * V));
    }
    static EIGEN_ALWAYS_INLINE void Add(const Packet<T>& value, T* sum) {
      Store(sum, padd(Load(sum), value));
    }
    static EIGEN_ALWAYS_INLINE void AddProduct(const Packet<T>& a, const Packet<T>& b, T* sum) {
      Store(sum, pmadd(a, b, Load(sum)));
    }

    const UnitRange range_;
    const PastRow<T>& past_;
    const GradientRow<T>& row_;
    const LayerNormTensors<T>& t_;
    const int64_t units_;
    const Normalization<T, 4> x_, h_;
    // The rows of the gradients of both products. They contain first the gates, then the gradients
    // of the gates' sums. c_made_ is c before the normalization.
    T* const gates_;
    T* const c_made_;
  };
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
