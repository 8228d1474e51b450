// The forward pass of a stack, in the type of the arithmetic (float or double).
//
// Note [Forward schedule]
// Per layer: the weights are packed, unless they come packed (rnn_pack.h), then all directions run
// through time (Note [Forward recurrence]). Calls of at most kPlainRows rows (streaming) do not
// pack: see plain_weights.h.
#ifndef TF_RNN_OPS_CC_CPU_PASS_RNN_FORWARD_H_
#define TF_RNN_OPS_CC_CPU_PASS_RNN_FORWARD_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward_recurrence.h"
#include "cc/cpu/pass/layer_norm.h"
#include "cc/cpu/pass/peepholes.h"
#include "cc/cpu/pass/reserve.h"
#include "cc/cpu/pass/sizes.h"
#include "cc/cpu/pass/slice_pointers.h"
#include "cc/cpu/pass/weights.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/dropout_rows.h"
#include "cc/cpu/rows/kept_rows.h"
#include "cc/cpu/rows/narrow_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kPlainRows = 4;

template <typename T, typename E>
bool UsesPlainWeights(const RnnProblem& p) {
  return std::is_same_v<T, E> && Area(p.max_time, p.batch) <= kPlainRows && !p.input_masked &&
         !p.recurrent_masked && !p.weights_packed && FormatOf(p).plain;
}

// The memory of a forward pass, measured or taken.
template <typename T, typename E = T>
struct ForwardPlan {
  Sequence seq;
  Split split;
  ForwardLayer<T, E> layer;            // what all layers share
  T* between[2];                       // inference: outputs of inner layers
  TensorOf<T, E>* rounded_between[2];  // the same where rows of h are rounded
  T* dropped;                          // [R, D*S] training with dropout
  T* peepholes;                        // [3, padded] of a cell that has some
  T* layer_norm;                       // as LayerNormTensors has it, likewise
  T* kept[2];                          // [R, padded] of h and of c, see DrawKept
  E* operand_x;                        // what the input product reads where that is not x itself
};

// Operands of a row of h that the recurrent product reads; 0: h itself.
template <typename T, typename E>
int64_t OperandRowOfH(const RnnProblem& p, const Sizes<T>& s) {
  if constexpr (!std::is_same_v<T, E>) return NarrowRowOperands(s.hidden);
  return p.recurrent_masked ? Area(s.hidden, s.cell.recurrent.count) : 0;
}

// Likewise of a row of a layer's input; `in_operands`: it is in operands already.
template <typename T, typename E>
int64_t OperandRowOfX(const RnnProblem& p, const Sizes<T>& s, int64_t in, bool in_operands) {
  if constexpr (!std::is_same_v<T, E>) return in_operands ? 0 : NarrowRowOperands(in);
  return p.input_masked ? Area(in, s.cell.input.count) : 0;
}

// Whether rows of n elements in the op's own type can serve as pairs.
inline bool RowsArePairs(int64_t n) { return n % 2 == 0; }

// Whether h is written in the op's own type at once; inner layers of training keep it as T.
template <typename T, typename E>
bool RoundsH(const Sizes<T>& s) {
  return !std::is_same_v<T, E> && RowsArePairs(s.hidden);
}

template <typename T, typename E>
ForwardPlan<T, E> MakeForwardPlan(const RnnProblem& p, bool plain_weights,
                                  const ThreadBudget& threads, Arena& arena) {
  ForwardPlan<T, E> plan;
  ForwardLayer<T, E>& layer = plan.layer;
  const Sizes<T> s = layer.sizes = MakeSizes<T>(p);
  plan.seq = MakeSequence(arena, p.max_time, p.batch, p.time_major, p.lengths);
  plan.split = SplitOf(s, p.max_time, plan.seq.rows, p.input_size, p.batch, threads, s.panels(),
                       kForwardStreamBytes);
  layer.plain_weights = plain_weights;
  layer.operand_row = OperandRowOfH<T, E>(p, s);
  layer.c_row = s.padded;
  const int64_t ring_rows = RingRows(plan.split, p.batch);
  const bool keeps_gates = p.is_training && s.cell.keeps_gates;
  const bool carries = s.second > 0 || (s.cell.carries_h && RoundsH<T, E>(s));
  const int64_t widest = p.num_layers > 1 ? std::max(p.input_size, s.output) : p.input_size;
  for (int d = 0; d < p.num_dirs(); ++d) {
    ForwardDirection<T, E>& dir = layer.dirs[d];
    if (!p.weights_packed) {
      dir.weights = plain_weights ? TakePackedBiases<T, E>(arena, s)
                                  : TakePackedWeights<T, E>(arena, s, widest);
    }
    dir.c0 = arena.Take<T>(s.cell.has_c ? Area(p.batch, s.padded) : 0);
    dir.carried = arena.Take<T>(carries ? Area(p.batch, s.padded) : 0);
    for (E*& rows : dir.operand_h) rows = arena.Take<E>(Area(p.batch, layer.operand_row));
    dir.ring = arena.Take<T>(keeps_gates ? 0 : Area(ring_rows, s.gate_row));
    layer.pointers[d] = TakeSlicePointers<T, E>(arena, Area(plan.split.shares, ring_rows));
  }
  plan.peepholes = arena.Take<T>(IsLstmPeephole(p) ? 3 * s.padded : 0);
  plan.layer_norm = arena.Take<T>(p.has_layer_norm ? LayerNormElements(s) : 0);
  TakeKept(p, Area(plan.seq.rows, s.padded), arena, &plan.kept);
  const bool inner_in_scratch = p.num_layers > 1 && !p.is_training;
  const int64_t inner_size = inner_in_scratch ? Area(plan.seq.rows, s.output) : 0;
  const bool rounds_inner = inner_in_scratch && RoundsH<T, E>(s);
  for (T*& rows : plan.between) rows = arena.Take<T>(rounds_inner ? 0 : inner_size);
  for (TensorOf<T, E>*& rows : plan.rounded_between) {
    rows = arena.Take<TensorOf<T, E>>(rounds_inner ? inner_size : 0);
  }
  const bool drops = p.num_layers > 1 && p.is_training && p.dropout > 0;
  plan.dropped = arena.Take<T>(drops ? Area(plan.seq.rows, s.output) : 0);
  const int64_t x_row =
      std::max(OperandRowOfX<T, E>(p, s, p.input_size, RowsArePairs(p.input_size)),
               p.num_layers > 1 ? OperandRowOfX<T, E>(p, s, s.output, rounds_inner) : 0);
  plan.operand_x = arena.Take<E>(Area(plan.seq.rows, x_row));
  return plan;
}

template <typename T>
GateMasks<T> InputMasks(const RnnProblem& p, const LayerWeights& layer) {
  if (!p.input_masked) return {};
  return {static_cast<const T*>(layer.input_mask), p.batch, p.input_size};
}

template <typename T>
GateMasks<T> RecurrentMasks(const RnnProblem& p, const LayerWeights& layer) {
  if (!p.recurrent_masked) return {};
  return {static_cast<const T*>(layer.recurrent_mask), p.batch,
          p.num_proj > 0 ? p.num_proj : p.num_units};
}

// Zeroes the rows of y beyond each length.
template <typename T>
void ZeroPadding(const Sequence& seq, const RowMap<T>& y, int64_t columns,
                 const ParallelFor& parallel) {
  if (seq.rows == seq.max_time * seq.batch) return;
  const int64_t padding = seq.max_time * seq.batch - seq.rows;
  const int64_t ns = NsToMove(padding * columns * static_cast<int64_t>(sizeof(T)));
  Parallel(parallel, seq.batch, ns, [&](int64_t j) {
    for (int64_t t = seq.length[j]; t < seq.max_time; ++t) {
      std::memset(y.at(t, j), 0, sizeof(T) * columns);
    }
  });
}

template <typename T, typename E = T>
RnnSizes ForwardSizes(const RnnProblem& p, const ThreadBudget& threads) {
  Arena arena;
  const ForwardPlan<T, E> plan =
      MakeForwardPlan<T, E>(p, UsesPlainWeights<T, E>(p), threads, arena);
  RnnSizes sizes;
  sizes.scratch_bytes = arena.bytes();
  sizes.reserve_bytes =
      p.is_training ? MakeReserve<T>(nullptr, plan.seq.rows, plan.layer.sizes, p.num_layers).bytes()
                    : 0;
  return sizes;
}

template <typename T, typename E>
void PackForwardWeights(const ForwardLayer<T, E>& layer, int64_t in, const Split& split,
                        const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  if (layer.plain_weights) {
    for (int d = 0; d < s.num_dirs; ++d) {
      for (int64_t u = 0; u < s.blocks; ++u) {
        PackBias(s, layer.dirs[d].source, u, layer.dirs[d].weights);
      }
    }
    return;
  }
  const int64_t items = PackItems(s);
  // Whoever is woken for packing stays for the recurrence.
  const int64_t ns = NsToMove(s.num_dirs * PanelBytes<T, E>(s, in)) + split.ns;
  Parallel(parallel, s.num_dirs * items, ns, [&](int64_t i) {
    const ForwardDirection<T, E>& dir = layer.dirs[i / items];
    PackItem(s, dir.source, in, i % items, dir.weights);
  });
}

// What the input product of a layer reads: masked or rounded rows, or those of x; or `ready`, where
// they are in operands already.
template <typename T, typename E>
RowMap<const E> OperandRows(const RnnProblem& p, const ForwardLayer<T, E>& layer,
                            const RowMap<const E>& ready, E* buffer, const ParallelFor& parallel) {
  const Sequence& seq = *layer.seq;
  if constexpr (std::is_same_v<T, E>) {
    if (!layer.input_masks) return layer.x;
    MaskRows(seq, layer.input_masks, layer.sizes.cell.input, buffer, parallel,
             [&](int64_t t, int64_t j) { return layer.x.at(t, j); });
    return PackedRows(seq, static_cast<const E*>(buffer), p.input_size * layer.sizes.cell.gates);
  } else {
    if (ready.base != nullptr) return ready;
    NarrowRows(seq, layer.in, buffer, parallel,
               [&](int64_t t, int64_t j) { return layer.x.at(t, j); });
    return PackedRows(seq, static_cast<const E*>(buffer), NarrowRowOperands(layer.in));
  }
}

template <typename T, typename E>
InputStage InputStageOf(const RnnProblem& p, const ForwardLayer<T, E>& layer, bool skip_input) {
  if (skip_input) return InputStage::kAddX;
  if (layer.plain_weights) return InputStage::kPlainProduct;
  return p.input_masked ? InputStage::kMaskedProduct : InputStage::kProduct;
}

// With pairs the weights are in bfloat16 and narrow_x and narrow_y are the op's own tensors; args.x
// and args.y may be null where their rows are pairs.
template <typename T, typename E = T>
int32_t Forward(const RnnForwardArgs& args, const void* narrow_x = nullptr,
                void* narrow_y = nullptr) {
  constexpr bool kPairs = !std::is_same_v<T, E>;
  const RnnProblem& p = args.problem;
  Arena arena(args.scratch);
  const ForwardPlan<T, E> plan =
      MakeForwardPlan<T, E>(p, UsesPlainWeights<T, E>(p), args.parallel.threads, arena);
  const Sequence& seq = plan.seq;
  ForwardLayer<T, E> layer = plan.layer;
  const Sizes<T>& s = layer.sizes;
  Reserve<T> reserve = MakeReserve<T>(args.reserve, seq.rows, s, p.num_layers);
  if (p.is_training) {
    reserve.ClearGaps();
    const ReserveHeader header = {kReserveMagic,
                                  kReserveVersion,
                                  kLanes<T> * sizeof(T),
                                  Fingerprint(p, kPairs),
                                  {p.dropout_key[0], p.dropout_key[1]}};
    std::memcpy(reserve.header, &header, sizeof(header));
  }
  DrawKept(p, seq, s.units, s.padded, plan.kept, args.parallel);
  const CellTensors<T> tensors =
      TensorsOf(p, args.layer, s, plan.peepholes, plan.layer_norm, plan.kept);
  layer.h_limit = HiddenLimit<T>(p);
  layer.seq = &seq;
  layer.h0 = MakeStateRows(p, static_cast<const T*>(args.h0), s.hidden);
  layer.c0 = MakeStateRows(p, static_cast<const T*>(args.c0), s.units);
  layer.h_n = MakeStateRows(p, static_cast<T*>(args.h_n), s.hidden);
  layer.c_n = MakeStateRows(p, static_cast<T*>(args.c_n), s.units);
  layer.input_masks = InputMasks<T>(p, args.layer);
  layer.recurrent_masks = RecurrentMasks<T>(p, args.layer);
  const bool rounds = RoundsH<T, E>(s);
  const RowMap<T> user_y = UserRows(seq, static_cast<T*>(rounds ? nullptr : args.y), s.output);
  const RowMap<TensorOf<T, E>> rounded_y =
      UserRows(seq, static_cast<TensorOf<T, E>*>(rounds ? narrow_y : nullptr), s.output);
  if (rounds) {
    ZeroPadding(seq, rounded_y, s.output, args.parallel);
  } else {
    ZeroPadding(seq, user_y, s.output, args.parallel);
  }
  Arena packed(const_cast<void*>(args.packed));  // which is only read
  layer.x = UserRows(seq, static_cast<const T*>(args.x), p.input_size);
  RowMap<const E> ready = {};
  if (kPairs && RowsArePairs(p.input_size)) {
    ready = UserRows(seq, static_cast<const E*>(narrow_x), p.input_size / 2);
  }

  for (int64_t l = 0; l < p.num_layers; ++l) {
    const bool last = l + 1 == p.num_layers;
    const bool skip_input = p.skips_input(l);
    layer.in = l == 0 ? p.input_size : s.output;
    layer.input_stage = InputStageOf(p, layer, skip_input);
    layer.first_pseudo_layer = l * p.num_dirs();
    const int64_t weight_in = skip_input ? 0 : layer.in;
    layer.operand_x = OperandRows(p, layer, ready, plan.operand_x, args.parallel);
    ready = {};
    layer.y = last ? user_y : RowMap<T>{};
    layer.rounded_y = last ? rounded_y : RowMap<TensorOf<T, E>>{};
    T* inner = nullptr;
    if (!last && rounds && !p.is_training) {
      TensorOf<T, E>* rows = plan.rounded_between[l % 2];
      layer.rounded_y = PackedRows(seq, rows, s.output);
      ready = PackedRows(seq, reinterpret_cast<const E*>(rows), s.output / 2);
    } else if (!last) {
      inner = p.is_training ? reserve.LayerOutput(l) : plan.between[l % 2];
      layer.y = PackedRows(seq, inner, s.output);
    }
    for (int d = 0; d < p.num_dirs(); ++d) {
      ForwardDirection<T, E>& dir = layer.dirs[d];
      if (p.weights_packed) {
        dir.weights = TakePackedWeights<T, E>(packed, s, weight_in);
      } else {
        dir.source = SourceOf<TensorOf<T, E>>(p, s, args.params, args.layer, l, d);
      }
      if (p.is_training) {
        const auto kept = reserve.At(layer.first_pseudo_layer + d);
        dir.gates = s.cell.keeps_gates ? kept.gates : nullptr;
        dir.c = s.cell.has_c ? kept.c : nullptr;
      }
    }
    if (!p.weights_packed) PackForwardWeights(layer, weight_in, plan.split, args.parallel);
    layer.reads = ReadsOf(layer);
    layer.cells = WithCell(p, [&](auto cell) {
      using Cell = decltype(cell);
      return CellRunnerOf<Cell, T, E>(layer.reads, tensors.template Of<Cell>());
    });
    RunForwardRecurrence(layer, plan.split, args.parallel);
    if (last) break;
    layer.x = PackedRows(seq, static_cast<const T*>(inner), s.output);
    if (p.is_training && p.dropout > 0) {
      DropRows<T>(p, seq, l, s.output, inner, plan.dropped, args.parallel);
      layer.x = PackedRows(seq, static_cast<const T*>(plan.dropped), s.output);
    }
  }
  return 0;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_RNN_FORWARD_H_
