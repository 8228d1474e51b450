// The block LSTM of a 16-bit type that cuBLAS cannot multiply on this GPU: through float32.
#include <cstdint>
#include <vector>

#include "cc/gpu/block_lstm_call.h"
#include "cc/gpu/block_lstm_executor.h"
#include "cc/gpu/elementwise/kernel_args.h"

namespace rnn_ops {
namespace gpu {
namespace {

using elementwise::kGates;

// Replaces the tensors of a call by float32 copies; the outputs are narrowed at the end.
class WidenedTensors {
 public:
  explicit WidenedTensors(const BlockLstmCall& call) : call_(call) {}

  Status Input(const void** tensor, int64_t size) const {
    if (size == 0) return Status();
    void* wide = nullptr;
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("a float32 copy", size, Dtype::kFloat32, &wide));
    RNN_OPS_RETURN_IF_ERROR(call_.Widen(wide, *tensor, size));
    *tensor = wide;
    return Status();
  }

  Status Output(void** tensor, int64_t size) {
    if (size == 0) return Status();
    void* wide = nullptr;
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("a float32 copy", size, Dtype::kFloat32, &wide));
    outputs_.push_back({*tensor, wide, size});
    *tensor = wide;
    return Status();
  }

  Status Finish() const {
    for (const Pair& output : outputs_) {
      RNN_OPS_RETURN_IF_ERROR(call_.Narrow(output.narrow, output.wide, output.size));
    }
    return Status();
  }

 private:
  struct Pair {
    void *narrow, *wide;
    int64_t size;
  };

  const BlockLstmCall& call_;
  std::vector<Pair> outputs_;
};

// The inputs that both directions have.
template <typename Args>
Status WidenInputs(const WidenedTensors& tensors, Args* args) {
  const BlockLstmConfig& d = args->problem;
  const int64_t H = d.num_units;
  RNN_OPS_RETURN_IF_ERROR(tensors.Input(&args->x, d.max_time * d.batch * d.input_size));
  for (const void** state : {&args->cs_prev, &args->h_prev}) {
    RNN_OPS_RETURN_IF_ERROR(tensors.Input(state, d.batch * H));
  }
  RNN_OPS_RETURN_IF_ERROR(tensors.Input(&args->w, (d.input_size + H) * kGates * H));
  for (const void** peephole : {&args->wci, &args->wcf, &args->wco}) {
    RNN_OPS_RETURN_IF_ERROR(tensors.Input(peephole, H));
  }
  args->problem.dtype = Dtype::kFloat32;
  args->problem.allow_tf32 = false;
  return tensors.Input(&args->b, kGates * H);
}

}  // namespace

Status RunWidenedForward(const BlockLstmLibraries& libraries, const BlockLstmForwardArgs& args,
                         DeviceAllocator* allocator, void* stream) {
  BlockLstmCall call(libraries, args.problem, allocator, stream);
  RNN_OPS_RETURN_IF_ERROR(call.Enter());
  WidenedTensors tensors(call);
  BlockLstmForwardArgs wide = args;
  RNN_OPS_RETURN_IF_ERROR(WidenInputs(tensors, &wide));
  const int64_t steps = args.problem.max_time * StepSize(args.problem);
  for (void** out : {&wide.i, &wide.cs, &wide.f, &wide.o, &wide.ci, &wide.co, &wide.h}) {
    RNN_OPS_RETURN_IF_ERROR(tensors.Output(out, steps));
  }
  RNN_OPS_RETURN_IF_ERROR(RunBlockLstmForward(libraries, wide, allocator, stream));
  return tensors.Finish();
}

Status RunWidenedBackward(const BlockLstmLibraries& libraries, const BlockLstmBackwardArgs& args,
                          DeviceAllocator* allocator, void* stream) {
  const BlockLstmConfig& d = args.problem;
  const int64_t H = d.num_units;
  BlockLstmCall call(libraries, args.problem, allocator, stream);
  RNN_OPS_RETURN_IF_ERROR(call.Enter());
  WidenedTensors tensors(call);
  BlockLstmBackwardArgs wide = args;
  RNN_OPS_RETURN_IF_ERROR(WidenInputs(tensors, &wide));
  const int64_t steps = d.max_time * StepSize(args.problem);
  for (const void** in : {&wide.i, &wide.cs, &wide.f, &wide.o, &wide.ci, &wide.co, &wide.h,
                          &wide.cs_grad, &wide.h_grad}) {
    RNN_OPS_RETURN_IF_ERROR(tensors.Input(in, steps));
  }
  RNN_OPS_RETURN_IF_ERROR(tensors.Output(&wide.x_grad, d.max_time * d.batch * d.input_size));
  for (void** state : {&wide.cs_prev_grad, &wide.h_prev_grad}) {
    RNN_OPS_RETURN_IF_ERROR(tensors.Output(state, StepSize(args.problem)));
  }
  RNN_OPS_RETURN_IF_ERROR(tensors.Output(&wide.w_grad, (d.input_size + H) * kGates * H));
  for (void** peephole : {&wide.wci_grad, &wide.wcf_grad, &wide.wco_grad}) {
    RNN_OPS_RETURN_IF_ERROR(tensors.Output(peephole, H));
  }
  RNN_OPS_RETURN_IF_ERROR(tensors.Output(&wide.b_grad, kGates * H));
  RNN_OPS_RETURN_IF_ERROR(RunBlockLstmBackward(libraries, wide, allocator, stream));
  return tensors.Finish();
}

}  // namespace gpu
}  // namespace rnn_ops
