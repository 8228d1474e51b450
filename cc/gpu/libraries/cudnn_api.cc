#include "cc/gpu/libraries/cudnn_api.h"

#include <string>

namespace rnn_ops::gpu {
namespace {

constexpr size_t kMinVersion = 90000;
constexpr size_t kMaxVersion = 100000;  // other major versions have another API

Code CodeOf(cudnnStatus_t status) {
  constexpr int kCategory = 1000;  // BAD_PARAM is 2000, its special cases are 2001, 2002, ...
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    return Code::kResourceExhausted;
  }
  switch (static_cast<int>(status) / kCategory * kCategory) {
    case 1000:  // not initialized, or a sublibrary is missing or has another version
      return Code::kFailedPrecondition;
    case CUDNN_STATUS_NOT_SUPPORTED:
      return Code::kUnimplemented;
    default:
      return Code::kInternal;
  }
}

}  // namespace

DsoRequest CudnnApi::Request() {
  DsoRequest request;
  request.what = "cuDNN 9";
  request.env = "TF_RNN_OPS_CUDNN";
  request.names = {"libcudnn.so.9"};
  request.pip_folders = {"nvidia/cudnn/lib"};
  request.remedy =
      "Install it (pip install nvidia-cudnn-cu12, or tensorflow[and-cuda], which brings it), or "
      "put its folder on LD_LIBRARY_PATH.";
  return request;
}

Status CudnnApi::Bind(const Dso& dso) {
  std::string missing;
#define RNN_OPS_BIND(result, name, parameters) BindSymbol(dso, "cudnn" #name, &name, &missing);
  RNN_OPS_CUDNN_FUNCTIONS(RNN_OPS_BIND)
#undef RNN_OPS_BIND
  const size_t version = GetVersion == nullptr ? 0 : GetVersion();
  if (version < kMinVersion || version >= kMaxVersion) {
    return FailedPrecondition("cuDNN 9 is needed, but ", dso.name, " is version ", version, ".");
  }
  if (missing.empty()) return Status();
  return FailedPrecondition(dso.name, " is cuDNN ", version, ", but it lacks", missing, ".");
}

Status FromCudnn(const CudnnApi& api, cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return Status();
  const std::string expression = call;
  char detail[512] = "";
  api.GetLastErrorString(detail, sizeof(detail));
  detail[sizeof(detail) - 1] = '\0';
  std::string text =
      StrCat("cudnn", expression.substr(0, expression.find('(')), " failed with ",
             api.GetErrorString(status), " (", static_cast<int>(status), ") in cudnn", expression);
  if (detail[0] != '\0') text += StrCat(": ", detail);
  return Status(CodeOf(status), text);
}

}  // namespace rnn_ops::gpu
