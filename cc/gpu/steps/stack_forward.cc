#include <cstdint>

#include "cc/gpu/steps/layer_executor.h"
#include "cc/gpu/steps/stack_call.h"
#include "cc/gpu/steps/stack_gpu.h"

namespace rnn_ops::gpu {
namespace {

class StackForward {
 public:
  StackForward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
               const RnnForwardArgs& args, const RnnGpuCall& call)
      : algorithm_(algorithm),
        args_(args),
        p_(args.problem),
        is_lstm_(p_.mode == RnnMode::kLstm),
        reserve_parts_(p_),
        call_(libraries, p_, call) {}

  Status Run() {
    const int64_t S = p_.hidden_size(), H = p_.num_units;
    RNN_OPS_RETURN_IF_ERROR(call_.Begin());
    RNN_OPS_RETURN_IF_ERROR(AllocateOutputs());
    RNN_OPS_RETURN_IF_ERROR(call_.StatesIn(args_.h0, S, &call_.h0));
    RNN_OPS_RETURN_IF_ERROR(call_.StatesOut(args_.h_n, S, &h_n_));
    if (is_lstm_) {
      RNN_OPS_RETURN_IF_ERROR(call_.StatesIn(args_.c0, H, &call_.c0));
      RNN_OPS_RETURN_IF_ERROR(call_.StatesOut(args_.c_n, H, &c_n_));
    }
    for (int64_t layer = 0; layer < p_.num_layers; ++layer) {
      for (int64_t dir = 0; dir < p_.num_dirs(); ++dir) {
        RNN_OPS_RETURN_IF_ERROR(Layer(layer, dir));
      }
    }
    RNN_OPS_RETURN_IF_ERROR(call_.FinishStates(args_.h_n, S, h_n_));
    return is_lstm_ ? call_.FinishStates(args_.c_n, H, c_n_) : Status();
  }

 private:
  bool IsLast(int64_t layer) const { return layer == p_.num_layers - 1; }
  // Whether the last layer writes the output itself.
  bool writes_y() const { return p_.num_dirs() == 1 && p_.time_major; }

  // In training, all outputs below the last layer are kept. In inference, two layers share memory
  // in turn.
  Status AllocateOutputs() {
    if (p_.is_training) {
      void* memory = nullptr;
      RNN_OPS_RETURN_IF_ERROR(
          AllocateScratch(args_.reserve, "reserve_space", StackReserveBytes(p_), &memory));
      reserve_ = static_cast<char*>(memory);
      *args_.algorithm = kStackAlgorithm;
      call_.StoreKey(args_.dropout_seed, reserve_);
    }
    for (int64_t layer = 0; layer < p_.num_layers; ++layer) {
      for (int64_t dir = 0; dir < p_.num_dirs(); ++dir) {
        const int64_t pseudo = call_.Pseudo(layer, dir);
        void*& output = call_.outputs[pseudo];
        if (IsLast(layer) && writes_y()) {
          output = args_.y;
        } else if (!IsLast(layer) && p_.is_training) {
          output = reserve_ + reserve_parts_.output_at(pseudo);
        } else if (layer >= 2 && !p_.is_training) {
          output = call_.outputs[call_.Pseudo(layer - 2, dir)];
        } else {
          RNN_OPS_RETURN_IF_ERROR(
              call_.Keep("the output of a layer", call_.rows() * p_.hidden_size(), &output));
        }
      }
    }
    return Status();
  }

  Status Layer(int64_t layer, int64_t dir) {
    const int64_t pseudo = call_.Pseudo(layer, dir), row = pseudo * p_.batch;
    LayerForwardArgs args = {};
    args.algorithm = algorithm_;
    RNN_OPS_RETURN_IF_ERROR(
        call_.BeginLayer(layer, dir, args_.x, args_.params, &args.problem, &args.in));
    args.y = call_.outputs[pseudo];
    args.h_n = At(h_n_, p_.dtype, row * p_.hidden_size());
    if (is_lstm_) args.c_n = At(c_n_, p_.dtype, row * p_.num_units);
    if (p_.is_training) args.reserve = reserve_ + reserve_parts_.layer_at(pseudo);
    RNN_OPS_RETURN_IF_ERROR(ForwardLayer(call_.products(), args));
    if (!IsLast(layer) || writes_y()) return Status();
    return call_.Move(call_.Ours(args.y, p_.hidden_size(), dir),
                      call_.Columns(call_.User(args_.y, p_.output_size()), dir), p_.hidden_size());
  }

  const LayerAlgorithm algorithm_;
  const RnnForwardArgs& args_;
  const StackProblem& p_;
  const bool is_lstm_;
  const StackReserve reserve_parts_;
  StackCall call_;
  char* reserve_ = nullptr;
  void *h_n_ = nullptr, *c_n_ = nullptr;  // [L*D, B, .]
};

}  // namespace

Status RunStackForward(const ProductLibraries& libraries, LayerAlgorithm algorithm,
                       const RnnForwardArgs& args, const RnnGpuCall& call) {
  return StackForward(libraries, algorithm, args, call).Run();
}

}  // namespace rnn_ops::gpu
