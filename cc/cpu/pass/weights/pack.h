// Packs the weights of inference once, separately from the calls that use them.
//
// Note [Packed weights]
// Packed weights are the PackedWeights of every pseudo-layer in order, in the type of the operands.
// The forward pass packs unpacked weights in the same format. Packed weights depend on the cell, on
// the sizes of the stack and on the vectors of the instruction set. They do not depend on T and B,
// nor on the layout of the unpacked weights (a buffer of params or the tensors of Keras).
#pragma once

#include <cstdint>

#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/rows/arena.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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
