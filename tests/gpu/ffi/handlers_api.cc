// A C interface to the handlers for GPUs, for programs that run XLA without TensorFlow. library.py
// calls it.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "cc/core/op/shapes.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/xla/handlers/gpu_handlers.h"

#define HANDLERS_API extern "C" __attribute__((visibility("default")))

namespace {

using rnn_ops::Status;
using rnn_ops::ffi::kGpuHandlers;
using rnn_ops::ffi::kGpuLayerHandlers;

thread_local std::string message;

constexpr int kOthers = 6, kLayers = 3;
static_assert(kOthers == std::size(kGpuHandlers) && kLayers == std::size(kGpuLayerHandlers));

const rnn_ops::ffi::Handler& HandlerAt(int k) {
  return k < kOthers ? kGpuHandlers[k] : kGpuLayerHandlers[k - kOthers];
}

// ---- Mocks of XLA's GPU functions ----
//
// XLA on the CPU gives handlers neither a stream nor device memory. These functions replace both.
// The driver is a mock too, and device memory is host memory.

XLA_FFI_Error* NoStream(XLA_FFI_Stream_Get_Args* args) {
  static int stream = 0;
  args->stream = &stream;
  return nullptr;
}

XLA_FFI_Error* Ordinal(XLA_FFI_DeviceOrdinal_Get_Args* args) {
  args->device_ordinal = 0;
  return nullptr;
}

thread_local const XLA_FFI_Api* xla_api = nullptr;

// Like XLA, guarantees an alignment of 16 and rejects requests for more.
constexpr size_t kGranted = 16;

XLA_FFI_Error* Allocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  if (args->alignment > kGranted) {
    XLA_FFI_Error_Create_Args error = {};
    error.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
    error.message = "Unsupported alignment";
    error.errc = XLA_FFI_Error_Code_INVALID_ARGUMENT;
    return xla_api->XLA_FFI_Error_Create(&error);
  }
  const size_t bytes = (args->size + kGranted + 31) / 32 * 32;
  char* const memory = static_cast<char*>(std::aligned_alloc(32, bytes));
  std::memset(memory, 0xff, bytes);
  args->data = memory + kGranted;  // not aligned to more
  return nullptr;
}

XLA_FFI_Error* Free(XLA_FFI_DeviceMemory_Free_Args* args) {
  std::free(static_cast<char*>(args->data) - kGranted);
  return nullptr;
}

template <int k>
XLA_FFI_Error* Pretend(XLA_FFI_CallFrame* frame) {
  XLA_FFI_CallFrame pretended = *frame;
  XLA_FFI_Api api = *frame->api;
  xla_api = frame->api;
  api.XLA_FFI_Stream_Get = &NoStream;
  api.XLA_FFI_DeviceOrdinal_Get = &Ordinal;
  api.XLA_FFI_DeviceMemory_Allocate = &Allocate;
  api.XLA_FFI_DeviceMemory_Free = &Free;
  pretended.api = &api;
  return HandlerAt(k).handler(&pretended);
}

XLA_FFI_Handler* const kPretended[kOthers + kLayers] = {&Pretend<0>, &Pretend<1>, &Pretend<2>,
                                                        &Pretend<3>, &Pretend<4>, &Pretend<5>,
                                                        &Pretend<6>, &Pretend<7>, &Pretend<8>};

Status ReserveBytes(const char* rnn_mode, const char* input_mode, const char* direction,
                    const int64_t sizes[6], int32_t time_major, float dropout, int32_t dtype,
                    int32_t allow_tf32, int64_t* bytes) {
  rnn_ops::RnnAttrs attrs;
  rnn_ops::gpu::StackProblem problem;
  RNN_OPS_RETURN_IF_ERROR(rnn_ops::ParseRnnMode(rnn_mode, &attrs.mode));
  RNN_OPS_RETURN_IF_ERROR(rnn_ops::ParseInputMode(input_mode, &attrs.input_mode));
  RNN_OPS_RETURN_IF_ERROR(rnn_ops::ParseDirection(direction, &attrs.direction));
  attrs.dropout = dropout;
  attrs.num_proj = sizes[5];
  attrs.time_major = time_major != 0;
  RNN_OPS_RETURN_IF_ERROR(
      rnn_ops::MakeRnnConfig(attrs, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], &problem));
  problem.dtype = static_cast<rnn_ops::Dtype>(dtype);
  problem.allow_tf32 = allow_tf32 != 0;
  return rnn_ops::gpu::RnnReserveBytes(problem, /*device=*/0, bytes);
}

}  // namespace

HANDLERS_API const char* handlers_message() { return message.c_str(); }

// The handler of an op; null if there is none.
HANDLERS_API XLA_FFI_Handler* handlers_find(const char* op, int32_t pretend) {
  for (int k = 0; k < kOthers + kLayers; ++k) {
    if (std::strcmp(HandlerAt(k).op, op) != 0) continue;
    return pretend != 0 ? kPretended[k] : HandlerAt(k).handler;
  }
  return nullptr;
}

// sizes: L, H, I, T, B, P. Returns the code of a Status.
HANDLERS_API int32_t handlers_reserve_bytes(const char* rnn_mode, const char* input_mode,
                                            const char* direction, const int64_t sizes[6],
                                            int32_t time_major, float dropout, int32_t dtype,
                                            int32_t allow_tf32, int64_t* bytes) {
  const Status status = ReserveBytes(rnn_mode, input_mode, direction, sizes, time_major, dropout,
                                     dtype, allow_tf32, bytes);
  message = status.message();
  return static_cast<int32_t>(status.code());
}

// The reserve space of LayerRNN. sizes: T, B, I, H, P. Returns the code of a Status.
HANDLERS_API int32_t handlers_layer_reserve_bytes(const char* rnn_mode, const int64_t sizes[5],
                                                  int32_t has_layer_norm, int32_t dtype,
                                                  int64_t* bytes) {
  rnn_ops::gpu::LayerProblem problem;
  const Status status = rnn_ops::ParseRnnMode(rnn_mode, &problem.mode);
  problem.max_time = sizes[0], problem.batch = sizes[1], problem.input_size = sizes[2];
  problem.num_units = sizes[3], problem.num_proj = sizes[4];
  problem.has_layer_norm = has_layer_norm != 0;
  problem.dtype = static_cast<rnn_ops::Dtype>(dtype);
  if (status.ok()) *bytes = rnn_ops::gpu::LayerReserveBytes(problem);
  message = status.message();
  return static_cast<int32_t>(status.code());
}

// TensorFlow exports its registration function under a C++ name. JAX has another way to register
// handlers.
HANDLERS_API int32_t handlers_register(const XLA_FFI_Api* api, const char* op, const char* name,
                                       const char* platform, int32_t pretend) {
  XLA_FFI_Error* const error =
      xla::ffi::Ffi::RegisterStaticHandler(api, name, platform, handlers_find(op, pretend));
  return error == nullptr ? 0 : 1;
}
