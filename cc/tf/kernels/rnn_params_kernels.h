// OpKernels of the parameter ops, for any name and device.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "cc/core/op/rnn_config.h"
#include "cc/tf/op_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace rnn_ops::tf_kernels {

// CudnnRNNParamsSize. All of its tensors are on the host, so the kernel also serves a GPU.
class RnnParamsSizeKernel : public CheckedOpKernel {
 public:
  RnnParamsSizeKernel(tensorflow::OpKernelConstruction* context, bool has_num_proj);
  void DoCompute(tensorflow::OpKernelContext* context) override;

 private:
  RnnAttrs attrs_;
};

// The attributes of an op that give the number of canonical tensors.
enum class CanonicalAttrs {
  kNumParams,               // TensorFlow's first versions: one number for both, no projection
  kNumWeightsAndNumBiases,  // V2
};

// A device's copy within its memory. Never called with 0 bytes.
using CopyBytes = absl::Status (*)(tensorflow::OpKernelContext* context, void* to, const void* from,
                                   int64_t bytes);
absl::Status CopyBytesOnCpu(tensorflow::OpKernelContext* context, void* to, const void* from,
                            int64_t bytes);

class RnnCanonicalToParamsKernel : public CheckedOpKernel {
 public:
  RnnCanonicalToParamsKernel(tensorflow::OpKernelConstruction* context, CanonicalAttrs version,
                             CopyBytes copy);
  void DoCompute(tensorflow::OpKernelContext* context) override;

 private:
  const CopyBytes copy_;
  RnnAttrs attrs_;
  CanonicalCounts counts_;
};

class RnnParamsToCanonicalKernel : public CheckedOpKernel {
 public:
  RnnParamsToCanonicalKernel(tensorflow::OpKernelConstruction* context, CanonicalAttrs version,
                             CopyBytes copy);
  void DoCompute(tensorflow::OpKernelContext* context) override;

 private:
  const CopyBytes copy_;
  RnnAttrs attrs_;
  CanonicalCounts counts_;
};

// ---- Kernels with the attributes of V2, on a device that copies with `copy` ----

class ParamsSizeKernel : public RnnParamsSizeKernel {
 public:
  explicit ParamsSizeKernel(tensorflow::OpKernelConstruction* context)
      : RnnParamsSizeKernel(context, /*has_num_proj=*/true) {}
};

template <CopyBytes copy>
class CanonicalToParamsV2Kernel : public RnnCanonicalToParamsKernel {
 public:
  explicit CanonicalToParamsV2Kernel(tensorflow::OpKernelConstruction* context)
      : RnnCanonicalToParamsKernel(context, CanonicalAttrs::kNumWeightsAndNumBiases, copy) {}
};

template <CopyBytes copy>
class ParamsToCanonicalV2Kernel : public RnnParamsToCanonicalKernel {
 public:
  explicit ParamsToCanonicalV2Kernel(tensorflow::OpKernelConstruction* context)
      : RnnParamsToCanonicalKernel(context, CanonicalAttrs::kNumWeightsAndNumBiases, copy) {}
};

}  // namespace rnn_ops::tf_kernels
