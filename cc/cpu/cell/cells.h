// Selection of a stack's cell by the problem.
#ifndef TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
#define TF_RNN_OPS_CC_CPU_CELL_CELLS_H_

#include <limits>
#include <tuple>

#include "cc/cpu/cell/gates.h"
#include "cc/cpu/cell/gru.h"
#include "cc/cpu/cell/gru_reset_before.h"
#include "cc/cpu/cell/lstm.h"
#include "cc/cpu/cell/lstm_layer_norm.h"
#include "cc/cpu/cell/lstm_peephole.h"
#include "cc/cpu/cell/vanilla.h"
#include "cc/cpu/cell/zoneout.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

inline bool IsLstmPeephole(const RnnProblem& p) { return p.has_peepholes || p.cell_clip > 0; }

// Returns fn(cell) with a cell of the type for the problem.
template <typename F>
decltype(auto) WithCell(const RnnProblem& p, F&& fn) {
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

inline CellFormat FormatOf(const RnnProblem& p) {
  return WithCell(p, [&](auto cell) { return decltype(cell)::Format(p.weight_layout); });
}

// The Tensors of all cells.
template <typename T>
class AllCellTensors {
 public:
  // `peepholes`: [3, padded], or null if not IsLstmPeephole. `kept`: the zoneout masks of h and of
  // c, [R, padded]; null where zoneout mixes by the rate. `layer_norm`: as in LayerNormTensors.
  AllCellTensors(const RnnProblem& p, const T* peepholes, const T* const (&kept)[2], int64_t padded,
                 const T* layer_norm)
      : all_(UsualGates<T>(), ChosenGates<T>(p), TanhFunction<T>(), ReluFunction<T>(),
             GateFunction<T>(p.activation), Peephole(UsualGates<T>(), p, peepholes, padded),
             Peephole(ChosenGates<T>(p), p, peepholes, padded),
             ZoneoutTensors<T>{ChosenGates<T>(p),
                               {static_cast<T>(p.zoneout_h), kept[0], padded},
                               {static_cast<T>(p.zoneout_c), kept[1], padded}},
             LayerNormTensors<T>{ChosenGates<T>(p), layer_norm,
                                 static_cast<T>(p.layer_norm_epsilon)}) {}

  template <typename Cell>
  const auto* Of() const {
    return &std::get<typename Cell::template Tensors<T>>(all_);
  }

 private:
  template <template <typename> class Gates>
  static PeepholeTensors<T, Gates> Peephole(const Gates<T>& gates, const RnnProblem& p,
                                            const T* peepholes, int64_t padded) {
    const T limit =
        p.cell_clip > 0 ? static_cast<T>(p.cell_clip) : std::numeric_limits<T>::infinity();
    if (peepholes == nullptr) return {gates, nullptr, nullptr, nullptr, limit};
    return {gates, peepholes, peepholes + padded, peepholes + 2 * padded, limit};
  }

  std::tuple<UsualGates<T>, ChosenGates<T>, TanhFunction<T>, ReluFunction<T>, GateFunction<T>,
             PeepholeTensors<T, UsualGates>, PeepholeTensors<T, ChosenGates>, ZoneoutTensors<T>,
             LayerNormTensors<T>>
      all_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_CELL_CELLS_H_
