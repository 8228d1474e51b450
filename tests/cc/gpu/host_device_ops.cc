#include "tests/cc/gpu/host_device_ops.h"

#include <cstring>

#include "tests/cc/gpu/fake_memory.h"

namespace rnn_ops::gpu::fake {
namespace {

constexpr int64_t kAlignment = 256;

char* At(void* memory, int64_t offset) { return static_cast<char*>(memory) + offset; }
const char* At(const void* memory, int64_t offset) {
  return static_cast<const char*>(memory) + offset;
}

}  // namespace

Status HostDeviceOps::Fill(void*, void* to, uint8_t value, int64_t bytes) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("Fill"));
  if (bytes > 0) std::memset(to, value, bytes);
  return Status();
}

Status HostDeviceOps::Copy(void*, void* to, const void* from, int64_t bytes) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("Copy"));
  if (bytes > 0) std::memcpy(to, from, bytes);
  return Status();
}

Status HostDeviceOps::CopyFromHost(void*, void* to, const void* host, int64_t bytes) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("CopyFromHost"));
  std::memcpy(to, host, bytes);
  return Status();
}

Status HostDeviceOps::CopyToHost(void*, void* host, const void* from, int64_t bytes) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("CopyToHost"));
  std::memcpy(host, from, bytes);
  return Status();
}

Status HostDeviceOps::Convert(void*, void* to, Dtype to_type, const void* from, Dtype from_type,
                              int64_t size) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("Convert"));
  for (int64_t k = 0; k < size; ++k) Write(to_type, to, k, Read(from_type, from, k));
  return Status();
}

Status HostDeviceOps::SwapLeadingDims(void*, Dtype dtype, void* to, const void* from, int64_t rows,
                                      int64_t columns, int64_t width) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("SwapLeadingDims"));
  const int64_t bytes = width * SizeOf(dtype);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      std::memcpy(At(to, (c * rows + r) * bytes), At(from, (r * columns + c) * bytes), bytes);
    }
  }
  return Status();
}

Status HostDeviceOps::MaskSequence(void*, Dtype dtype, const SequenceShape& shape, void* to,
                                   const void* from, const int32_t* lengths) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("MaskSequence"));
  const int64_t bytes = shape.width * SizeOf(dtype);
  for (int64_t t = 0; t < shape.max_time; ++t) {
    for (int64_t b = 0; b < shape.batch; ++b) {
      const int64_t row = shape.time_major ? t * shape.batch + b : b * shape.max_time + t;
      if (t >= lengths[b]) {
        std::memset(At(to, row * bytes), 0, bytes);
      } else if (to != from) {
        std::memcpy(At(to, row * bytes), At(from, row * bytes), bytes);
      }
    }
  }
  return Status();
}

Status HostDeviceOps::CopyEmptyRows(void*, Dtype dtype, const StateShape& shape, void* to,
                                    const void* from, const int32_t* lengths) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("CopyEmptyRows"));
  const int64_t bytes = shape.width * SizeOf(dtype);
  for (int64_t row = 0; row < shape.pseudo_layers * shape.batch; ++row) {
    if (lengths[row % shape.batch] > 0) continue;
    std::memcpy(At(to, row * bytes), At(from, row * bytes), bytes);
  }
  return Status();
}

Status HostDeviceOps::ZeroEmptyRows(void*, Dtype dtype, const StateShape& shape, void* to,
                                    const void* from, const int32_t* lengths) const {
  RNN_OPS_RETURN_IF_ERROR(Enter("ZeroEmptyRows"));
  const int64_t bytes = shape.width * SizeOf(dtype);
  for (int64_t row = 0; row < shape.pseudo_layers * shape.batch; ++row) {
    if (lengths[row % shape.batch] == 0) {
      std::memset(At(to, row * bytes), 0, bytes);
    } else if (to != from) {
      std::memcpy(At(to, row * bytes), At(from, row * bytes), bytes);
    }
  }
  return Status();
}

void* HostAllocator::Allocate(int64_t bytes) {
  if (hook_ && !hook_("Allocate").ok()) return nullptr;
  blocks_.push_back(std::make_unique<char[]>(bytes + kAlignment));
  sizes_.push_back(bytes);
  char* start = blocks_.back().get();
  start += kAlignment - reinterpret_cast<uintptr_t>(start) % kAlignment;
  std::memset(start, 0xff, bytes);  // NaN in every type
  return last_ = start;
}

}  // namespace rnn_ops::gpu::fake
