#include "cc/gpu/block_lstm_gpu.h"

#include "cc/gpu/block_lstm_executor.h"

namespace rnn_ops {
namespace gpu {
namespace {

Status OpenLibraries(BlockLstmLibraries* libraries) {
  RNN_OPS_RETURN_IF_ERROR(GetModules(&libraries->driver, &libraries->modules));
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&libraries->cublas));
  // Never destroyed, because kernels may run while the process exits.
  static CublasHandles* const handles = new CublasHandles(libraries->cublas);
  libraries->handles = handles;
  return Status();
}

}  // namespace

Status BlockLstmForward(const BlockLstmForwardArgs& args, DeviceAllocator* allocator,
                        void* stream) {
  BlockLstmLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenLibraries(&libraries));
  return RunBlockLstmForward(libraries, args, allocator, stream);
}

Status BlockLstmBackward(const BlockLstmBackwardArgs& args, DeviceAllocator* allocator,
                         void* stream) {
  BlockLstmLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenLibraries(&libraries));
  return RunBlockLstmBackward(libraries, args, allocator, stream);
}

}  // namespace gpu
}  // namespace rnn_ops
