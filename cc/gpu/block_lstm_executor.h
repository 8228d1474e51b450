// The functions of block_lstm_gpu.h, with the libraries as arguments.
#ifndef TF_RNN_OPS_CC_GPU_BLOCK_LSTM_EXECUTOR_H_
#define TF_RNN_OPS_CC_GPU_BLOCK_LSTM_EXECUTOR_H_

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/block_lstm_gpu.h"
#include "cc/gpu/product_call.h"

namespace rnn_ops {
namespace gpu {

Status RunBlockLstmForward(const ProductLibraries& libraries, const BlockLstmForwardArgs& args,
                           DeviceAllocator* allocator, void* stream);
Status RunBlockLstmBackward(const ProductLibraries& libraries, const BlockLstmBackwardArgs& args,
                            DeviceAllocator* allocator, void* stream);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_BLOCK_LSTM_EXECUTOR_H_
