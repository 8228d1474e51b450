// The forward pass of one stream.
//
// Note [Streams]
// A stream is one sequence in one direction of one layer, with packed weights, on one thread. A
// stepper runs it in calls of a few steps, and a step of a small layer takes 100 ns. A plain loop
// over steps and panels needs no row pointers, step blocks and slices, which would take as long as
// the arithmetic. The products and the cells are those of ForwardPass and sum in the same order, so
// the results have the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cc/core/checked_math.h"
#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward/pass.h"
#include "cc/cpu/pass/forward/step_product.h"
#include "cc/cpu/pass/forward/weights.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Whether a stream runs a cell: one product in each step, on panels of one unit block. The cells
// that do not run on unpacked weights are rare.
template <typename Cell>
constexpr bool StreamsCell() {
  constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
  return kFormat.gates > 1 && kFormat.unpacked;
}

// From this many columns of x on, tiles of several steps share the input weights.
constexpr int64_t kTiledColumns = 8;

// Run() may be called many times.
template <typename T>
class StreamPass {
 public:
  // Whether a call is one of a stream.
  static bool Runs(const RnnArgs& args) {
    const RnnProblem& p = args.problem;
    const ThreadBudget& threads = args.parallel.threads;
    const bool is_stream = p.batch == 1 && p.max_time > 0 && p.lengths.sum == p.max_time &&
                           p.num_layers == 1 && p.num_dirs() == 1 && p.weights_packed &&
                           OperandTypeOf(p) == OperandType::kExact && p.num_proj == 0 &&
                           !p.skips_input(0) && !p.input_masked && !p.recurrent_masked &&
                           RunOf(p) != nullptr;
    return is_stream &&
           (threads.count == 1 || ForwardSplit(p, MakeSizes<T>(p), threads).shares == 1);
  }

  explicit StreamPass(const RnnArgs& args)
      : s_(MakeSizes<T>(args.problem)),
        in_(args.problem.input_size),
        steps_(args.problem.max_time),
        tiled_(steps_ > 1 && in_ >= kTiledColumns),
        peephole_elements_(IsLstmPeephole(args.problem) ? 3 * s_.padded : 0),
        run_(RunOf(args.problem)) {}

  // Measures or allocates the memory.
  void Take(Arena& arena) {
    const int64_t rows = tiled_ ? std::min(steps_, kStepBlockRows) : 1;
    c_ = arena.Take<T>(s_.cell.has_c ? s_.padded : 0);
    peepholes_ = arena.Take<T>(peephole_elements_);
    gates_ = arena.Take<T>(Area(rows, s_.gate_row));
    gate_rows_ = arena.Take<T*>(tiled_ ? rows : 0);
    x_rows_ = arena.Take<const void*>(tiled_ ? rows : 0);
    if (arena.measuring() || !tiled_) return;
    for (int64_t i = 0; i < rows; ++i) gate_rows_[i] = gates_ + i * s_.gate_row;
  }
  ReserveSizes reserve_sizes() const { return {}; }

  KernelResult Run(const RnnArgs& args, void*) {
    if (args.problem.lengths.sum != steps_) return kOtherLengths;
    if (args.panels != panels_) {
      panels_ = args.panels;
      Arena arena(args.panels);
      weights_.packed = TakePackedWeights(arena, s_, in_);
    }
    run_(*this, args);
    return kDone;
  }

 private:
  using RunCall = void (*)(StreamPass& pass, const RnnArgs& args);

  // Null if a stream does not run the cell of the problem.
  static RunCall RunOf(const RnnProblem& p) {
    return WithCell(p, [](auto cell) -> RunCall {
      using Cell = decltype(cell);
      if constexpr (StreamsCell<Cell>()) return &RunSteps<Cell>;
      return nullptr;
    });
  }

  template <typename Cell>
  static void RunSteps(StreamPass& pass, const RnnArgs& args) {
    constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
    constexpr int NV = kFormat.recurrent.count, V = kLanes<T>;
    const Sizes<T>& s = pass.s_;
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
    rows.split_bias = pass.weights_.packed.split_bias;
    const typename Cell::template Forward<T, NV> cell(rows, tensors);
    const void* a[1];
    const T* const panels = reinterpret_cast<const T*>(pass.weights_.packed.recurrent);
    const StepProduct<T> product = {{a, 1, BatchRows::kOne}, s.hidden, panels, false};
    const RunsOfK k = RunsOfK::Dense(s.hidden);
    const T* x = t.in<T>(Arg::input);
    for (int64_t step = 0; step < pass.steps_; ++step) {
      if (pass.tiled_) {
        const int64_t row = step % kStepBlockRows;
        if (row == 0) pass.InputProducts(x, std::min(pass.steps_ - step, kStepBlockRows));
        gates = pass.gate_rows_[row];
      } else {
        pass.template InputProduct<kFormat.input.count>(x, gates);
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

  // WHY not memcpy: a call takes as long as copying some vectors.
  static void Copy(const T* from, int64_t n, T* to) {
    constexpr int V = kLanes<T>;
    for (int64_t k = 0; k < n; k += V) StoreFirst(to + k, LoadFirst(from + k, n - k), n - k);
  }

  // The input products of a block of steps.
  void InputProducts(const T* x, int64_t steps) const {
    for (int64_t i = 0; i < steps; ++i) x_rows_[i] = x + i * in_;
    weights_.InputProduct(s_, {x_rows_, steps}, in_, 0, s_.panels(), gate_rows_);
  }

  // The input product of one step.
  // WHY two panels at once: one has too few sums to hide the latency of an addition.
  template <int NX>
  EIGEN_ALWAYS_INLINE void InputProduct(const T* x, T* gates) const {
    int64_t u = 0;
    for (; u + 2 <= s_.blocks; u += 2) InputPanels<NX, 2>(x, u, gates);
    if (u < s_.blocks) InputPanels<NX, 1>(x, u, gates);
  }

  template <int NX, int kPanels>
  EIGEN_ALWAYS_INLINE void InputPanels(const T* x, int64_t u, T* gates) const {
    constexpr int V = kLanes<T>;
    const T* const panels = reinterpret_cast<const T*>(weights_.packed.input);
    const RowsOfA<T, 1> row = {{x}};
    Packet<T> sums[kPanels][1][NX];
    RowsOfB<T> b[kPanels];
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
      b[p] = RowsOfB<T>::template OfPanel<NX>(panels + (u + p) * in_ * NX * V, in_, 0);
#pragma GCC unroll 8
      for (int v = 0; v < NX; ++v) {
        sums[p][0][v] = Load(weights_.packed.bias + ((u + p) * NX + v) * V);
      }
    }
    for (int64_t k = 0; k < in_; ++k) {
#pragma GCC unroll 8
      for (int p = 0; p < kPanels; ++p) {
        MultiplyStep<T, 1, NX>(row, k, b[p].From(k), sums[p]);
      }
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
      for (int v = 0; v < NX; ++v) {
        Store(gates + ((u + p) * s_.cell.buffer + s_.cell.input_at + v) * V, sums[p][0][v]);
      }
    }
  }

  const Sizes<T> s_;
  const int64_t in_;  // columns of x
  const int64_t steps_;
  const bool tiled_;  // whether the input products of several steps are one
  const int64_t peephole_elements_;
  const RunCall run_;
  // Whether the next step begins with the last panel, which the cache has from the step before,
  // also from that of another call.
  bool from_end_ = false;
  const void* panels_ = nullptr;  // those that weights_ points to
  ForwardWeights<T> weights_ = {};
  T* c_ = nullptr;  // [padded]
  T* peepholes_ = nullptr;
  T* gates_ = nullptr;             // [rows, gate_row] of a block of steps, or of one step
  T** gate_rows_ = nullptr;        // [rows]
  const void** x_rows_ = nullptr;  // [rows]
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
