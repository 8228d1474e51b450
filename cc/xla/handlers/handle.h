// Converts errors and exceptions of C++ to the errors of a handler's C function.
#pragma once

#include <new>

#include "cc/core/op/op_spec.h"
#include "cc/core/status.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops::ffi {

struct Handler {
  const char* op;  // TensorFlow's name of the op, and the name of the custom call
  const OpSpec* spec;
  XLA_FFI_Handler* handler;
};

xla::ffi::Error ToFfi(const Status& status);

// Runs the handler `bound`, which xla::ffi::Ffi::Bind() made.
template <typename Bound>
XLA_FFI_Error* Guarded(XLA_FFI_CallFrame* frame, const Bound& bound) {
  try {
    return bound()->Call(frame);
  } catch (const std::bad_alloc&) {
    // Without this branch XLA would report an unknown error.
    XLA_FFI_Error_Create_Args args = {};
    args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
    args.message = "No memory is left for small objects.";
    args.errc = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
    return frame->api->XLA_FFI_Error_Create(&args);
  }
}

}  // namespace rnn_ops::ffi
