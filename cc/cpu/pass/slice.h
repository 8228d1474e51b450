// The common part of the slices of both passes. A slice runs sorted sequences of one direction of a
// layer through time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/core/runtime/stages.h"
#include "cc/cpu/heuristics.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Allocates the row pointers of a slice: a struct of arrays whose ForEach(fn) calls fn(array) for
// each.
template <typename Pointers>
Pointers TakePointers(Arena& arena, int64_t rows) {
  Pointers p;
  p.ForEach([&](auto*& array) {
    array = arena.Take<std::remove_pointer_t<std::remove_reference_t<decltype(array)>>>(rows);
  });
  return p;
}

// The arrays without their first `rows` elements.
template <typename Pointers>
Pointers Shift(Pointers p, int64_t rows) {
  p.ForEach([&](auto*& array) { array += rows; });
  return p;
}

// Sorted sequences [j0, j1) of direction d.
struct SliceRange {
  int d;
  int64_t j0, j1;
  int64_t number;  // index of the slice
  int64_t worker;  // number of the thread; each thread has its own object and pointers
};

template <typename T, typename Layer>
class Slice {
 protected:
  using Direction = std::remove_reference_t<decltype(Layer::dirs[0])>;
  using Pointers = std::remove_reference_t<decltype(Layer::pointers[0])>;

  // The row pointers are the pointers of the layer, beginning at `first_pointer`.
  Slice(const Layer& layer, const SliceRange& range, int64_t first_pointer)
      : layer_(layer),
        seq_(*layer.seq),
        s_(layer.sizes),
        dir_(layer.dirs[range.d]),
        d_(range.d),
        pseudo_layer_(layer.first_pseudo_layer + range.d),
        y_at_(range.d * layer.sizes.hidden),
        j0_(range.j0),
        j1_(range.j1),
        p_(Shift(layer.pointers[range.d], first_pointer)),
        steps_(j0_ < j1_ ? seq_.length[j0_] : 0) {}

  // The number of sequences that are active at step t.
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
  const int64_t steps_;  // steps of the longest sequence
};

// Runs the time loops of all directions of a layer. make(range) returns a slice. One thread calls
// its Begin() and Finish(). Between these calls, threads call RunStage(stage, share) for each of
// its stages() and each partition of the units. Either each thread runs its own slices, or the
// threads split the units of the only slice and synchronize after each stage (Note [Stages]).
template <typename Make>
void RunSlices(const Sequence& seq, int64_t num_dirs, const Split& split,
               const ParallelFor& parallel, Make&& make) {
  if (split.shares == 1) {
    Parallel(parallel, num_dirs * split.slices, split.ns, [&](int64_t i) {
      const int64_t number = i % split.slices;
      auto slice =
          make(SliceRange{static_cast<int>(i / split.slices), SliceBegin(seq, split.slices, number),
                          SliceBegin(seq, split.slices, number + 1), number, 0});
      slice.Begin();
      const int64_t stages = slice.stages();
      for (int64_t stage = 0; stage < stages; ++stage) slice.RunStage(stage, Share());
      slice.Finish();
    });
    return;
  }
  Stages stages[2] = {Stages(split.shares), Stages(split.shares)};
  auto slice_of = [&](int64_t d, int64_t worker) {
    return make(SliceRange{static_cast<int>(d), 0, seq.batch, 0, worker});
  };
  for (int64_t d = 0; d < num_dirs; ++d) slice_of(d, 0).Begin();
  Parallel(parallel, num_dirs * split.shares, split.ns, [&](int64_t i) {
    // The direction is the fastest index, so that few threads still run both directions.
    const int64_t worker = i / num_dirs;
    auto slice = slice_of(i % num_dirs, worker);
    stages[i % num_dirs].Run(worker, slice.stages(), [&](int64_t stage, int64_t k) {
      slice.RunStage(stage, Share{k, split.shares});
    });
  });
  for (int64_t d = 0; d < num_dirs; ++d) slice_of(d, 0).Finish();
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
