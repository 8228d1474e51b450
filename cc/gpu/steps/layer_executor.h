// The functions of layer_gpu.h and block_lstm_gpu.h, with the libraries as arguments.
#pragma once

#include "cc/core/status.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/layer_gpu.h"
#include "cc/gpu/steps/block_lstm_gpu.h"

namespace rnn_ops::gpu {

// One layer within a call that has prepared products. B > 0, and for the gradient T > 0.
Status ForwardLayer(const ProductCall& call, const LayerForwardArgs& args);
Status BackwardLayer(const ProductCall& call, const LayerBackwardArgs& args);

Status RunLayerForward(const ProductLibraries& libraries, const LayerForwardArgs& args,
                       DeviceAllocator* allocator, void* stream);
Status RunLayerBackward(const ProductLibraries& libraries, const LayerBackwardArgs& args,
                        DeviceAllocator* allocator, void* stream);
Status RunBlockLstmForward(const ProductLibraries& libraries, const BlockLstmForwardArgs& args,
                           DeviceAllocator* allocator, void* stream);
Status RunBlockLstmBackward(const ProductLibraries& libraries, const BlockLstmBackwardArgs& args,
                            DeviceAllocator* allocator, void* stream);

}  // namespace rnn_ops::gpu
