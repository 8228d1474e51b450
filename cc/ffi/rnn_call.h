// What the handlers of the CudnnRNN family and of LayerRNN have in common.
#ifndef TF_RNN_OPS_CC_FFI_RNN_CALL_H_
#define TF_RNN_OPS_CC_FFI_RNN_CALL_H_

#include <cstdint>
#include <vector>

#include "cc/core/rnn_config.h"
#include "cc/core/status.h"
#include "cc/cpu/kernel_args.h"
#include "cc/ffi/call.h"

namespace rnn_ops {
namespace ffi {

// A validated problem and the lengths that it refers to.
struct RnnCall {
  RnnConfig config;
  std::vector<int32_t> lengths;  // [B]

  // `lengths_arg`: sequence_lengths; kAbsent: all T. config is complete.
  Status TakeLengths(const Call& call, int lengths_arg);
  cpu::RnnProblem MakeProblem(const Call& call) const;
};

// `args` has its problem and its pointers but scratch, reserve and packed; what it lacks of
// `reserve_space`, a result, and `packed`, an argument, is given as kAbsent.
Status RunForward(Call* call, const RnnCall& rnn, int reserve_space, int packed,
                  cpu::RnnForwardArgs* args);

// `args` has its problem and its pointers but scratch and reserve.
Status RunBackward(Call* call, const RnnCall& rnn, int reserve_space, cpu::RnnBackwardArgs* args);

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_RNN_CALL_H_
