// The ops for XLA on the CPU and on GPUs. Each op becomes a custom call to its handler in
// cc/xla/handlers, except the parameter ops, which become slices and concatenations.
//
// The registration of an op gives the attributes for the handler. The shape function gives the
// shapes of the results, and performs the checks of the op. Only the size of reserve_space is left
// open by the shape function.
//
// WHY one translation unit of several headers: those of XlaOpKernel take a minute to compile.
//
// WHY OpKernelRegistrar and not REGISTER_XLA_OP: TensorFlow reads the registry of REGISTER_XLA_OP
// only once, at the first compilation of the process, and this library may be loaded later.
#include <algorithm>
#include <string>
#include <vector>

#include "cc/tf/op_util.h"
#include "cc/xla/handlers/gpu_handlers.h"
#include "cc/xla/handlers/handlers.h"
#include "cc/xla/lowering/op_kernels.h"
#include "cc/xla/lowering/params_kernels.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "xla/ffi/api/ffi.h"

// libtensorflow_cc exports this function. The header that declares it needs headers of LLVM, which
// TensorFlow's package lacks.
namespace xla::ffi {
const XLA_FFI_Api* GetXlaFfiApi();
}

namespace rnn_ops::tf_kernels {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;

struct Registration {
  const char* op;
  OpKernel* (*create)(OpKernelConstruction* context);
};

template <typename Kernel>
OpKernel* Create(OpKernelConstruction* context) {
  return new Kernel(context);
}

bool HasKernel(const char* op, const char* device) {
  const tensorflow::KernelList kernels = tensorflow::GetRegisteredKernelsForOp(op);
  return std::any_of(kernels.kernel().begin(), kernels.kernel().end(),
                     [device](const auto& kernel) { return kernel.device_type() == device; });
}

void Register(const char* device, const std::vector<Registration>& registrations) {
  for (const Registration& registration : registrations) {
    if (HasKernel(registration.op, device)) continue;  // TensorFlow would reject both
    tensorflow::kernel_factory::OpKernelRegistrar(
        tensorflow::KernelDefBuilder(registration.op).Device(device).Build(),
        "rnn_ops::tf_kernels::XlaKernel", registration.create);
  }
}

// XLA's error message for a failed registration; "" if the registration succeeded.
std::string Complaint(XLA_FFI_Error* error) {
  if (error == nullptr) return "";
  const XLA_FFI_Api* const api = xla::ffi::GetXlaFfiApi();
  XLA_FFI_Error_GetMessage_Args message = {XLA_FFI_Error_GetMessage_Args_STRUCT_SIZE, nullptr,
                                           error, nullptr};
  api->XLA_FFI_Error_GetMessage(&message);
  const std::string complaint = message.message;
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  api->XLA_FFI_Error_Destroy(&destroy);
  return complaint;
}

// `platform`: XLA's name of the platform.
template <size_t count>
void RegisterHandlers(const char* device, const char* platform,
                      const ffi::Handler (&handlers)[count]) {
  for (const ffi::Handler& handler : handlers) {
    if (HasKernel(handler.op, device)) continue;  // another copy of this library serves it
    const std::string complaint = Complaint(xla::ffi::Ffi::RegisterStaticHandler(
        xla::ffi::GetXlaFfiApi(), handler.op, platform, handler.handler));
    if (complaint.empty()) {
      Register(device, {{handler.op, &Create<CustomCallKernel>}});
    } else {
      // The op gets no kernel for XLA, so that TensorFlow does not put it into clusters.
      LOG(ERROR) << "XLA cannot compile " << handler.op << " for " << platform << ": " << complaint;
    }
  }
}

bool RegisterOurs() {
  RegisterHandlers(kXlaCpu, "Host", ffi::kHandlers);
  RegisterHandlers(kXlaGpu, "CUDA", ffi::kGpuHandlers);
  RegisterHandlers(kXlaGpu, "CUDA", ffi::kGpuLayerHandlers);
  Register(kXlaGpu, {{"TfRnnOps>PackLayerRNN", &Create<PackNothingXlaKernel>}});
  for (const char* device : {kXlaCpu, kXlaGpu}) {
    Register(device,
             {
                 {"TfRnnOps>PackCudnnRNNParams", &Create<PackNothingXlaKernel>},
                 {"TfRnnOps>CudnnRNNParamsSize", &Create<ParamsSizeXlaKernel>},
                 {"TfRnnOps>CudnnRNNCanonicalToParamsV2", &Create<CanonicalToParamsXlaKernel>},
                 {"TfRnnOps>CudnnRNNParamsToCanonicalV2", &Create<ParamsToCanonicalXlaKernel>},
             });
  }
  Register(kXlaCpu, {{"TfRnnOps>PackLayerRNN", &Create<PackNothingXlaKernel>}});
  return true;
}

[[maybe_unused]] const bool registered = RegisterOurs();

}  // namespace
}  // namespace rnn_ops::tf_kernels

// Python calls this function through ctypes, after the CPU kernels of TensorFlow's own ops have
// been registered.
extern "C" __attribute__((visibility("default"))) void tf_rnn_ops_xla_enable_stock_ops() {
  using namespace rnn_ops::tf_kernels;  // NOLINT: the kernels above
  static const bool once = [] {
    Register(kXlaCpu, {
                          {"CudnnRNN", &Create<StockForwardKernel>},
                          {"CudnnRNNV2", &Create<StockForwardKernel>},
                          {"CudnnRNNV3", &Create<StockForwardKernel>},
                          {"CudnnRNNBackprop", &Create<StockBackpropKernel>},
                          {"CudnnRNNBackpropV2", &Create<StockBackpropKernel>},
                          {"CudnnRNNBackpropV3", &Create<StockBackpropKernel>},
                          {"CudnnRNNParamsSize", &Create<ParamsSizeXlaKernel>},
                          {"CudnnRNNCanonicalToParams", &Create<CanonicalToParamsXlaKernel>},
                          {"CudnnRNNCanonicalToParamsV2", &Create<CanonicalToParamsXlaKernel>},
                          {"CudnnRNNParamsToCanonical", &Create<ParamsToCanonicalXlaKernel>},
                          {"CudnnRNNParamsToCanonicalV2", &Create<ParamsToCanonicalXlaKernel>},
                      });
    return true;
  }();
  static_cast<void>(once);
}
