// The CUDA driver's functions as a table, and its results as ours.
#ifndef TF_RNN_OPS_CC_GPU_DRIVER_API_H_
#define TF_RNN_OPS_CC_GPU_DRIVER_API_H_

#include "cc/core/status.h"
#include "cc/gpu/driver_min.h"
#include "cc/gpu/dso.h"

namespace rnn_ops {
namespace gpu {

// Each function under its name without "cu". A test fills it with functions of its own.
struct DriverApi {
#define RNN_OPS_MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  RNN_OPS_CUDA_FUNCTIONS(RNN_OPS_MEMBER)
#undef RNN_OPS_MEMBER

  static DsoRequest Request();
  Status Bind(const Dso& dso);
};

// `call` is the expression behind "cu" that returned `result`.
Status FromDriver(const DriverApi& api, CUresult result, const char* call);

// Makes the context of a stream current on this thread until destroyed.
class ScopedContext {
 public:
  ScopedContext() = default;
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;
  ~ScopedContext();

  Status Enter(const DriverApi& api, CUstream stream);
  CUcontext context() const { return context_; }

 private:
  const DriverApi* pushed_on_ = nullptr;  // null: the context was current already
  CUcontext context_ = nullptr;
};

// Makes the primary context of a device, which the CUDA runtime and all that use it have too,
// current on this thread until destroyed. The process keeps the context for good, since cuDNN's
// handles live in it.
class ScopedPrimaryContext {
 public:
  ScopedPrimaryContext() = default;
  ScopedPrimaryContext(const ScopedPrimaryContext&) = delete;
  ScopedPrimaryContext& operator=(const ScopedPrimaryContext&) = delete;
  ~ScopedPrimaryContext();

  Status Enter(const DriverApi& api, int ordinal);

 private:
  const DriverApi* pushed_on_ = nullptr;
};

inline CUdeviceptr ToDevicePtr(const void* pointer) {
  return static_cast<CUdeviceptr>(reinterpret_cast<size_t>(pointer));
}

}  // namespace gpu
}  // namespace rnn_ops

// Returns from the enclosing function unless api.call succeeds.
#define RNN_OPS_RETURN_IF_CUDA_ERROR(api, call)                       \
  do {                                                                \
    const CUresult rnn_ops_cuda_ = (api).call;                        \
    if (rnn_ops_cuda_ != CUDA_SUCCESS) {                              \
      return ::rnn_ops::gpu::FromDriver((api), rnn_ops_cuda_, #call); \
    }                                                                 \
  } while (false)

#endif  // TF_RNN_OPS_CC_GPU_DRIVER_API_H_
