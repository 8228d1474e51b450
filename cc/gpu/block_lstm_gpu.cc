#include "cc/gpu/block_lstm_gpu.h"

#include "cc/gpu/block_lstm_executor.h"

namespace rnn_ops {
namespace gpu {
Status BlockLstmForward(const BlockLstmForwardArgs& args, DeviceAllocator* allocator,
                        void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return RunBlockLstmForward(libraries, args, allocator, stream);
}

Status BlockLstmBackward(const BlockLstmBackwardArgs& args, DeviceAllocator* allocator,
                         void* stream) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(&libraries));
  return RunBlockLstmBackward(libraries, args, allocator, stream);
}

}  // namespace gpu
}  // namespace rnn_ops
