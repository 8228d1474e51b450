// What the kernels derive from a problem: sizes in vectors, gate orders, and the packed weights of
// a pseudo-layer.
#ifndef TF_RNN_OPS_CC_CPU_PASS_MODEL_H_
#define TF_RNN_OPS_CC_CPU_PASS_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

enum Mode : int32_t { kModeRelu = 0, kModeTanh = 1, kModeLstm = 2, kModeGru = 3 };

// -1 when the product leaves int64, which Arena::Take turns into an overflow.
inline int64_t Area(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return -1;
  return product;
}

// fn(i) for each i in [0, n), which one thread would do in `ns` nanoseconds (heuristics.h).
template <typename F>
void Parallel(const ParallelFor& parallel, int64_t n, int64_t ns, F&& fn) {
  if (n <= 0) return;
  using Fn = std::remove_reference_t<F>;
  parallel.run(
      parallel.context, n, WorthThreads(parallel.threads, ns),
      [](void* arg, int64_t i) { (*static_cast<Fn*>(arg))(i); },
      const_cast<void*>(static_cast<const void*>(&fn)));
}

// The gates of a mode, see the cells in cells.h for the order of a gate buffer.
struct Gates {
  int count;            // G in the parameters
  int buffer;           // vectors of a unit block in a gate buffer
  GateOrder input;      // vectors of the input product, from `input_at` of the unit block on
  GateOrder recurrent;  // likewise of the recurrent product
  int input_at;
  int recurrent_at;
};

// `source` numbers the gates as the weights' columns have them.
inline Gates GatesOf(int32_t mode, int32_t weight_layout) {
  if (mode == kModeGru && weight_layout == kKerasWeights) {
    return {3, 4, {3, {2, 1, 0, 0}}, {3, {1, 0, 2, 0}}, 0, 1};
  }
  if (mode == kModeLstm) return {4, 4, {4, {0, 1, 2, 3}}, {4, {0, 1, 2, 3}}, 0, 0};
  if (mode == kModeGru) return {3, 4, {3, {2, 0, 1, 0}}, {3, {0, 1, 2, 0}}, 0, 1};
  return {1, 1, {1, {0, 0, 0, 0}}, {1, {0, 0, 0, 0}}, 0, 0};
}

// Sizes that all kernels share.
template <typename T>
struct Sizes {
  int32_t mode;
  Gates gates;
  bool dense;        // vanilla: one gate, so panels hold four unit blocks
  int64_t units;     // H
  int64_t blocks;    // U, unit blocks of V
  int64_t padded;    // U * V
  int64_t gate_row;  // elements of a row of a gate buffer
  int64_t proj;      // P or 0
  int64_t hidden;    // S: P or H
  int64_t hidden_padded;
  int64_t num_dirs;
  int64_t output;  // D * S

  bool lstm() const { return mode == kModeLstm; }
  // Panels of the gate matrices.
  int64_t panels() const { return dense ? CeilDiv(blocks, 4) : blocks; }
};

template <typename T>
Sizes<T> MakeSizes(int32_t mode, int64_t units, int64_t proj, int64_t num_dirs,
                   int32_t weight_layout = kOpaqueWeights) {
  constexpr int V = kLanes<T>;
  Sizes<T> s;
  s.mode = mode;
  s.gates = GatesOf(mode, weight_layout);
  s.dense = s.gates.count == 1;
  s.units = units;
  s.blocks = CeilDiv(units, V);
  s.padded = s.blocks * V;
  s.gate_row = s.padded * s.gates.buffer;
  s.proj = proj;
  s.hidden = proj > 0 ? proj : units;
  s.hidden_padded = RoundUp(s.hidden, V);
  s.num_dirs = num_dirs;
  s.output = num_dirs * s.hidden;
  return s;
}

template <typename T>
Sizes<T> MakeSizes(const RnnProblem& p) {
  return MakeSizes<T>(p.mode, p.num_units, p.num_proj, p.num_dirs, p.weight_layout);
}

// Where the weights of a pseudo-layer come from. A matrix is addressed as (k, column) with columns
// [gate][H]: (k, g * H + unit) is what input k adds to that gate.
template <typename T>
struct WeightSource {
  MatrixView<const T> input;  // data is null without input weights
  MatrixView<const T> recurrent;
  MatrixView<const T> projection;  // (unit, p); data is null without projection
  const T* input_bias;             // [G*H] or null
  const T* recurrent_bias;         // [G*H] or null
};

// Offsets into the opaque buffer, walked pseudo-layer by pseudo-layer. The layout is that of
// cc/core/param_layout.h; tests/params compares the two through the ops.
struct ParamCursor {
  int64_t weights = 0;  // of the current pseudo-layer
  int64_t biases = 0;
  int64_t total = 0;  // elements of the whole buffer

  // `in` is the pseudo-layer's input size, 0 where it has no input weights.
  void Next(int64_t in, int64_t count = 1) {
    weights += count * Weights(in);
    biases += count * 2 * gate_units;
  }
  int64_t Weights(int64_t in) const { return gate_units * (in + hidden) + proj_elements; }

  int64_t gate_units;     // G * H
  int64_t hidden;         // S
  int64_t proj_elements;  // P * H
};

template <typename T>
ParamCursor MakeParamCursor(const RnnProblem& p, const Sizes<T>& s) {
  ParamCursor cursor;
  cursor.gate_units = s.gates.count * s.units;
  cursor.hidden = s.hidden;
  cursor.proj_elements = s.proj * s.units;
  const int64_t first = cursor.Weights(p.skip_input ? 0 : p.input_size);
  const int64_t other = cursor.Weights(s.output);
  cursor.biases = p.num_dirs * (first + (p.num_layers - 1) * other);
  cursor.total = cursor.biases + p.num_layers * p.num_dirs * 2 * cursor.gate_units;
  return cursor;
}

template <typename T, typename W>
WeightSource<W> OpaqueSource(const Sizes<T>& s, const W* weights, const W* biases, int64_t in) {
  const int64_t gate_units = s.gates.count * s.units;
  WeightSource<W> src;
  src.input = {in > 0 ? weights : nullptr, 1, in};
  const W* recurrent = weights + gate_units * in;
  src.recurrent = {recurrent, 1, s.hidden};
  src.projection = {s.proj > 0 ? recurrent + gate_units * s.hidden : nullptr, 1, s.units};
  src.input_bias = biases;
  src.recurrent_bias = biases + gate_units;
  return src;
}

// The source of a problem with kKerasWeights.
template <typename W, typename T>
WeightSource<W> LayerSource(const RnnProblem& p, const Sizes<T>& s, const LayerWeights& layer) {
  const int64_t columns = s.gates.count * s.units;
  const W* bias = p.bias_rows > 0 ? static_cast<const W*>(layer.bias) : nullptr;
  WeightSource<W> src;
  src.input = {static_cast<const W*>(layer.kernel), columns, 1};
  src.recurrent = {static_cast<const W*>(layer.recurrent_kernel), columns, 1};
  src.projection = {nullptr, 0, 0};
  src.input_bias = bias;
  src.recurrent_bias = p.bias_rows > 1 ? bias + columns : nullptr;
  return src;
}

// The sources of all pseudo-layers in order, for products on operands E (Note [Pairs]).
template <typename T, typename E = T>
class WeightSources {
 public:
  WeightSources(const RnnProblem& p, const Sizes<T>& s, const void* params,
                const LayerWeights& layer)
      : problem_(p),
        sizes_(s),
        params_(static_cast<const Weight*>(params)),
        layer_(layer),
        cursor_(MakeParamCursor(p, s)) {}

  // `in` as for ParamCursor::Next.
  WeightSource<TensorOf<T, E>> Next(int64_t in) {
    if (problem_.weight_layout == kKerasWeights) {
      return LayerSource<Weight>(problem_, sizes_, layer_);
    }
    const ParamCursor at = cursor_;
    cursor_.Next(in);
    return OpaqueSource(sizes_, params_ + at.weights, params_ + at.biases, in);
  }

 private:
  using Weight = TensorOf<T, E>;
  const RnnProblem& problem_;
  const Sizes<T>& sizes_;
  const Weight* const params_;
  const LayerWeights& layer_;
  ParamCursor cursor_;
};

// The packed weights of a pseudo-layer for the forward pass, in operands E (Note [Pairs]).
template <typename T, typename E = T>
struct PackedWeights {
  E* input;           // gate (or dense) panels [K = in]
  E* recurrent;       // gate (or dense) panels [K = S]
  E* projection;      // dense panels [K = H] of P columns
  T* bias;            // [panel][NV][V] for the input product: both biases where they merge
  T* recurrent_bias;  // GRU: [u][V], the recurrent bias of the candidate
};

template <typename T, typename E = T>
PackedWeights<T, E> TakePackedBiases(Arena& arena, const Sizes<T>& s) {
  PackedWeights<T, E> w = {};
  w.bias = arena.Take<T>(s.blocks * s.gates.input.count * kLanes<T>);
  w.recurrent_bias = arena.Take<T>(s.mode == kModeGru ? s.padded : 0);
  return w;
}

template <typename T, typename E = T>
PackedWeights<T, E> TakePackedWeights(Arena& arena, const Sizes<T>& s, int64_t in) {
  PackedWeights<T, E> w = TakePackedBiases<T, E>(arena, s);
  const int64_t input_columns = s.blocks * s.gates.input.count * kLanes<T>;
  const int64_t recurrent_columns = s.blocks * s.gates.recurrent.count * kLanes<T>;
  w.input = arena.Take<E>(Area(OperandsOf<E>(in), input_columns));
  w.recurrent = arena.Take<E>(Area(OperandsOf<E>(s.hidden), recurrent_columns));
  w.projection = arena.Take<E>(s.proj > 0 ? DensePanelsSize<T>(OperandsOf<E>(s.units), s.proj) : 0);
  return w;
}

// Bytes of the packed matrices of one pseudo-layer.
template <typename T, typename E>
int64_t PanelBytes(const Sizes<T>& s, int64_t in) {
  const int64_t rows = OperandsOf<E>(in) + OperandsOf<E>(s.hidden);
  return (rows * s.gate_row + s.padded * s.proj) * static_cast<int64_t>(sizeof(E));
}

// Items of work that pack one pseudo-layer.
template <typename T>
int64_t PackItems(const Sizes<T>& s) {
  return s.panels() + (s.proj > 0 ? DensePanels<T>(s.proj) : 0);
}

template <typename T, typename E>
void PackBias(const Sizes<T>& s, const WeightSource<TensorOf<T, E>>& src, int64_t block,
              const PackedWeights<T, E>& w) {
  constexpr int V = kLanes<T>;
  const int64_t n = std::min<int64_t>(V, s.units - block * V);
  const GateOrder& order = s.gates.input;
  for (int g = 0; g < order.count; ++g) {
    const int64_t at = order.source[g] * s.units + block * V;
    Packet<T> sum = Set<T>(T(0));
    if (src.input_bias != nullptr) sum = LoadWide<T>(src.input_bias + at, n);
    // The candidate's biases stay apart: the reset gate scales the recurrent one only.
    const bool merge = !(s.mode == kModeGru && order.source[g] == 2);
    if (src.recurrent_bias != nullptr && merge) {
      sum = padd(sum, LoadWide<T>(src.recurrent_bias + at, n));
    }
    Store(w.bias + (block * order.count + g) * V, sum);
  }
  if (s.mode == kModeGru) {
    const int64_t at = 2 * s.units + block * V;
    Store(w.recurrent_bias + block * V,
          src.recurrent_bias == nullptr ? Set<T>(T(0)) : LoadWide<T>(src.recurrent_bias + at, n));
  }
}

template <typename T, typename E>
void PackItem(const Sizes<T>& s, const WeightSource<TensorOf<T, E>>& src, int64_t in, int64_t item,
              const PackedWeights<T, E>& w) {
  constexpr int V = kLanes<T>;
  if (item >= s.panels()) {
    const int64_t p = item - s.panels();
    PackDensePanel(src.projection, s.units, s.proj, p,
                   w.projection + DensePanelOffset<T>(OperandsOf<E>(s.units), p));
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
    PackGatePanel(src.input, in, s.units, s.gates.input, item,
                  w.input + item * input_depth * s.gates.input.count * V);
  }
  PackGatePanel(src.recurrent, s.hidden, s.units, s.gates.recurrent, item,
                w.recurrent + item * recurrent_depth * s.gates.recurrent.count * V);
  PackBias(s, src, item, w);
}

// Rows of h0, c0, h_n, c_n: [L*D, B, size] or [B, L*D, size].
template <typename T>
struct StateRows {
  T* base;
  int64_t size;
  int64_t layer_stride;  // rows
  int64_t batch_stride;  // rows
  T* at(int64_t pseudo_layer, int64_t b) const {
    return base + (pseudo_layer * layer_stride + b * batch_stride) * size;
  }
};

template <typename T>
StateRows<T> MakeStateRows(const RnnProblem& p, T* base, int64_t size) {
  return p.time_major ? StateRows<T>{base, size, p.batch, 1}
                      : StateRows<T>{base, size, 1, p.num_layers * p.num_dirs};
}

// How a pass over the rows of a sequence is shared out; `panels` and `stream_bytes` as in
// SplitProblem.
template <typename T>
Split SplitOf(const Sizes<T>& s, int64_t steps, int64_t rows, int64_t in, int64_t batch,
              const ThreadBudget& threads, int64_t panels, int64_t stream_bytes) {
  const int64_t columns = s.padded * s.gates.recurrent.count;
  SplitProblem p;
  p.batch = batch;
  p.num_dirs = s.num_dirs;
  p.threads = threads;
  p.steps = steps;
  p.panels = panels;
  p.recurrent_bytes = Area(Area(s.hidden, columns), static_cast<int64_t>(sizeof(T)));
  p.weight_bytes = Area(Area(in + s.hidden, columns), static_cast<int64_t>(sizeof(T)));
  p.stream_bytes = stream_bytes;
  p.multiplies = Area(Area(rows, columns), in + s.hidden);
  return ChooseSplit(p);
}

// Slice s covers sorted rows [SliceBegin(s), SliceBegin(s + 1)): equal sums of lengths.
inline int64_t SliceBegin(const Sequence& seq, int64_t slices, int64_t s) {
  if (s >= slices) return seq.batch;
  const double target = static_cast<double>(seq.rows) * static_cast<double>(s) / slices;
  double sum = 0;
  int64_t j = 0;
  while (j < seq.batch && sum + 0.5 * static_cast<double>(seq.length[j]) < target) {
    sum += static_cast<double>(seq.length[j++]);
  }
  return j;
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_MODEL_H_
