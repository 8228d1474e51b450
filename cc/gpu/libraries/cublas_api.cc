#include "cc/gpu/libraries/cublas_api.h"

#include <string>

namespace rnn_ops::gpu {
namespace {

Code CodeOf(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return Code::kResourceExhausted;
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return Code::kFailedPrecondition;
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return Code::kUnimplemented;
    default:
      return Code::kInternal;
  }
}

}  // namespace

DsoRequest CublasApi::Request() {
  DsoRequest request;
  request.what = "cuBLAS 12 or 13";
  request.env = "TF_RNN_OPS_CUBLAS";
  // TensorFlow's version first: two versions in one process would need twice the memory.
  request.names = {"libcublas.so.12", "libcublas.so.13"};
  request.pip_folders = {"nvidia/cublas/lib", "nvidia/cu13/lib"};  // CUDA 12 and 13
  request.remedy =
      "Install it (pip install nvidia-cublas-cu12, or tensorflow[and-cuda], which brings it), or "
      "put its folder on LD_LIBRARY_PATH.";
  return request;
}

Status CublasApi::Bind(const Dso& dso) {
  std::string missing;
#define RNN_OPS_BIND(result, name, symbol, parameters) BindSymbol(dso, #symbol, &name, &missing);
  RNN_OPS_CUBLAS_FUNCTIONS(RNN_OPS_BIND)
#undef RNN_OPS_BIND
  if (missing.empty()) return Status();
  return FailedPrecondition("cuBLAS 12 or 13 is needed, but ", dso.name, " lacks", missing, ".");
}

Status FromCublas(const CublasApi& api, cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return Status();
  const std::string expression = call;
  return Status(CodeOf(status),
                StrCat("cublas", expression.substr(0, expression.find('(')), " failed with ",
                       api.GetStatusName(status), " (", static_cast<int>(status), ") in cublas",
                       expression, ": ", api.GetStatusString(status)));
}

CublasHandles::Lease::~Lease() {
  if (owner_ == nullptr) return;
  {
    std::lock_guard<std::mutex> lock(owner_->mutex_);
    --slot_->taken;
    if (handle_ != nullptr) slot_->idle.push_back(handle_);
  }
  owner_->returned_.notify_all();
}

CublasHandles::~CublasHandles() {
  for (const auto& slot : slots_) {
    for (cublasHandle_t handle : slot.second.idle) api_.Destroy(handle);
  }
}

Status CublasHandles::Acquire(uint64_t context, Lease* lease) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    Slot& slot = slots_[context];
    returned_.wait(lock, [&slot] { return slot.taken < kMostPerContext; });
    ++slot.taken;
    lease->owner_ = this;
    lease->slot_ = &slot;
    if (!slot.idle.empty()) {
      lease->handle_ = slot.idle.back();
      slot.idle.pop_back();
      return Status();
    }
  }
  cublasHandle_t created = nullptr;
  RNN_OPS_RETURN_IF_CUBLAS_ERROR(api_, Create(&created));
  lease->handle_ = created;
  return Status();
}

}  // namespace rnn_ops::gpu
