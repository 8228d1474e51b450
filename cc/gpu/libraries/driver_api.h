// A table of CUDA driver functions, the conversion of its results to Status, and facts of a device.
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/libraries/driver_min.h"
#include "cc/gpu/libraries/dso.h"

namespace rnn_ops::gpu {

// A table of CUDA driver functions, and the conversion of driver results to Status.

// Each function has its name without "cu". Tests fill the table with functions of their own.
struct DriverApi {
#define RNN_OPS_MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  RNN_OPS_CUDA_FUNCTIONS(RNN_OPS_MEMBER)
  RNN_OPS_CUDA_NEWER_FUNCTIONS(RNN_OPS_MEMBER)
#undef RNN_OPS_MEMBER

  static DsoRequest Request();
  Status Bind(const Dso& dso);
};

// `call`: the expression after "cu" that returned `result`.
Status FromDriver(const DriverApi& api, CUresult result, const char* call);

// A number that no other context of the process has, also after `context` was destroyed: a new
// context may have the address of a destroyed one. With a driver of CUDA 11, it is the address.
Status GetContextId(const DriverApi& api, CUcontext context, uint64_t* id);

// Whether a CUDA graph captures the work of the stream, to run it any number of times later.
Status IsCapturing(const DriverApi& api, CUstream stream, bool* capturing);

// Makes the context of a stream current on this thread until this object is destroyed.
class ScopedContext {
 public:
  ScopedContext() = default;
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;
  ~ScopedContext();

  Status Enter(const DriverApi& api, CUstream stream);
  CUcontext context() const { return context_; }

 private:
  const DriverApi* pushed_on_ = nullptr;  // null if the context was current already
  CUcontext context_ = nullptr;
};

// Makes the primary context of a device current on this thread until this object is destroyed. The
// CUDA runtime and its users use the same context. The process never releases the context, because
// cuDNN's handles belong to it.
class ScopedPrimaryContext {
 public:
  ScopedPrimaryContext() = default;
  ScopedPrimaryContext(const ScopedPrimaryContext&) = delete;
  ScopedPrimaryContext& operator=(const ScopedPrimaryContext&) = delete;
  ~ScopedPrimaryContext();

  // `ordinal`: the number of the device, at least 0.
  Status Enter(const DriverApi& api, int ordinal);

 private:
  const DriverApi* pushed_on_ = nullptr;
};

inline CUdeviceptr ToDevicePtr(const void* pointer) {
  return static_cast<CUdeviceptr>(reinterpret_cast<size_t>(pointer));
}

}  // namespace rnn_ops::gpu

// Returns from the enclosing function unless api.call succeeds.
#define RNN_OPS_RETURN_IF_CUDA_ERROR(api, call)                       \
  do {                                                                \
    const CUresult rnn_ops_cuda_ = (api).call;                        \
    if (rnn_ops_cuda_ != CUDA_SUCCESS) {                              \
      return ::rnn_ops::gpu::FromDriver((api), rnn_ops_cuda_, #call); \
    }                                                                 \
  } while (false)

namespace rnn_ops::gpu {

// The properties of a GPU that the choice of an algorithm depends on.

struct DeviceTraits {
  int major = 0, minor = 0;  // the compute capability
  int multiprocessors = 0;
};

// The traits of the device that `stream`, a CUstream, belongs to.
Status GetDeviceTraits(const DriverApi& driver, void* stream, DeviceTraits* traits);

}  // namespace rnn_ops::gpu
