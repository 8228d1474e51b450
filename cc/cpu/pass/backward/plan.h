// The plan of a backward pass: sizes, threads, memory and packed weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/layer.h"
#include "cc/cpu/pass/backward/weight_gradient.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/pass/weights/layer_norm.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/rows/zoneout_masks.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

template <typename T>
int64_t BackwardPackItems(const Sizes<T>& s, int64_t in) {
  return DensePanels<T>(in) + DensePanels<T>(s.hidden) +
         (s.has_second_product() ? DensePanels<T>(s.units) : 0);
}

template <typename E, typename T>
void BackwardPackItemAs(const Sizes<T>& s, const WeightSource<T>& source, int64_t in, int64_t item,
                        const BackwardDirection<T>& dir) {
  const auto& src = source.template For<E>();
  // Sources are addressed as (k, gate column). Here K is the gate column.
  using View = std::decay_t<decltype(src.input)>;
  auto swapped = [](const View& m) { return View{m.data, m.n_stride, m.k_stride}; };
  // Packs the item if it is a panel of this matrix. Otherwise subtracts the panels of this matrix
  // from `item`, so that `item` counts from the next matrix.
  auto pack = [&](const View& from, const GateOrder& order, int64_t columns, char* to) {
    const int64_t depth = OperandsOf<E>(s.padded * order.count), panels = DensePanels<T>(columns);
    const bool mine = item < panels;
    if (mine) {
      PackDensePanelOfGateRows(swapped(from), s.units, order, columns, item,
                               reinterpret_cast<E*>(to) + DensePanelOffset<T>(depth, item));
    }
    item -= panels;
    return mine;
  };
  if (pack(src.input, s.cell.input, in, dir.input)) return;
  if (pack(src.recurrent, s.cell.recurrent, s.hidden, dir.recurrent)) return;
  if (s.proj > 0) {
    PackDensePanel(swapped(src.second), s.proj, s.units, item,
                   reinterpret_cast<E*>(dir.second) + DensePanelOffset<T>(s.proj, item));
    return;
  }
  // The columns of one gate. Their rows are whole vectors, as in the gate buffer.
  pack(src.second, GateOrder{1, {0}}, s.units, dir.second);
}

template <typename T>
void BackwardPackItem(const Sizes<T>& s, const WeightSource<T>& source, int64_t in, int64_t item,
                      const BackwardDirection<T>& dir) {
  WithGradientOperand<T>(
      s.operands, [&](auto e) { BackwardPackItemAs<decltype(e)>(s, source, in, item, dir); });
}

// The panels of a weight gradient. The gradient of a projection has panels of units, but the packed
// weights have panels of columns.
template <typename T>
GradientPanels<T> TakeGradientPanels(Arena& arena, const Sizes<T>& s, int64_t in) {
  GradientPanels<T> g;
  g.input = arena.Take<T>(Area(in, s.padded * s.cell.input.count));
  g.recurrent = arena.Take<T>(Area(s.hidden, s.padded * s.cell.recurrent.count));
  g.second = arena.Take<T>(Area(s.second_columns, s.padded));
  return g;
}

template <typename T>
BackwardDirection<T> TakeBackwardDirection(Arena& arena, const Sizes<T>& s, int64_t in,
                                           int64_t rows, int64_t batch, int64_t weight_pieces) {
  const int64_t gate_rows = s.depth(s.padded);  // rows of one gate
  BackwardDirection<T> dir = {};
  auto take = [&](int64_t operands) { return TakeOperands<T>(arena, s.operands, operands); };
  dir.input = take(Area(gate_rows * s.cell.input.count, RoundUp(in, kLanes<T>)));
  // The weight gradients reuse the memory of the recurrent weights, which are no longer needed
  // then.
  const int64_t panels = s.panels() * weight_pieces + (s.proj > 0 ? DensePanels<T>(s.units) : 0);
  const int64_t weights = Area(gate_rows * s.cell.recurrent.count, s.hidden_padded);
  const int64_t space = Area(panels, ReductionSpace<T>(s.operands, rows));
  dir.recurrent = take(weights < 0 || space < 0 ? -1 : std::max(weights, space));
  dir.reduction = dir.recurrent;
  const int64_t second_depth = s.depth(s.proj > 0 ? s.proj : s.padded);
  dir.second = take(s.has_second_product() ? DensePanelsSize<T>(second_depth, s.units) : 0);
  dir.gradient = TakeGradientPanels(arena, s, in);
  dir.dgates = take(Area(rows, s.depth(s.gate_row)));
  dir.dh = arena.Take<T>(Area(batch, s.hidden_padded));
  dir.dc = arena.Take<T>(s.cell.has_c ? Area(batch, s.padded) : 0);
  dir.c0 = arena.Take<T>(s.cell.has_c ? Area(batch, s.padded) : 0);
  dir.dm = arena.Take<T>(s.has_second_product() ? Area(batch, s.padded) : 0);
  dir.dh_total = arena.Take<T>(s.proj > 0 ? Area(rows, s.hidden_padded) : 0);
  dir.m = arena.Take<T>(s.has_second_product() ? Area(rows, s.padded) : 0);
  dir.norm_sums = arena.Take<T>(s.cell.whole_rows ? Area(batch, LayerNormElements(s)) : 0);
  return dir;
}

// Units are not split if a step has a second product: threads would synchronize twice in each step,
// and with projection the gradient of h is not in units. Units are also not split if the cell needs
// whole rows.
template <typename T>
Split BackwardSplit(const Sizes<T>& s, int64_t steps, int64_t rows, int64_t in, int64_t batch,
                    const ThreadBudget& threads) {
  const bool shared = !s.has_two_stages();
  return SplitOf(s, steps, rows, in, batch, threads, shared ? DensePanels<T>(s.units) : 1,
                 shared ? kBackwardStreamBytes : std::numeric_limits<int64_t>::max());
}

// The plan of a backward pass, and its memory.
template <typename T>
struct BackwardPlan {
  BackwardPlan(const RnnProblem& p, const ThreadBudget& threads);
  // Measures or allocates the memory.
  void Take(const RnnProblem& p, Arena& arena);

  Split split;
  int64_t rows;  // R
  BackwardLayer<T> layer;
  Sequence seq;
  T* between[2];        // gradients of the outputs of inner layers
  T* peepholes;         // [3, padded] if the cell has peepholes
  T* layer_norm;        // LayerNormTensors::weights, with layer normalization
  T* zoneout_masks[2];  // [R, padded] of h and of c, see DrawZoneoutMasks
  T* dropped;           // the dropped-out input of a layer
};

template <typename T>
BackwardPlan<T>::BackwardPlan(const RnnProblem& p, const ThreadBudget& threads)
    : rows(p.lengths.sum) {
  const Sizes<T>& s = layer.sizes = MakeSizes<T>(p);
  layer.c_row = s.padded;
  layer.h_limit = HiddenLimit<T>(p);
  layer.weight_pieces =
      PiecesOfItem(p.num_dirs() * s.panels(), s.hidden + p.input_size, threads.count);
  split = BackwardSplit(s, p.max_time, rows, p.input_size, p.batch, threads);
}

template <typename T>
void BackwardPlan<T>::Take(const RnnProblem& p, Arena& arena) {
  const Sizes<T>& s = layer.sizes;
  seq = MakeSequence(arena, p.max_time, p.batch, p.time_major, p.lengths);
  layer.seq = &seq;
  const int64_t widest = p.num_layers > 1 ? std::max(p.input_size, s.output) : p.input_size;
  for (int d = 0; d < p.num_dirs(); ++d) {
    layer.dirs[d] = TakeBackwardDirection(arena, s, widest, rows, p.batch, layer.weight_pieces);
    layer.pointers[d] = TakePointers<BackwardPointers<T>>(arena, Area(split.shares, p.batch));
  }
  peepholes = arena.Take<T>(IsLstmPeephole(p) ? 3 * s.padded : 0);
  layer_norm = arena.Take<T>(p.has_layer_norm ? LayerNormElements(s) : 0);
  TakeZoneoutMasks(p, Area(rows, s.padded), arena, &zoneout_masks);
  const bool inner = p.num_layers > 1;
  for (T*& to : between) to = arena.Take<T>(inner ? Area(rows, s.output) : 0);
  dropped = arena.Take<T>(inner && p.dropout > 0 ? Area(rows, s.output) : 0);
  auto copies = [&](int64_t width, const GateOrder& order, bool masked) {
    const int64_t operands = ReductionCopyOperands<T>(s.operands, rows, width, order, masked);
    return TakeOperands<T>(arena, s.operands, operands);
  };
  layer.operand_x = copies(widest, s.cell.input, p.input_masked);
  for (int d = 0; d < p.num_dirs(); ++d) {
    layer.dirs[d].operand_h = copies(s.hidden, s.cell.recurrent, p.recurrent_masked);
  }
}

template <typename T>
void PackBackwardWeights(const BackwardLayer<T>& layer, const WeightSource<T>* src,
                         const Split& split, const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const int64_t in = layer.skip_input ? 0 : layer.in;
  const int64_t items = BackwardPackItems(s, in);
  // The threads that are woken for packing also run the recurrence.
  const int64_t ns = NsToMove(s.num_dirs * PanelBytes(s, in)) + split.ns;
  Parallel(parallel, s.num_dirs * items, ns, [&](int64_t i) {
    BackwardPackItem(s, src[i / items], in, i % items, layer.dirs[i / items]);
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
