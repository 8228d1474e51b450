// The functions of block_lstm_gpu.h, with the libraries as arguments.
#ifndef TF_RNN_OPS_CC_GPU_BLOCK_LSTM_EXECUTOR_H_
#define TF_RNN_OPS_CC_GPU_BLOCK_LSTM_EXECUTOR_H_

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/block_lstm_gpu.h"
#include "cc/gpu/cublas_api.h"
#include "cc/gpu/driver_api.h"
#include "cc/gpu/modules.h"

namespace rnn_ops {
namespace gpu {

struct BlockLstmLibraries {
  const DriverApi* driver = nullptr;
  KernelModules* modules = nullptr;
  const CublasApi* cublas = nullptr;
  CublasHandles* handles = nullptr;
  // The maximum size of the forward buffer of gates. One input product computes the gates of as
  // many steps as fit the buffer.
  int64_t gate_bytes = int64_t{256} << 20;
};

Status RunBlockLstmForward(const BlockLstmLibraries& libraries, const BlockLstmForwardArgs& args,
                           DeviceAllocator* allocator, void* stream);
Status RunBlockLstmBackward(const BlockLstmLibraries& libraries, const BlockLstmBackwardArgs& args,
                            DeviceAllocator* allocator, void* stream);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_BLOCK_LSTM_EXECUTOR_H_
