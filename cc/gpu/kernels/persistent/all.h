// The persistent kernels and their cells.
#ifndef TF_RNN_OPS_CC_GPU_ELEMENTWISE_PERSISTENT_ALL_H_
#define TF_RNN_OPS_CC_GPU_ELEMENTWISE_PERSISTENT_ALL_H_

#include "cc/gpu/kernels/cells/gru.h"
#include "cc/gpu/kernels/cells/lstm.h"
#include "cc/gpu/kernels/cells/vanilla.h"
#include "cc/gpu/kernels/persistent/persistent_backward.h"
#include "cc/gpu/kernels/persistent/persistent_forward.h"

#endif  // TF_RNN_OPS_CC_GPU_ELEMENTWISE_PERSISTENT_ALL_H_
