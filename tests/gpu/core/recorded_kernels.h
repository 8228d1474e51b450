// The libraries of the process with a driver that records how persistent kernels are loaded and
// launched. Their C interface is for launches.py.
#pragma once

#include "cc/core/status.h"
#include "cc/gpu/launch/product_call.h"

namespace rnn_ops::gpu {

Status OpenRecordedLibraries(ProductLibraries* libraries);

}  // namespace rnn_ops::gpu
