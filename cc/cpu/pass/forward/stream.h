// The forward pass of one stream, or of a few streams at once.
//
// Note [Streams]
// A stream is one sequence in one direction, with packed weights, on one thread. A stepper runs it
// in calls of a few steps, and a step of a small layer takes 100 ns. A plain loop over layers,
// steps and panels needs no slices and step blocks, which would take as long as the arithmetic. The
// same loop runs up to kStreams sequences of one length. The products and the cells are those of
// ForwardPass and sum in the same order, so the results have the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/core/checked_math.h"
#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward/pass.h"
#include "cc/cpu/pass/forward/slice.h"
#include "cc/cpu/pass/forward/step_product.h"
#include "cc/cpu/pass/forward/weights.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The most sequences of a StreamPass.
constexpr int64_t kStreams = 4;

// From this many columns of x on, tiles of several rows share the input weights.
constexpr int64_t kTiledColumns = 8;

// Whether one layer on one sequence in float32, without a second product, has a loop of its own.
// WHY: with the cell in the loop and its rows in registers, calls of one step take 0.8 to 0.9 of
// the time. The other cells and modes are rarer, and share RunCell with ForwardPass.
template <typename Cell>
constexpr bool HasLoop() {
  constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
  return kFormat.gates > 1 && kFormat.unpacked;
}

// The rows of x or y of a layer: `at` is that of the first step of the first sequence.
template <typename X>
struct StreamRows {
  X* at;
  int64_t step, sequence;  // elements to the next one

  X* Of(int64_t t, int64_t b) const { return at + t * step + b * sequence; }
};

// Run() may be called many times.
template <typename T>
class StreamPass {
 public:
  // Whether a call is one of streams.
  static bool Runs(const RnnArgs& args) {
    const RnnProblem& p = args.problem;
    const ThreadBudget& threads = args.parallel.threads;
    const bool is_stream = p.batch >= 1 && p.batch <= kStreams && p.max_time > 0 &&
                           p.lengths.sum == p.batch * p.max_time && p.num_dirs() == 1 &&
                           p.weights_packed && OperandTypeOf(p) != OperandType::kPairs &&
                           !p.skips_input(0) && !p.input_masked && !p.recurrent_masked &&
                           !p.zoneout_drawn && RunOf(p) != nullptr;
    if (!is_stream || threads.count == 1) return is_stream;
    const Split split = ForwardSplit(p, MakeSizes<T>(p), threads);
    return split.slices == 1 && split.shares == 1;
  }

  explicit StreamPass(const RnnArgs& args)
      : s_(MakeSizes<T>(args.problem)),
        in_(args.problem.input_size),
        layer_count_(args.problem.num_layers),
        batch_(args.problem.batch),
        steps_(args.problem.max_time),
        block_steps_(std::min(steps_, kStepBlockRows / batch_)),
        tiles_(IsTiled(in_) || (layer_count_ > 1 && IsTiled(s_.output))),
        peephole_elements_(IsLstmPeephole(args.problem) ? 3 * s_.padded : 0),
        h_limit_(HiddenLimit<T>(args.problem)),
        run_(RunOf(args.problem)) {}

  // Measures or allocates the memory.
  void Take(Arena& arena) {
    const int64_t rows = tiles_ ? block_steps_ * batch_ : batch_;
    const int64_t widest = std::max(in_, layer_count_ > 1 ? s_.output : 0);
    const auto copies = [&](int64_t count, int64_t width) {
      const int64_t bytes = OperandBytesOf(width);
      return arena.Take<char>(Area(count, bytes));
    };
    layers_ = arena.Take<Layer>(layer_count_);
    c_ = arena.Take<T>(s_.cell.has_c ? Area(batch_, s_.padded) : 0);
    m_ = arena.Take<T>(s_.has_second_product() ? Area(batch_, s_.padded) : 0);
    peepholes_ = arena.Take<T>(peephole_elements_);
    gates_ = arena.Take<T>(Area(rows, s_.gate_row));
    gate_rows_ = arena.Take<T*>(tiles_ ? rows : 0);
    x_rows_ = arena.Take<const void*>(tiles_ ? rows : 0);
    quantized_x_ = copies(rows, widest);
    quantized_h_ = copies(batch_, std::max(s_.hidden, s_.units));
    for (int64_t l = 0; l < 2; ++l) {
      const bool used = l + 1 < layer_count_;
      between_[l] = arena.Take<T>(used ? Area(Area(steps_, batch_), s_.output) : 0);
    }
    if (arena.measuring()) return;
    for (int64_t l = 0; l < layer_count_; ++l) {
      const int64_t in = l == 0 ? in_ : s_.output;
      layers_[l] = {in, IsTiled(in), {}};
    }
    for (int64_t i = 0; tiles_ && i < rows; ++i) gate_rows_[i] = gates_ + i * s_.gate_row;
  }
  ReserveSizes reserve_sizes() const { return {}; }

  KernelResult Run(const RnnArgs& args, void*) {
    if (args.problem.lengths.sum != batch_ * steps_) return kOtherLengths;
    if (args.panels != panels_) {
      panels_ = args.panels;
      Arena arena(args.panels);
      for (int64_t l = 0; l < layer_count_; ++l) {
        layers_[l].weights.packed = TakePackedWeights(arena, s_, layers_[l].in);
      }
      first_ = layers_[0];
    }
    run_(*this, args);
    return kDone;
  }

 private:
  using RunCall = void (*)(StreamPass& pass, const RnnArgs& args);

  struct Layer {
    int64_t in;  // columns of x
    bool tiled;  // whether the input products of several rows are one
    ForwardWeights<T> weights;
  };

  // Null if the loop does not run the cell of the problem.
  static RunCall RunOf(const RnnProblem& p) {
    return WithCell(p, [&](auto cell) -> RunCall {
      using Cell = decltype(cell);
      constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
      if constexpr (!kFormat.whole_rows) {
        if (p.int8_weights) {
          if constexpr (kFormat.quads) return &RunLayers<Cell, Quad>;
          return nullptr;
        }
        if constexpr (HasLoop<Cell>()) {
          if (p.batch == 1 && p.num_layers == 1 && p.num_proj == 0) return &RunSteps<Cell>;
        }
        return &RunLayers<Cell, T>;
      }
      return nullptr;
    });
  }

  bool quantizes() const { return s_.operands == OperandType::kQuads; }
  bool IsTiled(int64_t in) const {
    return quantizes() || (batch_ * steps_ > 1 && in >= kTiledColumns);
  }
  // The bytes of a row in int8; 0 if the products read the row itself.
  int64_t OperandBytesOf(int64_t width) const {
    return CopyOperands<T>(s_.operands, width, s_.cell.recurrent, /*masked=*/false) *
           OperandBytes<T>(s_.operands);
  }

  // The rows of a tensor of the op.
  template <typename X>
  StreamRows<X> UserRows(const RnnProblem& p, X* at, int64_t columns) const {
    if (p.time_major) return {at, batch_ * columns, columns};
    return {at, columns, steps_ * columns};
  }

  // One layer, see HasLoop.
  template <typename Cell>
  static void RunSteps(StreamPass& pass, const RnnArgs& args) {
    constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
    constexpr int NV = kFormat.recurrent.count, V = kLanes<T>;
    const Sizes<T>& s = pass.s_;
    const Layer& layer = pass.first_;
    const PackedWeights<T>& weights = layer.weights.packed;
    const CallTensors& t = *args.tensors;
    T* const no_masks[2] = {};
    const typename Cell::template Tensors<T> tensors(
        CellInputsOf<T>(args.problem, t, s, pass.peepholes_, nullptr, no_masks));
    if constexpr (kFormat.has_c) {
      const T* const c0 = t.in<T>(Arg::input_c);
      for (int64_t k = 0; k < s.units; k += V) Store(pass.c_ + k, LoadFirst(c0 + k, s.units - k));
    }
    // The row of each step. The cell reads these pointers when it runs.
    const T* h_prev = t.in<T>(Arg::input_h);
    T* h = t.out<T>(Arg::output);
    T* gates = pass.gates_;
    T* c = pass.c_;
    const T* c_prev = c;
    StepRows<T> rows = {};
    rows.h_prev = &h_prev;
    rows.gates = &gates;
    rows.c_prev = &c_prev;
    rows.c = &c;
    rows.out = &h;
    rows.units = s.units;
    rows.split_bias = weights.split_bias;
    const typename Cell::template Forward<T, NV> cell(rows, tensors);
    const void* a[1];
    const T* const panels = reinterpret_cast<const T*>(weights.recurrent);
    const StepProduct<T> product = {{a, 1, BatchRows::kOne}, s.hidden, panels, false};
    const RunsOfK k = RunsOfK::Dense(s.hidden);
    const T* x = t.in<T>(Arg::input);
    for (int64_t step = 0; step < pass.steps_; ++step) {
      if (layer.tiled) {
        const int64_t row = step % kStepBlockRows;
        const int64_t left = std::min(pass.steps_ - step, kStepBlockRows);
        if (row == 0) pass.InputProducts(layer, {x, pass.in_, 0}, 0, left);
        gates = pass.gate_rows_[row];
      } else {
        pass.template InputProduct<Cell>(layer, x, gates);
      }
      a[0] = h_prev;
      const PanelOrder order = {0, s.blocks, pass.from_end_};
      pass.from_end_ = !pass.from_end_;
      for (int64_t i = 0; i < s.blocks; ++i) {
        const int64_t u = order.at(i);
        RunCellTile<T, 1, false>(cell, product, PanelBlock<T>{u, panels + u * s.hidden * NV * V, k},
                                 RowTile{0, 1, nullptr}, Ahead{nullptr, 0});
      }
      x += pass.in_;
      h_prev = h;
      h += s.hidden;
    }
    if (T* const h_n = t.out<T>(Arg::output_h)) Copy(h_prev, s.hidden, h_n);
    if constexpr (kFormat.has_c) {
      if (T* const c_n = t.out<T>(Arg::output_c)) Copy(c, s.units, c_n);
    }
  }

  template <typename Cell, typename E>
  static void RunLayers(StreamPass& pass, const RnnArgs& args) {
    const RnnProblem& p = args.problem;
    const CallTensors& t = *args.tensors;
    const Sizes<T>& s = pass.s_;
    T* const no_masks[2] = {};
    const typename Cell::template Tensors<T> tensors(
        CellInputsOf<T>(p, t, s, pass.peepholes_, nullptr, no_masks));
    StreamRows<const T> x = pass.UserRows(p, t.in<T>(Arg::input), pass.in_);
    for (int64_t l = 0; l < pass.layer_count_; ++l) {
      StreamRows<T> y = {pass.between_[l % 2], pass.batch_ * s.output, s.output};
      if (l + 1 == pass.layer_count_) y = pass.UserRows(p, t.out<T>(Arg::output), s.output);
      pass.template RunLayer<Cell, E>(args, tensors, l, x, y);
      x = {y.at, y.step, y.sequence};
    }
  }

  // The rows of each sequence at a step.
  struct Rows {
    const T* h_prev[kStreams];
    T* h[kStreams];
    T* gates[kStreams];
    const T* c_prev[kStreams];
    T* c[kStreams];
    T* m[kStreams];
  };

  template <typename Cell, typename E>
  void RunLayer(const RnnArgs& args, const typename Cell::template Tensors<T>& tensors, int64_t l,
                const StreamRows<const T>& x, const StreamRows<T>& y) {
    const Sizes<T>& s = s_;
    const Layer& layer = layers_[l];
    const PackedWeights<T>& weights = layer.weights.packed;
    const int64_t n = batch_;
    Rows rows;
    LoadStates(args, l, y, &rows);
    // The cell reads the pointers in `rows` when it runs.
    StepRows<T> of_step = {};
    of_step.h_prev = rows.h_prev;
    of_step.gates = rows.gates;
    of_step.c_prev = rows.c_prev;
    of_step.c = rows.c;
    of_step.out = s.has_second_product() ? rows.m : rows.h;
    of_step.units = s.units;
    of_step.split_bias = weights.split_bias;
    const void* a[kStreams];
    StepProduct<E> product = {{a, n, BatchRowsOf(n)},
                              OperandsOf<E>(s.hidden),
                              reinterpret_cast<const E*>(weights.recurrent),
                              false};
    int64_t block_step = 0;  // that of the step in its block
    for (int64_t step = 0; step < steps_; ++step) {
      if (layer.tiled) {
        if (block_step == 0) InputProducts(layer, x, step, std::min(steps_ - step, block_steps_));
        for (int64_t b = 0; b < n; ++b) rows.gates[b] = gate_rows_[block_step * n + b];
        if (++block_step == block_steps_) block_step = 0;
      } else {
        for (int64_t b = 0; b < n; ++b) InputProduct<Cell>(layer, x.Of(step, b), rows.gates[b]);
      }
      SetOperands<E>(rows.h_prev, s.hidden, a);
      const PanelOrder order = {0, s.panels(), from_end_};
      product.reversed = from_end_;
      from_end_ = !from_end_;
      CellSteps<T, Cell>::template RunPanels<false>(of_step, tensors, product, s.blocks, order);
      if (s.has_second_product()) SecondProducts<Cell, E>(layer, tensors, rows);
      for (int64_t b = 0; b < n; ++b) {
        rows.h_prev[b] = rows.h[b];
        rows.h[b] += y.step;
      }
    }
    StoreStates(args, l, rows);
  }

  // Sets the rows of the first step.
  void LoadStates(const RnnArgs& args, int64_t l, const StreamRows<T>& y, Rows* rows) const {
    const auto h0 = MakeStateRows(args.problem, args.tensors->in<T>(Arg::input_h), s_.hidden);
    const auto c0 = MakeStateRows(args.problem, args.tensors->in<T>(Arg::input_c), s_.units);
    for (int64_t b = 0; b < batch_; ++b) {
      rows->h_prev[b] = h0.at(l, b);
      rows->h[b] = y.Of(0, b);
      rows->gates[b] = gates_ + b * s_.gate_row;
      rows->c_prev[b] = rows->c[b] = c_ + b * s_.padded;
      rows->m[b] = m_ + b * s_.padded;
      if (!s_.cell.has_c) continue;
      const T* const c = c0.at(l, b);
      for (int64_t k = 0; k < s_.units; k += kLanes<T>) {
        Store(rows->c[b] + k, LoadFirst(c + k, s_.units - k));
      }
    }
  }

  // Writes the states after the last step, whose h is now h_prev.
  void StoreStates(const RnnArgs& args, int64_t l, const Rows& rows) const {
    const auto h_n = MakeStateRows(args.problem, args.tensors->out<T>(Arg::output_h), s_.hidden);
    const auto c_n = MakeStateRows(args.problem, args.tensors->out<T>(Arg::output_c), s_.units);
    for (int64_t b = 0; b < batch_; ++b) {
      if (h_n) Copy(rows.h_prev[b], s_.hidden, h_n.at(l, b));
      if (s_.cell.has_c && c_n) Copy(rows.c[b], s_.units, c_n.at(l, b));
    }
  }

  // h = m * W of a step, and the rest of a cell with a second gate.
  template <typename Cell, typename E>
  void SecondProducts(const Layer& layer, const typename Cell::template Tensors<T>& tensors,
                      const Rows& rows) const {
    const void* a[kStreams];
    SetOperands<E>(rows.m, s_.units, a);
    const int64_t columns = s_.second_columns;
    layer.weights.SecondProduct(s_, {a, batch_, BatchRowsOf(batch_)}, 0, DensePanels<T>(columns),
                                rows.h);
    for (int64_t b = 0; b < batch_; ++b) {
      LimitRow({0, columns, columns}, h_limit_, rows.h[b]);
      if constexpr (Cell::Format(kOpaqueWeights).has_second_gate()) {
        Cell::template AfterSecond<T>({0, s_.units, s_.units},
                                      {rows.gates[b], rows.h_prev[b], rows.h[b]}, tensors);
      }
    }
  }

  // Sets the operands of the rows: the rows or their copies in int8.
  template <typename E, typename Row>
  EIGEN_ALWAYS_INLINE void SetOperands(Row* const* rows, int64_t width,
                                       const void** operands) const {
    const int64_t bytes = OperandBytesOf(std::max(s_.hidden, s_.units));
    for (int64_t b = 0; b < batch_; ++b) {
      operands[b] = rows[b];
      if constexpr (std::is_same_v<E, Quad>) {
        operands[b] = quantized_h_ + b * bytes;
        QuantizeRow(rows[b], width, reinterpret_cast<Quad*>(quantized_h_ + b * bytes));
      }
    }
  }

  // WHY not memcpy: a call takes as long as copying some vectors.
  static void Copy(const T* from, int64_t n, T* to) {
    constexpr int V = kLanes<T>;
    for (int64_t k = 0; k < n; k += V) StoreFirst(to + k, LoadFirst(from + k, n - k), n - k);
  }

  // The input products of a block of steps.
  void InputProducts(const Layer& layer, const StreamRows<const T>& x, int64_t step,
                     int64_t steps) const {
    const int64_t bytes = OperandBytesOf(layer.in);
    int64_t row = 0;
    for (int64_t t = step; t < step + steps; ++t) {
      for (int64_t b = 0; b < batch_; ++b, ++row) {
        x_rows_[row] = x.Of(t, b);
        if (!quantizes()) continue;
        char* const copy = quantized_x_ + row * bytes;
        QuantizeRow(x.Of(t, b), layer.in, reinterpret_cast<Quad*>(copy));
        x_rows_[row] = copy;
      }
    }
    layer.weights.InputProduct(s_, {x_rows_, row}, layer.in, 0, s_.panels(), gate_rows_);
  }

  // The input product of one row.
  // WHY two panels at once: one has too few sums to hide the latency of an addition.
  template <typename Cell>
  EIGEN_ALWAYS_INLINE void InputProduct(const Layer& layer, const T* x, T* gates) const {
    constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
    if constexpr (kFormat.gates > 1) {
      constexpr int NX = kFormat.input.count;
      int64_t u = 0;
      for (; u + 2 <= s_.blocks; u += 2) InputPanels<NX, NX, 2>(layer, u, x, gates);
      if (u < s_.blocks) InputPanels<NX, NX, 1>(layer, u, x, gates);
    } else {
      const int64_t full = s_.blocks / 4;
      for (int64_t p = 0; p < full; ++p) InputPanels<1, 4, 1>(layer, 4 * p, x, gates);
      if (s_.blocks % 4 == 0) return;
      WithConstant<3>(static_cast<int>(s_.blocks % 4), [&](auto nv) {
        InputPanels<1, decltype(nv)::value, 1>(layer, 4 * full, x, gates);
      });
    }
  }

  // The same for kPanels panels of NX vectors, beginning at unit block u. A unit block has kBlock
  // vectors of them.
  template <int kBlock, int NX, int kPanels>
  EIGEN_ALWAYS_INLINE void InputPanels(const Layer& layer, int64_t u, const T* x, T* gates) const {
    constexpr int V = kLanes<T>;
    const PackedWeights<T>& w = layer.weights.packed;
    const int64_t in = layer.in;
    const T* const panels = reinterpret_cast<const T*>(w.input) + u * in * kBlock * V;
    const T* const bias = w.bias + u * kBlock * V;
    T* const to = gates + (u * s_.cell.buffer + s_.cell.input_at) * V;
    const RowsOfA<T, 1> row = {{x}};
    Packet<T> sums[kPanels][1][NX];
    RowsOfB<T> b[kPanels];
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
      b[p] = RowsOfB<T>::template OfPanel<NX>(panels + p * in * NX * V, in, 0);
#pragma GCC unroll 8
      for (int v = 0; v < NX; ++v) sums[p][0][v] = Load(bias + (p * NX + v) * V);
    }
    for (int64_t k = 0; k < in; ++k) {
#pragma GCC unroll 8
      for (int p = 0; p < kPanels; ++p) {
        MultiplyStep<T, 1, NX>(row, k, b[p].From(k), sums[p]);
      }
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
      for (int v = 0; v < NX; ++v) Store(to + (p * s_.cell.buffer + v) * V, sums[p][0][v]);
    }
  }

  const Sizes<T> s_;
  const int64_t in_;  // columns of x
  const int64_t layer_count_;
  const int64_t batch_;
  const int64_t steps_;
  const int64_t block_steps_;  // the steps whose input products are one
  const bool tiles_;           // whether those of a layer are
  const int64_t peephole_elements_;
  const T h_limit_;
  const RunCall run_;
  // Whether the next step begins with the last panel, which the cache has from the step before,
  // also from that of another call.
  bool from_end_ = false;
  const void* panels_ = nullptr;  // those that the weights of the layers point to
  Layer* layers_ = nullptr;
  Layer first_ = {};  // a copy, which RunSteps finds a load earlier
  T* c_ = nullptr;    // [B, padded]
  T* m_ = nullptr;    // [B, padded] the input of a second product
  T* peepholes_ = nullptr;
  T* gates_ = nullptr;             // [rows, gate_row] of a block of steps, or [B, gate_row]
  T** gate_rows_ = nullptr;        // [rows]
  const void** x_rows_ = nullptr;  // [rows]
  char* quantized_x_ = nullptr;    // [rows]
  char* quantized_h_ = nullptr;    // [B]: of h or m
  T* between_[2] = {};             // [T, B, S]: y of the inner layers
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
