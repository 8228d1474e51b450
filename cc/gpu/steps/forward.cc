// The forward pass of LayerRNN on a GPU: one product of x for all steps, or as many as fit the
// buffer of gates. Then one product of h and one kernel for each step, and a second pair where the
// cell has a second product.
#include <algorithm>
#include <cstdint>

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/steps/layer.h"
#include "cc/gpu/steps/persistent_steps.h"

namespace rnn_ops::gpu {
namespace {

class ForwardSteps {
 public:
  ForwardSteps(const ProductCall& call, const LayerForwardArgs& args)
      : call_(call),
        args_(args),
        p_(args.problem),
        n_(args.problem),
        reserve_(args.problem),
        math_(MathDtype(args.problem.dtype)) {
    step_.call = CallOf(p_, args.in, p_.is_training ? args.reserve : nullptr);
    step_.h_n = args.h_n;
    step_.c_n = args.c_n;
  }

  Status Run() {
    RNN_OPS_RETURN_IF_ERROR(Allocate());
    RNN_OPS_RETURN_IF_ERROR(Begin());
    if (n_.T == 0) return Status();
    const void* x = nullptr;
    RNN_OPS_RETURN_IF_ERROR(TimeMajor(call_, p_, "the transposed input", args_.in.x, n_.I, &x));
    for (int64_t t0 = 0; t0 < n_.T; t0 += chunk_) {
      const int64_t steps = std::min(chunk_, n_.T - t0);
      void* const gates = At(gates_, math_, keeps_gates() ? t0 * n_.gate_step() : 0);
      RNN_OPS_RETURN_IF_ERROR(InputProduct(At(x, p_.dtype, t0 * n_.B * n_.I), steps, gates));
      if (persistent_.Runs()) {
        RNN_OPS_RETURN_IF_ERROR(PersistentRun(t0, steps, gates));
        continue;
      }
      for (int64_t t = t0; t < t0 + steps; ++t) {
        RNN_OPS_RETURN_IF_ERROR(Step(t, At(gates, math_, (t - t0) * n_.gate_step())));
      }
    }
    if (!SwapsSequences(p_)) return Status();
    return SwapLeading(call_, p_.dtype, args_.y, y_, n_.T, n_.B, n_.S);
  }

 private:
  bool keeps_gates() const { return p_.is_training; }

  Status Allocate() {
    chunk_ = call_.StepsThatFit(n_.gate_step() * SizeOf(math_), n_.T);
    if (p_.is_training) {
      char* const reserve = static_cast<char*>(args_.reserve);
      gates_ = reserve + reserve_.gates_at;
      c_ = n_.has_c ? reserve + reserve_.c_at : nullptr;
    } else {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gates", chunk_ * n_.gate_step(), math_, &gates_));
      if (n_.has_c) RNN_OPS_RETURN_IF_ERROR(call_.Scratch("c", n_.B * n_.H, math_, &c_));
    }
    if (args_.algorithm == LayerAlgorithm::kPersistent) {
      RNN_OPS_RETURN_IF_ERROR(persistent_.Choose(call_, p_, PersistentPass::kForward));
    }
    if (!persistent_.Runs()) {
      RNN_OPS_RETURN_IF_ERROR(
          call_.Scratch("the recurrent product", n_.B * n_.columns(), math_, &from_h_));
    }
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the first h", n_.B * n_.S, p_.dtype, &h_first_));
    // A persistent kernel multiplies h by the masks before it rounds.
    if (n_.carries_h || (p_.recurrent_masked && persistent_.Runs())) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("h", n_.B * n_.S, math_, &step_.h_state));
    }
    if (p_.input_masked) {
      masked_rows_ = MaskedRows(call_, p_, SizeOf(p_.dtype), chunk_);
      RNN_OPS_RETURN_IF_ERROR(
          call_.Scratch("the masked input", n_.G * masked_rows_ * n_.I, p_.dtype, &masked_x_));
    }
    if (p_.recurrent_masked && !persistent_.Runs()) {
      RNN_OPS_RETURN_IF_ERROR(
          call_.Scratch("the masked h", n_.G * n_.B * n_.S, p_.dtype, &step_.masked_h));
    }
    if ((n_.reset_before && !persistent_.Runs()) || p_.num_proj > 0) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the second factor", n_.B * n_.H, p_.dtype, &step_.m));
    }
    if (p_.num_proj > 0) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the projection", n_.B * n_.S, math_, &from_m_));
    }
    y_ = args_.y;
    if (!SwapsSequences(p_)) return Status();
    return call_.Scratch("the transposed output", n_.rows() * n_.S, p_.dtype, &y_);
  }

  Status Begin() const {
    elementwise::LayerBegin begin = {};
    begin.call = step_.call;
    begin.h_first = h_first_;
    begin.h_state = step_.h_state;
    begin.masked_h = step_.masked_h;
    begin.c_first = c_;
    begin.h_n = args_.h_n;
    begin.c_n = args_.c_n;
    return Launch(Kernel::layer_begin_f32, std::max(n_.S, n_.H), begin);
  }

  // gates = x W, of some steps.
  Status InputProduct(const void* x, int64_t steps, void* gates) const {
    const int64_t rows = steps * n_.B, row = n_.saved * n_.H;
    if (!p_.input_masked) {
      return call_.Multiply({rows, n_.columns(), n_.I}, {x, n_.I}, {args_.in.kernel, n_.columns()},
                            {gates, math_, Result::kSet, row});
    }
    for (int64_t first = 0; first < rows; first += masked_rows_) {
      const int64_t some = std::min(masked_rows_, rows - first);
      // WHY no lengths: the kernels ignore the gates of finished rows.
      const MaskedCopy copy = {At(x, p_.dtype, first * n_.I), masked_x_, some, some, 0,
                               StepsFrom(p_, nullptr, 0)};
      RNN_OPS_RETURN_IF_ERROR(MaskCopies(call_, p_, args_.in.input_mask, n_.G, n_.I, copy));
      RNN_OPS_RETURN_IF_ERROR(
          call_.Multiply({some, n_.H, n_.I, n_.G}, {masked_x_, n_.I, some * n_.I},
                         {args_.in.kernel, n_.columns(), n_.H},
                         {At(gates, math_, first * row), math_, Result::kSet, row, n_.H}));
    }
    return Status();
  }

  // from_h = h R, for the gates whose product reads h.
  Status RecurrentProduct(const void* h) const {
    const int64_t gates = n_.gates_of_h();
    if (p_.recurrent_masked) {
      return call_.Multiply({n_.B, n_.H, n_.S, gates}, {step_.masked_h, n_.S, n_.B * n_.S},
                            {args_.in.recurrent_kernel, n_.columns(), n_.H},
                            {from_h_, math_, Result::kSet, n_.columns(), n_.H});
    }
    return call_.Multiply({n_.B, gates * n_.H, n_.S}, {h, n_.S},
                          {args_.in.recurrent_kernel, n_.columns()},
                          {from_h_, math_, Result::kSet, n_.columns()});
  }

  // From one step's c to the next's.
  int64_t c_stride() const { return n_.has_c && p_.is_training ? n_.B * n_.H : 0; }
  const void* HBefore(int64_t t) const {
    return t == 0 ? h_first_ : At(y_, p_.dtype, (t - 1) * n_.B * n_.S);
  }

  elementwise::LayerStep StepAt(int64_t t, void* gates) const {
    elementwise::LayerStep step = step_;
    step.t = t;
    step.gates = gates;
    step.from_h = from_h_;
    if (n_.has_c) {
      step.c_prev = At(c_, math_, t * c_stride());
      step.c = At(c_, math_, (t + 1) * c_stride());
    }
    step.y = At(y_, p_.dtype, t * n_.B * n_.S);
    return step;
  }

  Status PersistentRun(int64_t t, int64_t steps, void* gates) const {
    elementwise::PersistentForward args = {};
    args.step = StepAt(t, gates);
    args.recurrent = args_.in.recurrent_kernel;
    args.h_before = HBefore(t);
    args.steps = steps;
    args.c_stride = c_stride();
    return persistent_.Run(call_, args);
  }

  Status Step(int64_t t, void* gates) const {
    elementwise::LayerStep step = StepAt(t, gates);
    RNN_OPS_RETURN_IF_ERROR(RecurrentProduct(HBefore(t)));
    RNN_OPS_RETURN_IF_ERROR(
        Launch(n_.cell.step, n_.by_row ? std::min(n_.H, kMostThreadsOfRow) : n_.H, step));
    if (n_.reset_before) {
      const int64_t candidate = 2 * n_.H;
      RNN_OPS_RETURN_IF_ERROR(
          call_.Multiply({n_.B, n_.H, n_.H}, {step.m, n_.H},
                         {At(args_.in.recurrent_kernel, p_.dtype, candidate), n_.columns()},
                         {At(from_h_, math_, candidate), math_, Result::kSet, n_.columns()}));
      return Launch(Kernel::reset_before_finish_f32, n_.H, step);
    }
    if (p_.num_proj == 0) return Status();
    RNN_OPS_RETURN_IF_ERROR(call_.Multiply({n_.B, n_.S, n_.H}, {step.m, n_.H},
                                           {args_.in.projection, n_.S},
                                           {from_m_, math_, Result::kSet}));
    step.from_m = from_m_;
    return Launch(Kernel::projection_step_f32, n_.S, step);
  }

  template <typename Args>
  Status Launch(Kernel kernel, int64_t columns, const Args& args) const {
    return call_.Launch(KernelForMath(kernel, p_.dtype), n_.B, columns, args);
  }

  const ProductCall& call_;
  const LayerForwardArgs& args_;
  const LayerProblem& p_;
  const LayerSizes n_;
  const LayerReserve reserve_;
  const Dtype math_;
  PersistentSteps persistent_;
  elementwise::LayerStep step_ = {};  // what all steps share
  int64_t chunk_ = 0;                 // steps of a product of x
  void* gates_ = nullptr;             // math_ [chunk, B, saved*H]; in training of all steps
  void* c_ = nullptr;                 // math_ [B, H]; in training [T + 1, B, H]
  void* from_h_ = nullptr;            // math_ [B, G*H]
  void* from_m_ = nullptr;            // math_ [B, P]
  void* h_first_ = nullptr;           // [B, S]
  void* y_ = nullptr;                 // [T, B, S]
  int64_t masked_rows_ = 0;           // rows of the masked copies of x at a time
  void* masked_x_ = nullptr;          // [G, masked_rows_, I]
};

}  // namespace

Status ForwardLayer(const ProductCall& call, const LayerForwardArgs& args) {
  if (args.in.kernel_scale == nullptr) return ForwardSteps(call, args).Run();
  LayerForwardArgs wide = args;
  RNN_OPS_RETURN_IF_ERROR(DequantizeWeights(call, args.problem, &wide.in));
  return ForwardSteps(call, wide).Run();
}

Status RunLayerForward(const ProductLibraries& libraries, const LayerForwardArgs& args,
                       DeviceAllocator* allocator, void* stream) {
  const LayerProblem& p = args.problem;
  if (p.batch == 0) return Status();
  ProductCall call(libraries, p.dtype, p.allow_tf32, allocator, stream);
  RNN_OPS_RETURN_IF_ERROR(call.Enter());
  if (p.max_time > 0) RNN_OPS_RETURN_IF_ERROR(call.PrepareProducts());
  return ForwardLayer(call, args);
}

}  // namespace rnn_ops::gpu
