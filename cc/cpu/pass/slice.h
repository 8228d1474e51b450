// What the slices of both passes share: sorted rows of one direction of a layer, on their way
// through time.
#ifndef TF_RNN_OPS_CC_CPU_PASS_SLICE_H_
#define TF_RNN_OPS_CC_CPU_PASS_SLICE_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/core/machine/stages.h"
#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The row pointers of a slice: a struct of arrays whose ForEach(fn) calls fn(array) for each.
template <typename Pointers>
Pointers TakePointers(Arena& arena, int64_t rows) {
  Pointers p;
  p.ForEach([&](auto*& array) {
    array = arena.Take<std::remove_pointer_t<std::remove_reference_t<decltype(array)>>>(rows);
  });
  return p;
}

// The arrays from row `rows` on.
template <typename Pointers>
Pointers Shift(Pointers p, int64_t rows) {
  p.ForEach([&](auto*& array) { array += rows; });
  return p;
}

// Sorted rows [j0, j1) of direction d.
struct SlicePlace {
  int d;
  int64_t j0, j1;
  int64_t number;  // of the slice
  int64_t worker;  // of the threads that share it; each has an object with pointers of its own
};

template <typename T, typename Layer>
class Slice {
 protected:
  using Direction = std::remove_reference_t<decltype(Layer::dirs[0])>;
  using Pointers = std::remove_reference_t<decltype(Layer::pointers[0])>;

  // Its row pointers are those of the layer from `first_pointer` on.
  Slice(const Layer& layer, const SlicePlace& place, int64_t first_pointer)
      : layer_(layer),
        seq_(*layer.seq),
        s_(layer.sizes),
        dir_(layer.dirs[place.d]),
        d_(place.d),
        pseudo_layer_(layer.first_pseudo_layer + place.d),
        y_at_(place.d * layer.sizes.hidden),
        j0_(place.j0),
        j1_(place.j1),
        p_(Shift(layer.pointers[place.d], first_pointer)),
        steps_(j0_ < j1_ ? seq_.length[j0_] : 0) {}

  // Rows that are alive at step t.
  int64_t Alive(int64_t t) const { return std::min(j1_, seq_.alive(t)) - j0_; }

  const Layer& layer_;
  const Sequence& seq_;
  const Sizes<T>& s_;
  const Direction& dir_;
  const int d_;
  const int64_t pseudo_layer_;
  const int64_t y_at_;
  const int64_t j0_, j1_;
  const Pointers p_;
  const int64_t steps_;  // of the longest row
};

// The time loops of all directions of a layer. make(place) gives a slice, whose Begin() and
// Finish() one thread calls, and between them RunStage(stage, share) for each of its
// stages() and each share of the units. Each thread has slices of its own, or the threads share the
// units of the only slice and synchronize after each stage (Note [Stages]).
template <typename Make>
void RunSlices(const Sequence& seq, int64_t num_dirs, const Split& split,
               const ParallelFor& parallel, Make&& make) {
  if (split.shares == 1) {
    Parallel(parallel, num_dirs * split.slices, split.ns, [&](int64_t i) {
      const int64_t number = i % split.slices;
      auto slice =
          make(SlicePlace{static_cast<int>(i / split.slices), SliceBegin(seq, split.slices, number),
                          SliceBegin(seq, split.slices, number + 1), number, 0});
      slice.Begin();
      for (int64_t stage = 0; stage < slice.stages(); ++stage) slice.RunStage(stage, Share());
      slice.Finish();
    });
    return;
  }
  Stages stages[2] = {Stages(split.shares), Stages(split.shares)};
  auto slice_of = [&](int64_t d, int64_t worker) {
    return make(SlicePlace{static_cast<int>(d), 0, seq.batch, 0, worker});
  };
  for (int64_t d = 0; d < num_dirs; ++d) slice_of(d, 0).Begin();
  Parallel(parallel, num_dirs * split.shares, split.ns, [&](int64_t i) {
    // Directions first, so that few threads still spread over both.
    const int64_t worker = i / num_dirs;
    auto slice = slice_of(i % num_dirs, worker);
    stages[i % num_dirs].Run(worker, slice.stages(), [&](int64_t stage, int64_t k) {
      slice.RunStage(stage, Share{k, split.shares});
    });
  });
  for (int64_t d = 0; d < num_dirs; ++d) slice_of(d, 0).Finish();
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_SLICE_H_
