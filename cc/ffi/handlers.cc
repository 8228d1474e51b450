#include "cc/ffi/handlers.h"

#include <new>
#include <string>

#include "cc/core/status.h"
#include "cc/ffi/call.h"
#include "cc/ffi/ops.h"

namespace rnn_ops {
namespace ffi {
namespace {

using ::xla::ffi::Error;
using ::xla::ffi::ErrorCode;

Error ToFfi(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return Error::Success();
    case Code::kInvalidArgument:
      return Error(ErrorCode::kInvalidArgument, status.message());
    case Code::kFailedPrecondition:
      return Error(ErrorCode::kFailedPrecondition, status.message());
    case Code::kResourceExhausted:
      return Error(ErrorCode::kResourceExhausted, status.message());
    case Code::kUnimplemented:
      return Error(ErrorCode::kUnimplemented, status.message());
    case Code::kInternal:
      break;
  }
  return Error(ErrorCode::kInternal, status.message());
}

template <Status (*op)(Call*)>
Error Run(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
          xla::ffi::Dictionary attrs) {
  Call call(pool, args, results, attrs);
  return ToFfi(op(&call));
}

template <Status (*op)(Call*)>
XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame) {
  try {
    static auto* const handler = xla::ffi::Ffi::Bind()
                                     .Ctx<xla::ffi::ThreadPool>()
                                     .RemainingArgs()
                                     .RemainingRets()
                                     .Attrs()
                                     .To(Run<op>)
                                     .release();
    return handler->Call(frame);
  } catch (const std::bad_alloc&) {
    // XLA would report an unknown error.
    XLA_FFI_Error_Create_Args args = {};
    args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
    args.message = "No memory is left for small objects.";
    args.errc = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
    return frame->api->XLA_FFI_Error_Create(&args);
  }
}

}  // namespace

const Handler kHandlers[9] = {
    {"TfRnnOps>BlockLSTMV2", &Handle<&BlockLstm>},
    {"TfRnnOps>BlockLSTMGradV2", &Handle<&BlockLstmGrad>},
    {"TfRnnOps>CudnnRNNV3", &Handle<&CudnnRnn>},
    {"TfRnnOps>StatelessCudnnRNNV3", &Handle<&StatelessCudnnRnn>},
    {"TfRnnOps>CudnnRNNV3Packed", &Handle<&CudnnRnnPacked>},
    {"TfRnnOps>CudnnRNNBackpropV3", &Handle<&CudnnRnnBackprop>},
    {"TfRnnOps>LayerRNN", &Handle<&LayerRnn>},
    {"TfRnnOps>LayerRNNPacked", &Handle<&LayerRnnPacked>},
    {"TfRnnOps>LayerRNNBackprop", &Handle<&LayerRnnBackprop>},
};

}  // namespace ffi
}  // namespace rnn_ops
