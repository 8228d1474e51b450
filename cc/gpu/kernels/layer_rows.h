// Functions that the kernels of all cells share: the type of the tensors, the end of a row, states.
#pragma once

#include "cc/gpu/kernels/cells/cell.h"
#include "cc/gpu/kernels/cells/zoneout.h"
#include "cc/gpu/kernels/elements.h"
#include "cc/gpu/kernels/kernel_args.h"

namespace rnn_ops::gpu::elementwise {

// ---- Tensors of type T; only float arithmetic has 16-bit tensors ----

RNN_OPS_DEVICE double GetElement(int, const double* tensor, Int64 at) { return tensor[at]; }
RNN_OPS_DEVICE float GetElement(int element, const float* tensor, Int64 at) {
  if (element == kHalf) return Get<Half>(tensor, at);
  if (element == kBFloat16) return Get<BFloat16>(tensor, at);
  return tensor[at];
}
template <typename A>
RNN_OPS_DEVICE A GetElement(int element, const void* tensor, Int64 at) {
  return GetElement(element, static_cast<const A*>(tensor), at);
}

RNN_OPS_DEVICE void PutElement(int, double value, void* tensor, Int64 at) {
  static_cast<double*>(tensor)[at] = value;
}
RNN_OPS_DEVICE void PutElement(int element, float value, void* tensor, Int64 at) {
  if (element == kHalf) {
    Put<Half>(value, tensor, at);
  } else if (element == kBFloat16) {
    Put<BFloat16>(value, tensor, at);
  } else {
    static_cast<float*>(tensor)[at] = value;
  }
}

// The nearest value of type T.
RNN_OPS_DEVICE double RoundToElement(int, double value) { return value; }
RNN_OPS_DEVICE float RoundToElement(int element, float value) {
  float memory = 0;
  PutElement(element, value, &memory, 0);
  return GetElement(element, &memory, 0);
}

template <typename A>
RNN_OPS_DEVICE A NotANumber() {
  return A(FloatFromBits(0x7fc00000u));
}

// ---- Rows ----

RNN_OPS_DEVICE bool IsLengthValid(const int* lengths, Int64 max_time, Int64 b) {
  return !lengths || (lengths[b] >= 0 && lengths[b] <= max_time);
}

// The number of steps of a row. A row with an invalid length runs all steps, from states of NaN.
// WHY not an error: only the device knows the length, and asking it would stop the stream.
RNN_OPS_DEVICE Int64 StepsOf(const int* lengths, Int64 max_time, Int64 b) {
  return lengths && IsLengthValid(lengths, max_time, b) ? lengths[b] : max_time;
}
RNN_OPS_DEVICE Int64 StepsOf(const LayerCall& call, Int64 b) {
  return StepsOf(call.lengths, call.max_time, b);
}
RNN_OPS_DEVICE bool IsRunning(const RowSteps& p, Int64 row) {
  return p.first_step + row / p.batch < StepsOf(p.lengths, p.max_time, row % p.batch);
}

// The steps of each row in the forward call.
RNN_OPS_DEVICE int* StepsIn(ReserveHeader* header) { return reinterpret_cast<int*>(header + 1); }

// Whether the gradient of row b has a value: the reserve space belongs to a call with the problem,
// the seed and, in this row, the steps of this call, and the length is valid. All gradients of
// other rows are NaN.
RNN_OPS_DEVICE bool HasGradient(const LayerCall& call, Int64 b) {
  const ReserveHeader& made = *call.header;
  for (int k = 0; k < 2; ++k) {
    if (call.seed && made.seed[k] != call.seed[k]) return false;
  }
  return made.fingerprint == call.fingerprint && StepsIn(call.header)[b] == StepsOf(call, b) &&
         IsLengthValid(call.lengths, call.max_time, b);
}

template <typename A>
RNN_OPS_DEVICE A BiasOf(const LayerCall& call, int row, Int64 column) {
  if (row >= call.bias_rows) return A(0);
  return GetElement<A>(call.element, call.bias, row * call.gates * call.units + column);
}

template <typename A>
RNN_OPS_DEVICE A MaskOf(const LayerCall& call, int gate, Int64 b, Int64 k) {
  if (!call.masks) return A(1);
  return GetElement<A>(call.element, call.masks, (gate * call.batch + b) * call.hidden + k);
}

// Everything of a cell's arguments except h_prev and c_prev.
template <typename A>
RNN_OPS_DEVICE CellArgs<A> CellArgsOf(const LayerCall& call, Int64 u) {
  CellArgs<A> args = {};
  args.activation = call.activation;
  args.recurrent_activation = call.recurrent_activation;
  args.cell_clip = call.cell_clip;
  args.has_peepholes = call.peepholes != 0;
  if (call.peepholes) {
    for (int k = 0; k < 3; ++k) {
      args.peepholes[k] = GetElement<A>(call.element, call.peepholes, k * call.units + u);
    }
  }
  return args;
}

// Copies of h for the product of each gate.
template <typename A>
RNN_OPS_DEVICE void StoreMasked(const LayerCall& call, void* masked_h, Int64 b, Int64 k, A h) {
  if (!masked_h) return;
  RNN_OPS_NO_UNROLL for (int g = 0; g < call.gates; ++g) {
    const Int64 at = (g * call.batch + b) * call.hidden + k;
    PutElement(call.element, h * MaskOf<A>(call, g, b, k), masked_h, at);
  }
}

// Stores a new h of a running row.
template <typename A>
RNN_OPS_DEVICE void StoreH(const LayerStep& p, Int64 b, Int64 k, A h) {
  const Int64 at = b * p.call.hidden + k;
  PutElement(p.call.element, h, p.y, at);
  if (p.h_state) static_cast<A*>(p.h_state)[at] = h;
  StoreMasked(p.call, p.masked_h, b, k, h);
  if (p.t == StepsOf(p.call, b) - 1) PutElement(p.call.element, h, p.h_n, at);
}

template <typename A>
RNN_OPS_DEVICE void StoreC(const LayerStep& p, Int64 b, Int64 u, A c) {
  const Int64 at = b * p.call.units + u;
  static_cast<A*>(p.c)[at] = c;
  if (p.t == StepsOf(p.call, b) - 1) PutElement(p.call.element, c, p.c_n, at);
}

// A finished row: outputs of 0, and a c that sums over all rows may read.
template <typename A>
RNN_OPS_DEVICE void StoreFinished(const LayerStep& p, Int64 b, Int64 u) {
  if (u < p.call.hidden) PutElement(p.call.element, A(0), p.y, b * p.call.hidden + u);
  if (p.c && p.c != p.c_prev) static_cast<A*>(p.c)[b * p.call.units + u] = A(0);
}

// The part of the gradient of h_prev that comes from the step after t: from its products and
// directly.
template <typename A>
RNN_OPS_DEVICE A CarriedH(const LayerBackStep& p, Int64 b, Int64 k) {
  const Int64 size = p.call.batch * p.call.hidden, at = b * p.call.hidden + k;
  const A* products = static_cast<const A*>(p.dh);
  A sum = 0;
  RNN_OPS_NO_UNROLL for (int g = 0; g < p.products; ++g) sum +=
      products[g * size + at] * MaskOf<A>(p.call, g, b, k);
  if (p.direct) sum += static_cast<const A*>(p.direct)[at];
  return sum;
}

// The gradient of h at step t of a running row.
template <typename A>
RNN_OPS_DEVICE A GradientOfH(const LayerBackStep& p, Int64 b, Int64 k) {
  const Int64 at = b * p.call.hidden + k;
  const A dy = GetElement<A>(p.call.element, p.dy, at);
  if (p.t < StepsOf(p.call, b) - 1) return CarriedH<A>(p, b, k) + dy;
  if (!HasGradient(p.call, b)) return NotANumber<A>();
  return GetElement<A>(p.call.element, p.dh_n, at) + dy;
}

template <typename A>
RNN_OPS_DEVICE A GradientOfC(const LayerBackStep& p, Int64 b, Int64 u) {
  const Int64 at = b * p.call.units + u;
  if (p.t < StepsOf(p.call, b) - 1) return static_cast<const A*>(p.dc)[at];
  if (!HasGradient(p.call, b)) return NotANumber<A>();
  return GetElement<A>(p.call.element, p.dc_n, at);
}

}  // namespace rnn_ops::gpu::elementwise
