// The forward pass of a stack, in the type of the arithmetic (float or double).
//
// Note [Forward schedule]
// Per layer: the weights are packed once, then every direction and slice of the batch runs its
// whole sequence without synchronisation. A slice alternates between the input product of a chunk
// of steps (about kChunkRows rows, so that its gate rows are still in cache) and the recurrence
// over them. Calls of at most kDirectRows rows (streaming) leave the weights as they are: see
// dot.h.
#ifndef TF_RNN_OPS_CC_CPU_RNN_FORWARD_H_
#define TF_RNN_OPS_CC_CPU_RNN_FORWARD_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cc/cpu/arena.h"
#include "cc/cpu/dropout_rows.h"
#include "cc/cpu/forward_slice.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/model.h"
#include "cc/cpu/reserve.h"
#include "cc/cpu/sequence.h"
#include "cc/cpu/slice_pointers.h"
#include "cc/cpu/stages.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

constexpr int64_t kDirectRows = 4;

inline bool IsDirect(const RnnProblem& p) {
  return Area(p.max_time, p.batch) <= kDirectRows && !p.input_masked && !p.recurrent_masked;
}

// The memory of a forward pass, measured or taken.
template <typename T>
struct ForwardPlan {
  Sizes<T> sizes;
  Sequence seq;
  Split split;
  ForwardLayer<T> layer;  // what all layers share
  T* ring[2];             // [slices * kChunkRows + B, gate_row], without kept gates
  T* between[2];          // inference: outputs of inner layers
  T* dropped;             // [R, D*S] training with dropout
  T* masked_x;            // with a mask of x: [R, I * G]
};

template <typename T>
ForwardPlan<T> MakeForwardPlan(const RnnProblem& p, int32_t num_threads, Arena& arena) {
  ForwardPlan<T> plan;
  Sizes<T> s = plan.sizes = MakeSizes<T>(p);
  plan.seq = MakeSequence(arena, p.max_time, p.batch, p.time_major != 0, p.lengths);
  plan.split = SplitOf(s, plan.seq.rows, p.input_size, p.batch, num_threads, s.panels());
  const int64_t ring_rows = plan.split.slices * kChunkRows + p.batch;
  const bool keep_gates = p.is_training && !s.dense;
  const int64_t widest = p.num_layers > 1 ? std::max(p.input_size, s.output) : p.input_size;
  for (int d = 0; d < p.num_dirs; ++d) {
    plan.layer.dirs[d].weights =
        IsDirect(p) ? TakePackedBiases(arena, s) : TakePackedWeights(arena, s, widest);
    plan.layer.dirs[d].c0 = arena.Take<T>(s.lstm() ? Area(p.batch, s.padded) : 0);
    plan.layer.dirs[d].m = arena.Take<T>(s.proj > 0 ? Area(p.batch, s.padded) : 0);
    for (T*& rows : plan.layer.dirs[d].masked_h) {
      const int64_t width = s.hidden * s.gates.recurrent.count;
      rows = arena.Take<T>(p.recurrent_masked ? Area(p.batch, width) : 0);
    }
    plan.ring[d] = arena.Take<T>(keep_gates ? 0 : Area(ring_rows, s.gate_row));
    plan.layer.pointers[d] = TakeSlicePointers<T>(arena, Area(plan.split.lanes, ring_rows));
  }
  const bool inner_in_scratch = p.num_layers > 1 && !p.is_training;
  for (T*& rows : plan.between) {
    rows = arena.Take<T>(inner_in_scratch ? Area(plan.seq.rows, s.output) : 0);
  }
  const bool drops = p.num_layers > 1 && p.is_training && p.dropout > 0;
  plan.dropped = arena.Take<T>(drops ? Area(plan.seq.rows, s.output) : 0);
  const int64_t masked_width = Area(p.input_size, s.gates.input.count);
  plan.masked_x = arena.Take<T>(p.input_masked ? Area(plan.seq.rows, masked_width) : 0);
  return plan;
}

template <typename T>
WeightSource<T> OpaqueSource(const Sizes<T>& s, const T* weights, const T* biases, int64_t in,
                             bool skip_input) {
  const int64_t gate_units = s.gates.count * s.units;
  WeightSource<T> src;
  src.input = {skip_input ? nullptr : weights, 1, in};
  const T* recurrent = weights + (skip_input ? 0 : gate_units * in);
  src.recurrent = {recurrent, 1, s.hidden};
  src.projection = {s.proj > 0 ? recurrent + gate_units * s.hidden : nullptr, 1, s.units};
  src.input_bias = biases;
  src.recurrent_bias = biases + gate_units;
  return src;
}

// The source of a problem with kKerasWeights.
template <typename T>
WeightSource<T> LayerSource(const RnnProblem& p, const Sizes<T>& s, const LayerWeights& layer) {
  const int64_t columns = s.gates.count * s.units;
  const T* bias = p.bias_rows > 0 ? static_cast<const T*>(layer.bias) : nullptr;
  WeightSource<T> src;
  src.input = {static_cast<const T*>(layer.kernel), columns, 1};
  src.recurrent = {static_cast<const T*>(layer.recurrent_kernel), columns, 1};
  src.projection = {nullptr, 0, 0};
  src.input_bias = bias;
  src.recurrent_bias = p.bias_rows > 1 ? bias + columns : nullptr;
  return src;
}

template <typename T>
GateMasks<T> InputMasks(const RnnProblem& p, const LayerWeights& layer) {
  if (!p.input_masked) return {};
  return {static_cast<const T*>(layer.input_mask), p.batch, p.input_size};
}

template <typename T>
GateMasks<T> RecurrentMasks(const RnnProblem& p, const LayerWeights& layer) {
  if (!p.recurrent_masked) return {};
  return {static_cast<const T*>(layer.recurrent_mask), p.batch, p.num_units};
}

// Zeroes the rows of y beyond each length.
template <typename T>
void ZeroPadding(const Sequence& seq, const RowMap<T>& y, int64_t columns,
                 const ParallelFor& parallel) {
  if (seq.rows == seq.max_time * seq.batch) return;
  Parallel(parallel, seq.batch, [&](int64_t j) {
    for (int64_t t = seq.length[j]; t < seq.max_time; ++t) {
      std::memset(y.at(t, j), 0, sizeof(T) * columns);
    }
  });
}

template <typename T>
RnnSizes ForwardSizes(const RnnProblem& p, int32_t num_threads) {
  Arena arena;
  const ForwardPlan<T> plan = MakeForwardPlan<T>(p, num_threads, arena);
  RnnSizes sizes;
  sizes.scratch_bytes = arena.bytes();
  sizes.reserve_bytes =
      p.is_training ? MakeReserve<T>(nullptr, plan.seq.rows, plan.sizes, p.num_layers).bytes() : 0;
  return sizes;
}

// The time loops of all directions of a layer.
template <typename T>
void RunForwardRecurrence(const ForwardLayer<T>& layer, const ForwardPlan<T>& plan,
                          const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  const Sequence& seq = *layer.seq;
  const int64_t slices = plan.split.slices;
  const int64_t lanes = plan.split.lanes;
  if (lanes == 1) {
    Parallel(parallel, s.num_dirs * slices, [&](int64_t i) {
      const int d = static_cast<int>(i / slices);
      const int64_t j0 = SliceBegin(seq, slices, i % slices);
      const int64_t j1 = SliceBegin(seq, slices, i % slices + 1);
      const int64_t at = (i % slices) * kChunkRows + j0;
      RunForwardSlice(ForwardSlice<T>(layer, d, j0, j1, Shift(layer.pointers[d], at),
                                      layer.keep ? nullptr : plan.ring[d] + at * s.gate_row),
                      s);
    });
    return;
  }
  Stages stages[2] = {Stages(lanes), Stages(lanes)};
  const int64_t rows = kChunkRows + seq.batch;
  auto slice_of = [&](int d, int64_t lane) {
    return ForwardSlice<T>(layer, d, 0, seq.batch, Shift(layer.pointers[d], lane * rows),
                           plan.ring[d]);
  };
  if (layer.recurrent_masks) {
    for (int d = 0; d < s.num_dirs; ++d) slice_of(d, 0).MaskInitialStates();
  }
  Parallel(parallel, s.num_dirs * lanes, [&](int64_t i) {
    // Directions first, so that few threads still spread over both.
    const int d = static_cast<int>(i % s.num_dirs);
    const int64_t lane = i / s.num_dirs;
    RunForwardLane(slice_of(d, lane), s, lane, lanes, &stages[d]);
  });
  for (int d = 0; d < s.num_dirs; ++d) slice_of(d, 0).Finish();
}

template <typename T>
void PackForwardWeights(const ForwardLayer<T>& layer, int64_t in, const ParallelFor& parallel) {
  const Sizes<T>& s = layer.sizes;
  if (layer.direct) {
    for (int d = 0; d < s.num_dirs; ++d) {
      for (int64_t u = 0; u < s.blocks; ++u) {
        PackBias(s, layer.dirs[d].source, u, layer.dirs[d].weights);
      }
    }
    return;
  }
  const int64_t items = PackItems(s);
  Parallel(parallel, s.num_dirs * items, [&](int64_t i) {
    const ForwardDirection<T>& dir = layer.dirs[i / items];
    PackItem(s, dir.source, in, i % items, dir.weights);
  });
}

template <typename T>
int32_t Forward(const RnnForwardArgs& args) {
  const RnnProblem& p = args.problem;
  Arena arena(args.scratch);
  ForwardPlan<T> plan = MakeForwardPlan<T>(p, args.parallel.num_threads, arena);
  const Sizes<T>& s = plan.sizes;
  const Sequence& seq = plan.seq;
  Reserve<T> reserve = MakeReserve<T>(args.reserve, seq.rows, s, p.num_layers);
  if (p.is_training) {
    reserve.ClearGaps();
    const ReserveHeader header = {kReserveMagic,
                                  kReserveVersion,
                                  kLanes<T> * sizeof(T),
                                  Fingerprint(p),
                                  {p.dropout_key[0], p.dropout_key[1]}};
    std::memcpy(reserve.header, &header, sizeof(header));
  }

  ForwardLayer<T> layer = plan.layer;
  layer.seq = &seq;
  layer.sizes = s;
  layer.h0 = MakeStateRows(p, static_cast<const T*>(args.h0), s.hidden);
  layer.c0 = MakeStateRows(p, static_cast<const T*>(args.c0), s.units);
  layer.h_n = MakeStateRows(p, static_cast<T*>(args.h_n), s.hidden);
  layer.c_n = MakeStateRows(p, static_cast<T*>(args.c_n), s.units);
  layer.keep = p.is_training && !s.dense;
  layer.direct = IsDirect(p);
  layer.input_masks = InputMasks<T>(p, args.layer);
  layer.recurrent_masks = RecurrentMasks<T>(p, args.layer);
  layer.masked_x = plan.masked_x;

  const RowMap<T> user_y = UserRows(seq, static_cast<T*>(args.y), s.output);
  ZeroPadding(seq, user_y, s.output, args.parallel);
  ParamCursor cursor = MakeParamCursor(p, s);
  const T* params = static_cast<const T*>(args.params);
  layer.x = UserRows(seq, static_cast<const T*>(args.x), p.input_size);
  if (layer.input_masks) {
    MaskRows(seq, layer.input_masks, s.gates.input, plan.masked_x, args.parallel,
             [&](int64_t t, int64_t j) { return layer.x.at(t, j); });
  }

  for (int64_t l = 0; l < p.num_layers; ++l) {
    layer.in = l == 0 ? p.input_size : s.output;
    layer.skip_input = l == 0 && p.skip_input != 0;
    layer.first_pseudo_layer = l * p.num_dirs;
    const int64_t weight_in = layer.skip_input ? 0 : layer.in;
    T* inner = nullptr;
    if (l + 1 == p.num_layers) {
      layer.y = user_y;
    } else {
      inner = p.is_training ? reserve.LayerOutput(l) : plan.between[l % 2];
      layer.y = PackedRows(seq, inner, s.output);
    }
    for (int d = 0; d < p.num_dirs; ++d) {
      layer.dirs[d].source =
          p.weight_layout == kKerasWeights
              ? LayerSource(p, s, args.layer)
              : OpaqueSource(s, params + cursor.weights, params + cursor.biases, weight_in,
                             layer.skip_input);
      cursor.Next(weight_in);
      if (layer.keep) {
        const auto kept = reserve.At(layer.first_pseudo_layer + d);
        layer.dirs[d].gates = kept.gates;
        layer.dirs[d].c = kept.c;
      }
    }
    PackForwardWeights(layer, weight_in, args.parallel);
    RunForwardRecurrence(layer, plan, args.parallel);
    if (l + 1 == p.num_layers) break;
    if (p.is_training && p.dropout > 0) {
      DropRows<T>(p, seq, l, s.output, inner, plan.dropped, args.parallel);
      layer.x = PackedRows(seq, static_cast<const T*>(plan.dropped), s.output);
    } else {
      layer.x = PackedRows(seq, static_cast<const T*>(inner), s.output);
    }
  }
  return 0;
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_RNN_FORWARD_H_
