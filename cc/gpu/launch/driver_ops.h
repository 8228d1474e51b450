// Implements DeviceOps with the CUDA driver and the kernels of elementwise/.
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/launch/elementwise.h"
#include "cc/gpu/launch/modules.h"
#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {

class DriverOps : public DeviceOps {
 public:
  DriverOps(const DriverApi* api, KernelModules* modules) : api_(*api), modules_(*modules) {}

  Status Fill(void* stream, void* to, uint8_t value, int64_t bytes) const override;
  Status Copy(void* stream, void* to, const void* from, int64_t bytes) const override;
  Status CopyFromHost(void* stream, void* to, const void* host, int64_t bytes) const override;
  Status CopyToHost(void* stream, void* host, const void* from, int64_t bytes) const override;
  Status Convert(void* stream, void* to, Dtype to_type, const void* from, Dtype from_type,
                 int64_t size) const override;
  Status SwapLeadingDims(void* stream, Dtype dtype, void* to, const void* from, int64_t rows,
                         int64_t columns, int64_t width) const override;
  Status MaskSequence(void* stream, Dtype dtype, const SequenceShape& shape, void* to,
                      const void* from, const int32_t* lengths) const override;
  Status CopyEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                       const void* from, const int32_t* lengths) const override;
  Status ZeroEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                       const void* from, const int32_t* lengths) const override;

 private:
  template <typename Args>
  Status Launch(void* stream, Kernel kernel, const LaunchDomain& domain, const Args& args) const;

  const DriverApi& api_;
  KernelModules& modules_;
};

}  // namespace rnn_ops::gpu
