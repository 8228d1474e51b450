// Runs a cell on the rows of a step. The functions are chosen once for a layer.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward/layer.h"
#include "cc/cpu/pass/forward/rows.h"
#include "cc/cpu/pass/forward/weights.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The functions of CellRunner for one cell. `rows` has the rows of the step.
template <typename T, typename Cell>
struct CellSteps {
  using Rows = ForwardRows<T>;

  // Runs the recurrent product on operands E and the cells.
  template <typename E>
  static void Run(const Rows& rows, const void* tensors, int64_t step, const PanelOrder& order) {
    StepRows<T> of_step = rows.RowsOf(step);
    rows.weights().template RunCells<Cell, E>(
        rows.sizes(), rows.WeightedH(step), order, [&](auto nv, int64_t first_block) {
          of_step.first_block = first_block;
          return typename Cell::template Forward<T, decltype(nv)::value>(of_step, Typed(tensors));
        });
  }

  static void AfterSecond(const Rows& rows, const void* tensors, int64_t step,
                          const UnitRange& units) {
    const ForwardPointers<T>& p = rows.pointers();
    for (int64_t i = 0; i < rows.AliveAt(step); ++i) {
      Cell::template AfterSecond<T>(units, {rows.gates(i), p.h_prev[i], p.h[i]}, Typed(tensors));
    }
  }

  // Runs only the recurrent product.
  static void RunProduct(const Rows& rows, const void*, int64_t step, const PanelOrder& order) {
    const WeightedRows h = rows.WeightedH(step);
    T** const sums = rows.pointers().sums;
    for (int64_t i = 0; i < h.rows; ++i) sums[i] = rows.gates(i) + rows.sizes().recurrent_part;
    rows.weights().RecurrentProduct(rows.sizes(), h, order, sums);
  }

  static void FinishWholeRows(const Rows& rows, const void* tensors, const Range& range) {
    const ForwardPointers<T>& p = rows.pointers();
    const Sizes<T>& s = rows.sizes();
    for (int64_t i = range.begin; i < range.end; ++i) {
      const T* gates = rows.gates(i);
      Cell::template FinishWholeRow<T>(
          {gates, gates + s.recurrent_part, p.c_prev[i], p.c[i], p.h[i], s.units}, Typed(tensors));
    }
  }

 private:
  using Tensors = typename Cell::template Tensors<T>;
  static const Tensors& Typed(const void* tensors) { return *static_cast<const Tensors*>(tensors); }
};

// The runner of a cell on operands of a type. `tensors` must live longer than the runner.
template <typename Cell, typename T>
CellRunner<T> CellRunnerOf(OperandType operands,
                           const typename Cell::template Tensors<T>* tensors) {
  using Steps = CellSteps<T, Cell>;
  constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
  CellRunner<T> runner;
  runner.tensors = tensors;
  if constexpr (kFormat.whole_rows) {
    runner.run = &Steps::RunProduct;
    runner.finish_whole_rows = &Steps::FinishWholeRows;
  } else {
    WithOperand<T>(operands, [&](auto e) {
      using E = decltype(e);
      // Rare modes have kernels for exact operands only.
      constexpr bool kRuns = std::is_same_v<E, Pair>   ? kFormat.pairs
                             : std::is_same_v<E, Quad> ? kFormat.quads
                                                       : true;
      if constexpr (kRuns) runner.run = &Steps::template Run<E>;
    });
    if constexpr (kFormat.has_second_gate()) runner.after_second = &Steps::AfterSecond;
  }
  return runner;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
