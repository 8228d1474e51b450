// The backward pass: its plan, then its layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cc/core/checked_math.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/gradients.h"
#include "cc/cpu/pass/backward/layer.h"
#include "cc/cpu/pass/backward/products.h"
#include "cc/cpu/pass/backward/slice.h"
#include "cc/cpu/pass/memory/reserve.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The plan of a backward pass: sizes, threads, memory and packed weights.

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
  auto pack = [&](const View& from, const GateOrder& order, int64_t columns, int64_t panel,
                  char* to) {
    const int64_t depth = OperandsOf<E>(s.padded * order.count);
    PackDensePanelOfGateRows(swapped(from), s.units, order, columns, panel,
                             reinterpret_cast<E*>(to) + DensePanelOffset<T>(depth, panel));
  };
  // The items are the panels of the input, of the recurrent and of the second weights.
  const int64_t recurrent = DensePanels<T>(in);
  const int64_t second = recurrent + DensePanels<T>(s.hidden);
  if (item < recurrent) return pack(src.input, s.cell.input, in, item, dir.input);
  if (item < second) {
    return pack(src.recurrent, s.cell.recurrent, s.hidden, item - recurrent, dir.recurrent);
  }
  const int64_t panel = item - second;
  if (s.proj > 0) {
    PackDensePanel(swapped(src.second), s.proj, s.units, panel,
                   reinterpret_cast<E*>(dir.second) + DensePanelOffset<T>(s.proj, panel));
    return;
  }
  // The columns of one gate. Their rows are whole vectors, as in the gate buffer.
  pack(src.second, GateOrder{1, {0}}, s.units, panel, dir.second);
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
  const int64_t ns = NsToPack(s.num_dirs * PanelBytes(s, in)) + split.ns;
  Parallel(parallel, s.num_dirs * items, ns, [&](int64_t i) {
    BackwardPackItem(s, src[i / items], in, i % items, layer.dirs[i / items]);
  });
}

// The backward pass of a stack, in the type of the arithmetic (float or double).
//
// Note [Backward schedule]
// Layers run from the last to the first. In each layer, every direction and slice of the batch runs
// back through time. A step computes the gradients of the gates from dh, and dh of the step before
// from the gradients of the gates and the recurrent weights. The gradients of the gates are kept
// for all rows. Then dx (by blocks of rows) and the weight gradients (by panels) are computed as
// products over all rows.

// The implementation of rnn_backward in the kernel table.
template <typename T>
class BackwardPass {
 public:
  explicit BackwardPass(const RnnArgs& args)
      : p_(args.problem), parallel_(args.parallel), plan_(p_, parallel_.threads) {}

  // Measures or allocates the memory.
  void Take(Arena& arena) { plan_.Take(p_, arena); }
  ReserveSizes reserve_sizes() const {
    return {ReserveOn(nullptr).bytes(), LongestReserveBytes(p_, plan_.layer.sizes)};
  }
  // Whether an input of a 16-bit type is read in its own type, or not at all.
  bool ReadsAsIs(Arg arg) const {
    // Pairs are packed from bfloat16.
    return arg == Arg::output_h || arg == Arg::output_c || (pairs() && IsPackable(arg));
  }
  // Gradients are sums in T, also those of weights that are read as bfloat16.
  bool WritesAsIs(Arg) const { return false; }

  KernelResult Run(const RnnArgs& args, void* reserve_space) {
    const CallTensors& t = *args.tensors;
    const Sizes<T>& s = plan_.layer.sizes;
    const Reserve<T> reserve = ReserveOn(reserve_space);
    if (!ReadHeader(reserve)) return kOtherReserve;
    DrawZoneoutMasks(p_, plan_.seq, s.units, s.padded, plan_.zoneout_masks, parallel_);
    const CellInputs<T> inputs =
        CellInputsOf(p_, t, s, plan_.peepholes, plan_.layer_norm, plan_.zoneout_masks);
    plan_.layer.cells = WithCell(p_, [&](auto cell) {
      using Cell = decltype(cell);
      return GradientRunnerOf<Cell>(cell_.template Make<Cell>(inputs));
    });
    SetStates(t);
    ZeroPadding(plan_.seq, UserRows(plan_.seq, t.out<T>(Arg::input), p_.input_size), p_.input_size,
                parallel_);
    for (int64_t l = p_.num_layers - 1; l >= 0; --l) {
      SetRows(t, reserve, l);
      RunLayer(t, reserve, l);
    }
    return kDone;
  }

 private:
  bool pairs() const { return plan_.layer.sizes.operands == OperandType::kPairs; }

  Reserve<T> ReserveOn(void* base) const {
    return MakeReserve<T>(base, plan_.rows, plan_.layer.sizes, p_.num_layers);
  }

  // Reads the header and the dropout key. Returns false if the reserve space belongs to
  // another problem.
  bool ReadHeader(const Reserve<T>& reserve) {
    ReserveHeader header;
    std::memcpy(&header, reserve.header, sizeof(header));
    std::copy_n(header.dropout_key, 2, p_.dropout_key);
    return header.magic == kReserveMagic && header.version == kReserveVersion &&
           header.vector_bytes == kLanes<T> * sizeof(T) &&
           header.fingerprint == Fingerprint(p_, pairs());
  }

  void SetStates(const CallTensors& t) {
    BackwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    layer.h0 = MakeStateRows(p_, t.in<T>(Arg::input_h), s.hidden);
    layer.c0 = MakeStateRows(p_, t.in<T>(Arg::input_c), s.units);
    layer.dh_n = MakeStateRows(p_, t.in<T>(Arg::output_h_backprop), s.hidden);
    layer.dc_n = MakeStateRows(p_, t.in<T>(Arg::output_c_backprop), s.units);
    layer.dh0 = MakeStateRows(p_, t.out<T>(Arg::input_h), s.hidden);
    layer.dc0 = MakeStateRows(p_, t.out<T>(Arg::input_c), s.units);
    layer.input_masks = MasksOf<T>(p_, t, Arg::input_mask);
    layer.recurrent_masks = MasksOf<T>(p_, t, Arg::recurrent_mask);
  }

  // Sets x, y and their gradients for layer l. The layers above l are done.
  void SetRows(const CallTensors& t, const Reserve<T>& reserve, int64_t l) {
    BackwardLayer<T>& layer = plan_.layer;
    const Sequence& seq = plan_.seq;
    const int64_t output = layer.sizes.output;
    if (l + 1 == p_.num_layers) {
      layer.y = UserRows(seq, t.in<T>(Arg::output), output);
      layer.dy = UserRows(seq, t.in<T>(Arg::output_backprop), output);
    } else {
      T* const dy = plan_.between[(l + 1) % 2];
      if (p_.dropout > 0) DropRows<T>(p_, seq, l, output, dy, dy, parallel_);
      layer.y = PackedRows(seq, static_cast<const T*>(reserve.LayerOutput(l)), output);
      layer.dy = PackedRows(seq, static_cast<const T*>(dy), output);
    }
    layer.in = l == 0 ? p_.input_size : output;
    layer.skip_input = p_.skips_input(l);
    layer.first_pseudo_layer = l * p_.num_dirs();
    if (l == 0) {
      layer.x = UserRows(seq, t.in<T>(Arg::input), p_.input_size);
      layer.dx = UserRows(seq, t.out<T>(Arg::input), p_.input_size);
      return;
    }
    const T* x = reserve.LayerOutput(l - 1);
    if (p_.dropout > 0) {
      DropRows<T>(p_, seq, l - 1, output, x, plan_.dropped, parallel_);
      x = plan_.dropped;
    }
    layer.x = PackedRows(seq, x, output);
    layer.dx = PackedRows(seq, plan_.between[l % 2], output);
  }

  void RunLayer(const CallTensors& t, const Reserve<T>& reserve, int64_t l) {
    BackwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    WeightSource<T> src[2];
    WeightViews<T> to[2];
    for (int d = 0; d < p_.num_dirs(); ++d) {
      src[d] = SourceOf(p_, s, t, l, d);
      to[d] = TargetOf<T>(p_, s, t, l, d);
      if (p_.has_layer_norm) to[d].input_bias = nullptr;  // LayerNormGradients computes it
      const auto saved = reserve.At(layer.first_pseudo_layer + d);
      layer.dirs[d].gates = saved.gates;
      layer.dirs[d].c = saved.c;
    }
    PackBackwardWeights(layer, src, plan_.split, parallel_);
    RunBackwardRecurrence(layer, plan_.split, parallel_);
    RunBackwardProducts(layer, to, parallel_);
    if (p_.has_peepholes) {
      T* const first = t.out<T>(Arg::peepholes);
      PeepholeGradients(layer, {first, first + s.units, first + 2 * s.units}, parallel_);
    }
    if (p_.has_layer_norm) {
      LayerNormGradients(layer, t.out<T>(Arg::layer_norm),
                         p_.bias_rows > 0 ? t.out<T>(Arg::bias) : nullptr, parallel_);
    }
  }

  RnnProblem p_;  // with the dropout_key from the reserve space
  const ParallelFor& parallel_;
  BackwardPlan<T> plan_;
  CellStorage<T> cell_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
