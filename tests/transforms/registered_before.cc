// Registers a handler of XLA under the name of one of ours, as a library of another version would.
#include "xla/ffi/api/ffi.h"

namespace xla::ffi {
const XLA_FFI_Api* GetXlaFfiApi();
}  // namespace xla::ffi

namespace {
XLA_FFI_DEFINE_HANDLER(kNothing, [] { return xla::ffi::Error::Success(); }, xla::ffi::Ffi::Bind());
}  // namespace

extern "C" int register_before() {
  return xla::ffi::Ffi::RegisterStaticHandler(xla::ffi::GetXlaFfiApi(), "TfRnnOps>LayerRNN", "Host",
                                              kNothing) == nullptr;
}
