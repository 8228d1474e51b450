#include "cc/gpu/steps/stack.h"

#include <algorithm>
#include <cstdint>

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/steps/layer.h"
#include "cc/gpu/steps/stack_weights.h"

namespace rnn_ops::gpu {
namespace {

constexpr int64_t kAlignment = 256;

LayerProblem ProblemOf(const StackProblem& p, int64_t layer) {
  LayerProblem problem;
  static_cast<RnnConfig&>(problem) = p;
  problem.input_size = p.layer_input_size(layer);
  problem.time_major = true;
  problem.dtype = p.dtype;
  problem.allow_tf32 = p.allow_tf32;
  problem.bias_rows = 2;
  return problem;
}

}  // namespace

StackReserve::StackReserve(const StackProblem& p) : header(kAlignment) {
  const RnnConfig& c = p;
  const int64_t output_bytes = c.max_time * c.batch * c.hidden_size() * SizeOf(p.dtype);
  layer = LayerReserve(ProblemOf(p, 0)).bytes;
  outputs = header + c.num_pseudo_layers() * layer;
  output = (output_bytes + kAlignment - 1) / kAlignment * kAlignment;
  bytes = outputs + (c.num_layers - 1) * c.num_dirs() * output;
}

int64_t StackReserveBytes(const StackProblem& problem) {
  return RoundedReserve(StackReserve(problem).bytes);
}

StackCall::StackCall(const ProductLibraries& libraries, const StackProblem& problem,
                     const RnnGpuCall& call)
    : outputs(problem.num_pseudo_layers()),
      libraries_(libraries),
      p_(problem),
      call_(call),
      layout_(problem),
      layer_memory_(call.scratch),
      products_(libraries, problem.dtype, problem.allow_tf32, call.scratch, call.stream),
      rate_(problem.is_training && problem.num_layers > 1 ? problem.dropout : 0) {}

Status StackCall::Begin() {
  RNN_OPS_RETURN_IF_ERROR(products_.Enter());
  RNN_OPS_RETURN_IF_ERROR(products_.PrepareProducts());
  products_.UseScratch(&layer_memory_);
  const int64_t bytes = p_.batch * static_cast<int64_t>(sizeof(int32_t));
  if (std::all_of(p_.lengths, p_.lengths + p_.batch,
                  [&](int32_t length) { return length == p_.max_time; })) {
    return Status();
  }
  void* lengths = nullptr;
  RNN_OPS_RETURN_IF_ERROR(AllocateScratch(call_.scratch, "the lengths", bytes, &lengths));
  lengths_ = static_cast<const int32_t*>(lengths);
  return DriverOps(libraries_.driver, libraries_.modules)
      .CopyFromHost(call_.stream, lengths, p_.lengths, bytes);
}

Status StackCall::BeginLayer(int64_t layer, int64_t dir, const void* x, const void* params,
                             LayerProblem* problem, LayerInputs* in) {
  layer_memory_.Reset();
  *problem = ProblemOf(p_, layer);
  *in = {};
  const int64_t pseudo = Pseudo(layer, dir), row = pseudo * p_.batch;
  in->h0 = At(h0, p_.dtype, row * p_.hidden_size());
  if (c0 != nullptr) in->c0 = At(c0, p_.dtype, row * p_.num_units);
  in->lengths = lengths_;
  RNN_OPS_RETURN_IF_ERROR(Input(layer, dir, x, &in->x));
  return LayerWeights(products_, p_, layout_.at(layer, dir)).Read(params, problem->input_size, in);
}

// The input of a pseudo-layer, in the order of its steps.
Status StackCall::Input(int64_t layer, int64_t dir, const void* user, const void** x) const {
  const int64_t width = p_.layer_input_size(layer), S = p_.hidden_size();
  const bool is_user = layer == 0;
  *x = is_user ? user : outputs[Pseudo(layer - 1, 0)];
  if (dir == 0 && (is_user ? p_.time_major : p_.num_dirs() == 1 && !drops())) return Status();
  void* made = nullptr;
  RNN_OPS_RETURN_IF_ERROR(
      products_.Scratch("the input of a layer", rows() * width, p_.dtype, &made));
  *x = made;
  const SequenceView all = Ours(made, width, dir);
  if (is_user) return Move(User(user, width), all, width);
  for (int64_t from = 0; from < p_.num_dirs(); ++from) {
    RNN_OPS_RETURN_IF_ERROR(MoveAndDrop(Ours(outputs[Pseudo(layer - 1, from)], S, from),
                                        Columns(all, from), S, layer - 1, from * S));
  }
  return Status();
}

Status StackCall::Move(const SequenceView& from, const SequenceView& to, int64_t width,
                       int64_t layer, int64_t column, bool adds) const {
  elementwise::MoveSequence args = {};
  args.from = from.data;
  args.to = const_cast<void*>(to.data);
  args.lengths = lengths_;
  args.batch = p_.batch;
  args.max_time = p_.max_time;
  args.width = width;
  args.from_row = from.row_size;
  args.to_row = to.row_size;
  args.from_time_major = from.time_major;
  args.to_time_major = to.time_major;
  args.from_reversed = from.reversed;
  args.to_reversed = to.reversed;
  args.adds = adds;
  args.element = ElementOf(p_.dtype);
  if (layer != kNone && drops()) {
    args.rate = rate_;
    args.layer = static_cast<unsigned>(layer);
    args.first_column = column;
    args.stores_key = stores_key_;
    args.key = key_;
    args.stored_key = static_cast<unsigned long long*>(header_);
  }
  return products_.Launch(KernelForMath(Kernel::move_sequence_f32, p_.dtype), rows(), width, args);
}

Status StackCall::StatesIn(const void* states, int64_t width, const void** ours) const {
  *ours = states;
  if (!swaps_states()) return Status();
  void* made = nullptr;
  RNN_OPS_RETURN_IF_ERROR(
      Keep("transposed states", p_.num_pseudo_layers() * p_.batch * width, &made));
  *ours = made;
  return SwapLeading(products_, p_.dtype, made, states, p_.batch, p_.num_pseudo_layers(), width);
}

Status StackCall::StatesOut(void* states, int64_t width, void** ours) const {
  *ours = states;
  if (!swaps_states()) return Status();
  return Keep("transposed states", p_.num_pseudo_layers() * p_.batch * width, ours);
}

Status StackCall::FinishStates(void* states, int64_t width, const void* ours) const {
  if (!swaps_states()) return Status();
  return SwapLeading(products_, p_.dtype, states, ours, p_.num_pseudo_layers(), p_.batch, width);
}

Status StackCall::Keep(const char* purpose, int64_t size, void** memory) const {
  return AllocateScratch(call_.scratch, purpose, size * SizeOf(p_.dtype), memory);
}

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
    args.dh_n = At(dh_n_, p_.dtype, row * S);
    args.dh0 = At(dh0_, p_.dtype, row * S);
    if (is_lstm_) {
      args.dc_n = At(dc_n_, p_.dtype, row * H);
      args.dc0 = At(dc0_, p_.dtype, row * H);
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
