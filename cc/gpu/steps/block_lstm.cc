// BlockLSTMV2 and its gradient.

#include <algorithm>
#include <cstdint>

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/steps/gradient_sums.h"
#include "cc/gpu/steps/layer.h"

namespace rnn_ops::gpu {
namespace {

using elementwise::kGates;

// The steps of the forward pass, starting with the products for the gates.
class ForwardSteps {
 public:
  ForwardSteps(const ProductCall& call, const BlockLstmForwardArgs& args)
      : call_(call), args_(args), p_(args.problem), math_(MathDtype(args.problem.dtype)) {}

  Status Run() {
    const int64_t B = p_.batch, I = p_.input_size, H = p_.num_units;
    const int64_t gate_step = B * kGates * H;
    const int64_t chunk = call_.StepsThatFit(gate_step * SizeOf(math_), p_.seq_len);
    void* gates = nullptr;
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gates", chunk * gate_step, math_, &gates));
    if (IsNarrow(p_.dtype)) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the state", B * H, math_, &c_state_));
      RNN_OPS_RETURN_IF_ERROR(call_.Widen(c_state_, args_.cs_prev, B * H));
    }
    for (int64_t t0 = 0; t0 < p_.seq_len; t0 += chunk) {
      const int64_t steps = std::min(chunk, p_.seq_len - t0);
      // gates = x w[:I]
      RNN_OPS_RETURN_IF_ERROR(call_.Multiply({steps * B, kGates * H, I},
                                             {At(args_.x, p_.dtype, t0 * B * I), I},
                                             {args_.w, kGates * H}, {gates, math_, Result::kSet}));
      for (int64_t t = t0; t < t0 + steps; ++t) {
        RNN_OPS_RETURN_IF_ERROR(Step(t, At(gates, math_, (t - t0) * gate_step)));
      }
    }
    return Status();
  }

 private:
  Status Step(int64_t t, void* gates) const {
    const int64_t B = p_.batch, I = p_.input_size, H = p_.num_units;
    const int64_t at = t * B * H, before = at - B * H;
    // gates += h_prev w[I:]
    const void* h_prev = t == 0 ? args_.h_prev : At(args_.h, p_.dtype, before);
    RNN_OPS_RETURN_IF_ERROR(call_.Multiply({B, kGates * H, H}, {h_prev, H},
                                           {At(args_.w, p_.dtype, I * kGates * H), kGates * H},
                                           {gates, math_, Result::kAdd}));
    const auto out = [this, at](void* tensor) { return At(tensor, p_.dtype, at); };
    elementwise::BlockLstmForwardStep step = {};
    step.gates = gates;
    step.bias = args_.b;
    if (p_.use_peephole) step.wci = args_.wci, step.wcf = args_.wcf, step.wco = args_.wco;
    step.c_prev = c_state_ != nullptr ? c_state_
                  : t == 0            ? args_.cs_prev
                                      : At(args_.cs, p_.dtype, before);
    step.c_state = c_state_;
    step.i = out(args_.i);
    step.cs = out(args_.cs);
    step.f = out(args_.f);
    step.o = out(args_.o);
    step.ci = out(args_.ci);
    step.co = out(args_.co);
    step.h = out(args_.h);
    step.batch = B;
    step.units = H;
    step.cell_clip = p_.cell_clip;
    return call_.Launch(KernelForType(Kernel::block_lstm_forward_f32, p_.dtype), B, H, step);
  }

  const ProductCall& call_;
  const BlockLstmForwardArgs& args_;
  const BlockLstmProblem& p_;
  const Dtype math_;
  void* c_state_ = nullptr;  // [B, H] of 16-bit types: c without rounding
};

}  // namespace

Status RunBlockLstmForward(const ProductLibraries& libraries, const BlockLstmForwardArgs& args,
                           DeviceAllocator* allocator, void* stream) {
  const BlockLstmProblem& p = args.problem;
  if (p.max_time * p.batch == 0) return Status();
  ProductCall call(libraries, p.dtype, p.allow_tf32, allocator, stream);
  RNN_OPS_RETURN_IF_ERROR(call.Enter());
  if (p.seq_len > 0) {
    RNN_OPS_RETURN_IF_ERROR(call.PrepareProducts());
    RNN_OPS_RETURN_IF_ERROR(ForwardSteps(call, args).Run());
  }
  const int64_t done = p.seq_len * p.batch * p.num_units;
  const int64_t rest = p.max_time * p.batch * p.num_units - done;
  for (void* out : {args.i, args.cs, args.f, args.o, args.ci, args.co, args.h}) {
    RNN_OPS_RETURN_IF_ERROR(call.Zero(At(out, p.dtype, done), rest));
  }
  return Status();
}

// The gradient of BlockLSTMV2 on a GPU.

namespace {

using elementwise::kPeepholes;

// The gradients of a call with at least one step and one sequence.
class BackwardSteps {
 public:
  BackwardSteps(const ProductCall& call, const BlockLstmBackwardArgs& args)
      : call_(call), args_(args), p_(args.problem), math_(MathDtype(args.problem.dtype)) {}

  Status Run() {
    const int64_t B = p_.batch, H = p_.num_units;
    const int64_t rows = p_.seq_len * B;
    RNN_OPS_RETURN_IF_ERROR(
        call_.Scratch("the gradients of the gates", rows * kGates * H, p_.dtype, &dgates_));
    // float32 and float64 are not rounded, so the outputs can hold the gradients of the states.
    dh_ = args_.h_prev_grad;
    dc_ = args_.cs_prev_grad;
    if (IsNarrow(p_.dtype)) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of h", B * H, math_, &dh_));
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of cs", B * H, math_, &dc_));
    }
    for (int64_t t = p_.seq_len - 1; t >= 0; --t) RNN_OPS_RETURN_IF_ERROR(Step(t));
    if (IsNarrow(p_.dtype)) {
      RNN_OPS_RETURN_IF_ERROR(call_.Narrow(args_.cs_prev_grad, dc_, B * H));
    }
    RNN_OPS_RETURN_IF_ERROR(InputProducts());
    RNN_OPS_RETURN_IF_ERROR(RecurrentWeights());
    return Sums();
  }

 private:
  Status Step(int64_t t) const {
    const int64_t B = p_.batch, I = p_.input_size, H = p_.num_units;
    const bool last = t == p_.seq_len - 1;
    const int64_t at = t * B * H;
    const auto in = [this, at](const void* tensor) { return At(tensor, p_.dtype, at); };
    void* const dgates = At(dgates_, p_.dtype, kGates * at);
    elementwise::BlockLstmBackwardStep step = {};
    step.i = in(args_.i);
    step.f = in(args_.f);
    step.o = in(args_.o);
    step.ci = in(args_.ci);
    step.co = in(args_.co);
    step.cs = t == 0 ? args_.cs_prev : At(args_.cs, p_.dtype, at - B * H);
    step.cs_grad = in(args_.cs_grad);
    step.h_grad = in(args_.h_grad);
    if (p_.use_peephole) step.wci = args_.wci, step.wcf = args_.wcf, step.wco = args_.wco;
    step.dh = last ? nullptr : dh_;
    step.dc = last ? nullptr : dc_;
    step.dc_prev = dc_;
    step.dgates = dgates;
    step.batch = B;
    step.units = H;
    RNN_OPS_RETURN_IF_ERROR(
        call_.Launch(KernelForType(Kernel::block_lstm_backward_f32, p_.dtype), B, H, step));
    // dh = dgates w[I:]'
    return call_.Multiply(
        {B, H, kGates * H}, {dgates, kGates * H},
        Transposed(At(args_.w, p_.dtype, I * kGates * H), kGates * H),
        {t == 0 ? args_.h_prev_grad : dh_, t == 0 ? p_.dtype : math_, Result::kSet});
  }

  // dx = dgates w[:I]' and dw[:I] = x' dgates
  Status InputProducts() const {
    const int64_t I = p_.input_size, H = p_.num_units;
    const int64_t rows = p_.seq_len * p_.batch;
    RNN_OPS_RETURN_IF_ERROR(call_.Multiply({rows, I, kGates * H}, {dgates_, kGates * H},
                                           Transposed(args_.w, kGates * H),
                                           {args_.x_grad, p_.dtype, Result::kSet}));
    return call_.Multiply({I, kGates * H, rows}, Transposed(args_.x, I), {dgates_, kGates * H},
                          {args_.w_grad, p_.dtype, Result::kSet});
  }

  // dw[I:] = h_prev' dgates
  Status RecurrentWeights() const {
    const int64_t B = p_.batch, I = p_.input_size, H = p_.num_units;
    WeightGradient sum(call_, p_.dtype, At(args_.w_grad, p_.dtype, I * kGates * H), H * kGates * H);
    RNN_OPS_RETURN_IF_ERROR(sum.Begin(/*in_parts=*/p_.seq_len > 1));
    RNN_OPS_RETURN_IF_ERROR(sum.AddSteps({H, kGates * H, B}, p_.seq_len * B, args_.h_prev, args_.h,
                                         {dgates_, kGates * H}));
    return sum.End();
  }

  // The gradients of b and of the peepholes.
  Status Sums() const {
    const int64_t H = p_.num_units;
    elementwise::BlockLstmSums sums = {};
    sums.dgates = dgates_;
    sums.cs = args_.cs;
    sums.cs_prev = args_.cs_prev;
    sums.rows = p_.seq_len * p_.batch;
    sums.batch = p_.batch;
    sums.units = H;
    const SumChunks chunks(sums.rows);
    sums.chunk_rows = chunks.rows;
    sums.chunks = chunks.count;
    sums.sums = p_.use_peephole ? kGates + kPeepholes : kGates;
    RNN_OPS_RETURN_IF_ERROR(
        call_.Scratch("the sums", sums.chunks * sums.sums * H, math_, &sums.partial));
    RNN_OPS_RETURN_IF_ERROR(
        call_.Launch(KernelForType(Kernel::block_lstm_sums_f32, p_.dtype), sums.chunks, H, sums));
    elementwise::BlockLstmFinishSums finish = {};
    finish.partial = sums.partial;
    finish.b_grad = args_.b_grad;
    finish.wci_grad = args_.wci_grad;
    finish.wcf_grad = args_.wcf_grad;
    finish.wco_grad = args_.wco_grad;
    finish.units = H;
    finish.chunks = sums.chunks;
    finish.sums = sums.sums;
    return call_.Launch(KernelForType(Kernel::block_lstm_finish_sums_f32, p_.dtype), sums.sums, H,
                        finish);
  }

  const ProductCall& call_;
  const BlockLstmBackwardArgs& args_;
  const BlockLstmProblem& p_;
  const Dtype math_;
  void* dgates_ = nullptr;              // [seq_len, B, 4*H]
  void *dh_ = nullptr, *dc_ = nullptr;  // math_ [B, H]
};

}  // namespace

Status RunBlockLstmBackward(const ProductLibraries& libraries, const BlockLstmBackwardArgs& args,
                            DeviceAllocator* allocator, void* stream) {
  const BlockLstmProblem& p = args.problem;
  const int64_t H = p.num_units;
  ProductCall call(libraries, p.dtype, p.allow_tf32, allocator, stream);
  RNN_OPS_RETURN_IF_ERROR(call.Enter());
  const bool empty = p.seq_len * p.batch == 0;
  if (empty) {
    RNN_OPS_RETURN_IF_ERROR(call.Zero(args.cs_prev_grad, p.batch * H));
    RNN_OPS_RETURN_IF_ERROR(call.Zero(args.h_prev_grad, p.batch * H));
    RNN_OPS_RETURN_IF_ERROR(call.Zero(args.w_grad, (p.input_size + H) * kGates * H));
    RNN_OPS_RETURN_IF_ERROR(call.Zero(args.b_grad, kGates * H));
  } else {
    RNN_OPS_RETURN_IF_ERROR(call.PrepareProducts());
    RNN_OPS_RETURN_IF_ERROR(BackwardSteps(call, args).Run());
  }
  if (empty || !p.use_peephole) {
    for (void* out : {args.wci_grad, args.wcf_grad, args.wco_grad}) {
      RNN_OPS_RETURN_IF_ERROR(call.Zero(out, H));
    }
  }
  const int64_t done = p.seq_len * p.batch * p.input_size;
  const int64_t rest = p.max_time * p.batch * p.input_size - done;
  return call.Zero(At(args.x_grad, p.dtype, done), rest);
}

}  // namespace rnn_ops::gpu
