// The packed weights of a pseudo-layer, and the items of work that pack them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/core/checked_math.h"
#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The packed weights of a pseudo-layer for the forward pass. Panels consist of operands.
template <typename T>
struct PackedWeights {
  char* input;      // gate (or dense) panels [K = in]
  char* recurrent;  // gate (or dense) panels [K = S]
  char* second;     // dense panels [K = H] of the second product
  T* bias;          // [panel][NV][V] for the input product: the sum of both biases if possible
  T* split_bias;    // [u][V], the recurrent bias of CellFormat::split_bias
};

template <typename T>
PackedWeights<T> TakePackedBiases(Arena& arena, const Sizes<T>& s) {
  PackedWeights<T> w = {};
  w.bias = arena.Take<T>(s.blocks * s.cell.input.count * kLanes<T>);
  w.split_bias = arena.Take<T>(s.cell.splits_bias() ? s.padded : 0);
  return w;
}

template <typename T>
PackedWeights<T> TakePackedWeights(Arena& arena, const Sizes<T>& s, int64_t in) {
  PackedWeights<T> w = TakePackedBiases(arena, s);
  const int64_t input_columns = s.blocks * s.cell.input.count * kLanes<T>;
  const int64_t recurrent_columns = s.blocks * s.cell.recurrent.count * kLanes<T>;
  auto take = [&](int64_t operands) { return TakeOperands<T>(arena, s.operands, operands); };
  w.input = take(Area(s.depth(in), input_columns));
  w.recurrent = take(Area(s.depth(s.hidden), recurrent_columns));
  w.second =
      take(s.has_second_product() ? DensePanelsSize<T>(s.depth(s.units), s.second_columns) : 0);
  return w;
}

// About the bytes of the packed matrices of one pseudo-layer, for estimates of time.
template <typename T>
int64_t PanelBytes(const Sizes<T>& s, int64_t in) {
  const int64_t rows = s.depth(in) + s.depth(s.hidden);
  return (rows * s.gate_part + s.padded * s.second_columns) * OperandBytes<T>(s.operands);
}

// The items of work that pack one pseudo-layer: ranges of panels of the gates, then the dense
// panels of the second product.
template <typename T>
class PackItems {
 public:
  PackItems(const Sizes<T>& s, const ThreadBudget& threads)
      : panels_(s.panels()),
        size_(RoundUp(PanelsOfItem(panels_, kMostPackedPanels, threads.count), kLineVectors<T, T>)),
        ranges_(CeilDiv(panels_, size_)),
        second_(s.has_second_product() ? DensePanels<T>(s.second_columns) : 0) {}

  int64_t count() const { return ranges_ + second_; }
  // The panels of an item of the gates.
  Range at(int64_t item) const { return {item * size_, std::min(panels_, (item + 1) * size_)}; }
  // The dense panel of an item of the second product; negative for the other items.
  int64_t second(int64_t item) const { return item - ranges_; }

 private:
  const int64_t panels_;
  const int64_t size_;    // panels in a range
  const int64_t ranges_;  // number of ranges
  const int64_t second_;  // number of dense panels of the second product
};

template <typename T, typename Views>
void PackBias(const Sizes<T>& s, const Views& src, int64_t block, const PackedWeights<T>& w) {
  constexpr int V = kLanes<T>;
  const int64_t n = std::min<int64_t>(V, s.units - block * V);
  const GateOrder& order = s.cell.input;
  for (int g = 0; g < order.count; ++g) {
    const int64_t at = order.source[g] * s.units + block * V;
    Packet<T> sum = Set<T>(T(0));
    if (src.input_bias != nullptr) sum = LoadWide<T>(src.input_bias + at, n);
    if (src.recurrent_bias != nullptr && order.source[g] != s.cell.split_bias) {
      sum = padd(sum, LoadWide<T>(src.recurrent_bias + at, n));
    }
    Store(w.bias + (block * order.count + g) * V, sum);
  }
  if (s.cell.splits_bias()) {
    const int64_t at = s.cell.split_bias * s.units + block * V;
    Store(w.split_bias + block * V,
          src.recurrent_bias == nullptr ? Set<T>(T(0)) : LoadWide<T>(src.recurrent_bias + at, n));
  }
}

// Writes the headers of a gate panel or of a dense panel (Note [Quads]).
inline void PackGateScales(const float* scales, int64_t units, const GateOrder& order, int64_t u,
                           Quad* panel) {
  constexpr int V = kLanes<float>;
  for (int g = 0; g < order.count; ++g) {
    PackScales(scales + order.source[g] * units + u * V, units - u * V, panel + g * V,
               order.count * V);
  }
}
inline void PackDenseScales(const float* scales, int64_t columns, int64_t p, Quad* panel) {
  constexpr int V = kLanes<float>;
  const int nv = PanelVectors(CeilDiv(columns, V), p);
  for (int v = 0; v < nv; ++v) {
    const int64_t n0 = (4 * p + v) * V;
    PackScales(scales + n0, columns - n0, panel + v * V, nv * V);
  }
}

// Packs panels of the gates of a matrix with `depth` rows. `scales` belong to quads.
template <typename E, typename W, typename T>
void PackPanels(const Sizes<T>& s, const MatrixView<const W>& src, const float* scales,
                int64_t depth, const GateOrder& order, const Range& panels, char* to) {
  if (src.data == nullptr) return;
  const int64_t size = OperandsOf<E>(depth) * (s.dense ? 4 : order.count) * kLanes<T>;
  E* panel = reinterpret_cast<E*>(to) + panels.begin * size;
  if (!s.dense) PackGatePanels(src, depth, s.units, order, panels.begin, panels.end, panel);
  for (int64_t p = panels.begin; p < panels.end; ++p, panel += size) {
    if (s.dense) PackDensePanel(src, depth, s.units, p, panel);
    if constexpr (std::is_same_v<E, Quad>) {
      if (s.dense) {
        PackDenseScales(scales, s.units, p, panel);
      } else {
        PackGateScales(scales, s.units, order, p, panel);
      }
    }
  }
}

// Packs an item of the weights as operands E.
template <typename E, typename T>
void PackItemAs(const Sizes<T>& s, const WeightSource<T>& source, int64_t in,
                const PackItems<T>& items, int64_t item, const PackedWeights<T>& w) {
  const auto& src = source.template For<E>();
  WeightScales scales = {};
  if constexpr (std::is_same_v<E, Quad>) scales = src.scales;
  if (const int64_t p = items.second(item); p >= 0) {
    E* const panel =
        reinterpret_cast<E*>(w.second) + DensePanelOffset<T>(OperandsOf<E>(s.units), p);
    PackDensePanel(src.second, s.units, s.second_columns, p, panel);
    if constexpr (std::is_same_v<E, Quad>) {
      PackDenseScales(scales.second, s.second_columns, p, panel);
    }
    return;
  }
  const Range panels = items.at(item);
  PackPanels<E>(s, src.input, scales.input, in, s.cell.input, panels, w.input);
  PackPanels<E>(s, src.recurrent, scales.recurrent, s.hidden, s.cell.recurrent, panels,
                w.recurrent);
  const Range blocks = s.BlocksOf(panels.begin, panels.end);
  for (int64_t u = blocks.begin; u < blocks.end; ++u) PackBias(s, src, u, w);
}

template <typename T>
void PackItem(const Sizes<T>& s, const WeightSource<T>& source, int64_t in,
              const PackItems<T>& items, int64_t item, const PackedWeights<T>& w) {
  WithOperand<T>(s.operands,
                 [&](auto e) { PackItemAs<decltype(e)>(s, source, in, items, item, w); });
}

// Packs the weights of inference once, separately from the calls that use them.
//
// Note [Packed weights]
// Packed weights are the PackedWeights of every pseudo-layer in order, in the type of the operands.
// The forward pass packs unpacked weights in the same format. Packed weights depend on the cell, on
// the sizes of the stack and on the vectors of the instruction set. They do not depend on T and B,
// nor on the layout of the unpacked weights (a buffer of params or the tensors of Keras).

// Calls fn(weights, layer, direction) for every pseudo-layer.
template <typename T, typename F>
void ForEachPacked(const RnnProblem& p, const Sizes<T>& s, Arena& arena, F&& fn) {
  for (int64_t l = 0; l < p.num_layers; ++l) {
    const int64_t in = OffsetsOf(p, s).Input(l);
    for (int d = 0; d < p.num_dirs(); ++d) fn(TakePackedWeights(arena, s, in), l, d);
  }
}

// The size and the elements of all packed weights.
template <typename T>
PackedFormat PackedFormatOf(const RnnProblem& p, const Sizes<T>& s) {
  Arena arena;
  ForEachPacked(p, s, arena, [](const PackedWeights<T>&, int64_t, int) {});
  return {arena.bytes(), s.operands == OperandType::kPairs   ? kPackedBFloat16Pairs
                         : s.operands == OperandType::kQuads ? kPackedInt8Quads
                         : IsHalved<T>(4)                    ? kPackedHalves
                                                             : kPackedArithmetic};
}

// The implementation of rnn_pack in the kernel table.
template <typename T>
class PackPass {
 public:
  explicit PackPass(const RnnArgs& args) : p_(args.problem), s_(MakeSizes<T>(p_)) {}

  void Take(Arena&) {}
  ReserveSizes reserve_sizes() const { return {}; }
  bool ReadsAsIs(Arg arg) const { return !IsPackable(arg) || s_.operands == OperandType::kPairs; }
  bool WritesAsIs(Arg) const { return false; }  // `panels` are not a tensor of the call

  KernelResult Run(const RnnArgs& args, void*) {
    Arena arena = Arena::WithClearGaps(args.panels);
    ForEachPacked(p_, s_, arena, [&](const PackedWeights<T>& weights, int64_t l, int d) {
      const WeightSource<T> source = SourceOf(p_, s_, *args.tensors, l, d);
      const int64_t in = OffsetsOf(p_, s_).Input(l);
      const PackItems<T> items(s_, args.parallel.threads);
      Parallel(args.parallel, items.count(), NsToPack(PanelBytes(s_, in)),
               [&](int64_t item) { PackItem(s_, source, in, items, item, weights); });
    });
    return kDone;
  }

 private:
  const RnnProblem& p_;
  const Sizes<T> s_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
