// The weights of a pseudo-layer in the caller's tensors, in every layout, and the inputs of its
// cell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/core/op/layer_norm_rows.h"
#include "cc/core/op/param_offsets.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/cell/lstm_layer_norm.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The weights of a pseudo-layer in the caller's tensors, in every layout.

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

// The weights of a pseudo-layer, to be packed as operands. Only the views of the type of the
// operands are set.
template <typename T>
struct WeightSource {
  WeightViews<const T> exact;
  WeightViews<const BFloat16Bits> rounded;
  QuantizedViews quantized;

  // The views that operands E are packed from.
  template <typename E>
  const auto& For() const {
    if constexpr (std::is_same_v<E, Pair>) {
      return rounded;
    } else if constexpr (std::is_same_v<E, Quad>) {
      return quantized;
    } else {
      return exact;
    }
  }
};

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
  if (s.cell.has_second_gate()) v.second = v.recurrent.At(0, s.cell.second_gate * s.units);
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

template <typename T>
QuantizedViews QuantizedViewsOf(const RnnProblem& p, const Sizes<T>& s, const CallTensors& t) {
  auto matrix = [&t](Arg arg) { return t.in<int8_t>(arg); };
  const float* recurrent = t.in<float>(Arg::recurrent_kernel_scale);
  return {MatrixViews(s, matrix(Arg::kernel), matrix(Arg::recurrent_kernel), t.in<float>(Arg::bias),
                      p.bias_rows, matrix(Arg::projection)),
          {t.in<float>(Arg::kernel_scale), recurrent,
           s.cell.has_second_gate() ? recurrent + s.cell.second_gate * s.units
                                    : t.in<float>(Arg::projection_scale)}};
}

// The weights of a problem.
template <typename T>
WeightSource<T> SourceOf(const RnnProblem& p, const Sizes<T>& s, const CallTensors& t,
                         int64_t layer, int64_t dir) {
  WeightSource<T> source = {};
  WithOperand<T>(s.operands, [&](auto e) {
    using E = decltype(e);
    if constexpr (std::is_same_v<E, Pair>) {
      source.rounded = ViewsOf<const BFloat16Bits>(
          p, s, layer, dir, [&t](Arg arg) { return t.in<BFloat16Bits>(arg); });
    } else if constexpr (std::is_same_v<E, Quad>) {
      source.quantized = QuantizedViewsOf(p, s, t);
    } else {
      source.exact = ViewsOf<const T>(p, s, layer, dir, [&t](Arg arg) { return t.in<T>(arg); });
    }
  });
  return source;
}

// The destination of the gradients of the weights.
template <typename T>
WeightViews<T> TargetOf(const RnnProblem& p, const Sizes<T>& s, const CallTensors& t, int64_t layer,
                        int64_t dir) {
  return ViewsOf<T>(p, s, layer, dir, [&t](Arg arg) { return t.out<T>(arg); });
}

// Peephole weights: the vectors by which gates multiply c.

// Pads the rows of i, f and o, [H] each, to whole vectors. A null row becomes zeros. Returns
// `padded`, [3, padded].
template <typename T>
const T* PadPeepholes(const T* const (&rows)[3], const Sizes<T>& s, T* padded) {
  for (int k = 0; k < 3; ++k) {
    T* to = padded + k * s.padded;
    const T* from = rows[k];
    std::fill(from == nullptr ? to : std::copy(from, from + s.units, to), to + s.padded, T(0));
  }
  return padded;
}

// The weights of normalizations and their gradients, in the order of the cell.

template <typename T>
int64_t LayerNormElements(const Sizes<T>& s) {
  return s.padded * kLayerNormVectors;
}

// Packs LayerNormTensors::weights of a layer.
template <typename T>
void PackLayerNorm(const CallTensors& t, const Sizes<T>& s, T* to) {
  constexpr int V = kLanes<T>;
  const T* const rows = t.in<T>(Arg::layer_norm);
  const T* const bias = t.in<T>(Arg::bias);
  for (int64_t unit = 0; unit < s.units; unit += V, to += kLayerNormVectors * V) {
    const int64_t n = s.units - unit;
    auto row = [&](int k) { return LoadFirst(rows + k * s.units + unit, n); };
    for (int gate = 0; gate < 4; ++gate) {
      Packet<T> shift = padd(row(kBetaX + gate), row(kBetaH + gate));
      if (bias != nullptr) shift = padd(shift, LoadFirst(bias + gate * s.units + unit, n));
      Store(to + (kScaleX + gate) * V, row(kGammaX + gate));
      Store(to + (kScaleH + gate) * V, row(kGammaH + gate));
      Store(to + (kShift + gate) * V, shift);
    }
    Store(to + kScaleC * V, row(kGammaC));
    Store(to + kShiftC * V, row(kBetaC));
  }
}

// The inputs of the tensors of a stack's cell.

// Pads and packs the weights of a cell besides its matrices. `peepholes` has space for [3, padded]
// if IsLstmPeephole. `layer_norm` has space for LayerNormElements if the cell has layer
// normalization. `masks` are those of zoneout.
template <typename T>
CellInputs<T> CellInputsOf(const RnnProblem& p, const CallTensors& t, const Sizes<T>& s,
                           T* peepholes, T* layer_norm, T* const (&masks)[2]) {
  CellInputs<T> in = {p, nullptr, nullptr, {masks[0], masks[1]}, s.padded};
  if (IsLstmPeephole(p)) {
    const T* const w = p.has_peepholes ? t.in<T>(Arg::peepholes) : nullptr;
    const bool given = w != nullptr;
    in.peepholes =
        PadPeepholes({w, given ? w + s.units : w, given ? w + 2 * s.units : w}, s, peepholes);
  }
  if (p.has_layer_norm) {
    PackLayerNorm(t, s, layer_norm);
    in.layer_norm = layer_norm;
  }
  return in;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
