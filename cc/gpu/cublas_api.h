// cuBLAS's functions as a table, its statuses as ours, and its handles.
#ifndef TF_RNN_OPS_CC_GPU_CUBLAS_API_H_
#define TF_RNN_OPS_CC_GPU_CUBLAS_API_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/cublas_min.h"
#include "cc/gpu/dso.h"

namespace rnn_ops {
namespace gpu {

// Each function under its name without "cublas". A test fills it with functions of its own.
struct CublasApi {
#define RNN_OPS_MEMBER(result, name, symbol, parameters) result(*name) parameters = nullptr;
  RNN_OPS_CUBLAS_FUNCTIONS(RNN_OPS_MEMBER)
#undef RNN_OPS_MEMBER

  // TF_RNN_OPS_CUBLAS may name the file.
  static DsoRequest Request();
  Status Bind(const Dso& dso);
};

// `call` is the expression behind "cublas" that returned `status`.
Status FromCublas(const CublasApi& api, cublasStatus_t status, const char* call);

// cuBLAS handles: creating one takes milliseconds, and one must not be used by two threads at once.
// Each context has a few, since they hold device memory that the caller's allocator does not have;
// more calls at once than that take turns. WHY not by stream, too: a user gives the handle a stream
// and a workspace of its own.
class CublasHandles {
  struct Place {
    std::vector<cublasHandle_t> idle;
    int taken = 0;
  };

 public:
  static constexpr int kMostPerContext = 4;

  // The exclusive use of a handle, until destroyed.
  class Lease {
   public:
    Lease() = default;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    cublasHandle_t get() const { return handle_; }

   private:
    friend class CublasHandles;
    CublasHandles* owner_ = nullptr;
    Place* place_ = nullptr;
    cublasHandle_t handle_ = nullptr;
  };

  explicit CublasHandles(const CublasApi* api) : api_(*api) {}
  CublasHandles(const CublasHandles&) = delete;
  CublasHandles& operator=(const CublasHandles&) = delete;
  ~CublasHandles();  // after every lease

  // `context` is the current one; `lease` is a new one. Waits while all of the context's are taken.
  Status Acquire(const void* context, Lease* lease);

 private:
  const CublasApi& api_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::map<const void*, Place> places_;
};

}  // namespace gpu
}  // namespace rnn_ops

// Returns from the enclosing function unless api.call succeeds.
#define RNN_OPS_RETURN_IF_CUBLAS_ERROR(api, call)                       \
  do {                                                                  \
    const cublasStatus_t rnn_ops_cublas_ = (api).call;                  \
    if (rnn_ops_cublas_ != CUBLAS_STATUS_SUCCESS) {                     \
      return ::rnn_ops::gpu::FromCublas((api), rnn_ops_cublas_, #call); \
    }                                                                   \
  } while (false)

#endif  // TF_RNN_OPS_CC_GPU_CUBLAS_API_H_
