#include "cc/gpu/cudnn/rnn_trial.h"

#include "cc/core/op/param_layout.h"

namespace rnn_ops::gpu {

Status MakeTrialBackward(const RnnForwardArgs& forward, const RecordingAllocator& reserve,
                         DeviceAllocator* scratch, RnnBackwardArgs* backward) {
  const RnnConfig& c = forward.problem;
  const int64_t element = SizeOf(forward.problem.dtype);
  const int64_t rows = c.max_time * c.batch;
  const int64_t states = c.num_pseudo_layers() * c.batch;
  backward->problem = forward.problem;
  backward->x = forward.x;
  backward->h0 = forward.h0;
  backward->c0 = forward.c0;
  backward->params = forward.params;
  backward->y = backward->dy = forward.y;
  backward->dh_n = forward.h_n;
  backward->dc_n = forward.c_n;
  backward->reserve = reserve.memory();
  backward->reserve_bytes = reserve.bytes();
  const char* purpose = "the gradients of a trial run";
  RNN_OPS_RETURN_IF_ERROR(
      AllocateScratch(scratch, purpose, rows * c.input_size * element, &backward->dx));
  RNN_OPS_RETURN_IF_ERROR(
      AllocateScratch(scratch, purpose, states * c.hidden_size() * element, &backward->dh0));
  RNN_OPS_RETURN_IF_ERROR(
      AllocateScratch(scratch, purpose, states * c.num_units * element, &backward->dc0));
  return AllocateScratch(scratch, purpose, ParamsSize(c) * element, &backward->dparams);
}

}  // namespace rnn_ops::gpu
