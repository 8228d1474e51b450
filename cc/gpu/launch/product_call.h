// Products, kernel launches and scratch memory of one call, forward or backward.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/modules.h"
#include "cc/gpu/launch/persistent_kernels.h"
#include "cc/gpu/libraries/cublas_api.h"
#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu {

struct ProductLibraries {
  const DriverApi* driver = nullptr;
  KernelModules* modules = nullptr;
  PersistentKernels* persistent = nullptr;
  const CublasApi* cublas = nullptr;
  CublasHandles* handles = nullptr;
  // The maximum size of a buffer that serves some steps at a time, such as the gates in inference.
  // One product computes as many steps as fit the buffer.
  int64_t chunk_bytes = int64_t{256} << 20;
};

// The libraries that all calls of this library of ops share. Returns FailedPrecondition if the
// driver or cuBLAS cannot be opened.
Status OpenProductLibraries(ProductLibraries* libraries);

// 16-bit types are computed in float32.
inline Dtype MathDtype(Dtype dtype) { return IsNarrow(dtype) ? Dtype::kFloat32 : dtype; }

// The address of element `at` of a tensor.
inline const void* At(const void* tensor, Dtype dtype, int64_t at) {
  return static_cast<const char*>(tensor) + at * SizeOf(dtype);
}
inline void* At(void* tensor, Dtype dtype, int64_t at) {
  return static_cast<char*>(tensor) + at * SizeOf(dtype);
}

// Rows of one tensor or of scratch memory. Without memory every row is null.
template <typename Void>
struct RowBuffer {
  Void* data = nullptr;
  Dtype dtype = Dtype::kFloat32;
  int64_t columns = 0;

  Void* Row(int64_t row, int64_t column = 0) const {
    return data == nullptr ? nullptr : At(data, dtype, row * columns + column);
  }
};
using Buffer = RowBuffer<void>;
using ConstBuffer = RowBuffer<const void>;

// c [rows, columns] = a [rows, inner] b [inner, columns]; all matrices are row-major. With `count`
// products, one begins `stride` elements behind the other in each matrix.
struct ProductSizes {
  int64_t rows, columns, inner;
  int64_t count = 1;
};

struct Factor {
  const void* data;
  int64_t row_size;
  int64_t stride = 0;
  bool transposed = false;  // the matrix at `data` has the factor's columns as rows
};

inline Factor Transposed(const void* data, int64_t row_size, int64_t stride = 0) {
  return {data, row_size, stride, true};
}

struct Result {
  enum Update { kSet, kAdd };
  void* data;
  Dtype dtype;
  Update update;
  int64_t row_size = 0;  // 0: the number of columns
  int64_t stride = 0;
};

// One call: its context, its cuBLAS handle, and its work on the stream.
class ProductCall {
 public:
  // `dtype`: the type of the tensors. `allow_tf32`: float32 products may round their operands to
  // TF32.
  ProductCall(const ProductLibraries& libraries, Dtype dtype, bool allow_tf32,
              DeviceAllocator* allocator, void* stream)
      : libraries_(libraries), dtype_(dtype), allow_tf32_(allow_tf32), allocator_(allocator) {
    place_.stream = static_cast<CUstream>(stream);
  }

  // Enters the context of the stream. Call Enter before the other functions. Returns Unimplemented
  // for bfloat16 on GPUs before Ampere, because cuBLAS has no bfloat16 products there.
  Status Enter();

  // Acquires a handle with this stream and a workspace. Call it before Multiply().
  Status PrepareProducts();
  // c = a b, or c += a b. a and b have the call's dtype.
  Status Multiply(const ProductSizes& sizes, const Factor& a, const Factor& b,
                  const Result& c) const;

  // The kernel must be the one for the types of the call.
  template <typename Args>
  Status Launch(Kernel kernel, int64_t rows, int64_t columns, const Args& args) const {
    return libraries_.modules->Launch(place_, kernel, {rows, columns}, args);
  }

  // Widen and Narrow convert a 16-bit type to float32 and back.
  Status Widen(void* to, const void* from, int64_t size) const {
    return Convert(to, from, size, true);
  }
  Status Narrow(void* to, const void* from, int64_t size) const {
    return Convert(to, from, size, false);
  }

  // Sets `size` elements of the call's dtype to zero.
  Status Zero(void* to, int64_t size) const {
    if (size == 0) return Status();
    RNN_OPS_RETURN_IF_CUDA_ERROR(
        *libraries_.driver,
        MemsetD8Async(ToDevicePtr(to), 0, static_cast<size_t>(size * SizeOf(dtype_)),
                      place_.stream));
    return Status();
  }

  const DriverApi& driver() const { return *libraries_.driver; }
  PersistentKernels& persistent() const { return *libraries_.persistent; }
  const LaunchPlace& place() const { return place_; }

  // The number of steps, at most `steps` and at least 1, whose `step_bytes` fit a buffer that
  // serves some steps at a time. Steps without bytes all fit.
  int64_t StepsThatFit(int64_t step_bytes, int64_t steps) const {
    const int64_t fit = libraries_.chunk_bytes / std::max<int64_t>(1, step_bytes);
    return std::max<int64_t>(1, std::min(steps, fit));
  }

  // Later scratch memory comes from `allocator`.
  void UseScratch(DeviceAllocator* allocator) { allocator_ = allocator; }
  Status Scratch(const char* purpose, int64_t size, Dtype dtype, void** memory) const {
    return AllocateScratch(allocator_, purpose, size * SizeOf(dtype), memory);
  }
  Status Scratch(const char* purpose, int64_t rows, Buffer* buffer) const {
    return Scratch(purpose, rows * buffer->columns, buffer->dtype, &buffer->data);
  }

 private:
  Status Convert(void* to, const void* from, int64_t size, bool widen) const {
    const bool half = dtype_ == Dtype::kFloat16;
    const Kernel kernel = widen ? (half ? Kernel::convert_f16_to_f32 : Kernel::convert_bf16_to_f32)
                                : (half ? Kernel::convert_f32_to_f16 : Kernel::convert_f32_to_bf16);
    return libraries_.modules->Launch(place_, kernel, {1, size},
                                      elementwise::Conversion{from, to, size});
  }

  const ProductLibraries& libraries_;
  const Dtype dtype_;
  const bool allow_tf32_;
  DeviceAllocator* allocator_;
  LaunchPlace place_;
  ScopedContext scope_;
  int compute_capability_major_ = 0;
  CublasHandles::Lease handle_;
};

}  // namespace rnn_ops::gpu
