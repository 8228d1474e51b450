// The time loop of one layer, forwards.
//
// Note [Forward recurrence]
// A slice is a range of sorted rows of one direction. It alternates between the input product of a
// step block (as many steps as have about kStepBlockRows rows, so that their gate rows are still in
// cache) and the steps themselves. Threads either take a slice each, or share the units of the only
// one and meet at each step (Note [Stages]).
#ifndef TF_RNN_OPS_CC_CPU_PASS_FORWARD_RECURRENCE_H_
#define TF_RNN_OPS_CC_CPU_PASS_FORWARD_RECURRENCE_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cc/core/machine/stages.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/forward/layer.h"
#include "cc/cpu/pass/forward/slice.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/memory/slice_pointers.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Rows of the ring of one direction, and of its pointers for each thread; `rows`: R.
inline int64_t RingRows(const Split& split, int64_t batch, int64_t rows) {
  const int64_t of_blocks = split.slices * kStepBlockRows + batch;
  return split.slices == 1 ? std::min(of_blocks, rows) : of_blocks;
}

// What follows the recurrent product of a step where all units must have it before.
template <typename T, typename E>
void RunSecondStage(ForwardSlice<T, E>& slice, const Sizes<T>& s, int64_t step, int64_t share,
                    int64_t shares) {
  if (s.cell.whole_rows) return slice.FinishWholeRows(step, share, shares);
  const int64_t panels = DensePanels<T>(s.second);
  slice.SecondProduct(step, panels * share / shares, panels * (share + 1) / shares);
}

// A whole slice by one thread.
template <typename T, typename E>
void RunForwardSlice(ForwardSlice<T, E> slice, const Sizes<T>& s) {
  slice.LoadStates(0, s.panels());
  slice.CopyInitialStates();
  for (int64_t step = 0; step < slice.steps(); ++step) {
    slice.Step(step, 0, s.panels());
    if (s.has_two_stages()) RunSecondStage(slice, s, step, 0, 1);
  }
  slice.Finish();
}

// All rows of a direction, in shares of the units.
template <typename T, typename E>
void RunForwardShares(ForwardSlice<T, E> slice, const Sizes<T>& s, int64_t worker, int64_t shares,
                      Stages* stages) {
  const int64_t panels = s.panels();
  const int64_t per_step = s.has_two_stages() ? 2 : 1;
  stages->Run(worker, slice.steps() * per_step, [&](int64_t stage, int64_t share) {
    const int64_t step = stage / per_step;
    if (stage % per_step == 1) {
      RunSecondStage(slice, s, step, share, shares);
      return;
    }
    const int64_t panel0 = panels * share / shares;
    const int64_t panel1 = panels * (share + 1) / shares;
    if (step == 0) slice.LoadStates(panel0, panel1);
    slice.Step(step, panel0, panel1);
  });
}

// What the recurrent product of a layer reads.
template <typename T, typename E>
HiddenOperand ReadsOf(const ForwardLayer<T, E>& layer) {
  if (layer.rounded_y) return HiddenOperand::kRoundedY;
  return Operands<T, E>::kRounded || layer.recurrent_masks ? HiddenOperand::kCopy
                                                           : HiddenOperand::kH;
}

// The runner of a cell, whose tensors outlive it.
template <typename Cell, typename T, typename E>
CellRunner<T, E> CellRunnerOf(HiddenOperand reads,
                              const typename Cell::template Tensors<T>* tensors) {
  using Slice = ForwardSlice<T, E>;
  constexpr CellFormat kFormat = Cell::Format(kOpaqueWeights);
  constexpr bool kRareModes = Operands<T, E>::kRareModes;
  CellRunner<T, E> runner;
  runner.tensors = tensors;
  if constexpr (kFormat.whole_rows && kRareModes) {
    runner.run = &Slice::ProductOfWholeRows;
    runner.finish_whole_rows = &Slice::template CellsOfWholeRows<Cell>;
  } else if constexpr (!kFormat.whole_rows && (kRareModes || kFormat.pairs)) {
    runner.run = reads == HiddenOperand::kRoundedY ? &Slice::template RunCells<Cell, TensorOf<T, E>>
                                                   : &Slice::template RunCells<Cell, T>;
    if constexpr (kFormat.has_second()) {
      runner.after_second = &Slice::template CellsAfterSecond<Cell>;
    }
  }
  return runner;
}

// The time loops of all directions of a layer.
template <typename T, typename E>
void RunForwardRecurrence(const ForwardLayer<T, E>& layer, const Split& split,
                          const ParallelFor& parallel) {
  using Slice = ForwardSlice<T, E>;
  const Sizes<T>& s = layer.sizes;
  const Sequence& seq = *layer.seq;
  if (split.shares == 1) {
    Parallel(parallel, s.num_dirs * split.slices, split.ns, [&](int64_t i) {
      const int d = static_cast<int>(i / split.slices);
      const int64_t slice = i % split.slices;
      const int64_t j0 = SliceBegin(seq, split.slices, slice);
      const int64_t j1 = SliceBegin(seq, split.slices, slice + 1);
      const int64_t at = slice * kStepBlockRows + j0;
      T* const ring = layer.dirs[d].ring;
      RunForwardSlice(Slice(layer, d, j0, j1, Shift(layer.pointers[d], at),
                            ring == nullptr ? nullptr : ring + at * s.gate_row),
                      s);
    });
    return;
  }
  Stages stages[2] = {Stages(split.shares), Stages(split.shares)};
  const int64_t rows = RingRows(split, seq.batch, seq.rows);
  auto slice_of = [&](int d, int64_t worker) {
    return Slice(layer, d, 0, seq.batch, Shift(layer.pointers[d], worker * rows),
                 layer.dirs[d].ring);
  };
  for (int d = 0; d < s.num_dirs; ++d) slice_of(d, 0).CopyInitialStates();
  Parallel(parallel, s.num_dirs * split.shares, split.ns, [&](int64_t i) {
    // Directions first, so that few threads still spread over both.
    const int d = static_cast<int>(i % s.num_dirs);
    const int64_t worker = i / s.num_dirs;
    RunForwardShares(slice_of(d, worker), s, worker, split.shares, &stages[d]);
  });
  for (int d = 0; d < s.num_dirs; ++d) slice_of(d, 0).Finish();
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_FORWARD_RECURRENCE_H_
