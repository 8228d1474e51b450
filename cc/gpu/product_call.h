// Products, kernel launches and scratch memory of one block LSTM call, forward or backward.
#ifndef TF_RNN_OPS_CC_GPU_BLOCK_LSTM_CALL_H_
#define TF_RNN_OPS_CC_GPU_BLOCK_LSTM_CALL_H_

#include <cstdint>

#include "cc/core/network/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/block_lstm_executor.h"
#include "cc/gpu/block_lstm_gpu.h"
#include "cc/gpu/cublas_api.h"
#include "cc/gpu/device_allocator.h"
#include "cc/gpu/driver_api.h"
#include "cc/gpu/elementwise/kernel_args.h"
#include "cc/gpu/modules.h"

namespace rnn_ops {
namespace gpu {

// 16-bit types are computed in float32.
inline Dtype MathType(Dtype dtype) { return IsNarrow(dtype) ? Dtype::kFloat32 : dtype; }

// The address of element `at` of a tensor.
inline const void* At(const void* tensor, Dtype dtype, int64_t at) {
  return static_cast<const char*>(tensor) + at * SizeOf(dtype);
}
inline void* At(void* tensor, Dtype dtype, int64_t at) {
  return static_cast<char*>(tensor) + at * SizeOf(dtype);
}

// c [rows, columns] = a [rows, inner] b [inner, columns]; all matrices are row-major.
struct ProductSizes {
  int64_t rows, columns, inner;
};

struct Factor {
  const void* data;
  int64_t row_size;
  bool transposed = false;  // the matrix at `data` has the factor's columns as rows
};

inline Factor Transposed(const void* data, int64_t row_size) { return {data, row_size, true}; }

struct Result {
  enum Update { kSet, kAdd };
  void* data;
  Dtype dtype;
  Update update;
};

inline int64_t StepSize(const BlockLstmProblem& p) { return p.batch * p.num_units; }

// One call: its context, its cuBLAS handle, and its work on the stream.
class BlockLstmCall {
 public:
  BlockLstmCall(const BlockLstmLibraries& libraries, const BlockLstmProblem& problem,
                DeviceAllocator* allocator, void* stream)
      : libraries_(libraries), problem_(problem), allocator_(allocator) {
    place_.stream = static_cast<CUstream>(stream);
  }

  // Enters the context of the stream. Call Enter before the other functions. Returns Unimplemented
  // for bfloat16 on GPUs before Ampere, because cuBLAS has no bfloat16 products there.
  Status Enter();

  // Acquires a handle with this stream and a workspace. Call it before Multiply().
  Status PrepareProducts();
  // c = a b, or c += a b. a and b have the problem's dtype.
  Status Multiply(const ProductSizes& sizes, const Factor& a, const Factor& b,
                  const Result& c) const;

  // Launches the kernel for the problem's dtype; `kernel` is the float32 kernel of the family.
  template <typename Args>
  Status Launch(Kernel kernel, int64_t rows, int64_t columns, const Args& args) const {
    return libraries_.modules->Launch(place_, KernelForType(kernel, problem_.dtype),
                                      {rows, columns}, args);
  }

  // Widen and Narrow convert a 16-bit type to float32 and back.
  Status Widen(void* to, const void* from, int64_t size) const {
    return Convert(to, from, size, true);
  }
  Status Narrow(void* to, const void* from, int64_t size) const {
    return Convert(to, from, size, false);
  }

  // Sets `size` elements of the problem's dtype to zero.
  Status Zero(void* to, int64_t size) const {
    if (size == 0) return Status();
    RNN_OPS_RETURN_IF_CUDA_ERROR(
        *libraries_.driver,
        MemsetD8Async(ToDevicePtr(to), 0, static_cast<size_t>(size * SizeOf(problem_.dtype)),
                      place_.stream));
    return Status();
  }

  Status Scratch(const char* purpose, int64_t size, Dtype dtype, void** memory) const {
    return AllocateScratch(allocator_, purpose, size * SizeOf(dtype), memory);
  }

 private:
  Status Convert(void* to, const void* from, int64_t size, bool widen) const {
    const bool half = problem_.dtype == Dtype::kFloat16;
    const Kernel kernel = widen ? (half ? Kernel::convert_f16_to_f32 : Kernel::convert_bf16_to_f32)
                                : (half ? Kernel::convert_f32_to_f16 : Kernel::convert_f32_to_bf16);
    return libraries_.modules->Launch(place_, kernel, {1, size},
                                      elementwise::Conversion{from, to, size});
  }

  const BlockLstmLibraries& libraries_;
  const BlockLstmProblem& problem_;
  DeviceAllocator* const allocator_;
  LaunchPlace place_;
  ScopedContext scope_;
  int compute_capability_major_ = 0;
  CublasHandles::Lease handle_;
};

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_BLOCK_LSTM_CALL_H_
