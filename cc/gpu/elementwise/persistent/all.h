// The persistent kernels and their cells.
#ifndef TF_RNN_OPS_CC_GPU_ELEMENTWISE_PERSISTENT_ALL_H_
#define TF_RNN_OPS_CC_GPU_ELEMENTWISE_PERSISTENT_ALL_H_

#include "cc/gpu/elementwise/cells/gru.h"
#include "cc/gpu/elementwise/cells/lstm.h"
#include "cc/gpu/elementwise/cells/vanilla.h"
#include "cc/gpu/elementwise/persistent/persistent_backward.h"
#include "cc/gpu/elementwise/persistent/persistent_forward.h"

#endif  // TF_RNN_OPS_CC_GPU_ELEMENTWISE_PERSISTENT_ALL_H_
