// Tells from its size whether a reserve space of LayerRNN comes from another kind of device than
// the one that reads it. The CPU and the GPU have reserve spaces of their own.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/core/status.h"

namespace rnn_ops::tf_kernels {

enum class DeviceKind { kCpu, kGpu };

// Properties of a call that determine the size of its reserve space.
struct LayerReserveCall {
  RnnConfig config;
  Dtype dtype = Dtype::kFloat32;
  bool has_layer_norm = false;
  int64_t rows = -1;  // the sum of the lengths; -1: unknown
};

// The elements of the reserve space if every sequence has all steps; -1 if there are too many.
int64_t LayerReserveElements(const LayerReserveCall& call, DeviceKind device);

// Returns InvalidArgument with both devices if `reserve_space` has the shape of a reserve space of
// the other kind of device and cannot come from `reader`. The reader rejects all other shapes.
Status CheckReserveMaker(const LayerReserveCall& call, DeviceKind reader,
                         const PartialShape& reserve_space);

}  // namespace rnn_ops::tf_kernels
