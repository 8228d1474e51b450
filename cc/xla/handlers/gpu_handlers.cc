#include "cc/xla/handlers/gpu_handlers.h"

#include <utility>

#include "cc/xla/handlers/gpu_call.h"

namespace rnn_ops::ffi {
namespace {

template <Status (*run)(const OpSpec&, GpuCall*), const OpSpec& op>
xla::ffi::Error Run(void* stream, int32_t device, xla::ffi::ScratchAllocator scratch,
                    xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
                    xla::ffi::Dictionary attrs) {
  GpuCall call(stream, device, &scratch, args, results, attrs);
  return ToFfi(run(op, &call));
}

template <Status (*run)(const OpSpec&, GpuCall*), const OpSpec& op>
XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame) {
  return Guarded(frame, [] {
    static auto* const handler = xla::ffi::Ffi::Bind()
                                     .Ctx<xla::ffi::PlatformStream<void*>>()
                                     .Ctx<xla::ffi::DeviceOrdinal>()
                                     .Ctx<xla::ffi::ScratchAllocator>()
                                     .RemainingArgs()
                                     .RemainingRets()
                                     .Attrs()
                                     .To(Run<run, op>)
                                     .release();
    return handler;
  });
}

}  // namespace

const Handler kGpuHandlers[6] = {
    {"TfRnnOps>BlockLSTMV2", &kBlockLstm, &Handle<&GpuBlockLstm, kBlockLstm>},
    {"TfRnnOps>BlockLSTMGradV2", &kBlockLstmGrad, &Handle<&GpuBlockLstmGrad, kBlockLstmGrad>},
    {"TfRnnOps>CudnnRNNV3", &kCudnnRnnV3, &Handle<&GpuRnnForward, kCudnnRnnV3>},
    {"TfRnnOps>StatelessCudnnRNNV3", &kStatelessCudnnRnnV3,
     &Handle<&GpuRnnForward, kStatelessCudnnRnnV3>},
    {"TfRnnOps>CudnnRNNV3Packed", &kCudnnRnnV3Packed, &Handle<&GpuRnnForward, kCudnnRnnV3Packed>},
    {"TfRnnOps>CudnnRNNBackpropV3", &kCudnnRnnBackpropV3,
     &Handle<&GpuRnnBackprop, kCudnnRnnBackpropV3>},
};

const Handler kGpuLayerHandlers[3] = {
    {"TfRnnOps>LayerRNN", &kLayerRnn, &Handle<&GpuLayerForward, kLayerRnn>},
    {"TfRnnOps>LayerRNNPacked", &kLayerRnnPacked, &Handle<&GpuLayerForward, kLayerRnnPacked>},
    {"TfRnnOps>LayerRNNBackprop", &kLayerRnnBackprop,
     &Handle<&GpuLayerBackprop, kLayerRnnBackprop>},
};

}  // namespace rnn_ops::ffi
