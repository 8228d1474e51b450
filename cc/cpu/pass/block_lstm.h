// BlockLSTMV2 and its gradient: one layer and one direction. All sequences have seq_len steps, so
// the rows of the op's tensors [T, B, H] have the same order as packed rows.
#pragma once

#include <cstdint>
#include <cstring>

#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/pass.h"
#include "cc/cpu/pass/backward/products.h"
#include "cc/cpu/pass/backward/slice.h"
#include "cc/cpu/pass/forward/pass.h"
#include "cc/cpu/pass/forward/slice.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/pass/weights/weights.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Returns fn(the cell of the problem).
template <typename F>
auto WithBlockLstm(const BlockLstmProblem& p, F&& fn) {
  if (p.use_peephole) return fn(BlockLstm<true>());
  return fn(BlockLstm<false>());
}

// The computed steps, as the problem of a stack in inference. The LSTM of the stack has the same
// gates and sizes, so the memory of its plan serves the passes of BlockLSTMV2.
inline RnnProblem StackOf(const BlockLstmProblem& p) {
  RnnProblem stack;
  stack.dtype = p.dtype;
  stack.is_training = false;
  stack.num_units = p.num_units;
  stack.input_size = p.input_size;
  stack.max_time = p.seq_len;
  stack.batch = p.batch;
  stack.lengths.sum = p.seq_len * p.batch;
  return stack;
}

// Views of w [I + H, 4*H] with columns i, f, ci, o.
template <typename W, typename T>
WeightViews<W> BlockLstmViews(const BlockLstmProblem& p, const Sizes<T>& s, W* w, W* b) {
  return MatrixViews(s, w, w + p.input_size * s.gate_units(), b, /*bias_rows=*/1,
                     /*projection=*/static_cast<W*>(nullptr));
}

template <typename T>
void SetPeepholes(const BlockLstmArgs& args, const Sizes<T>& s, T* padded,
                  BlockLstmTensors<T>* tensors) {
  if (!args.problem.use_peephole) return;
  const CallTensors& t = *args.tensors;
  tensors->wci = PadPeepholes({t.in<T>(Arg::wci), t.in<T>(Arg::wcf), t.in<T>(Arg::wco)}, s, padded);
  tensors->wcf = padded + s.padded;
  tensors->wco = padded + 2 * s.padded;
}

// Zeroes the rows of `columns` elements of the steps from seq_len on.
template <typename T>
void ZeroRest(const BlockLstmProblem& p, T* tensor, int64_t columns) {
  const int64_t done = p.seq_len * p.batch * columns;
  const int64_t rest = (p.max_time - p.seq_len) * p.batch * columns;
  if (rest > 0) std::memset(tensor + done, 0, sizeof(T) * rest);
}

// The rows of a state [B, H].
template <typename T>
StateRows<T> BlockState(const BlockLstmProblem& p, T* tensor) {
  return {tensor, p.num_units, 0, 1};
}

// The common part of both passes. Their plan is the plan of a stack.
template <typename T, typename Plan>
class BlockLstmPass {
 public:
  template <typename... More>
  explicit BlockLstmPass(const BlockLstmArgs& args, More... more)
      : p_(args.problem), stack_(StackOf(p_)), plan_(stack_, args.parallel.threads, more...) {}

  // Measures or allocates the memory.
  void Take(Arena& arena) {
    plan_.Take(stack_, arena);
    peepholes_ = arena.Take<T>(3 * plan_.layer.sizes.padded);
  }
  ReserveSizes reserve_sizes() const { return {}; }
  bool ReadsAsIs(Arg) const { return false; }
  bool WritesAsIs(Arg) const { return false; }

 protected:
  const BlockLstmProblem& p_;
  const RnnProblem stack_;
  Plan plan_;
  T* peepholes_ = nullptr;  // [3, padded]
};

// The implementation of block_lstm_forward in the kernel table.
template <typename T>
class BlockLstmForwardPass : public BlockLstmPass<T, ForwardPlan<T>> {
  using Base = BlockLstmPass<T, ForwardPlan<T>>;
  using Base::p_, Base::peepholes_, Base::plan_;

 public:
  explicit BlockLstmForwardPass(const BlockLstmArgs& args) : Base(args, /*packs=*/true) {}

  KernelResult Run(const BlockLstmArgs& args, void*) {
    const CallTensors& t = *args.tensors;
    ForwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    auto out = [&t](Arg arg) { return t.out<T>(arg); };
    layer.in = p_.input_size;
    layer.operand_x = AsOperands(UserRows(plan_.seq, t.in<T>(Arg::x), p_.input_size));
    layer.y = UserRows(plan_.seq, out(Arg::h), p_.num_units);
    layer.h0 = BlockState(p_, t.in<T>(Arg::h_prev));
    layer.c0 = BlockState(p_, t.in<T>(Arg::cs_prev));
    layer.c_row = p_.num_units;
    layer.dirs[0].c = out(Arg::cs);
    layer.dirs[0].weights.source.exact = BlockLstmViews(p_, s, t.in<T>(Arg::w), t.in<T>(Arg::b));
    BlockLstmTensors<T> tensors = {};
    tensors.clip = p_.cell_clip > 0 ? static_cast<T>(p_.cell_clip) : T(0);
    tensors.i = out(Arg::i);
    tensors.f = out(Arg::f);
    tensors.o = out(Arg::o);
    tensors.ci = out(Arg::ci);
    tensors.co = out(Arg::co);
    SetPeepholes(args, s, peepholes_, &tensors);
    PackForwardWeights(layer, p_.input_size, plan_.split, args.parallel);
    layer.cells =
        WithBlockLstm(p_, [&](auto cell) { return CellRunnerOf<decltype(cell)>(layer, &tensors); });
    RunForwardRecurrence(layer, plan_.split, args.parallel);
    for (Arg arg : {Arg::i, Arg::cs, Arg::f, Arg::o, Arg::ci, Arg::co, Arg::h}) {
      ZeroRest(p_, out(arg), p_.num_units);
    }
    return kDone;
  }
};

// The implementation of block_lstm_backward in the kernel table.
template <typename T>
class BlockLstmBackwardPass : public BlockLstmPass<T, BackwardPlan<T>> {
  using Base = BlockLstmPass<T, BackwardPlan<T>>;
  using Base::p_, Base::peepholes_, Base::plan_;

 public:
  explicit BlockLstmBackwardPass(const BlockLstmArgs& args) : Base(args) {}

  KernelResult Run(const BlockLstmArgs& args, void*) {
    const CallTensors& t = *args.tensors;
    BackwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    SetRows(t);
    BlockLstmTensors<T> tensors = {};
    // The backward pass only reads these tensors; they are outputs of the forward pass.
    auto read = [&t](Arg arg) { return const_cast<T*>(t.in<T>(arg)); };
    tensors.i = read(Arg::i);
    tensors.f = read(Arg::f);
    tensors.o = read(Arg::o);
    tensors.ci = read(Arg::ci);
    tensors.co = read(Arg::co);
    tensors.cs_grad = t.in<T>(Arg::cs_grad);
    SetPeepholes(args, s, peepholes_, &tensors);
    WeightSource<T> source = {};
    source.exact = BlockLstmViews(p_, s, t.in<T>(Arg::w), t.in<T>(Arg::b));
    const WeightViews<T> target = BlockLstmViews(p_, s, t.out<T>(Arg::w), t.out<T>(Arg::b));
    ZeroRest(p_, t.out<T>(Arg::x), p_.input_size);
    PackBackwardWeights(layer, &source, plan_.split, args.parallel);
    layer.cells =
        WithBlockLstm(p_, [&](auto cell) { return GradientRunnerOf<decltype(cell)>(&tensors); });
    RunBackwardRecurrence(layer, plan_.split, args.parallel);
    RunBackwardProducts(layer, &target, args.parallel);
    if (p_.use_peephole) {
      PeepholeGradients(layer, {t.out<T>(Arg::wci), t.out<T>(Arg::wcf), t.out<T>(Arg::wco)},
                        args.parallel);
    } else {
      for (Arg arg : {Arg::wci, Arg::wcf, Arg::wco}) {
        std::memset(t.out<T>(arg), 0, sizeof(T) * s.units);
      }
    }
    return kDone;
  }

 private:
  void SetRows(const CallTensors& t) {
    BackwardLayer<T>& layer = plan_.layer;
    const Sequence& seq = plan_.seq;
    layer.in = p_.input_size;
    layer.x = UserRows(seq, t.in<T>(Arg::x), p_.input_size);
    layer.y = UserRows(seq, t.in<T>(Arg::h), p_.num_units);
    layer.dy = UserRows(seq, t.in<T>(Arg::h_grad), p_.num_units);
    layer.dx = UserRows(seq, t.out<T>(Arg::x), p_.input_size);
    layer.h0 = BlockState(p_, t.in<T>(Arg::h_prev));
    layer.c0 = BlockState(p_, t.in<T>(Arg::cs_prev));
    layer.dh0 = BlockState(p_, t.out<T>(Arg::h_prev));
    layer.dc0 = BlockState(p_, t.out<T>(Arg::cs_prev));
    layer.c_row = p_.num_units;
    layer.dirs[0].c = t.in<T>(Arg::cs);
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
