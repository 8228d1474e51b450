// A mock of libcuda.so.1, with the functions that TensorFlow and this library use. The kernels of
// this library run on the host (tests/cc/gpu/host_kernels.h), and all other kernels do nothing.
#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "mock.h"
#include "tests/cc/gpu/fibers.h"
#include "tests/cc/gpu/host_kernels.h"

namespace {

using ::rnn_ops::gpu::fake::FindHostKernel;
using ::rnn_ops::gpu::fake::HostKernel;

using DevicePtr = unsigned long long;  // CUdeviceptr

constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kNotFound = 500;
constexpr int kSymbolNotFound = 1;  // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND

constexpr size_t kTotalMemory = size_t{4} << 30;
constexpr size_t kFreeMemory = size_t{3} << 30;

// Only the addresses of handles are used.
char context_handle;
thread_local void* current_context = nullptr;

void* NewHandle() { return std::malloc(64); }

// TensorFlow also passes handles of the mock runtime, which lack the mark.
constexpr uint64_t kFunctionMark = 0x6d6f636b66756e63;

struct Function {
  uint64_t mark = kFunctionMark;
  std::string name;
  const HostKernel* host = nullptr;
};

// Reads CUDA_VISIBLE_DEVICES like the real driver. The mock has only one device.
bool Hidden() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible != nullptr && visible[0] != '0';
}

struct Attribute {
  int id;
  int value;
};

// The CUdevice_attributes of an H200 that TensorFlow reads.
constexpr Attribute kAttributes[] = {
    {1, 1024},  {2, 1024},     {3, 1024},    {4, 64},        {5, 2147483647}, {6, 65535},
    {7, 65535}, {8, 49152},    {10, 32},     {12, 65536},    {13, 1980000},   {16, 132},
    {33, 1},    {36, 3201000}, {37, 6144},   {38, 62914560}, {39, 2048},      {41, 1},
    {75, 9},    {76, 0},       {81, 233472}, {82, 65536},    {95, 1},         {97, 232448},
};

}  // namespace

MOCK_API int cuInit(unsigned) { return mock::Log("cuInit", Hidden() ? kNoDevice : 0); }

MOCK_API int cuDriverGetVersion(int* version) {
  *version = 13000;
  return mock::Log("cuDriverGetVersion", 0);
}

MOCK_API int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_MOCK";
  return 0;
}

MOCK_API int cuGetErrorString(int, const char** text) {
  *text = "an error of the mock driver";
  return 0;
}

MOCK_API int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* status) {
  // The name without a version means the newest version.
  *function = dlsym(RTLD_DEFAULT, (std::string(name) + "_v2").c_str());
  if (*function == nullptr) *function = dlsym(RTLD_DEFAULT, name);
  if (status != nullptr) *status = *function != nullptr ? 0 : kSymbolNotFound;
  return mock::Log(name, *function != nullptr ? 0 : kNotFound);
}

// ---- Devices and contexts ----

MOCK_API int cuDeviceGetCount(int* count) {
  *count = Hidden() ? 0 : 1;
  return mock::Log("cuDeviceGetCount", 0);
}

MOCK_API int cuDeviceGet(int* device, int ordinal) {
  *device = 0;
  return mock::Log("cuDeviceGet", ordinal == 0 ? 0 : kInvalidDevice);
}

MOCK_API int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, size, "mock H200");
  return mock::Log("cuDeviceGetName", 0);
}

MOCK_API int cuDeviceGetUuid(char* uuid, int) {
  std::memset(uuid, 1, 16);
  return mock::Log("cuDeviceGetUuid", 0);
}

MOCK_API int cuDeviceGetUuid_v2(char* uuid, int device) { return cuDeviceGetUuid(uuid, device); }

MOCK_API int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = kTotalMemory;
  return mock::Log("cuDeviceTotalMem", 0);
}

MOCK_API int cuDeviceGetPCIBusId(char* id, int size, int) {
  std::snprintf(id, size, "0000:01:00.0");
  return mock::Log("cuDeviceGetPCIBusId", 0);
}

MOCK_API int cuDeviceComputeCapability(int* major, int* minor, int) {
  *major = 9;
  *minor = 0;
  return mock::Log("cuDeviceComputeCapability", 0);
}

MOCK_API int cuDeviceGetAttribute(int* value, int attribute, int) {
  const auto* found =
      std::find_if(std::begin(kAttributes), std::end(kAttributes),
                   [attribute](const Attribute& entry) { return entry.id == attribute; });
  *value = found != std::end(kAttributes) ? found->value : 0;
  return 0;
}

MOCK_API int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &context_handle;
  return mock::Log("cuDevicePrimaryCtxRetain", 0);
}

MOCK_API int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return mock::Log("cuDevicePrimaryCtxGetState", 0);
}

MOCK_API int cuCtxGetCurrent(void** context) {
  *context = current_context;
  return 0;
}

MOCK_API int cuCtxSetCurrent(void* context) {
  current_context = context;
  return 0;
}

MOCK_API int cuCtxPushCurrent_v2(void* context) {
  current_context = context;
  return 0;
}

MOCK_API int cuCtxPopCurrent_v2(void** context) {
  if (context != nullptr) *context = current_context;
  return 0;
}

MOCK_API int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}

MOCK_API int cuCtxGetId(void*, unsigned long long* id) {
  *id = 1;
  return 0;
}

MOCK_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return mock::Log("cuCtxGetStreamPriorityRange", 0);
}

// ---- Memory ----

MOCK_API int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = kFreeMemory;
  *total = kTotalMemory;
  return mock::Log("cuMemGetInfo", 0);
}

MOCK_API int cuMemAlloc_v2(DevicePtr* memory, size_t bytes) {
  return mock::Log("cuMemAlloc", mock::AllocatePages(reinterpret_cast<void**>(memory), bytes));
}

MOCK_API int cuMemAllocManaged(DevicePtr* memory, size_t bytes, unsigned) {
  return cuMemAlloc_v2(memory, bytes);
}

MOCK_API int cuMemFree_v2(DevicePtr memory) {
  std::free(reinterpret_cast<void*>(memory));
  return mock::Log("cuMemFree", 0);
}

MOCK_API int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  return mock::Log("cuMemHostAlloc", mock::AllocatePages(memory, bytes));
}

MOCK_API int cuMemAllocHost_v2(void** memory, size_t bytes) {
  return cuMemHostAlloc(memory, bytes, 0);
}

MOCK_API int cuMemFreeHost(void* memory) {
  std::free(memory);
  return mock::Log("cuMemFreeHost", 0);
}

MOCK_API int cuMemHostGetDevicePointer_v2(DevicePtr* device, void* memory, unsigned) {
  *device = reinterpret_cast<DevicePtr>(memory);
  return 0;
}

MOCK_API int cuPointerGetAttribute(void* value, int attribute, DevicePtr) {
  constexpr int kMemoryType = 2;
  constexpr unsigned kDeviceMemory = 2;
  if (attribute == kMemoryType) {
    std::memcpy(value, &kDeviceMemory, sizeof(kDeviceMemory));
  } else {
    std::memset(value, 0, sizeof(unsigned));
  }
  return 0;
}

MOCK_API int cuMemcpyHtoDAsync_v2(DevicePtr to, const void* from, size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return mock::Log("cuMemcpyHtoDAsync", 0);
}

MOCK_API int cuMemcpyDtoHAsync_v2(void* to, DevicePtr from, size_t bytes, void*) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return mock::Log("cuMemcpyDtoHAsync", 0);
}

MOCK_API int cuMemcpyDtoDAsync_v2(DevicePtr to, DevicePtr from, size_t bytes, void*) {
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return mock::Log("cuMemcpyDtoDAsync", 0);
}

MOCK_API int cuMemcpyAsync(DevicePtr to, DevicePtr from, size_t bytes, void* stream) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

MOCK_API int cuMemcpyHtoD_v2(DevicePtr to, const void* from, size_t bytes) {
  return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
}

MOCK_API int cuMemcpyDtoH_v2(void* to, DevicePtr from, size_t bytes) {
  return cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
}

MOCK_API int cuMemsetD8Async(DevicePtr to, unsigned char value, size_t count, void*) {
  std::memset(reinterpret_cast<void*>(to), value, count);
  return mock::Log("cuMemsetD8Async", 0);
}

MOCK_API int cuMemsetD32Async(DevicePtr to, unsigned value, size_t count, void*) {
  std::fill_n(reinterpret_cast<unsigned*>(to), count, value);
  return mock::Log("cuMemsetD32Async", 0);
}

MOCK_API int cuMemsetD8_v2(DevicePtr to, unsigned char value, size_t count) {
  return cuMemsetD8Async(to, value, count, nullptr);
}

MOCK_API int cuMemsetD32_v2(DevicePtr to, unsigned value, size_t count) {
  return cuMemsetD32Async(to, value, count, nullptr);
}

// ---- Streams and events ----

MOCK_API int cuStreamCreate(void** stream, unsigned) {
  *stream = NewHandle();
  return mock::Log("cuStreamCreate", 0);
}

MOCK_API int cuStreamCreateWithPriority(void** stream, unsigned, int) {
  return cuStreamCreate(stream, 0);
}

MOCK_API int cuStreamGetCtx(void*, void** context) {
  *context = &context_handle;
  return 0;
}

MOCK_API int cuStreamIsCapturing(void*, int* status) {
  *status = 0;
  return 0;
}

MOCK_API int cuEventCreate(void** event, unsigned) {
  *event = NewHandle();
  return 0;
}

MOCK_API int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1.0f;
  return 0;
}

MOCK_API int cuLaunchHostFunc(void*, void (*function)(void*), void* data) {
  function(data);
  return 0;
}

MOCK_API int cuStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data,
                                 unsigned) {
  function(stream, 0, data);
  return 0;
}

// ---- Modules and kernels ----

MOCK_API int cuModuleLoadData(void** module, const void*) {
  *module = NewHandle();
  return mock::Log("cuModuleLoadData", 0);
}

MOCK_API int cuModuleLoadDataEx(void** module, const void* image, unsigned, void*, void**) {
  return cuModuleLoadData(module, image);
}

MOCK_API int cuModuleLoadFatBinary(void** module, const void* image) {
  return cuModuleLoadData(module, image);
}

MOCK_API int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = new Function{kFunctionMark, name, FindHostKernel(name)};
  return mock::Log(name, 0);
}

// A constant of XLA's. XLA fills the large constants itself. The values of constants that are
// stored in the module are lost.
MOCK_API int cuModuleGetGlobal_v2(DevicePtr* memory, size_t* bytes, void*, const char*) {
  constexpr size_t kBytes = 1 << 16;
  if (bytes != nullptr) *bytes = kBytes;
  return mock::Log("cuModuleGetGlobal", cuMemAlloc_v2(memory, kBytes));
}

MOCK_API int cuFuncGetAttribute(int* value, int attribute, void*) {
  *value = attribute == 0 ? 1024 : 0;  // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
  return 0;
}

MOCK_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  *blocks = 1;
  return 0;
}

MOCK_API int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned, void*,
                            void** arguments, void**) {
  constexpr int kInvalidValue = 1;
  const auto* kernel = static_cast<const Function*>(function);
  if (kernel->mark != kFunctionMark) return mock::Log("a kernel of the runtime", 0);
  if (kernel->host != nullptr && kernel->host->is_cooperative) return kInvalidValue;
  if (kernel->host != nullptr) {
    if (grid_z != 1 || block_y != 1 || block_z != 1) return kInvalidValue;
    rnn_ops::gpu::fake::RunHostKernel(*kernel->host, {grid_x, grid_y, block_x}, arguments[0]);
  }
  return mock::Log(kernel->name.c_str(), 0);
}

MOCK_API int cuFuncSetAttribute(void*, int, int) { return mock::Log("cuFuncSetAttribute", 0); }

// Only the persistent kernels of this library are launched in this way.
MOCK_API int cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y,
                                       unsigned grid_z, unsigned block_x, unsigned block_y,
                                       unsigned block_z, unsigned shared_bytes, void*,
                                       void** arguments) {
  constexpr int kInvalidValue = 1;
  const auto* kernel = static_cast<const Function*>(function);
  const bool ours = kernel->mark == kFunctionMark && kernel->host != nullptr &&
                    kernel->host->is_cooperative && grid_y == 1 && grid_z == 1 && block_y == 1 &&
                    block_z == 1;
  if (!ours) return kInvalidValue;
  rnn_ops::gpu::fake::FiberGrid grid;
  grid.blocks = static_cast<int>(grid_x), grid.threads = static_cast<int>(block_x);
  grid.shared_bytes = shared_bytes;
  rnn_ops::gpu::fake::RunFibers(grid, [&] { kernel->host->run(arguments[0]); });
  return mock::Log(kernel->name.c_str(), 0);
}
