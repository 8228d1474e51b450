// The part of the CUDA driver's C API that this library calls, so that the build needs no NVIDIA
// header. tests/gpu/host/check_driver_abi.cc compares these lists with cuda.h at compile time.
#pragma once

#include <cstddef>

// V(enumerator, value).
#define RNN_OPS_CUDA_RESULTS(V)              \
  V(CUDA_SUCCESS, 0)                         \
  V(CUDA_ERROR_INVALID_VALUE, 1)             \
  V(CUDA_ERROR_OUT_OF_MEMORY, 2)             \
  V(CUDA_ERROR_NOT_INITIALIZED, 3)           \
  V(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)       \
  V(CUDA_ERROR_INVALID_PTX, 218)             \
  V(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221)  \
  V(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222) \
  V(CUDA_ERROR_NOT_FOUND, 500)               \
  V(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)

#define RNN_OPS_CUDA_DEVICE_ATTRIBUTES(V)             \
  V(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)     \
  V(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
  V(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
  V(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)

#define RNN_OPS_CUDA_FUNCTION_ATTRIBUTES(V) V(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)

#define RNN_OPS_CUDA_CAPTURE_STATUSES(V) V(CU_STREAM_CAPTURE_STATUS_NONE, 0)

// Macros of cuda.h, there with CU instead of RNN_OPS.
#define RNN_OPS_MEMHOSTALLOC_PORTABLE 0x01
#define RNN_OPS_MEMHOSTALLOC_DEVICEMAP 0x02

#ifndef CUDA_VERSION  // NVIDIA's header defines CUDA_VERSION and the types
#define RNN_OPS_ENUMERATOR(name, value) name = value,
extern "C" {
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef void (*CUhostFn)(void* data);
typedef enum cudaError_enum { RNN_OPS_CUDA_RESULTS(RNN_OPS_ENUMERATOR) } CUresult;
typedef enum CUdevice_attribute_enum {
  RNN_OPS_CUDA_DEVICE_ATTRIBUTES(RNN_OPS_ENUMERATOR)
} CUdevice_attribute;
typedef enum CUfunction_attribute_enum {
  RNN_OPS_CUDA_FUNCTION_ATTRIBUTES(RNN_OPS_ENUMERATOR)
} CUfunction_attribute;
typedef enum CUstreamCaptureStatus_enum {
  RNN_OPS_CUDA_CAPTURE_STATUSES(RNN_OPS_ENUMERATOR)
} CUstreamCaptureStatus;
}
#undef RNN_OPS_ENUMERATOR
#endif  // CUDA_VERSION

// F(name, symbol, parameters): cu##name, which the library exports as `symbol`. The two differ if
// the function has changed since its first version; cuda.h then maps the name to the symbol.
#define RNN_OPS_CUDA_FUNCTIONS(F)                                                                \
  F(Init, cuInit, (unsigned flags))                                                              \
  F(GetErrorName, cuGetErrorName, (CUresult, const char**))                                      \
  F(GetErrorString, cuGetErrorString, (CUresult, const char**))                                  \
  F(DriverGetVersion, cuDriverGetVersion, (int*))                                                \
  F(CtxGetCurrent, cuCtxGetCurrent, (CUcontext*))                                                \
  F(CtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                                            \
  F(CtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext*))                                             \
  F(CtxGetDevice, cuCtxGetDevice, (CUdevice*))                                                   \
  F(DeviceGet, cuDeviceGet, (CUdevice*, int ordinal))                                            \
  F(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                    \
  F(DeviceGetAttribute, cuDeviceGetAttribute, (int*, CUdevice_attribute, CUdevice))              \
  F(StreamGetCtx, cuStreamGetCtx, (CUstream, CUcontext*))                                        \
  F(StreamIsCapturing, cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus*))                  \
  F(ModuleLoadData, cuModuleLoadData, (CUmodule*, const void* image))                            \
  F(ModuleUnload, cuModuleUnload, (CUmodule))                                                    \
  F(ModuleGetFunction, cuModuleGetFunction, (CUfunction*, CUmodule, const char* name))           \
  F(LaunchKernel, cuLaunchKernel,                                                                \
    (CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,            \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream, void** parameters,     \
     void** extra))                                                                              \
  F(LaunchCooperativeKernel, cuLaunchCooperativeKernel,                                          \
    (CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,            \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream, void** parameters))    \
  F(FuncSetAttribute, cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int value))         \
  F(MemHostAlloc, cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))                 \
  F(MemFreeHost, cuMemFreeHost, (void* memory))                                                  \
  F(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                       \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream))                                  \
  F(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                       \
    (CUdeviceptr to, const void* from, size_t bytes, CUstream))                                  \
  F(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream)) \
  F(LaunchHostFunc, cuLaunchHostFunc, (CUstream, CUhostFn, void* data))                          \
  F(StreamSynchronize, cuStreamSynchronize, (CUstream))                                          \
  F(MemsetD8Async, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream))

// Functions that a driver of CUDA 11 lacks. Null if the driver lacks them.
#define RNN_OPS_CUDA_NEWER_FUNCTIONS(F) F(CtxGetId, cuCtxGetId, (CUcontext, unsigned long long* id))
