// Selection of a stack's cell by the problem, and the tensors of that cell.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/gates.h"
#include "cc/cpu/cell/gru.h"
#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/cell/lstm_layer_norm.h"
#include "cc/cpu/cell/vanilla.h"
#include "cc/cpu/cell/zoneout.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr bool IsLstmPeephole(const RnnProblem& p) { return p.has_peepholes || p.cell_clip > 0; }

// Returns fn(cell) with a cell of the type for the problem.
template <typename F>
constexpr decltype(auto) WithCell(const RnnProblem& p, F&& fn) {
  const bool usual =
      p.activation == Activation::kTanh && p.recurrent_activation == Activation::kSigmoid;
  switch (p.mode) {
    case RnnMode::kLstm:
      if (p.has_layer_norm) return fn(LstmLayerNorm());
      if (p.has_zoneout()) return fn(Zoneout<Lstm<ChosenGates>>());
      if (IsLstmPeephole(p)) {
        return usual ? fn(LstmPeephole<UsualGates>()) : fn(LstmPeephole<ChosenGates>());
      }
      return usual ? fn(Lstm<UsualGates>()) : fn(Lstm<ChosenGates>());
    case RnnMode::kGru:
      if (p.has_zoneout()) return fn(Zoneout<Gru<ChosenGates>>());
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

constexpr CellFormat FormatOf(const RnnProblem& p) {
  return WithCell(p, [&](auto cell) { return decltype(cell)::Format(p.weight_layout); });
}

// QuantizedLayerRNN has every mode with every activation, and no other option of a cell.
constexpr bool EveryModeHasQuads() {
  for (const CellFacts& facts : kCellFacts) {
    for (Activation activation : {Activation::kTanh, Activation::kRelu}) {
      RnnProblem p;
      p.mode = facts.mode;
      p.activation = activation;
      if (!FormatOf(p).quads) return false;
    }
  }
  return true;
}
static_assert(EveryModeHasQuads(), "QuantizedLayerRNN has no kernel for a mode without quads");

// A place for the Tensors of a problem's cell, whose type depends on the cell.
template <typename T>
class CellStorage {
 public:
  // Replaces the tensors by the tensors of a Cell.
  template <typename Cell>
  const auto* Make(const CellInputs<T>& in) {
    using Tensors = typename Cell::template Tensors<T>;
    static_assert(sizeof(Tensors) <= sizeof(bytes_) && alignof(Tensors) <= kAlignment);
    static_assert(std::is_trivially_destructible_v<Tensors>);
    return new (bytes_) Tensors(in);
  }

 private:
  static constexpr int kAlignment = alignof(std::max_align_t);
  alignas(kAlignment) unsigned char bytes_[160];
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
