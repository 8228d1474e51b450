// A stand-in for cuDNN on the host: device memory is host memory, streams are ignored. It computes
// in float64 on tensors of any of the four types, checks what it is given as strictly as cuDNN
// documents (and refuses what cuDNN may refuse), and uses up the reserve space in backward.
#ifndef TF_RNN_OPS_TESTS_CC_GPU_FAKE_CUDNN_H_
#define TF_RNN_OPS_TESTS_CC_GPU_FAKE_CUDNN_H_

#include <cstdint>

#include "cc/gpu/cudnn_api.h"

namespace rnn_ops {
namespace gpu {
namespace fake {

// Its functions as a table.
CudnnApi FakeCudnn();

// How it differs from the cuDNN that it stands in for. libfakecudnn.so sets them from the variables
// FAKE_CUDNN_PADDED_WEIGHTS=1, FAKE_CUDNN_REFUSE_BFLOAT16=1, ...
struct Quirks {
  bool padded_weights = false;     // each block at a multiple of 128 bytes, another order
  bool refuse_bfloat16 = false;    // as before 9.14
  bool refuse_persistent = false;  // all algorithms but STANDARD, in RNNForward
  bool one_reserve = false;        // no algorithm reads what another one wrote
  bool no_skip_bias = false;       // no input bias where the input is skipped
};
Quirks& TheQuirks();

// Handles and descriptors that are alive.
int64_t LiveObjects();

}  // namespace fake
}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_CC_GPU_FAKE_CUDNN_H_
