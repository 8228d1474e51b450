#include "cc/ffi/gpu_handlers.h"

#include <utility>

#include "cc/ffi/gpu_call.h"
#include "cc/ffi/gpu_ops.h"

namespace rnn_ops {
namespace ffi {
namespace {

template <Status (*op)(GpuCall*)>
xla::ffi::Error Run(void* stream, int32_t device, xla::ffi::ScratchAllocator scratch,
                    xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
                    xla::ffi::Dictionary attrs) {
  GpuCall call(stream, device, &scratch, args, results, attrs);
  return ToFfi(op(&call));
}

template <Status (*op)(GpuCall*)>
XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame) {
  return Guarded(frame, [] {
    static auto* const handler = xla::ffi::Ffi::Bind()
                                     .Ctx<xla::ffi::PlatformStream<void*>>()
                                     .Ctx<xla::ffi::DeviceOrdinal>()
                                     .Ctx<xla::ffi::ScratchAllocator>()
                                     .RemainingArgs()
                                     .RemainingRets()
                                     .Attrs()
                                     .To(Run<op>)
                                     .release();
    return handler;
  });
}

}  // namespace

const Handler kGpuHandlers[6] = {
    {"TfRnnOps>BlockLSTMV2", &Handle<&GpuBlockLstm>},
    {"TfRnnOps>BlockLSTMGradV2", &Handle<&GpuBlockLstmGrad>},
    {"TfRnnOps>CudnnRNNV3", &Handle<&GpuCudnnRnn>},
    {"TfRnnOps>StatelessCudnnRNNV3", &Handle<&GpuStatelessCudnnRnn>},
    {"TfRnnOps>CudnnRNNV3Packed", &Handle<&GpuCudnnRnnPacked>},
    {"TfRnnOps>CudnnRNNBackpropV3", &Handle<&GpuCudnnRnnBackprop>},
};

}  // namespace ffi
}  // namespace rnn_ops
