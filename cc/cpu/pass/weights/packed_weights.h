// The packed weights of a pseudo-layer, and the items of work that pack them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

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

// The number of items of work that pack one pseudo-layer.
template <typename T>
int64_t PackItems(const Sizes<T>& s) {
  return s.panels() + (s.has_second_product() ? DensePanels<T>(s.second_columns) : 0);
}

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

// The panels that an item packs, and their K in operands.
template <typename E>
struct ItemPanels {
  E *input, *recurrent;  // null for an item of the second product
  E* second;             // null for the other items
  int64_t input_depth, recurrent_depth;
};

template <typename E, typename T>
ItemPanels<E> PanelsOfItemOf(const Sizes<T>& s, int64_t in, int64_t item,
                             const PackedWeights<T>& w) {
  constexpr int V = kLanes<T>;
  ItemPanels<E> p = {nullptr, nullptr, nullptr, OperandsOf<E>(in), OperandsOf<E>(s.hidden)};
  auto at = [](char* panels, int64_t operand) { return reinterpret_cast<E*>(panels) + operand; };
  if (item >= s.panels()) {
    p.second = at(w.second, DensePanelOffset<T>(OperandsOf<E>(s.units), item - s.panels()));
    return p;
  }
  const int64_t input_vectors = s.dense ? 4 : s.cell.input.count;
  const int64_t recurrent_vectors = s.dense ? 4 : s.cell.recurrent.count;
  p.input = at(w.input, item * p.input_depth * input_vectors * V);
  p.recurrent = at(w.recurrent, item * p.recurrent_depth * recurrent_vectors * V);
  return p;
}

// Writes the headers of the panels of an item (Note [Quads]).
inline void PackItemScales(const Sizes<float>& s, const WeightScales& scales, int64_t item,
                           const ItemPanels<Quad>& panels) {
  constexpr int V = kLanes<float>;
  auto dense = [](const float* of, int64_t columns, int64_t p, Quad* panel) {
    const int nv = PanelVectors(CeilDiv(columns, V), p);
    for (int v = 0; v < nv; ++v) {
      const int64_t n0 = (4 * p + v) * V;
      PackScales(of + n0, columns - n0, panel + v * V);
    }
  };
  auto gates = [&](const float* of, const GateOrder& order, Quad* panel) {
    for (int g = 0; g < order.count; ++g) {
      PackScales(of + order.source[g] * s.units + item * V, s.units - item * V, panel + g * V);
    }
  };
  if (panels.second != nullptr) {
    dense(scales.second, s.second_columns, item - s.panels(), panels.second);
  } else if (s.dense) {
    dense(scales.input, s.units, item, panels.input);
    dense(scales.recurrent, s.units, item, panels.recurrent);
  } else {
    gates(scales.input, s.cell.input, panels.input);
    gates(scales.recurrent, s.cell.recurrent, panels.recurrent);
  }
}

// Packs an item of the weights as operands E.
template <typename E, typename T>
void PackItemAs(const Sizes<T>& s, const WeightSource<T>& source, int64_t in, int64_t item,
                const PackedWeights<T>& w) {
  const auto& src = source.template For<E>();
  const ItemPanels<E> panels = PanelsOfItemOf<E>(s, in, item, w);
  if constexpr (std::is_same_v<E, Quad>) PackItemScales(s, src.scales, item, panels);
  if (panels.second != nullptr) {
    PackDensePanel(src.second, s.units, s.second_columns, item - s.panels(), panels.second);
    return;
  }
  const bool has_input = src.input.data != nullptr;
  if (s.dense) {
    if (has_input) PackDensePanel(src.input, in, s.units, item, panels.input);
    PackDensePanel(src.recurrent, s.hidden, s.units, item, panels.recurrent);
  } else {
    if (has_input) PackGatePanel(src.input, in, s.units, s.cell.input, item, panels.input);
    PackGatePanel(src.recurrent, s.hidden, s.units, s.cell.recurrent, item, panels.recurrent);
  }
  const Range blocks = s.BlocksOf(item, item + 1);
  for (int64_t u = blocks.begin; u < blocks.end; ++u) PackBias(s, src, u, w);
}

template <typename T>
void PackItem(const Sizes<T>& s, const WeightSource<T>& source, int64_t in, int64_t item,
              const PackedWeights<T>& w) {
  WithOperand<T>(s.operands, [&](auto e) { PackItemAs<decltype(e)>(s, source, in, item, w); });
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
      const WeightSource<T> source = SourceOf(p_, s_, args.tensors, l, d);
      const int64_t in = OffsetsOf(p_, s_).Input(l);
      Parallel(args.parallel, PackItems(s_), NsToMove(PanelBytes(s_, in)),
               [&](int64_t item) { PackItem(s_, source, in, item, weights); });
    });
    return kDone;
  }

 private:
  const RnnProblem& p_;
  const Sizes<T> s_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
