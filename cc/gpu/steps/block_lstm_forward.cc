// The forward pass of BlockLSTMV2 on a GPU.
#include <algorithm>
#include <cstdint>

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/steps/layer_executor.h"

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
    step.i = out(args_.i), step.cs = out(args_.cs), step.f = out(args_.f);
    step.o = out(args_.o), step.ci = out(args_.ci), step.co = out(args_.co);
    step.h = out(args_.h);
    step.batch = B, step.units = H;
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

}  // namespace rnn_ops::gpu
