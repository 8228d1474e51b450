// Mocks of the driver and of cuBLAS whose device memory is host memory. Launches run the kernels
// that were compiled for the host, and products are naive sums in float64. Every call is recorded,
// and a test can make any call fail.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cc/gpu/libraries/cublas_api.h"
#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu::fake {

// The functions of the tables use the only existing object. Not thread-safe.
class FakeCuda {
 public:
  FakeCuda();
  ~FakeCuda();
  FakeCuda(const FakeCuda&) = delete;

  const DriverApi& driver() const { return driver_; }
  const CublasApi& cublas() const { return cublas_; }

  // The names of the calls that can fail. A launch includes its kernel: "LaunchKernel gates".
  const std::vector<std::string>& calls() const { return calls_; }
  int64_t Count(const std::string& prefix) const;  // calls whose names have this prefix
  void Clear() { calls_.clear(), products_.clear(); }
  // Makes the call with this number fail, counted from 0 from now on; -1: none.
  void FailAt(int64_t number) { remaining_ = number; }
  bool failed() const { return failed_; }

  // The stream on which work must be enqueued, and its context, which is not current at first.
  void* stream() { return &stream_; }
  CUcontext context() { return reinterpret_cast<CUcontext>(&context_); }

  struct Product {
    cudaDataType factor_type, result_type;
    cublasComputeType_t compute;
    double beta;
    cublasMath_t math_mode;
  };
  const std::vector<Product>& products() const { return products_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  int64_t live_modules() const { return live_modules_; }
  int64_t live_handles() const { return static_cast<int64_t>(handles_.size()); }
  const std::vector<CUcontext>& pushed() const { return pushed_; }

  int compute_capability_major = 8;
  int multiprocessors = 132;
  int multiprocessors_of_context = 132;
  bool launches_cooperatively = true;
  bool no_memory_for_modules = false;
  int largest_shared_bytes = 227 << 10;  // of a block; what an H100 has
  int block_that_hangs = -1;             // of cooperative launches
  bool late_block_runs = false;          // after the others, see fibers.h
  uint64_t order_of_blocks = 1;          // a seed
  uint64_t context_id = 1;
  bool is_capturing = false;  // a graph captures the stream
  // If true, copies from host memory and host functions wait for RunStream().
  bool delays_host_work = false;
  void RunStream();

 private:
  friend struct FakeCalls;
  void RunOrDelay(std::function<void()> work);
  // Records a call. Returns true if the call must fail.
  bool Note(const std::string& name);

  struct Handle {
    bool has_stream = false;
    void* workspace = nullptr;
    cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  };

  DriverApi driver_;
  CublasApi cublas_;
  std::vector<std::string> calls_;
  int64_t remaining_ = -1;
  bool failed_ = false;
  int stream_ = 0, context_ = 0;
  std::vector<CUcontext> pushed_;
  std::vector<std::function<void()>> host_work_;
  int64_t live_modules_ = 0;
  std::set<Handle*> handles_;
  std::vector<Product> products_;
  size_t workspace_bytes_ = 0;
  int most_shared_bytes_ = 0;  // of a block
};

// Device memory of exactly the requested size. The allocation with the number `fail_at` fails.
class ExactAllocator : public DeviceAllocator {
 public:
  explicit ExactAllocator(int64_t fail_at = -1) : fail_at_(fail_at) {}
  ~ExactAllocator() override;
  void* Allocate(int64_t bytes) override;
  int64_t count() const { return count_; }

 private:
  const int64_t fail_at_;
  int64_t count_ = 0;
  std::vector<void*> blocks_;
};

}  // namespace rnn_ops::gpu::fake
