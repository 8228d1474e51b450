// The weights of a pseudo-layer: in the caller's tensors, and packed.
#ifndef TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_WEIGHTS_H_
#define TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_WEIGHTS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/core/network/param_offsets.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The weights of a pseudo-layer, or their gradients. A matrix has columns [gate][H]: element
// (k, g * H + unit) is the weight from input k to gate g of the unit.
template <typename W>
struct WeightViews {
  // The type of biases: float with int8 matrices.
  using Bias = std::conditional_t<std::is_same_v<W, const int8_t>, const float, W>;

  MatrixView<W> input;  // data is null if the layer has no input weights
  MatrixView<W> recurrent;
  MatrixView<W> second;  // (unit, column) of a step's second product, or null
  Bias* input_bias;      // [G*H] or null
  Bias* recurrent_bias;  // [G*H] or null
};

// The scales of the columns of int8 matrices.
struct WeightScales {
  const float* input;      // [G*H]
  const float* recurrent;  // [G*H]
  const float* second;     // [columns of the second product] or null
};

// Whether an argument belongs to the weights that are packed into panels.
inline bool IsPackable(Arg arg) {
  return arg == Arg::params || arg == Arg::kernel || arg == Arg::recurrent_kernel ||
         arg == Arg::bias || arg == Arg::projection;
}

struct QuantizedViews : WeightViews<const int8_t> {
  WeightScales scales;
};

// Weights to be packed for products on operands E (Note [Pairs], Note [Quads]).
template <typename T, typename E>
using WeightsOf = std::conditional_t<Operands<T, E>::kQuantized, QuantizedViews,
                                     WeightViews<const WeightOf<T, E>>>;

template <typename T>
ParamOffsets OffsetsOf(const RnnProblem& p, const Sizes<T>& s) {
  return {s.gate_units(), s.hidden,     s.proj * s.units,
          p.num_dirs(),   p.num_layers, p.skips_input(0) ? 0 : p.input_size};
}

// Views of an opaque buffer.
template <typename W, typename T>
WeightViews<W> OpaqueViews(const RnnProblem& p, const Sizes<T>& s, W* params, int64_t layer,
                           int64_t dir) {
  const ParamOffsets at = OffsetsOf(p, s);
  W* const weights = params + at.Weights(layer, dir);
  const int64_t in = at.Input(layer);
  WeightViews<W> v;
  v.input = {in > 0 ? weights : nullptr, 1, in};
  v.recurrent = {weights + at.Recurrent(layer), 1, s.hidden};
  v.second = {s.proj > 0 ? weights + at.Projection(layer) : nullptr, 1, s.units};
  v.input_bias = params + at.Biases(layer, dir);
  v.recurrent_bias = v.input_bias + s.gate_units();
  return v;
}

// Views of matrices [I, G*H] and [S, G*H], `bias_rows` biases, and [H, P].
template <typename W, typename T>
WeightViews<W> MatrixViews(const Sizes<T>& s, W* kernel, W* recurrent_kernel,
                           typename WeightViews<W>::Bias* bias, int32_t bias_rows, W* projection) {
  WeightViews<W> v;
  v.input = {kernel, s.gate_units(), 1};
  v.recurrent = {recurrent_kernel, s.gate_units(), 1};
  v.second = {projection, s.proj, 1};
  if (s.cell.has_second()) v.second = v.recurrent.At(0, s.cell.second * s.units);
  v.input_bias = bias_rows > 0 ? bias : nullptr;
  v.recurrent_bias = bias_rows > 1 ? bias + s.gate_units() : nullptr;
  return v;
}

// Views for a problem in either layout. get(arg) returns a tensor.
template <typename W, typename T, typename Get>
WeightViews<W> ViewsOf(const RnnProblem& p, const Sizes<T>& s, int64_t layer, int64_t dir,
                       Get&& get) {
  if (p.weight_layout == kOpaqueWeights) return OpaqueViews(p, s, get(Arg::params), layer, dir);
  return MatrixViews(s, get(Arg::kernel), get(Arg::recurrent_kernel), get(Arg::bias), p.bias_rows,
                     get(Arg::projection));
}

// The weights of a problem, for products on operands E.
template <typename E, typename T>
WeightsOf<T, E> SourceOf(const RnnProblem& p, const Sizes<T>& s, const CallTensors& t,
                         int64_t layer, int64_t dir) {
  using W = WeightOf<T, E>;
  if constexpr (Operands<T, E>::kQuantized) {
    const auto views = MatrixViews(s, t.in<W>(Arg::kernel), t.in<W>(Arg::recurrent_kernel),
                                   t.in<T>(Arg::bias), p.bias_rows, t.in<W>(Arg::projection));
    const float* recurrent = t.in<float>(Arg::recurrent_kernel_scale);
    return {views,
            {t.in<float>(Arg::kernel_scale), recurrent,
             s.cell.has_second() ? recurrent + s.cell.second * s.units
                                 : t.in<float>(Arg::projection_scale)}};
  } else {
    return ViewsOf<const W>(p, s, layer, dir, [&t](Arg arg) { return t.in<W>(arg); });
  }
}

// The destination of the gradients of the weights.
template <typename T>
WeightViews<T> TargetOf(const RnnProblem& p, const Sizes<T>& s, const CallTensors& t, int64_t layer,
                        int64_t dir) {
  return ViewsOf<T>(p, s, layer, dir, [&t](Arg arg) { return t.out<T>(arg); });
}

// The packed weights of a pseudo-layer for the forward pass, in operands E (Note [Pairs]).
template <typename T, typename E = T>
struct PackedWeights {
  E* input;       // gate (or dense) panels [K = in]
  E* recurrent;   // gate (or dense) panels [K = S]
  E* second;      // dense panels [K = H] of the second product
  T* bias;        // [panel][NV][V] for the input product: the sum of both biases if possible
  T* split_bias;  // [u][V], the recurrent bias of CellFormat::split_bias
};

template <typename T, typename E = T>
PackedWeights<T, E> TakePackedBiases(Arena& arena, const Sizes<T>& s) {
  PackedWeights<T, E> w = {};
  w.bias = arena.Take<T>(s.blocks * s.cell.input.count * kLanes<T>);
  w.split_bias = arena.Take<T>(s.cell.splits_bias() ? s.padded : 0);
  return w;
}

template <typename T, typename E = T>
PackedWeights<T, E> TakePackedWeights(Arena& arena, const Sizes<T>& s, int64_t in) {
  PackedWeights<T, E> w = TakePackedBiases<T, E>(arena, s);
  const int64_t input_columns = s.blocks * s.cell.input.count * kLanes<T>;
  const int64_t recurrent_columns = s.blocks * s.cell.recurrent.count * kLanes<T>;
  w.input = arena.Take<E>(Area(OperandsOf<E>(in), input_columns));
  w.recurrent = arena.Take<E>(Area(OperandsOf<E>(s.hidden), recurrent_columns));
  w.second = arena.Take<E>(s.second > 0 ? DensePanelsSize<T>(OperandsOf<E>(s.units), s.second) : 0);
  return w;
}

// The number of bytes of the packed matrices of one pseudo-layer.
template <typename T, typename E>
int64_t PanelBytes(const Sizes<T>& s, int64_t in) {
  const int64_t rows = OperandsOf<E>(in) + OperandsOf<E>(s.hidden);
  return (rows * s.gate_part + s.padded * s.second) * static_cast<int64_t>(sizeof(E));
}

// The number of items of work that pack one pseudo-layer.
template <typename T>
int64_t PackItems(const Sizes<T>& s) {
  return s.panels() + (s.second > 0 ? DensePanels<T>(s.second) : 0);
}

template <typename T, typename E>
void PackBias(const Sizes<T>& s, const WeightsOf<T, E>& src, int64_t block,
              const PackedWeights<T, E>& w) {
  constexpr int V = kLanes<T>;
  const int64_t n = std::min<int64_t>(V, s.units - block * V);
  const GateOrder& order = s.cell.input;
  for (int g = 0; g < order.count; ++g) {
    const int64_t at = order.source[g] * s.units + block * V;
    Packet<T> sum = Set<T>(T(0));
    if (src.input_bias != nullptr) sum = LoadWide<T>(src.input_bias + at, n);
    if (src.recurrent_bias != nullptr && order.source[g] != s.cell.split_bias) {
      sum = padd(sum, LoadWide<T>(src.recurrent_bias + at, n));
    }
    Store(w.bias + (block * order.count + g) * V, sum);
  }
  if (s.cell.splits_bias()) {
    const int64_t at = s.cell.split_bias * s.units + block * V;
    Store(w.split_bias + block * V,
          src.recurrent_bias == nullptr ? Set<T>(T(0)) : LoadWide<T>(src.recurrent_bias + at, n));
  }
}

// Writes the headers of the panels of an item (Note [Quads]).
inline void PackItemScales(const Sizes<float>& s, const WeightScales& scales, int64_t in,
                           int64_t item, const PackedWeights<float, Quad>& w) {
  constexpr int V = kLanes<float>;
  auto dense = [](const float* of, int64_t columns, int64_t p, Quad* panel) {
    const int nv = PanelVectors(CeilDiv(columns, V), p);
    for (int v = 0; v < nv; ++v) {
      const int64_t n0 = (4 * p + v) * V;
      PackScales(of + n0, columns - n0, panel + v * V);
    }
  };
  auto gates = [&](const float* of, const GateOrder& order, Quad* panel) {
    for (int g = 0; g < order.count; ++g) {
      PackScales(of + order.source[g] * s.units + item * V, s.units - item * V, panel + g * V);
    }
  };
  const int64_t input_depth = OperandsOf<Quad>(in), recurrent_depth = OperandsOf<Quad>(s.hidden);
  if (item >= s.panels()) {
    const int64_t p = item - s.panels();
    dense(scales.second, s.second, p,
          w.second + DensePanelOffset<float>(OperandsOf<Quad>(s.units), p));
  } else if (s.dense) {
    dense(scales.input, s.units, item, w.input + DensePanelOffset<float>(input_depth, item));
    dense(scales.recurrent, s.units, item,
          w.recurrent + DensePanelOffset<float>(recurrent_depth, item));
  } else {
    gates(scales.input, s.cell.input, w.input + item * input_depth * s.cell.input.count * V);
    gates(scales.recurrent, s.cell.recurrent,
          w.recurrent + item * recurrent_depth * s.cell.recurrent.count * V);
  }
}

template <typename T, typename E>
void PackItem(const Sizes<T>& s, const WeightsOf<T, E>& src, int64_t in, int64_t item,
              const PackedWeights<T, E>& w) {
  constexpr int V = kLanes<T>;
  if constexpr (Operands<T, E>::kQuantized) PackItemScales(s, src.scales, in, item, w);
  if (item >= s.panels()) {
    const int64_t p = item - s.panels();
    PackDensePanel(src.second, s.units, s.second, p,
                   w.second + DensePanelOffset<T>(OperandsOf<E>(s.units), p));
    return;
  }
  const int64_t input_depth = OperandsOf<E>(in);
  const int64_t recurrent_depth = OperandsOf<E>(s.hidden);
  if (s.dense) {
    if (src.input.data != nullptr) {
      PackDensePanel(src.input, in, s.units, item,
                     w.input + DensePanelOffset<T>(input_depth, item));
    }
    PackDensePanel(src.recurrent, s.hidden, s.units, item,
                   w.recurrent + DensePanelOffset<T>(recurrent_depth, item));
    for (int64_t u = 4 * item; u < std::min(4 * item + 4, s.blocks); ++u) PackBias(s, src, u, w);
    return;
  }
  if (src.input.data != nullptr) {
    PackGatePanel(src.input, in, s.units, s.cell.input, item,
                  w.input + item * input_depth * s.cell.input.count * V);
  }
  PackGatePanel(src.recurrent, s.hidden, s.units, s.cell.recurrent, item,
                w.recurrent + item * recurrent_depth * s.cell.recurrent.count * V);
  PackBias(s, src, item, w);
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_WEIGHTS_H_
