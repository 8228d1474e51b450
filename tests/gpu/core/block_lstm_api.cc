// A C interface to the block LSTM of the GPU core. block_lstm_checks.py calls it.
#include <cstdint>
#include <string>

#include "cc/core/network/dtype.h"
#include "cc/core/network/shapes.h"
#include "cc/gpu/layer/block_lstm_gpu.h"
#include "tests/gpu/core/timed_calls.h"

#define CORE_API extern "C" __attribute__((visibility("default")))

// block_lstm_checks.py has the same struct.
struct CoreBlockLstm {
  int32_t dtype, use_peephole, allow_tf32;
  float cell_clip;
  int64_t max_time, batch, input_size, units, seq_len_max;
  void* stream;
};

namespace {

using rnn_ops::Dtype;
using rnn_ops::Status;
using rnn_ops::gpu::AllocateFn;
using rnn_ops::gpu::BlockAllocator;
using rnn_ops::gpu::CallbackAllocator;
namespace gpu = rnn_ops::gpu;

thread_local std::string message;

int Report(const Status& status) {
  message = status.message();
  return static_cast<int>(status.code());
}

Status MakeProblem(const CoreBlockLstm& core, gpu::BlockLstmProblem* p) {
  p->dtype = static_cast<Dtype>(core.dtype);
  p->use_peephole = core.use_peephole != 0;
  p->cell_clip = core.cell_clip;
  p->allow_tf32 = core.allow_tf32 != 0;
  rnn_ops::RnnDims dims;
  dims.max_time = core.max_time, dims.batch = core.batch;
  dims.input_size = core.input_size, dims.num_units = core.units;
  return rnn_ops::MakeBlockLstmConfig(dims, core.seq_len_max, p);
}

// in: x, cs_prev, h_prev, w, wci, wcf, wco, b. out: i, cs, f, o, ci, co, h.
Status Forward(const CoreBlockLstm& core, const void* const in[8], void* const out[7],
               gpu::DeviceAllocator* scratch) {
  gpu::BlockLstmForwardArgs args = {};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, &args.problem));
  args.x = in[0], args.cs_prev = in[1], args.h_prev = in[2], args.w = in[3];
  args.wci = in[4], args.wcf = in[5], args.wco = in[6], args.b = in[7];
  args.i = out[0], args.cs = out[1], args.f = out[2], args.o = out[3];
  args.ci = out[4], args.co = out[5], args.h = out[6];
  return gpu::BlockLstmForward(args, scratch, core.stream);
}

// in: the inputs of forward, the outputs of forward, cs_grad and h_grad. out: the gradients of the
// first eight.
Status Backward(const CoreBlockLstm& core, const void* const in[17], void* const out[8],
                gpu::DeviceAllocator* scratch) {
  gpu::BlockLstmBackwardArgs args = {};
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(core, &args.problem));
  args.x = in[0], args.cs_prev = in[1], args.h_prev = in[2], args.w = in[3];
  args.wci = in[4], args.wcf = in[5], args.wco = in[6], args.b = in[7];
  args.i = in[8], args.cs = in[9], args.f = in[10], args.o = in[11];
  args.ci = in[12], args.co = in[13], args.h = in[14];
  args.cs_grad = in[15], args.h_grad = in[16];
  args.x_grad = out[0], args.cs_prev_grad = out[1], args.h_prev_grad = out[2];
  args.w_grad = out[3], args.wci_grad = out[4], args.wcf_grad = out[5], args.wco_grad = out[6];
  args.b_grad = out[7];
  return gpu::BlockLstmBackward(args, scratch, core.stream);
}

}  // namespace

CORE_API const char* core_block_lstm_message() { return message.c_str(); }

CORE_API int core_block_lstm_forward(const CoreBlockLstm* core, const void* const in[8],
                                     void* const out[7], AllocateFn scratch) {
  CallbackAllocator allocator(scratch);
  return Report(Forward(*core, in, out, &allocator));
}

CORE_API int core_block_lstm_backward(const CoreBlockLstm* core, const void* const in[17],
                                      void* const out[8], AllocateFn scratch) {
  CallbackAllocator allocator(scratch);
  return Report(Backward(*core, in, out, &allocator));
}

// Measures the seconds of one step on the device, forward and, if `training`, backward, in a series
// of `runs` steps. in: the inputs of backward. gradients: the outputs of backward.
CORE_API int core_block_lstm_time(const CoreBlockLstm* core, const void* const in[17],
                                  void* const gradients[8], void* scratch, int64_t scratch_bytes,
                                  int32_t training, int32_t runs, double* seconds) {
  BlockAllocator allocator(scratch, scratch_bytes);
  void* outputs[7];
  for (int k = 0; k < 7; ++k) outputs[k] = const_cast<void*>(in[8 + k]);
  const auto step = [&]() -> Status {
    allocator.Reset();
    RNN_OPS_RETURN_IF_ERROR(Forward(*core, in, outputs, &allocator));
    if (training == 0) return Status();
    allocator.Reset();
    return Backward(*core, in, gradients, &allocator);
  };
  return Report(gpu::TimeRuns(core->stream, runs, step, seconds));
}
