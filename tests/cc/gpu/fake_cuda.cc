#include "tests/cc/gpu/fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cc/core/op/dtype.h"
#include "tests/cc/gpu/fake_memory.h"
#include "tests/cc/gpu/fibers.h"
#include "tests/cc/gpu/host_kernels.h"

namespace rnn_ops::gpu::fake {
namespace {

FakeCuda* current = nullptr;
int module_object = 0;

void* ToHost(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

bool ToDtype(cudaDataType type, Dtype* dtype) {
  switch (type) {
    case CUDA_R_32F:
      *dtype = Dtype::kFloat32;
      return true;
    case CUDA_R_64F:
      *dtype = Dtype::kFloat64;
      return true;
    case CUDA_R_16F:
      *dtype = Dtype::kFloat16;
      return true;
    case CUDA_R_16BF:
      *dtype = Dtype::kBFloat16;
      return true;
  }
  return false;
}

// The combinations in the table of cublasGemmEx() whose factors have one type.
bool Supported(Dtype factor, Dtype result, cublasComputeType_t compute) {
  if (factor == Dtype::kFloat64) return result == factor && compute == CUBLAS_COMPUTE_64F;
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
    return factor == Dtype::kFloat32 && result == factor;
  }
  return compute == CUBLAS_COMPUTE_32F && (result == factor || result == Dtype::kFloat32);
}

}  // namespace

struct FakeCalls {
  static bool Fails(const std::string& name) { return current->Note(name); }
  static bool IsOurs(const void* stream) { return stream == &current->stream_; }
  static bool InContext() {
    return !current->pushed_.empty() && current->pushed_.back() == current->context();
  }

  // ---- The driver ----

  static CUresult Work(const char* name, CUstream stream) {
    if (Fails(name)) return CUDA_ERROR_NOT_INITIALIZED;
    return IsOurs(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  static CUresult LaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                               unsigned bx, unsigned by, unsigned bz, unsigned, CUstream stream,
                               void** parameters, void**) {
    const auto* kernel = reinterpret_cast<const HostKernel*>(function);
    const CUresult result = Work((std::string("LaunchKernel ") + kernel->name).c_str(), stream);
    if (result != CUDA_SUCCESS) return result;
    const bool fits = gx > 0 && gy > 0 && gy <= 65535 && gz == 1 && bx > 0 && bx <= 1024 &&
                      by == 1 && bz == 1 && InContext() && !kernel->is_cooperative;
    if (!fits) return CUDA_ERROR_INVALID_VALUE;
    RunHostKernel(*kernel, {gx, gy, bx}, parameters[0]);
    return CUDA_SUCCESS;
  }
  static CUresult LaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy,
                                          unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                          unsigned shared_bytes, CUstream stream,
                                          void** parameters) {
    const auto* kernel = reinterpret_cast<const HostKernel*>(function);
    const std::string name = std::string("LaunchCooperativeKernel ") + kernel->name;
    const CUresult result = Work(name.c_str(), stream);
    if (result != CUDA_SUCCESS) return result;
    const bool fits = gx > 0 && gx <= static_cast<unsigned>(current->multiprocessors) && gy == 1 &&
                      gz == 1 && bx > 0 && bx <= 1024 && by == 1 && bz == 1 && InContext() &&
                      kernel->is_cooperative &&
                      static_cast<int>(shared_bytes) <= current->most_shared_bytes_;
    if (!fits) return CUDA_ERROR_INVALID_VALUE;
    if (static_cast<int>(gx) > current->multiprocessors_of_context) {
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    FiberGrid grid;
    grid.blocks = static_cast<int>(gx), grid.threads = static_cast<int>(bx);
    grid.shared_bytes = shared_bytes;
    grid.seed = current->order_of_blocks;
    grid.block_that_hangs = current->block_that_hangs, grid.runs_late = current->late_block_runs;
    RunFibers(grid, [&] { kernel->run(parameters[0]); });
    return CUDA_SUCCESS;
  }
  static CUresult GetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    if (Fails("DeviceGetAttribute")) return CUDA_ERROR_NOT_INITIALIZED;
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? current->multiprocessors
             : attribute == CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
                 ? current->launches_cooperatively
                 : current->compute_capability_major;
    return device == 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  static CUresult Move(const char* name, CUdeviceptr to, const void* from, size_t bytes,
                       CUstream stream) {
    const CUresult result = Work(name, stream);
    if (result == CUDA_SUCCESS) std::memcpy(ToHost(to), from, bytes);
    return result;
  }

  static DriverApi Driver() {
    DriverApi api;
    api.GetErrorName = [](CUresult result, const char** name) {
      *name = result == CUDA_ERROR_NOT_INITIALIZED ? "CUDA_ERROR_NOT_INITIALIZED" : "another error";
      return CUDA_SUCCESS;
    };
    api.GetErrorString = [](CUresult, const char** text) {
      *text = "text of the driver";
      return CUDA_SUCCESS;
    };
    api.Init = [](unsigned) { return Fails("Init") ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS; };
    api.DeviceGet = [](CUdevice* device, int ordinal) {
      if (Fails("DeviceGet")) return CUDA_ERROR_NOT_INITIALIZED;
      *device = ordinal;
      return CUDA_SUCCESS;
    };
    api.DevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
      if (Fails("DevicePrimaryCtxRetain")) return CUDA_ERROR_NOT_INITIALIZED;
      *context = current->context();
      return CUDA_SUCCESS;
    };
    api.CtxGetCurrent = [](CUcontext* context) {
      if (Fails("CtxGetCurrent")) return CUDA_ERROR_NOT_INITIALIZED;
      *context = current->pushed_.empty() ? nullptr : current->pushed_.back();
      return CUDA_SUCCESS;
    };
    api.CtxPushCurrent = [](CUcontext context) {
      if (Fails("CtxPushCurrent")) return CUDA_ERROR_NOT_INITIALIZED;
      current->pushed_.push_back(context);
      return CUDA_SUCCESS;
    };
    api.CtxPopCurrent = [](CUcontext* context) {
      *context = current->pushed_.back();
      current->pushed_.pop_back();
      return CUDA_SUCCESS;
    };
    api.CtxGetDevice = [](CUdevice* device) {
      if (Fails("CtxGetDevice")) return CUDA_ERROR_NOT_INITIALIZED;
      *device = 3;
      return InContext() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    api.DeviceGetAttribute = GetAttribute;
    api.StreamGetCtx = [](CUstream stream, CUcontext* context) {
      *context = current->context();
      return Work("StreamGetCtx", stream);
    };
    api.StreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
      *status = static_cast<CUstreamCaptureStatus>(current->is_capturing);
      return Work("StreamIsCapturing", stream);
    };
    api.ModuleLoadData = [](CUmodule* module, const void* image) {
      if (Fails("ModuleLoadData")) return CUDA_ERROR_NOT_INITIALIZED;
      if (current->no_memory_for_modules) return CUDA_ERROR_OUT_OF_MEMORY;
      if (std::strncmp(static_cast<const char*>(image), ".version", 8) != 0) {
        return CUDA_ERROR_INVALID_PTX;
      }
      ++current->live_modules_;
      *module = reinterpret_cast<CUmodule>(&module_object);
      return InContext() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    api.ModuleUnload = [](CUmodule) {
      --current->live_modules_;
      return CUDA_SUCCESS;
    };
    api.ModuleGetFunction = [](CUfunction* function, CUmodule, const char* name) {
      if (Fails("ModuleGetFunction")) return CUDA_ERROR_NOT_INITIALIZED;
      const HostKernel* kernel = FindHostKernel(name);
      *function = reinterpret_cast<CUfunction>(const_cast<HostKernel*>(kernel));
      return kernel == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
    };
    api.LaunchKernel = LaunchKernel;
    api.LaunchCooperativeKernel = LaunchCooperativeKernel;
    api.FuncSetAttribute = [](CUfunction, CUfunction_attribute, int value) {
      if (Fails("FuncSetAttribute")) return CUDA_ERROR_NOT_INITIALIZED;
      if (value > current->largest_shared_bytes) return CUDA_ERROR_INVALID_VALUE;
      current->most_shared_bytes_ = std::max(current->most_shared_bytes_, value);
      return CUDA_SUCCESS;
    };
    api.MemHostAlloc = [](void** memory, size_t bytes, unsigned) {
      if (Fails("MemHostAlloc")) return CUDA_ERROR_OUT_OF_MEMORY;
      *memory = std::malloc(bytes);
      return CUDA_SUCCESS;
    };
    api.MemFreeHost = [](void* memory) {
      std::free(memory);
      return CUDA_SUCCESS;
    };
    api.MemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
      return Move("MemcpyDtoDAsync", to, ToHost(from), bytes, stream);
    };
    api.MemcpyHtoDAsync = [](CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
      const CUresult result = Work("MemcpyHtoDAsync", stream);
      if (result != CUDA_SUCCESS) return result;
      current->RunOrDelay([=] { std::memcpy(ToHost(to), from, bytes); });
      return CUDA_SUCCESS;
    };
    api.LaunchHostFunc = [](CUstream stream, CUhostFn function, void* data) {
      const CUresult result = Work("LaunchHostFunc", stream);
      if (result == CUDA_SUCCESS) current->RunOrDelay([=] { function(data); });
      return result;
    };
    api.CtxGetId = [](CUcontext context, unsigned long long* id) {
      *id = current->context_id;
      return context == current->context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    api.MemcpyDtoHAsync = [](void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
      const auto host = static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(to));
      return Move("MemcpyDtoHAsync", host, ToHost(from), bytes, stream);
    };
    api.StreamSynchronize = [](CUstream stream) {
      const CUresult result = Work("StreamSynchronize", stream);
      if (result == CUDA_SUCCESS) current->RunStream();
      return result;
    };
    api.MemsetD8Async = [](CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
      const CUresult result = Work("MemsetD8Async", stream);
      if (result == CUDA_SUCCESS) std::memset(ToHost(to), value, bytes);
      return result;
    };
    return api;
  }

  // ---- cuBLAS ----

  static FakeCuda::Handle* Find(cublasHandle_t handle) {
    auto* found = reinterpret_cast<FakeCuda::Handle*>(handle);
    return current->handles_.count(found) != 0 ? found : nullptr;
  }

  static cublasStatus_t GemmEx(cublasHandle_t handle, cublasOperation_t trans_a,
                               cublasOperation_t trans_b, int64_t m, int64_t n, int64_t k,
                               const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
                               const void* b, cudaDataType b_type, int64_t ldb, const void* beta,
                               void* c, cudaDataType c_type, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    if (Fails("GemmEx_64")) return CUBLAS_STATUS_EXECUTION_FAILED;
    return Multiply(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta,
                    c, c_type, ldc, compute, algorithm);
  }

  static cublasStatus_t Multiply(cublasHandle_t handle, cublasOperation_t trans_a,
                                 cublasOperation_t trans_b, int64_t m, int64_t n, int64_t k,
                                 const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
                                 const void* b, cudaDataType b_type, int64_t ldb, const void* beta,
                                 void* c, cudaDataType c_type, int64_t ldc,
                                 cublasComputeType_t compute, cublasGemmAlgo_t) {
    const FakeCuda::Handle* h = Find(handle);
    Dtype type, result;
    if (h == nullptr || !h->has_stream || h->workspace == nullptr || a_type != b_type ||
        !ToDtype(a_type, &type) || !ToDtype(c_type, &result) || lda < (trans_a ? k : m) ||
        ldb < (trans_b ? n : k) || ldc < m) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    const bool too_old = type == Dtype::kBFloat16 && current->compute_capability_major < 8;
    if (too_old || !Supported(type, result, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const Dtype scale = compute == CUBLAS_COMPUTE_64F ? Dtype::kFloat64 : Dtype::kFloat32;
    const double scale_a = Read(scale, alpha, 0), scale_c = Read(scale, beta, 0);
    current->products_.push_back({a_type, c_type, compute, scale_c, h->math_mode});
    for (int64_t column = 0; column < n; ++column) {
      for (int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) {
          sum += Read(type, a, trans_a ? i + row * lda : row + i * lda) *
                 Read(type, b, trans_b ? column + i * ldb : i + column * ldb);
        }
        const int64_t at = row + column * ldc;
        // Like cuBLAS, does not read c if beta is 0.
        const double before = scale_c == 0 ? 0 : scale_c * Read(result, c, at);
        Write(result, c, at, scale_a * sum + before);
      }
    }
    return CUBLAS_STATUS_SUCCESS;
  }

  // Each product of the batch in turn.
  static cublasStatus_t GemmBatch(cublasHandle_t handle, cublasOperation_t trans_a,
                                  cublasOperation_t trans_b, int64_t m, int64_t n, int64_t k,
                                  const void* alpha, const void* a, cudaDataType a_type,
                                  int64_t lda, long long stride_a, const void* b,
                                  cudaDataType b_type, int64_t ldb, long long stride_b,
                                  const void* beta, void* c, cudaDataType c_type, int64_t ldc,
                                  long long stride_c, int64_t count, cublasComputeType_t compute,
                                  cublasGemmAlgo_t algorithm) {
    if (Fails("GemmStridedBatchedEx_64")) return CUBLAS_STATUS_EXECUTION_FAILED;
    Dtype type, result;
    if (!ToDtype(a_type, &type) || !ToDtype(c_type, &result)) return CUBLAS_STATUS_INVALID_VALUE;
    const auto at = [](auto* memory, Dtype dtype, int64_t elements) {
      using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(memory)>>,
                                      const char, char>;
      return static_cast<Byte*>(memory) + elements * SizeOf(dtype);
    };
    for (int64_t i = 0; i < count; ++i) {
      const cublasStatus_t status =
          Multiply(handle, trans_a, trans_b, m, n, k, alpha, at(a, type, i * stride_a), a_type, lda,
                   at(b, type, i * stride_b), b_type, ldb, beta, at(c, result, i * stride_c),
                   c_type, ldc, compute, algorithm);
      if (status != CUBLAS_STATUS_SUCCESS) return status;
    }
    return CUBLAS_STATUS_SUCCESS;
  }

  static CublasApi Cublas() {
    CublasApi api;
    api.GetStatusName = [](cublasStatus_t status) {
      return status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                                      : "another status";
    };
    api.GetStatusString = [](cublasStatus_t) { return "text of cuBLAS"; };
    api.Create = [](cublasHandle_t* handle) {
      if (Fails("Create")) return CUBLAS_STATUS_EXECUTION_FAILED;
      auto* made = new FakeCuda::Handle;
      current->handles_.insert(made);
      *handle = reinterpret_cast<cublasHandle_t>(made);
      return InContext() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
    };
    api.Destroy = [](cublasHandle_t handle) {
      current->handles_.erase(Find(handle));
      delete reinterpret_cast<FakeCuda::Handle*>(handle);
      return CUBLAS_STATUS_SUCCESS;
    };
    api.SetStream = [](cublasHandle_t handle, cudaStream_t stream) {
      if (Fails("SetStream")) return CUBLAS_STATUS_EXECUTION_FAILED;
      Find(handle)->has_stream = true;
      Find(handle)->workspace = nullptr;  // like cuBLAS
      return IsOurs(stream) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    };
    api.SetWorkspace = [](cublasHandle_t handle, void* workspace, size_t bytes) {
      if (Fails("SetWorkspace")) return CUBLAS_STATUS_EXECUTION_FAILED;
      Find(handle)->workspace = workspace;
      current->workspace_bytes_ = bytes;
      return CUBLAS_STATUS_SUCCESS;
    };
    api.SetMathMode = [](cublasHandle_t handle, cublasMath_t mode) {
      if (Fails("SetMathMode")) return CUBLAS_STATUS_EXECUTION_FAILED;
      Find(handle)->math_mode = mode;
      return CUBLAS_STATUS_SUCCESS;
    };
    api.GemmEx_64 = GemmEx;
    api.GemmStridedBatchedEx_64 = GemmBatch;
    return api;
  }
};

FakeCuda::FakeCuda() : driver_(FakeCalls::Driver()), cublas_(FakeCalls::Cublas()) {
  current = this;
}

FakeCuda::~FakeCuda() { current = nullptr; }

int64_t FakeCuda::Count(const std::string& prefix) const {
  return std::count_if(calls_.begin(), calls_.end(),
                       [&prefix](const std::string& call) { return call.rfind(prefix, 0) == 0; });
}

void FakeCuda::RunOrDelay(std::function<void()> work) {
  host_work_.push_back(std::move(work));
  if (!delays_host_work) RunStream();
}

void FakeCuda::RunStream() {
  for (const auto& work : host_work_) work();
  host_work_.clear();
}

bool FakeCuda::Note(const std::string& name) {
  calls_.push_back(name);
  const bool fails = remaining_ == 0;
  if (remaining_ >= 0) --remaining_;
  failed_ = failed_ || fails;
  return fails;
}

ExactAllocator::~ExactAllocator() {
  for (void* block : blocks_) std::free(block);
}

void* ExactAllocator::Allocate(int64_t bytes) {
  if (count_++ == fail_at_) return nullptr;
  void* const block = std::malloc(static_cast<size_t>(bytes));
  std::memset(block, 0xFF, std::min<size_t>(bytes, 1 << 20));  // NaN in every type
  blocks_.push_back(block);
  return block;
}

}  // namespace rnn_ops::gpu::fake
