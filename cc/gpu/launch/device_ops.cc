#include "cc/gpu/launch/device_ops.h"

#include <memory>
#include <vector>

#include "cc/gpu/kernels/kernel_args.h"

namespace rnn_ops::gpu {
namespace {

CUstream ToStream(void* stream) { return static_cast<CUstream>(stream); }

elementwise::MaskRows StateRows(const StateShape& shape, void* to, const void* from,
                                const int32_t* lengths) {
  elementwise::MaskRows args = {};
  args.from = from;
  args.to = to;
  args.lengths = lengths;
  args.outer = shape.pseudo_layers;
  args.batch = shape.batch;
  args.width = shape.width;
  args.time_major = 1;
  return args;
}

}  // namespace

template <typename Args>
Status DriverOps::Launch(void* stream, Kernel kernel, const LaunchDomain& domain,
                         const Args& args) const {
  if (domain.rows == 0 || domain.columns == 0) return Status();
  ScopedContext scope;
  RNN_OPS_RETURN_IF_ERROR(scope.Enter(api_, ToStream(stream)));
  return modules_.Launch({scope.context(), ToStream(stream)}, kernel, domain, args);
}

Status DriverOps::Fill(void* stream, void* to, uint8_t value, int64_t bytes) const {
  if (bytes == 0) return Status();
  ScopedContext scope;
  RNN_OPS_RETURN_IF_ERROR(scope.Enter(api_, ToStream(stream)));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      api_, MemsetD8Async(ToDevicePtr(to), value, static_cast<size_t>(bytes), ToStream(stream)));
  return Status();
}

Status DriverOps::Copy(void* stream, void* to, const void* from, int64_t bytes) const {
  if (bytes == 0 || to == from) return Status();
  ScopedContext scope;
  RNN_OPS_RETURN_IF_ERROR(scope.Enter(api_, ToStream(stream)));
  RNN_OPS_RETURN_IF_CUDA_ERROR(api_, MemcpyDtoDAsync(ToDevicePtr(to), ToDevicePtr(from),
                                                     static_cast<size_t>(bytes), ToStream(stream)));
  return Status();
}

// WHY the copy on the host: the caller's memory is valid only until this function returns. The
// driver may read it at any time until the stream has run the copy: TensorFlow keeps such tensors
// in pinned memory, and some GPUs read pageable memory themselves. So a function in the stream
// frees the copy. If the stream never runs the function because of an error, the copy leaks.
Status DriverOps::CopyFromHost(void* stream, void* to, const void* host, int64_t bytes) const {
  if (bytes == 0) return Status();
  ScopedContext scope;
  RNN_OPS_RETURN_IF_ERROR(scope.Enter(api_, ToStream(stream)));
  bool capturing = false;
  RNN_OPS_RETURN_IF_ERROR(IsCapturing(api_, ToStream(stream), &capturing));
  if (capturing) {  // each replay would free the copy again
    return FailedPrecondition(
        "A CUDA graph cannot capture this call, because the call copies ", bytes,
        " bytes from host memory, such as the lengths of sequences with fewer than T steps. Run it "
        "outside of the capture, or give all sequences T steps.");
  }
  const char* const first = static_cast<const char*>(host);
  auto copy = std::make_unique<std::vector<char>>(first, first + bytes);
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      api_, MemcpyHtoDAsync(ToDevicePtr(to), copy->data(), copy->size(), ToStream(stream)));
  const CUhostFn free_copy = [](void* data) { delete static_cast<std::vector<char>*>(data); };
  const CUresult queued = api_.LaunchHostFunc(ToStream(stream), free_copy, copy.get());
  if (queued != CUDA_SUCCESS) {
    api_.StreamSynchronize(ToStream(stream));  // before the copy is freed
    return FromDriver(api_, queued, "LaunchHostFunc(stream, free_copy, copy)");
  }
  copy.release();
  return Status();
}

Status DriverOps::CopyToHost(void* stream, void* host, const void* from, int64_t bytes) const {
  if (bytes == 0) return Status();
  ScopedContext scope;
  RNN_OPS_RETURN_IF_ERROR(scope.Enter(api_, ToStream(stream)));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      api_, MemcpyDtoHAsync(host, ToDevicePtr(from), static_cast<size_t>(bytes), ToStream(stream)));
  RNN_OPS_RETURN_IF_CUDA_ERROR(api_, StreamSynchronize(ToStream(stream)));
  return Status();
}

Status DriverOps::Convert(void* stream, void* to, Dtype to_type, const void* from, Dtype from_type,
                          int64_t size) const {
  if (to_type == from_type) return Copy(stream, to, from, size * SizeOf(to_type));
  Kernel kernel = Kernel::kCount;
  if (from_type == Dtype::kFloat32 && to_type == Dtype::kFloat16) {
    kernel = Kernel::convert_f32_to_f16;
  } else if (from_type == Dtype::kFloat16 && to_type == Dtype::kFloat32) {
    kernel = Kernel::convert_f16_to_f32;
  } else if (from_type == Dtype::kFloat32 && to_type == Dtype::kBFloat16) {
    kernel = Kernel::convert_f32_to_bf16;
  } else if (from_type == Dtype::kBFloat16 && to_type == Dtype::kFloat32) {
    kernel = Kernel::convert_bf16_to_f32;
  } else {
    return Internal("There is no kernel that converts ", Name(from_type), " to ", Name(to_type),
                    ".");
  }
  return Launch(stream, kernel, {1, size}, elementwise::Conversion{from, to, size});
}

Status DriverOps::SwapLeadingDims(void* stream, Dtype dtype, void* to, const void* from,
                                  int64_t rows, int64_t columns, int64_t width) const {
  return Launch(stream, KernelForSize(Kernel::swap_leading_dims_b16, dtype),
                {rows * columns, width}, elementwise::SwapLeading{from, to, rows, columns, width});
}

Status DriverOps::MaskSequence(void* stream, Dtype dtype, const SequenceShape& shape, void* to,
                               const void* from, const int32_t* lengths) const {
  elementwise::MaskRows args = {};
  args.from = from;
  args.to = to;
  args.lengths = lengths;
  args.outer = shape.max_time;
  args.batch = shape.batch;
  args.width = shape.width;
  args.time_major = shape.time_major ? 1 : 0;
  return Launch(stream, KernelForSize(Kernel::mask_sequence_b16, dtype),
                {shape.max_time * shape.batch, shape.width}, args);
}

Status DriverOps::CopyEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                                const void* from, const int32_t* lengths) const {
  return Launch(stream, KernelForSize(Kernel::copy_empty_rows_b16, dtype),
                {shape.pseudo_layers * shape.batch, shape.width},
                StateRows(shape, to, from, lengths));
}

Status DriverOps::ZeroEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                                const void* from, const int32_t* lengths) const {
  return Launch(stream, KernelForSize(Kernel::zero_empty_rows_b16, dtype),
                {shape.pseudo_layers * shape.batch, shape.width},
                StateRows(shape, to, from, lengths));
}

Status GetDeviceOps(const DeviceOps** ops) {
  const DriverApi* api = nullptr;
  KernelModules* modules = nullptr;
  *ops = nullptr;
  RNN_OPS_RETURN_IF_ERROR(GetModules(&api, &modules));
  static const DriverOps* const shared = new DriverOps(api, modules);
  *ops = shared;
  return Status();
}

}  // namespace rnn_ops::gpu
