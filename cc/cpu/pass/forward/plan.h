// The plan of a forward pass: sizes, threads and memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward/layer.h"
#include "cc/cpu/pass/forward/rows.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/pass/weights/layer_norm.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/rows/zoneout_masks.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kPlainRows = 4;

template <typename T>
bool UsesPlainWeights(const RnnProblem& p, const Sizes<T>& s) {
  return s.operands == OperandType::kExact && s.cell.plain &&
         Area(p.max_time, p.batch) <= kPlainRows && !p.input_masked && !p.recurrent_masked &&
         !p.weights_packed;
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

// The plan of a forward pass, and its memory.
template <typename T>
struct ForwardPlan {
  // `packs`: use packed weights, even for few rows.
  ForwardPlan(const RnnProblem& p, const ThreadBudget& threads, bool packs = false);
  // Measures or allocates the memory.
  void Take(const RnnProblem& p, Arena& arena);

  Split split;
  int64_t rows;           // R
  ForwardLayer<T> layer;  // data of all layers
  Sequence seq;
  T* between[2];                     // inference: outputs of inner layers
  BFloat16Bits* rounded_between[2];  // instead of `between`, if rows of h are rounded
  T* dropped;                        // [R, D*S] training with dropout
  T* peepholes;                      // [3, padded] if the cell has peepholes
  T* layer_norm;                     // LayerNormTensors::weights, with layer normalization
  T* zoneout_masks[2];               // [R, padded] of h and of c, see DrawZoneoutMasks
  char* operand_x;                   // rows that the input product reads, if not x itself

 private:
  void TakeDirection(const RnnProblem& p, int d, Arena& arena);
  int64_t widest_input(const RnnProblem& p) const {
    return p.num_layers > 1 ? std::max(p.input_size, layer.sizes.output) : p.input_size;
  }
};

template <typename T>
ForwardPlan<T>::ForwardPlan(const RnnProblem& p, const ThreadBudget& threads, bool packs)
    : rows(p.lengths.sum) {
  const Sizes<T>& s = layer.sizes = MakeSizes<T>(p);
  split =
      SplitOf(s, p.max_time, rows, p.input_size, p.batch, threads, s.panels(), kForwardStreamBytes);
  const bool plain = !packs && UsesPlainWeights(p, s);
  for (ForwardDirection<T>& dir : layer.dirs) dir.weights.plain = plain;
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
  const int64_t ring_rows = RingRows(split, p.batch, rows);
  const bool saves_gates = p.is_training && s.cell.saves_gates;
  const bool carries = s.has_second_product() || RoundsH(s);
  ForwardDirection<T>& dir = layer.dirs[d];
  if (!p.weights_packed) dir.weights.Take(arena, s, widest_input(p));
  dir.c0 = arena.Take<T>(s.cell.has_c ? Area(p.batch, s.padded) : 0);
  dir.carried = arena.Take<T>(carries ? Area(p.batch, s.padded) : 0);
  const int64_t copies = Area(p.batch, layer.operand_row);
  const bool quantized = s.operands == OperandType::kQuads;
  dir.operand_h[0] = arena.Take<char>(quantized ? Area(split.shares, copies) : copies);
  dir.operand_h[1] = arena.Take<char>(quantized ? 0 : copies);
  dir.ring = arena.Take<T>(saves_gates ? 0 : Area(ring_rows, s.gate_row));
  layer.pointers[d] = TakePointers<ForwardPointers<T>>(arena, Area(split.shares, ring_rows));
  if (!s.has_second_product()) layer.pointers[d].out = layer.pointers[d].h;
}

template <typename T>
void ForwardPlan<T>::Take(const RnnProblem& p, Arena& arena) {
  const Sizes<T>& s = layer.sizes;
  seq = MakeSequence(arena, p.max_time, p.batch, p.time_major, p.lengths);
  layer.seq = &seq;
  for (int d = 0; d < p.num_dirs(); ++d) TakeDirection(p, d, arena);
  peepholes = arena.Take<T>(IsLstmPeephole(p) ? 3 * s.padded : 0);
  layer_norm = arena.Take<T>(p.has_layer_norm ? LayerNormElements(s) : 0);
  TakeZoneoutMasks(p, Area(rows, s.padded), arena, &zoneout_masks);
  const bool inner = p.num_layers > 1;
  const bool rounds_inner = inner && !p.is_training && RoundsH(s);
  const int64_t inner_size = inner && !p.is_training ? Area(rows, s.output) : 0;
  for (T*& to : between) to = arena.Take<T>(rounds_inner ? 0 : inner_size);
  for (BFloat16Bits*& to : rounded_between) {
    to = arena.Take<BFloat16Bits>(rounds_inner ? inner_size : 0);
  }
  dropped = arena.Take<T>(inner && p.is_training && p.dropout > 0 ? Area(rows, s.output) : 0);
  auto x_row = [&](int64_t in, bool rounded) {
    return rounded ? 0 : CopyOperands<T>(s.operands, in, s.cell.input, p.input_masked);
  };
  const int64_t first_row = x_row(p.input_size, IsRowOfPairs(s, p.input_size));
  const int64_t inner_row = inner ? x_row(s.output, rounds_inner) : 0;
  operand_x = TakeOperands<T>(arena, s.operands, Area(rows, std::max(first_row, inner_row)));
}

template <typename T>
void PackForwardWeights(const ForwardLayer<T>& layer, int64_t in, const Split& split,
                        const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  if (layer.dirs[0].weights.plain) {
    for (int d = 0; d < s.num_dirs; ++d) {
      const ForwardWeights<T>& w = layer.dirs[d].weights;
      for (int64_t u = 0; u < s.blocks; ++u) PackBias(s, w.source.exact, u, w.packed);
    }
    return;
  }
  const int64_t items = PackItems(s);
  // The threads that are woken for packing also run the recurrence.
  const int64_t ns = NsToMove(s.num_dirs * PanelBytes(s, in)) + split.ns;
  Parallel(parallel, s.num_dirs * items, ns, [&](int64_t i) {
    const ForwardWeights<T>& w = layer.dirs[i / items].weights;
    PackItem(s, w.source, in, i % items, w.packed);
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
