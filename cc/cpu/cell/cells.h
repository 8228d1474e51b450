// The cells of stacks, by the problem.
#ifndef TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
#define TF_RNN_OPS_CC_CPU_CELL_CELLS_H_

#include <tuple>

#include "cc/cpu/cell/gates.h"
#include "cc/cpu/cell/gru.h"
#include "cc/cpu/cell/gru_reset_before.h"
#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/cell/vanilla.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// fn(a cell of the problem's type).
template <typename F>
decltype(auto) WithCell(const RnnProblem& p, F&& fn) {
  const bool usual =
      p.activation == Activation::kTanh && p.recurrent_activation == Activation::kSigmoid;
  switch (p.mode) {
    case RnnMode::kLstm:
      return usual ? fn(Lstm<UsualGates>()) : fn(Lstm<ChosenGates>());
    case RnnMode::kGru:
      return usual ? fn(Gru<UsualGates>()) : fn(Gru<ChosenGates>());
    case RnnMode::kGruResetBefore:
      return fn(GruResetBefore());
    case RnnMode::kVanilla:
      return fn(Vanilla<GateFunction>());
    case RnnMode::kTanh:
      return fn(Vanilla<TanhFunction>());
    default:
      return fn(Vanilla<ReluFunction>());
  }
}

inline CellFormat FormatOf(const RnnProblem& p) {
  return WithCell(p, [&](auto cell) { return decltype(cell)::Format(p.weight_layout); });
}

// The Tensors of every cell.
template <typename T>
class CellTensors {
 public:
  explicit CellTensors(const RnnProblem& p)
      : all_(UsualGates<T>(), ChosenGates<T>(p), TanhFunction<T>(), ReluFunction<T>(),
             GateFunction<T>(p.activation)) {}

  template <typename Cell>
  const auto* Of() const {
    return &std::get<typename Cell::template Tensors<T>>(all_);
  }

 private:
  std::tuple<UsualGates<T>, ChosenGates<T>, TanhFunction<T>, ReluFunction<T>, GateFunction<T>> all_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
