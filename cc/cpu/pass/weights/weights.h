// The weights of a pseudo-layer in the caller's tensors, in every layout.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cc/core/op/param_offsets.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/operand.h"

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

inline QuantizedViews QuantizedViewsOf(const RnnProblem& p, const Sizes<float>& s,
                                       const CallTensors& t) {
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

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
