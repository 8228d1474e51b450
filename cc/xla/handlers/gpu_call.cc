#include "cc/xla/handlers/gpu_call.h"

#include "cc/gpu/launch/elementwise.h"

namespace rnn_ops::ffi {
// XLA guarantees an alignment of at most 16, and rejects requests for more.
void* GpuCall::Scratch::Allocate(int64_t bytes) {
  constexpr uintptr_t kGranted = 16, kAlignment = 256;
  const auto memory =
      allocator_.Allocate(static_cast<size_t>(bytes) + kAlignment - kGranted, kGranted);
  if (!memory.has_value()) return nullptr;
  const uintptr_t address = reinterpret_cast<uintptr_t>(*memory);
  return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

Status GpuCall::Fill(int index, int8_t value) const {
  const gpu::DeviceOps* ops = nullptr;
  RNN_OPS_RETURN_IF_ERROR(gpu::GetDeviceOps(&ops));
  return ops->Fill(stream_, result(index).data, static_cast<uint8_t>(value), result(index).bytes);
}

Status GpuCall::CopyToHost(int index, void* host) const {
  if (arg(index).bytes == 0) return Status();
  const gpu::DeviceOps* ops = nullptr;
  RNN_OPS_RETURN_IF_ERROR(gpu::GetDeviceOps(&ops));
  return ops->CopyToHost(stream_, host, arg(index).data, arg(index).bytes);
}

}  // namespace rnn_ops::ffi
