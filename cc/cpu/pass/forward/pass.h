// The forward pass: its plan, then its layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cc/core/checked_math.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward/rows.h"
#include "cc/cpu/pass/forward/slice.h"
#include "cc/cpu/pass/memory/reserve.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

template <typename T>
bool UsesUnpackedWeights(const RnnProblem& p, const Sizes<T>& s) {
  if (s.operands != OperandType::kExact || !s.cell.unpacked) return false;
  if (p.input_masked || p.recurrent_masked || p.weights_packed) return false;
  const int64_t matrix_bytes = Area(Area(s.hidden, s.gate_units()), sizeof(T));
  return Area(p.max_time, p.batch) <=
         (p.weight_layout == kOpaqueWeights ? UnpackedRowsOfUnits(matrix_bytes) : kUnpackedRows);
}

// Whether a row of n elements of the op's tensors is a row of pairs.
template <typename T>
bool IsRowOfPairs(const Sizes<T>& s, int64_t n) {
  return s.operands == OperandType::kPairs && n % kPerOperand<Pair> == 0;
}

// Whether h is written directly in the type of the op's tensors. In training, inner layers keep h
// as T.
template <typename T>
bool RoundsH(const Sizes<T>& s) {
  return IsRowOfPairs(s, s.hidden);
}

template <typename T>
Split ForwardSplit(const RnnProblem& p, const Sizes<T>& s, const ThreadBudget& threads) {
  return SplitOf(s, p.max_time, p.lengths.sum, p.input_size, p.batch, threads, s.panels(),
                 kForwardStreamBytes);
}

// The plan of a forward pass, and its memory.
template <typename T>
struct ForwardPlan {
  // `packs`: use packed weights, even for few rows.
  ForwardPlan(const RnnProblem& p, const ThreadBudget& threads, bool packs = false);
  // Measures or allocates the memory.
  void Take(const RnnProblem& p, Arena& arena);
  // Whether inner layers write h only in the type of the op's tensors.
  bool rounds_inner(const RnnProblem& p) const { return !p.is_training && RoundsH(layer.sizes); }
  // Inference: the output of inner layer l, as T or rounded.
  template <typename Y>
  Y* between(int64_t l) const {
    return reinterpret_cast<Y*>(between_[l % 2]);
  }

  Split split;
  int64_t rows;           // R
  ForwardLayer<T> layer;  // data of all layers
  Sequence seq;
  T* dropped;           // [R, D*S] training with dropout
  T* peepholes;         // [3, padded] if the cell has peepholes
  T* layer_norm;        // LayerNormTensors::weights, with layer normalization
  T* zoneout_masks[2];  // [R, padded] of h and of c, see DrawZoneoutMasks
  char* operand_x;      // rows that the input product reads, if not x itself

 private:
  void TakeDirection(const RnnProblem& p, int d, Arena& arena);

  char* between_[2];
};

template <typename T>
ForwardPlan<T>::ForwardPlan(const RnnProblem& p, const ThreadBudget& threads, bool packs)
    : rows(p.lengths.sum) {
  const Sizes<T>& s = layer.sizes = MakeSizes<T>(p);
  split = ForwardSplit(p, s, threads);
  const bool unpacked = !packs && UsesUnpackedWeights(p, s);
  for (ForwardDirection<T>& dir : layer.dirs) dir.weights.unpacked = unpacked;
  auto row_bytes = [&](int64_t width, bool masked) {
    const int64_t row = CopyOperands<T>(s.operands, width, s.cell.recurrent, masked);
    return Area(row, OperandBytes<T>(s.operands));
  };
  layer.operand_row = row_bytes(s.hidden, p.recurrent_masked);
  if (s.operands == OperandType::kQuads && s.has_second_product()) {  // m takes the place of h
    layer.operand_row = std::max(layer.operand_row, row_bytes(s.units, /*masked=*/false));
  }
  layer.c_row = s.padded;
  layer.h_limit = HiddenLimit<T>(p);
}

template <typename T>
void ForwardPlan<T>::TakeDirection(const RnnProblem& p, int d, Arena& arena) {
  const Sizes<T>& s = layer.sizes;
  const int64_t state = Area(p.batch, s.padded), copies = Area(p.batch, layer.operand_row);
  const int64_t ring_rows = RingRows(split, p.batch, rows);
  const bool keeps_gates = p.is_training && s.cell.saves_gates;
  const bool quantized = s.operands == OperandType::kQuads;
  ForwardDirection<T>& dir = layer.dirs[d];
  if (!p.weights_packed) {
    const int64_t inner = p.num_layers > 1 ? s.output : 0;
    dir.weights.Take(arena, s, std::max(p.input_size, inner));
  }
  arena.Take(&dir.c0, s.cell.has_c ? state : 0);
  arena.Take(&dir.carried, s.has_second_product() || RoundsH(s) ? state : 0);
  arena.Take(&dir.operand_h[0], quantized ? Area(split.shares, copies) : copies);
  arena.Take(&dir.operand_h[1], quantized ? 0 : copies);
  arena.Take(&dir.ring, keeps_gates ? 0 : Area(ring_rows, s.gate_row));
  layer.pointers[d] = TakePointers<ForwardPointers<T>>(arena, Area(split.shares, ring_rows));
  if (!s.has_second_product()) layer.pointers[d].out = layer.pointers[d].h;
}

template <typename T>
void ForwardPlan<T>::Take(const RnnProblem& p, Arena& arena) {
  const Sizes<T>& s = layer.sizes;
  seq = MakeSequence(arena, p.max_time, p.batch, p.time_major, p.lengths);
  layer.seq = &seq;
  for (int d = 0; d < p.num_dirs(); ++d) TakeDirection(p, d, arena);
  const bool inner = p.num_layers > 1;
  const int64_t y = inner ? Area(rows, s.output) : 0;
  const int64_t y_element = rounds_inner(p) ? sizeof(BFloat16Bits) : sizeof(T);
  // The operands of a row of x that is copied.
  auto x_row = [&](int64_t in, bool is_operands) {
    return is_operands ? 0 : CopyOperands<T>(s.operands, in, s.cell.input, p.input_masked);
  };
  const int64_t first_x = x_row(p.input_size, IsRowOfPairs(s, p.input_size));
  const int64_t inner_x = inner ? x_row(s.output, rounds_inner(p)) : 0;
  arena.Take(&peepholes, IsLstmPeephole(p) ? 3 * s.padded : 0);
  arena.Take(&layer_norm, p.has_layer_norm ? LayerNormElements(s) : 0);
  TakeZoneoutMasks(p, Area(rows, s.padded), arena, &zoneout_masks);
  for (char*& to : between_) arena.Take(&to, p.is_training ? 0 : Area(y, y_element));
  arena.Take(&dropped, p.is_training && p.dropout > 0 ? y : 0);
  operand_x = TakeOperands<T>(arena, s.operands, Area(rows, std::max(first_x, inner_x)));
}

template <typename T>
void PackForwardWeights(const ForwardLayer<T>& layer, int64_t in, const Split& split,
                        const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  if (layer.dirs[0].weights.unpacked) {
    for (int d = 0; d < s.num_dirs; ++d) {
      const ForwardWeights<T>& w = layer.dirs[d].weights;
      for (int64_t u = 0; u < s.blocks; ++u) PackBias(s, w.source.exact, u, w.packed);
    }
    return;
  }
  const PackItems<T> items(s, parallel.threads);
  // The threads that are woken for packing also run the recurrence.
  const int64_t ns = NsToPack(s.num_dirs * PanelBytes(s, in)) + split.ns;
  Parallel(parallel, s.num_dirs * items.count(), ns, [&](int64_t i) {
    const ForwardWeights<T>& w = layer.dirs[i / items.count()].weights;
    PackItem(s, w.source, in, items, i % items.count(), w.packed);
  });
}

// The forward pass of a stack, in the type of the arithmetic (float or double).
//
// Note [Forward schedule]
// Each layer first packs its weights, unless the weights are already packed
// (weights/packed_weights.h). Then all directions run through time (Note [Forward recurrence]).
// Calls of at most kUnpackedRows rows do not pack, see forward/weights.h.

// The rows that the input product of a layer reads: masked or rounded copies, or x itself.
template <typename T>
OperandRows OperandX(const ForwardLayer<T>& layer, char* buffer, const ParallelFor& parallel) {
  const OperandType type = layer.sizes.operands;
  if (type == OperandType::kExact && !layer.input_masks) return AsOperands(layer.x);
  const GateOrder& order = layer.sizes.cell.input;
  CopyRows(*layer.seq, type, layer.input_masks, order, layer.in, buffer, parallel,
           [&](int64_t t, int64_t j) { return layer.x.at(t, j); });
  const int64_t row = CopyOperands<T>(type, layer.in, order, /*masked=*/true);
  return PackedRows(*layer.seq, static_cast<const char*>(buffer), row * OperandBytes<T>(type));
}

// The forward pass of every problem. Run() may be called many times.
template <typename T>
class ForwardPass {
 public:
  explicit ForwardPass(const RnnArgs& args) : p_(args.problem), plan_(p_, args.parallel.threads) {}

  // Measures or allocates the memory.
  void Take(Arena& arena) { plan_.Take(p_, arena); }
  ReserveSizes reserve_sizes() const {
    if (!p_.is_training) return {};
    return {ReserveOn(nullptr).bytes(), LongestReserveBytes(p_, plan_.layer.sizes)};
  }
  // Whether an input of a 16-bit type is read in its own type, or not at all.
  bool ReadsAsIs(Arg arg) const {
    if (arg == Arg::input) return IsRowOfPairs(plan_.layer.sizes, p_.input_size);
    // Pairs are packed from bfloat16. Normalizations read the bias separately from the panels.
    if (arg == Arg::bias && p_.weights_packed && p_.has_layer_norm) return false;
    return IsPackable(arg) && (pairs() || p_.weights_packed);
  }
  // Whether an output of a 16-bit type is written in its own type.
  bool WritesAsIs(Arg arg) const { return arg == Arg::output && rounds(); }

  KernelResult Run(const RnnArgs& args, void* reserve_space) {
    if (!HasLengths(plan_.seq, args.problem.lengths)) return kOtherLengths;
    p_.lengths = args.problem.lengths;
    std::copy_n(args.problem.dropout_key, 2, p_.dropout_key);
    parallel_ = &args.parallel;
    const CallTensors& t = *args.tensors;
    const Sizes<T>& s = plan_.layer.sizes;
    const Reserve<T> reserve = ReserveOn(reserve_space);
    if (p_.is_training) WriteHeader(reserve);
    DrawZoneoutMasks(p_, plan_.seq, s.units, s.padded, plan_.zoneout_masks, *parallel_);
    SetStates(t);
    SetCell(CellInputsOf(p_, t, s, plan_.peepholes, plan_.layer_norm, plan_.zoneout_masks));
    ZeroPaddingOfY(t);
    Arena panels(args.panels);
    for (int64_t l = 0; l < p_.num_layers; ++l) {
      plan_.layer.first_pseudo_layer = l * p_.num_dirs();
      SetX(t, reserve, l);
      SetY(t, reserve, l);
      SetWeights(t, reserve, l, panels);
      RunLayer();
    }
    return kDone;
  }

 private:
  bool pairs() const { return plan_.layer.sizes.operands == OperandType::kPairs; }
  bool rounds() const { return RoundsH(plan_.layer.sizes); }
  Reserve<T> ReserveOn(void* base) const {
    return MakeReserve<T>(base, plan_.rows, plan_.layer.sizes, p_.num_layers);
  }

  void WriteHeader(const Reserve<T>& reserve) const {
    reserve.ClearGaps();
    const ReserveHeader header = {kReserveMagic,
                                  kReserveVersion,
                                  kLanes<T> * sizeof(T),
                                  Fingerprint(p_, pairs()),
                                  {p_.dropout_key[0], p_.dropout_key[1]}};
    std::memcpy(reserve.header, &header, sizeof(header));
  }

  void SetStates(const CallTensors& t) {
    ForwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    layer.h0 = MakeStateRows(p_, t.in<T>(Arg::input_h), s.hidden);
    layer.c0 = MakeStateRows(p_, t.in<T>(Arg::input_c), s.units);
    layer.h_n = MakeStateRows(p_, t.out<T>(Arg::output_h), s.hidden);
    layer.c_n = MakeStateRows(p_, t.out<T>(Arg::output_c), s.units);
    layer.input_masks = MasksOf<T>(p_, t, Arg::input_mask);
    layer.recurrent_masks = MasksOf<T>(p_, t, Arg::recurrent_mask);
  }

  // The op's y, in the type of the arithmetic or rounded.
  template <typename Y>
  RowMap<Y> UserY(const CallTensors& t) const {
    return UserRows(plan_.seq, t.out<Y>(Arg::output), plan_.layer.sizes.output);
  }

  void ZeroPaddingOfY(const CallTensors& t) const {
    const int64_t columns = plan_.layer.sizes.output;
    if (rounds()) {
      ZeroPadding(plan_.seq, UserY<BFloat16Bits>(t), columns, *parallel_);
    } else {
      ZeroPadding(plan_.seq, UserY<T>(t), columns, *parallel_);
    }
  }

  // Sets the rows that layer l reads.
  void SetX(const CallTensors& t, const Reserve<T>& reserve, int64_t l) {
    ForwardLayer<T>& layer = plan_.layer;
    const Sequence& seq = plan_.seq;
    layer.in = l == 0 ? p_.input_size : layer.sizes.output;
    layer.adds_x = p_.skips_input(l);
    if (l == 0 ? IsRowOfPairs(layer.sizes, layer.in) : plan_.rounds_inner(p_)) {
      using Rounded = const BFloat16Bits;
      layer.x = {};
      layer.operand_x =
          AsOperands(l == 0 ? UserRows(seq, t.in<BFloat16Bits>(Arg::input), layer.in)
                            : PackedRows(seq, plan_.template between<Rounded>(l - 1), layer.in));
    } else {
      layer.x = l == 0 ? UserRows(seq, t.in<T>(Arg::input), layer.in)
                       : PackedRows(seq, DroppedY(reserve, l - 1), layer.in);
      layer.operand_x = OperandX(layer, plan_.operand_x, *parallel_);
    }
  }

  // Sets the rows that layer l writes.
  void SetY(const CallTensors& t, const Reserve<T>& reserve, int64_t l) {
    ForwardLayer<T>& layer = plan_.layer;
    const Sequence& seq = plan_.seq;
    const bool last = l + 1 == p_.num_layers;
    layer.y = {};
    layer.rounded_y = {};
    if (last ? rounds() : plan_.rounds_inner(p_)) {
      layer.rounded_y =
          last ? UserY<BFloat16Bits>(t)
               : PackedRows(seq, plan_.template between<BFloat16Bits>(l), layer.sizes.output);
    } else {
      layer.y = last ? UserY<T>(t) : PackedRows(seq, InnerY(reserve, l), layer.sizes.output);
    }
  }

  T* InnerY(const Reserve<T>& reserve, int64_t l) const {
    return p_.is_training ? reserve.LayerOutput(l) : plan_.template between<T>(l);
  }

  // The y of inner layer l as the next layer reads it.
  const T* DroppedY(const Reserve<T>& reserve, int64_t l) {
    T* const y = InnerY(reserve, l);
    if (!p_.is_training || p_.dropout == 0) return y;
    DropRows<T>(p_, plan_.seq, l, plan_.layer.sizes.output, y, plan_.dropped, *parallel_);
    return plan_.dropped;
  }

  void SetWeights(const CallTensors& t, const Reserve<T>& reserve, int64_t l, Arena& panels) {
    ForwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    for (int d = 0; d < p_.num_dirs(); ++d) {
      ForwardDirection<T>& dir = layer.dirs[d];
      if (p_.weights_packed) {
        dir.weights.Take(panels, s, weight_in());
      } else {
        dir.weights.source = SourceOf(p_, s, t, l, d);
      }
      if (p_.is_training) {
        const auto saved = reserve.At(layer.first_pseudo_layer + d);
        dir.gates = s.cell.saves_gates ? saved.gates : nullptr;
        dir.c = s.cell.has_c ? saved.c : nullptr;
      }
    }
  }

  // The number of columns of x that have weights.
  int64_t weight_in() const { return plan_.layer.adds_x ? 0 : plan_.layer.in; }

  void SetCell(const CellInputs<T>& inputs) {
    ForwardLayer<T>& layer = plan_.layer;
    layer.cells = WithCell(p_, [&](auto cell) {
      using Cell = decltype(cell);
      return CellRunnerOf<Cell>(layer, cell_.template Make<Cell>(inputs));
    });
  }

  void RunLayer() {
    ForwardLayer<T>& layer = plan_.layer;
    if (!p_.weights_packed) PackForwardWeights(layer, weight_in(), plan_.split, *parallel_);
    layer.reads = ReadsOf(layer);
    RunForwardRecurrence(layer, plan_.split, *parallel_);
  }

  RnnProblem p_;                           // with the lengths and the key of the call
  const ParallelFor* parallel_ = nullptr;  // of the call
  ForwardPlan<T> plan_;
  CellStorage<T> cell_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
