#include "cc/ffi/handlers.h"

#include "cc/ffi/call.h"
#include "cc/ffi/ops.h"

namespace rnn_ops {
namespace ffi {
namespace {

template <Status (*op)(Call*)>
xla::ffi::Error Run(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args,
                    xla::ffi::RemainingRets results, xla::ffi::Dictionary attrs) {
  Call call(pool, args, results, attrs);
  return ToFfi(op(&call));
}

template <Status (*op)(Call*)>
XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame) {
  return Guarded(frame, [] {
    static auto* const handler = xla::ffi::Ffi::Bind()
                                     .Ctx<xla::ffi::ThreadPool>()
                                     .RemainingArgs()
                                     .RemainingRets()
                                     .Attrs()
                                     .To(Run<op>)
                                     .release();
    return handler;
  });
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
