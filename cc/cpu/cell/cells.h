// The cells of stacks, by their mode.
#ifndef TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
#define TF_RNN_OPS_CC_CPU_CELL_CELLS_H_

#include "cc/core/rnn_mode.h"
#include "cc/cpu/cell/gru.h"
#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/cell/vanilla.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// fn(a cell of the mode's type).
template <typename F>
decltype(auto) WithCell(int32_t mode, F&& fn) {
  switch (static_cast<RnnMode>(mode)) {
    case RnnMode::kLstm:
      return fn(Lstm());
    case RnnMode::kGru:
      return fn(Gru());
    case RnnMode::kTanh:
      return fn(Vanilla<TanhActivation>());
    default:
      return fn(Vanilla<ReluActivation>());
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
