#include "cc/xla/handlers/handle.h"

namespace rnn_ops::ffi {

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

}  // namespace rnn_ops::ffi
