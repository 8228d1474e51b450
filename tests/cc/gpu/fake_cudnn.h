// A mock of cuDNN on the host: device memory is host memory, and streams are ignored. The mock
// computes in float64 on tensors of the four types. It checks its arguments as strictly as cuDNN's
// documentation allows, rejects everything that cuDNN may reject, and overwrites the reserve space
// in backward.
#pragma once

#include <cstdint>

#include "cc/gpu/libraries/cudnn_api.h"

namespace rnn_ops::gpu::fake {

// The functions of the mock as a table.
CudnnApi FakeCudnn();

// Differences between the mock and the usual cuDNN. libfakecudnn.so reads them from the variables
// FAKE_CUDNN_PADDED_WEIGHTS=1, FAKE_CUDNN_REFUSE_BFLOAT16=1, ...
struct Quirks {
  bool padded_weights = false;     // each block at a multiple of 128 bytes, in another order
  bool refuse_bfloat16 = false;    // like versions before 9.14
  bool refuse_persistent = false;  // all algorithms except STANDARD, in RNNForward
  bool one_reserve = false;        // no algorithm can read the reserve space of another algorithm
  bool no_skip_bias = false;       // no input bias if the input is skipped
};
Quirks& TheQuirks();

// The number of handles and descriptors that exist.
int64_t LiveObjects();

}  // namespace rnn_ops::gpu::fake
