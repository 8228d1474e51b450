// The sizes in vectors and the partition of the work that the passes derive from a problem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cc/core/checked_math.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/halves.h"
#include "cc/cpu/product/tile.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Panels, unit blocks or rows [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
};

// Partition `k` of `of` partitions.
struct Share {
  int64_t k = 0;
  int64_t of = 1;
  Range Of(int64_t n) const { return of == 1 ? Range{0, n} : Range{n * k / of, n * (k + 1) / of}; }
};

// The units of dense panels [panel0, panel1) of `size` units.
template <typename T>
UnitRange UnitsOfDensePanels(int64_t panel0, int64_t panel1, int64_t size) {
  constexpr int64_t kPanelUnits = 4 * kLanes<T>;
  return {panel0 * kPanelUnits, std::min(size, panel1 * kPanelUnits), size};
}

// Whether the products of a problem run on pairs of bfloat16 (Note [Pairs]). Rare modes compute in
// float32: a second product in each step, peepholes, skip_input, masks. The batch is not
// considered, because it is unknown when weights are packed.
inline bool UsesPairs(const RnnProblem& p) {
  return p.bf16_products && p.dtype == kBFloat16 && p.num_proj == 0 && FormatOf(p).pairs &&
         !p.skips_input(0) && !p.input_masked && !p.recurrent_masked &&
         CpuPairUnit() != PairUnit::kNone;
}

inline OperandType OperandTypeOf(const RnnProblem& p) {
  if (p.int8_weights) return OperandType::kQuads;
  return UsesPairs(p) ? OperandType::kPairs : OperandType::kExact;
}

// Sizes used by all parts of a pass.
template <typename T>
struct Sizes {
  CellFormat cell;
  OperandType operands;    // of all products
  bool dense;              // the cell has one gate, so panels have four unit blocks
  int64_t units;           // H
  int64_t blocks;          // U, unit blocks of V
  int64_t padded;          // U * V
  int64_t gate_part;       // elements of one gate buffer
  int64_t gate_row;        // row stride: 2 * gate_part if the cell keeps both products
  int64_t recurrent_part;  // offset of the recurrent product
  int64_t proj;            // P or 0
  int64_t second_columns;  // of the second product of a step: P or H; 0: no second product
  int64_t hidden;          // S: P or H
  int64_t hidden_padded;
  int64_t num_dirs;
  int64_t output;  // D * S

  // The number of panels of the gate matrices, and of unit blocks in each panel.
  int64_t panels() const { return CeilDiv(blocks, panel_blocks()); }
  int64_t panel_blocks() const { return dense ? 4 : 1; }
  Range BlocksOf(int64_t panel0, int64_t panel1) const {
    return {panel0 * panel_blocks(), std::min(blocks, panel1 * panel_blocks())};
  }
  // The number of vectors from one panel to the next in a row of the gate buffer.
  int64_t panel_vectors() const { return dense ? 4 : cell.buffer; }
  int64_t gate_units() const { return cell.gates * units; }
  // The number of operands that contain n values of k, and their bytes.
  int64_t depth(int64_t n) const { return OperandsOf(operands, n); }
  int64_t operand_bytes(int64_t n) const { return depth(n) * OperandBytes<T>(operands); }
  // A projection, or a cell with a second_gate.
  bool has_second_product() const { return second_columns > 0; }
  // Whether threads that split the units synchronize twice in each step.
  bool has_two_stages() const { return has_second_product() || cell.whole_rows; }
};

template <typename T>
Sizes<T> MakeSizes(const RnnProblem& p) {
  constexpr int V = kLanes<T>;
  const CellFormat cell = FormatOf(p);
  const int64_t units = p.num_units, proj = p.num_proj, num_dirs = p.num_dirs();
  Sizes<T> s;
  s.cell = cell;
  s.operands = OperandTypeOf(p);
  s.dense = cell.gates == 1;
  s.units = units;
  s.blocks = CeilDiv(units, V);
  s.padded = s.blocks * V;
  s.gate_part = s.padded * cell.buffer;
  s.gate_row = cell.whole_rows ? 2 * s.gate_part : s.gate_part;
  s.recurrent_part = cell.whole_rows ? s.gate_part : 0;
  s.proj = proj;
  s.second_columns = cell.has_second_gate() ? units : proj;
  s.hidden = proj > 0 ? proj : units;
  s.hidden_padded = RoundUp(s.hidden, V);
  s.num_dirs = num_dirs;
  s.output = num_dirs * s.hidden;
  return s;
}

// The bound of |h| by clipping; infinity: no clipping. The bound is rounded to the tensors' type,
// because the backward pass reads h in that type.
template <typename T>
T HiddenLimit(const RnnProblem& p) {
  if (p.num_proj == 0 || !(p.proj_clip > 0)) return std::numeric_limits<T>::infinity();
  switch (p.dtype) {
    case kFloat16:
      return static_cast<T>(Eigen::half(p.proj_clip));
    case kBFloat16:
      return static_cast<T>(Eigen::bfloat16(p.proj_clip));
    default:
      return static_cast<T>(p.proj_clip);
  }
}

// The partition of a pass over the rows of a sequence. `panels` and `stream_bytes` as in
// WorkToSplit.
template <typename T>
Split SplitOf(const Sizes<T>& s, int64_t steps, int64_t rows, int64_t in, int64_t batch,
              const ThreadBudget& threads, int64_t panels, int64_t stream_bytes) {
  const int64_t columns = s.padded * s.cell.gates;
  // A product of int8 takes about half the time of float32 (docs/design/measurements.md, "Products
  // of int8").
  const bool quantized = s.operands == OperandType::kQuads;
  const int64_t weight_bytes = quantized ? 1 : sizeof(T);
  WorkToSplit p;
  p.batch = batch;
  p.num_dirs = s.num_dirs;
  p.threads = threads;
  p.steps = steps;
  p.tile_rows = s.operands == OperandType::kExact && IsHalved<T>(4) ? kHalvedRows : kTileRows<4>;
  p.panels = panels;
  p.recurrent_bytes = Area(Area(s.hidden, columns), weight_bytes);
  p.weight_bytes = Area(Area(in + s.hidden, columns), weight_bytes);
  p.stream_bytes = stream_bytes;
  p.multiplies = Area(Area(rows, columns), in + s.hidden) / (quantized ? 2 : 1);
  return ChooseSplit(p);
}

// Slice s has the sorted sequences [SliceBegin(s), SliceBegin(s + 1)). The slices have about equal
// sums of lengths.
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

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
