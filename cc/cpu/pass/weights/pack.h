// Packs the weights of inference once, separately from the calls that use them.
//
// Note [Packed weights]
// Packed weights are the PackedWeights of every pseudo-layer in order, in the type of the operands.
// The forward pass packs unpacked weights in the same format. Packed weights depend on the cell, on
// the sizes of the stack and on the vectors of the instruction set. They do not depend on T and B,
// nor on the layout of the unpacked weights (a buffer of params or the tensors of Keras).
#ifndef TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PACK_H_
#define TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PACK_H_

#include <cstdint>

#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/rows/arena.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Calls fn(weights, layer, direction) for every pseudo-layer.
template <typename T, typename E, typename F>
void ForEachPacked(const RnnProblem& p, const Sizes<T>& s, Arena& arena, F&& fn) {
  for (int64_t l = 0; l < p.num_layers; ++l) {
    const int64_t in = OffsetsOf(p, s).Input(l);
    for (int d = 0; d < p.num_dirs(); ++d) fn(TakePackedWeights<T, E>(arena, s, in), l, d);
  }
}

// The number of bytes of all packed weights.
template <typename T, typename E = T>
int64_t AllPackedBytes(const RnnProblem& p) {
  Arena arena;
  ForEachPacked<T, E>(p, MakeSizes<T>(p), arena, [](const PackedWeights<T, E>&, int64_t, int) {});
  return arena.bytes();
}

// The implementation of rnn_pack in the kernel table.
template <typename T, typename E = T>
class PackPass {
 public:
  explicit PackPass(const RnnArgs& args) : p_(args.problem) {}

  void Take(Arena&) {}
  int64_t reserve_bytes() const { return 0; }
  bool ReadsAsIs(Arg arg) const { return !IsPackable(arg) || Operands<T, E>::kRounded; }
  bool WritesAsIs(Arg) const { return false; }  // `panels` are not a tensor of the call

  KernelResult Run(const RnnArgs& args, void*) {
    const Sizes<T> s = MakeSizes<T>(p_);
    Arena arena = Arena::WithClearGaps(args.panels);
    ForEachPacked<T, E>(p_, s, arena, [&](const PackedWeights<T, E>& weights, int64_t l, int d) {
      const WeightsOf<T, E> source = SourceOf<E>(p_, s, args.tensors, l, d);
      const int64_t in = OffsetsOf(p_, s).Input(l);
      Parallel(args.parallel, PackItems(s), NsToMove(PanelBytes<T, E>(s, in)),
               [&](int64_t item) { PackItem(s, source, in, item, weights); });
    });
    return kDone;
  }

 private:
  const RnnProblem& p_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_WEIGHTS_PACK_H_
