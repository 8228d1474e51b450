// The backward pass of a stack, in the type of the arithmetic (float or double).
//
// Note [Backward schedule]
// Per layer, from the last: each direction and slice of the batch runs back through its sequence;
// a step turns dh into the gradients of the gates (kept for all rows) and those, through the
// recurrent weights, into dh of the step before. Then dx, by blocks of rows, and the weight
// gradients, by panels, are products over all rows at once.
#ifndef TF_RNN_OPS_CC_CPU_PASS_RNN_BACKWARD_H_
#define TF_RNN_OPS_CC_CPU_PASS_RNN_BACKWARD_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward_products.h"
#include "cc/cpu/pass/backward_recurrence.h"
#include "cc/cpu/pass/layer_norm.h"
#include "cc/cpu/pass/peepholes.h"
#include "cc/cpu/pass/reserve.h"
#include "cc/cpu/pass/rnn_forward.h"
#include "cc/cpu/pass/slice_pointers.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/dropout_rows.h"
#include "cc/cpu/rows/kept_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

template <typename T>
int64_t BackwardPackItems(const Sizes<T>& s, int64_t in) {
  return DensePanels<T>(in) + DensePanels<T>(s.hidden) +
         (s.second > 0 ? DensePanels<T>(s.units) : 0);
}

template <typename T, typename E>
void BackwardPackItem(const Sizes<T>& s, const WeightsOf<T, E>& src, int64_t in, int64_t item,
                      const BackwardDirection<T, E>& dir) {
  // Sources are (k, gate column); here the gate column is K.
  using View = MatrixView<const TensorOf<T, E>>;
  auto swapped = [](const View& m) { return View{m.data, m.n_stride, m.k_stride}; };
  const int64_t input_panels = DensePanels<T>(in);
  if (item < input_panels) {
    const int64_t depth = OperandsOf<E>(s.padded * s.cell.input.count);
    PackDensePanelOfGateRows(swapped(src.input), s.units, s.cell.input, in, item,
                             dir.input + DensePanelOffset<T>(depth, item));
    return;
  }
  item -= input_panels;
  if (item < DensePanels<T>(s.hidden)) {
    const int64_t depth = OperandsOf<E>(s.padded * s.cell.recurrent.count);
    PackDensePanelOfGateRows(swapped(src.recurrent), s.units, s.cell.recurrent, s.hidden, item,
                             dir.recurrent + DensePanelOffset<T>(depth, item));
    return;
  }
  item -= DensePanels<T>(s.hidden);
  if (s.proj > 0) {
    PackDensePanel(swapped(src.second), s.proj, s.units, item,
                   dir.second + DensePanelOffset<T>(OperandsOf<E>(s.proj), item));
    return;
  }
  // Of one gate, whose rows are whole vectors as in the gate buffer.
  PackDensePanelOfGateRows(swapped(src.second), s.units, GateOrder{1, {0}}, s.units, item,
                           dir.second + DensePanelOffset<T>(OperandsOf<E>(s.padded), item));
}

template <typename T, typename E>
BackwardDirection<T, E> TakeBackwardDirection(Arena& arena, const Sizes<T>& s, int64_t in,
                                              int64_t rows, int64_t batch, int64_t weight_pieces) {
  const int64_t gate_rows = OperandsOf<E>(s.padded);  // of one gate
  BackwardDirection<T, E> dir = {};
  dir.input = arena.Take<E>(Area(gate_rows * s.cell.input.count, RoundUp(in, kLanes<T>)));
  // The recurrent weights have served when the weight gradients need space.
  const int64_t panels = s.panels() * weight_pieces + (s.proj > 0 ? DensePanels<T>(s.units) : 0);
  const int64_t weights = Area(gate_rows * s.cell.recurrent.count, s.hidden_padded);
  const int64_t space = Area(panels, ReductionSpace<T, E>(rows));
  dir.recurrent = arena.Take<E>(weights < 0 || space < 0 ? -1 : std::max(weights, space));
  dir.reduction = dir.recurrent;
  const int64_t second_depth = OperandsOf<E>(s.proj > 0 ? s.proj : s.padded);
  dir.second = arena.Take<E>(s.second > 0 ? DensePanelsSize<T>(second_depth, s.units) : 0);
  // Its gradient has panels of units, the forward weights panels of columns.
  Sizes<T> without_second = s;
  without_second.second = 0;
  dir.gradient = TakePackedWeights(arena, without_second, in);
  dir.gradient.second = arena.Take<T>(Area(s.second, s.padded));
  dir.dgates = arena.Take<E>(Area(rows, OperandsOf<E>(s.gate_row)));
  dir.dh = arena.Take<T>(Area(batch, s.hidden_padded));
  dir.dc = arena.Take<T>(s.cell.has_c ? Area(batch, s.padded) : 0);
  dir.c0 = arena.Take<T>(s.cell.has_c ? Area(batch, s.padded) : 0);
  dir.dm = arena.Take<T>(s.second > 0 ? Area(batch, s.padded) : 0);
  dir.dh_total = arena.Take<T>(s.proj > 0 ? Area(rows, s.hidden_padded) : 0);
  dir.m = arena.Take<T>(s.second > 0 ? Area(rows, s.padded) : 0);
  dir.norm_sums = arena.Take<T>(s.cell.whole_rows ? Area(batch, LayerNormElements(s)) : 0);
  return dir;
}

// Where a step has a second product units are not shared: threads would meet twice a step, and with
// projection the gradient of h is not in units. Nor are they where a cell needs whole rows.
template <typename T>
Split BackwardSplit(const Sizes<T>& s, int64_t steps, int64_t rows, int64_t in, int64_t batch,
                    const ThreadBudget& threads) {
  const bool shared = !s.has_two_stages();
  return SplitOf(s, steps, rows, in, batch, threads, shared ? DensePanels<T>(s.units) : 1,
                 shared ? kBackwardStreamBytes : std::numeric_limits<int64_t>::max());
}

// The memory of a backward pass, measured or taken.
template <typename T, typename E = T>
struct BackwardPlan {
  Sequence seq;
  Split split;
  BackwardLayer<T, E> layer;
  T* between[2];  // gradients of the outputs of inner layers
  T* peepholes;   // [3, padded] of a cell that has some
  T* layer_norm;  // as LayerNormTensors has it, likewise
  T* kept[2];     // [R, padded] of h and of c, see DrawKept
  T* dropped;     // the dropped-out input of a layer
};

// Elements of what the weight gradients read in place of x (or h), see MakeBackwardOperands.
template <typename T, typename E>
int64_t BackwardOperands(int64_t rows, int64_t width, int gates, bool masked) {
  if constexpr (!std::is_same_v<T, E>) return Area(CeilDiv(rows, 2), RoundUp(width, kLanes<T>));
  return masked ? Area(rows, Area(width, gates)) : 0;
}

template <typename T, typename E>
BackwardPlan<T, E> MakeBackwardPlan(const RnnProblem& p, const ThreadBudget& threads,
                                    Arena& arena) {
  BackwardPlan<T, E> plan;
  const Sizes<T> s = plan.layer.sizes = MakeSizes<T>(p);
  plan.layer.c_row = s.padded;
  plan.seq = MakeSequence(arena, p.max_time, p.batch, p.time_major, p.lengths);
  plan.split = BackwardSplit(s, p.max_time, plan.seq.rows, p.input_size, p.batch, threads);
  const int64_t widest = p.num_layers > 1 ? std::max(p.input_size, s.output) : p.input_size;
  plan.layer.weight_pieces =
      PiecesOfItem(p.num_dirs() * s.panels(), s.hidden + p.input_size, threads.count);
  for (int d = 0; d < p.num_dirs(); ++d) {
    plan.layer.dirs[d] = TakeBackwardDirection<T, E>(arena, s, widest, plan.seq.rows, p.batch,
                                                     plan.layer.weight_pieces);
    plan.layer.pointers[d] = TakeSlicePointers<T, E>(arena, Area(plan.split.shares, p.batch));
  }
  plan.peepholes = arena.Take<T>(IsLstmPeephole(p) ? 3 * s.padded : 0);
  plan.layer_norm = arena.Take<T>(p.has_layer_norm ? LayerNormElements(s) : 0);
  TakeKept(p, Area(plan.seq.rows, s.padded), arena, &plan.kept);
  const bool inner = p.num_layers > 1;
  for (T*& rows : plan.between) rows = arena.Take<T>(inner ? Area(plan.seq.rows, s.output) : 0);
  plan.dropped = arena.Take<T>(inner && p.dropout > 0 ? Area(plan.seq.rows, s.output) : 0);
  plan.layer.operand_x = arena.Take<E>(
      BackwardOperands<T, E>(plan.seq.rows, widest, s.cell.input.count, p.input_masked != 0));
  for (int d = 0; d < p.num_dirs(); ++d) {
    plan.layer.dirs[d].operand_h = arena.Take<E>(BackwardOperands<T, E>(
        plan.seq.rows, s.hidden, s.cell.recurrent.count, p.recurrent_masked != 0));
  }
  return plan;
}

template <typename T, typename E = T>
RnnSizes BackwardSizes(const RnnProblem& p, const ThreadBudget& threads) {
  Arena arena;
  const BackwardPlan<T, E> plan = MakeBackwardPlan<T, E>(p, threads, arena);
  RnnSizes sizes;
  sizes.scratch_bytes = arena.bytes();
  sizes.reserve_bytes =
      MakeReserve<T>(nullptr, plan.seq.rows, plan.layer.sizes, p.num_layers).bytes();
  return sizes;
}

template <typename T, typename E>
void PackBackwardWeights(const BackwardLayer<T, E>& layer, const WeightsOf<T, E>* src,
                         const Split& split, const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const int64_t in = layer.skip_input ? 0 : layer.in;
  const int64_t items = BackwardPackItems(s, in);
  // Whoever is woken for packing stays for the recurrence.
  const int64_t ns = NsToMove(s.num_dirs * PanelBytes<T, E>(s, in)) + split.ns;
  Parallel(parallel, s.num_dirs * items, ns, [&](int64_t i) {
    BackwardPackItem(s, src[i / items], in, i % items, layer.dirs[i / items]);
  });
}

// Where the gradients of a pseudo-layer's weights go.
template <typename T>
WeightViews<T> TargetOf(const RnnBackwardArgs& args, const RnnProblem& p, const Sizes<T>& s,
                        int64_t layer, int64_t dir) {
  auto typed = [](void* tensor) { return static_cast<T*>(tensor); };
  if (p.weight_layout == kOpaqueWeights) return OpaqueViews(p, s, typed(args.dparams), layer, dir);
  return MatrixViews(s, typed(args.dkernel), typed(args.drecurrent_kernel), typed(args.dbias),
                     p.bias_rows, typed(args.dprojection));
}

template <typename T, typename E = T>
int32_t Backward(const RnnBackwardArgs& args) {
  constexpr bool kPairs = !std::is_same_v<T, E>;
  RnnProblem p = args.problem;
  Arena arena(args.scratch);
  const BackwardPlan<T, E> plan = MakeBackwardPlan<T, E>(p, args.parallel.threads, arena);
  const Sequence& seq = plan.seq;
  BackwardLayer<T, E> layer = plan.layer;
  const Sizes<T>& s = layer.sizes;
  const Reserve<T> reserve =
      MakeReserve<T>(const_cast<void*>(args.reserve), seq.rows, s, p.num_layers);
  ReserveHeader header;
  std::memcpy(&header, args.reserve, sizeof(header));
  if (header.magic != kReserveMagic || header.version != kReserveVersion ||
      header.vector_bytes != kLanes<T> * sizeof(T) ||
      header.fingerprint != Fingerprint(p, kPairs)) {
    return 1;
  }
  p.dropout_key[0] = header.dropout_key[0];
  p.dropout_key[1] = header.dropout_key[1];

  layer.seq = &seq;
  DrawKept(p, seq, s.units, s.padded, plan.kept, args.parallel);
  const CellTensors<T> tensors =
      TensorsOf(p, args.layer, s, plan.peepholes, plan.layer_norm, plan.kept);
  layer.h_limit = HiddenLimit<T>(p);
  layer.cells = WithCell(p, [&](auto cell) {
    using Cell = decltype(cell);
    return GradientRunnerOf<Cell, T, E>(tensors.template Of<Cell>());
  });
  layer.h0 = MakeStateRows(p, static_cast<const T*>(args.h0), s.hidden);
  layer.c0 = MakeStateRows(p, static_cast<const T*>(args.c0), s.units);
  layer.dh_n = MakeStateRows(p, static_cast<const T*>(args.dh_n), s.hidden);
  layer.dc_n = MakeStateRows(p, static_cast<const T*>(args.dc_n), s.units);
  layer.dh0 = MakeStateRows(p, static_cast<T*>(args.dh0), s.hidden);
  layer.dc0 = MakeStateRows(p, static_cast<T*>(args.dc0), s.units);
  layer.y = UserRows(seq, static_cast<const T*>(args.y), s.output);
  layer.dy = UserRows(seq, static_cast<const T*>(args.dy), s.output);
  layer.input_masks = InputMasks<T>(p, args.layer);
  layer.recurrent_masks = RecurrentMasks<T>(p, args.layer);
  const RowMap<T> user_dx = UserRows(seq, static_cast<T*>(args.dx), p.input_size);
  ZeroPadding(seq, user_dx, p.input_size, args.parallel);

  for (int64_t l = p.num_layers - 1; l >= 0; --l) {
    layer.in = l == 0 ? p.input_size : s.output;
    layer.skip_input = p.skips_input(l);
    layer.first_pseudo_layer = l * p.num_dirs();
    T* dx_rows = plan.between[l % 2];
    RowMap<const T> x_undropped;
    if (l == 0) {
      layer.x = UserRows(seq, static_cast<const T*>(args.x), p.input_size);
      layer.dx = user_dx;
    } else {
      const T* input = reserve.LayerOutput(l - 1);
      x_undropped = PackedRows(seq, input, s.output);
      layer.x = x_undropped;
      layer.dx = PackedRows(seq, dx_rows, s.output);
      if (p.dropout > 0) {
        DropRows<T>(p, seq, l - 1, s.output, input, plan.dropped, args.parallel);
        layer.x = PackedRows(seq, static_cast<const T*>(plan.dropped), s.output);
      }
    }
    WeightsOf<T, E> src[2];
    WeightViews<T> to[2];
    for (int d = 0; d < p.num_dirs(); ++d) {
      src[d] = SourceOf<TensorOf<T, E>>(p, s, args.params, args.layer, l, d);
      to[d] = TargetOf<T>(args, p, s, l, d);
      if (p.has_layer_norm) to[d].input_bias = nullptr;  // LayerNormGradients's
      const auto kept = reserve.At(layer.first_pseudo_layer + d);
      layer.dirs[d].gates = kept.gates;
      layer.dirs[d].c = kept.c;
    }
    PackBackwardWeights(layer, src, plan.split, args.parallel);
    RunBackwardRecurrence(layer, plan.split, args.parallel);
    RunBackwardProducts(layer, to, args.parallel);
    if constexpr (!kPairs) {
      if (p.has_peepholes) {
        T* const first = static_cast<T*>(args.dpeepholes);
        PeepholeGradients(layer, {first, first + s.units, first + 2 * s.units}, args.parallel);
      }
    }
    if constexpr (!kPairs) {
      if (p.has_layer_norm) {
        LayerNormGradients(layer, static_cast<T*>(args.dlayer_norm),
                           static_cast<T*>(p.bias_rows > 0 ? args.dbias : nullptr), args.parallel);
      }
    }
    if (l == 0) break;
    if (p.dropout > 0) {
      DropRows<T>(p, seq, l - 1, s.output, dx_rows, dx_rows, args.parallel);
    }
    layer.y = x_undropped;
    layer.dy = PackedRows(seq, static_cast<const T*>(dx_rows), s.output);
  }
  return 0;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_RNN_BACKWARD_H_
