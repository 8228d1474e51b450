#include "cc/xla/handlers/handlers.h"

#include "cc/xla/handlers/call.h"

namespace rnn_ops::ffi {
namespace {

template <Status (*run)(const OpSpec&, Call*), const OpSpec& op>
xla::ffi::Error Run(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args,
                    xla::ffi::RemainingRets results, xla::ffi::Dictionary attrs) {
  Call call(pool, args, results, attrs);
  return ToFfi(run(op, &call));
}

template <Status (*run)(const OpSpec&, Call*), const OpSpec& op>
XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame) {
  return Guarded(frame, [] {
    static auto* const handler = xla::ffi::Ffi::Bind()
                                     .Ctx<xla::ffi::ThreadPool>()
                                     .RemainingArgs()
                                     .RemainingRets()
                                     .Attrs()
                                     .To(Run<run, op>)
                                     .release();
    return handler;
  });
}

}  // namespace

const Handler kHandlers[10] = {
    {"TfRnnOps>BlockLSTMV2", &kBlockLstm, &Handle<&BlockLstm, kBlockLstm>},
    {"TfRnnOps>BlockLSTMGradV2", &kBlockLstmGrad, &Handle<&BlockLstmGrad, kBlockLstmGrad>},
    {"TfRnnOps>CudnnRNNV3", &kCudnnRnnV3, &Handle<&RnnForward, kCudnnRnnV3>},
    {"TfRnnOps>StatelessCudnnRNNV3", &kStatelessCudnnRnnV3,
     &Handle<&RnnForward, kStatelessCudnnRnnV3>},
    {"TfRnnOps>CudnnRNNV3Packed", &kCudnnRnnV3Packed, &Handle<&RnnForward, kCudnnRnnV3Packed>},
    {"TfRnnOps>CudnnRNNBackpropV3", &kCudnnRnnBackpropV3,
     &Handle<&RnnBackprop, kCudnnRnnBackpropV3>},
    {"TfRnnOps>LayerRNN", &kLayerRnn, &Handle<&RnnForward, kLayerRnn>},
    {"TfRnnOps>LayerRNNPacked", &kLayerRnnPacked, &Handle<&RnnForward, kLayerRnnPacked>},
    {"TfRnnOps>LayerRNNBackprop", &kLayerRnnBackprop, &Handle<&RnnBackprop, kLayerRnnBackprop>},
    {"TfRnnOps>LinearRecurrence", &kLinearRecurrence,
     &Handle<&LinearRecurrence, kLinearRecurrence>},
};

}  // namespace rnn_ops::ffi
