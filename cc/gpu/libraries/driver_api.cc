#include "cc/gpu/libraries/driver_api.h"

#include <string>

namespace rnn_ops::gpu {

DsoRequest DriverApi::Request() {
  DsoRequest request;
  request.what = "the CUDA driver";
  request.names = {"libcuda.so.1"};
  request.remedy = "Install NVIDIA's display driver, which contains it.";
  return request;
}

Status DriverApi::Bind(const Dso& dso) {
  std::string missing;
#define RNN_OPS_BIND(name, symbol, parameters) BindSymbol(dso, #symbol, &name, &missing);
  RNN_OPS_CUDA_FUNCTIONS(RNN_OPS_BIND)
#undef RNN_OPS_BIND
  std::string unused;
#define RNN_OPS_BIND(name, symbol, parameters) BindSymbol(dso, #symbol, &name, &unused);
  RNN_OPS_CUDA_NEWER_FUNCTIONS(RNN_OPS_BIND)
#undef RNN_OPS_BIND
  if (missing.empty()) return Status();
  return FailedPrecondition(dso.name, " is too old a CUDA driver: it lacks", missing, ".");
}

Status FromDriver(const DriverApi& api, CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return Status();
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.GetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "an unknown error";
  if (api.GetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  const std::string expression = call;
  const Code code = result == CUDA_ERROR_OUT_OF_MEMORY ? Code::kResourceExhausted : Code::kInternal;
  return Status(
      code, StrCat("cu", expression.substr(0, expression.find('(')), " failed with ", name, " (",
                   static_cast<int>(result), ") in cu", expression, ": ", text));
}

Status GetContextId(const DriverApi& api, CUcontext context, uint64_t* id) {
  unsigned long long found = reinterpret_cast<uintptr_t>(context);
  if (api.CtxGetId != nullptr) RNN_OPS_RETURN_IF_CUDA_ERROR(api, CtxGetId(context, &found));
  *id = found;
  return Status();
}

Status IsCapturing(const DriverApi& api, CUstream stream, bool* capturing) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, StreamIsCapturing(stream, &status));
  *capturing = status != CU_STREAM_CAPTURE_STATUS_NONE;
  return Status();
}

ScopedContext::~ScopedContext() {
  CUcontext popped = nullptr;
  if (pushed_on_ != nullptr) pushed_on_->CtxPopCurrent(&popped);
}

Status ScopedContext::Enter(const DriverApi& api, CUstream stream) {
  CUcontext current = nullptr;
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, StreamGetCtx(stream, &context_));
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, CtxGetCurrent(&current));
  if (current == context_) return Status();
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, CtxPushCurrent(context_));
  pushed_on_ = &api;
  return Status();
}

ScopedPrimaryContext::~ScopedPrimaryContext() {
  CUcontext context = nullptr;
  if (pushed_on_ != nullptr) pushed_on_->CtxPopCurrent(&context);
}

Status ScopedPrimaryContext::Enter(const DriverApi& api, int ordinal) {
  if (ordinal < 0) {
    return InvalidArgument(
        "The ordinal of the GPU that a function is compiled for must be at least 0, but it is ",
        ordinal, ".");
  }
  CUdevice device = 0;
  CUcontext context = nullptr;
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, Init(0));  // needed if a process only compiles and runs nothing
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, DeviceGet(&device, ordinal));
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, DevicePrimaryCtxRetain(&context, device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(api, CtxPushCurrent(context));
  pushed_on_ = &api;
  return Status();
}

Status GetDeviceTraits(const DriverApi& driver, void* stream, DeviceTraits* traits) {
  ScopedContext context;
  RNN_OPS_RETURN_IF_ERROR(context.Enter(driver, static_cast<CUstream>(stream)));
  CUdevice device = 0;
  RNN_OPS_RETURN_IF_CUDA_ERROR(driver, CtxGetDevice(&device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      driver,
      DeviceGetAttribute(&traits->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      driver,
      DeviceGetAttribute(&traits->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      driver, DeviceGetAttribute(&traits->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                 device));
  return Status();
}

}  // namespace rnn_ops::gpu
