#include <cstdint>

#include "cc/gpu/cudnn/rnn_reserve.h"
#include "cc/gpu/steps/layer_executor.h"
#include "cc/gpu/steps/layer_weights.h"
#include "cc/gpu/steps/stack_call.h"
#include "cc/gpu/steps/stack_gpu.h"

namespace rnn_ops::gpu {
namespace {

class StackBackward {
 public:
  StackBackward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
                const RnnBackwardArgs& args, const RnnGpuCall& call)
      : algorithm_(algorithm),
        args_(args),
        p_(args.problem),
        is_lstm_(p_.mode == RnnMode::kLstm),
        reserve_parts_(p_),
        reserve_(static_cast<char*>(args.reserve)),
        call_(libraries, p_, call) {}

  Status Run() {
    RNN_OPS_RETURN_IF_ERROR(CheckReserve(args_, StackReserveBytes(p_)));
    RNN_OPS_RETURN_IF_ERROR(call_.Begin());
    call_.UseKey(reserve_);
    RNN_OPS_RETURN_IF_ERROR(PrepareStates());
    RNN_OPS_RETURN_IF_ERROR(PrepareSequences());
    for (int64_t layer = p_.num_layers - 1; layer >= 0; --layer) {
      for (int64_t dir = 0; dir < p_.num_dirs(); ++dir) {
        RNN_OPS_RETURN_IF_ERROR(Layer(layer, dir));
      }
    }
    RNN_OPS_RETURN_IF_ERROR(call_.FinishStates(args_.dh0, p_.hidden_size(), dh0_));
    return is_lstm_ ? call_.FinishStates(args_.dc0, p_.num_units, dc0_) : Status();
  }

 private:
  bool IsLast(int64_t layer) const { return layer == p_.num_layers - 1; }
  // Whether a layer can use a tensor of the user as it is.
  bool is_simple() const { return p_.num_dirs() == 1 && p_.time_major; }

  Status PrepareStates() {
    const int64_t S = p_.hidden_size(), H = p_.num_units;
    RNN_OPS_RETURN_IF_ERROR(call_.StatesIn(args_.h0, S, &call_.h0));
    RNN_OPS_RETURN_IF_ERROR(call_.StatesIn(args_.dh_n, S, &dh_n_));
    RNN_OPS_RETURN_IF_ERROR(call_.StatesOut(args_.dh0, S, &dh0_));
    if (!is_lstm_) return Status();
    RNN_OPS_RETURN_IF_ERROR(call_.StatesIn(args_.c0, H, &call_.c0));
    RNN_OPS_RETURN_IF_ERROR(call_.StatesIn(args_.dc_n, H, &dc_n_));
    return call_.StatesOut(args_.dc0, H, &dc0_);
  }

  // The outputs of all layers, and memory for the gradients of those below the last.
  Status PrepareSequences() {
    const int64_t S = p_.hidden_size(), D = p_.num_dirs();
    for (int64_t dir = 0; dir < D; ++dir) {
      for (int64_t layer = 0; layer < p_.num_layers - 1; ++layer) {
        const int64_t pseudo = call_.Pseudo(layer, dir);
        call_.outputs[pseudo] = reserve_ + reserve_parts_.output_at(pseudo);
      }
      void*& last = call_.outputs[call_.Pseudo(p_.num_layers - 1, dir)];
      last = const_cast<void*>(args_.y);
      if (is_simple()) continue;
      RNN_OPS_RETURN_IF_ERROR(call_.Keep("the output of a layer", call_.rows() * S, &last));
      RNN_OPS_RETURN_IF_ERROR(
          call_.Move(call_.Columns(call_.User(args_.y, D * S), dir), call_.Ours(last, S, dir), S));
    }
    for (int64_t k = 0; k < 2 && k < p_.num_layers - 1; ++k) {
      RNN_OPS_RETURN_IF_ERROR(
          call_.Keep("the gradient of a layer", call_.rows() * D * S, &gradients_[k]));
    }
    return Status();
  }

  // The gradient of the output of `layer` with all directions.
  SequenceView GradientOf(int64_t layer) const {
    if (IsLast(layer)) return call_.User(args_.dy, p_.output_size());
    return call_.Ours(gradients_[layer % 2], p_.output_size(), 0);
  }
  // The gradient of the input of `layer`.
  SequenceView GradientBelow(int64_t layer) const {
    return layer > 0 ? GradientOf(layer - 1) : call_.User(args_.dx, p_.input_size);
  }

  // The gradient of the output of one direction, in the order of its steps.
  Status OutputGradient(int64_t layer, int64_t dir, const void** dy) const {
    const int64_t S = p_.hidden_size();
    const SequenceView all = GradientOf(layer);
    *dy = all.data;
    const bool drops = !IsLast(layer) && call_.drops();
    if (p_.num_dirs() == 1 && all.time_major && !drops) return Status();
    void* made = nullptr;
    RNN_OPS_RETURN_IF_ERROR(call_.products().Scratch("the gradient of the output of a layer",
                                                     call_.rows() * S, p_.dtype, &made));
    *dy = made;
    const SequenceView from = call_.Columns(all, dir), to = call_.Ours(made, S, dir);
    return drops ? call_.MoveAndDrop(from, to, S, layer, dir * S) : call_.Move(from, to, S);
  }

  Status Layer(int64_t layer, int64_t dir) {
    const int64_t pseudo = call_.Pseudo(layer, dir), row = pseudo * p_.batch;
    const int64_t S = p_.hidden_size(), H = p_.num_units, I = p_.layer_input_size(layer);
    LayerBackwardArgs args = {};
    args.algorithm = algorithm_;
    RNN_OPS_RETURN_IF_ERROR(
        call_.BeginLayer(layer, dir, args_.x, args_.params, &args.problem, &args.in));
    args.y = call_.outputs[pseudo];
    RNN_OPS_RETURN_IF_ERROR(OutputGradient(layer, dir, &args.dy));
    args.dh_n = At(dh_n_, p_.dtype, row * S), args.dh0 = At(dh0_, p_.dtype, row * S);
    if (is_lstm_) {
      args.dc_n = At(dc_n_, p_.dtype, row * H), args.dc0 = At(dc0_, p_.dtype, row * H);
    }
    args.reserve = reserve_ + reserve_parts_.layer_at(pseudo);
    const SequenceView below = GradientBelow(layer);
    const bool writes_below = dir == 0 && below.time_major;
    args.dx = const_cast<void*>(below.data);
    if (!writes_below) {
      RNN_OPS_RETURN_IF_ERROR(call_.products().Scratch("the gradient of the input of a layer",
                                                       call_.rows() * I, p_.dtype, &args.dx));
    }
    const LayerWeights weights(call_.products(), p_, call_.layout().at(layer, dir));
    RNN_OPS_RETURN_IF_ERROR(weights.Allocate(args_.dparams, &args));
    RNN_OPS_RETURN_IF_ERROR(BackwardLayer(call_.products(), args));
    RNN_OPS_RETURN_IF_ERROR(weights.Write(args, args_.dparams));
    if (writes_below) return Status();
    const SequenceView dx = call_.Ours(args.dx, I, dir);
    return dir == 0 ? call_.Move(dx, below, I) : call_.MoveAndAdd(dx, below, I);
  }

  const LayerAlgorithm algorithm_;
  const RnnBackwardArgs& args_;
  const StackProblem& p_;
  const bool is_lstm_;
  const StackReserve reserve_parts_;
  char* const reserve_;
  StackCall call_;
  void* gradients_[2] = {};  // [T, B, D*S] of the layers below the last, in turn
  const void *dh_n_ = nullptr, *dc_n_ = nullptr;
  void *dh0_ = nullptr, *dc0_ = nullptr;
};

}  // namespace

Status RunStackBackward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
                        const RnnBackwardArgs& args, const RnnGpuCall& call) {
  return StackBackward(libraries, algorithm, args, call).Run();
}

}  // namespace rnn_ops::gpu
