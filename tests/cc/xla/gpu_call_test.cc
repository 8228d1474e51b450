// Scratch memory of the handlers for GPUs, with a mock of the functions of XLA that grant it.
// TensorFlow's allocator aligns all memory to 256 bytes, so its calls cannot show what happens with
// memory of XLA's own alignment.
#include "cc/xla/handlers/gpu_call.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace rnn_ops::ffi {
namespace {

// The least that XLA grants.
constexpr size_t kGranted = 16;

struct Memory {
  alignas(1024) char bytes[8192];
  size_t offset = 0;  // of the next allocation
  XLA_FFI_DeviceMemory_Allocate_Args request = {};
  bool is_full = false;
};
Memory memory;

struct XLA_FFI_Error* const kError = reinterpret_cast<XLA_FFI_Error*>(&memory);

XLA_FFI_Error* Allocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  memory.request = *args;
  if (memory.is_full || args->alignment > kGranted) return kError;
  args->data = memory.bytes + memory.offset;
  return nullptr;
}

XLA_FFI_Error* Free(XLA_FFI_DeviceMemory_Free_Args*) { return nullptr; }
void GetMessage(XLA_FFI_Error_GetMessage_Args* args) { args->message = "no memory"; }
void Destroy(XLA_FFI_Error_Destroy_Args*) {}

TEST(GpuCallTest, ScratchIsAlignedInsideOfTheGrantedMemory) {
  XLA_FFI_Api api = {};
  api.XLA_FFI_DeviceMemory_Allocate = &Allocate;
  api.XLA_FFI_DeviceMemory_Free = &Free;
  api.XLA_FFI_Error_GetMessage = &GetMessage;
  api.XLA_FFI_Error_Destroy = &Destroy;
  xla::ffi::DiagnosticEngine diagnostic;
  auto scratch =
      xla::ffi::CtxDecoding<xla::ffi::ScratchAllocator>::Decode(&api, nullptr, diagnostic);
  const XLA_FFI_Args args = {};
  const XLA_FFI_Rets results = {};
  const XLA_FFI_Attrs attrs = {};
  GpuCall call(nullptr, 0, &*scratch, xla::ffi::RemainingArgs(&args, 0),
               xla::ffi::RemainingRets(&results, 0), xla::ffi::Dictionary(&attrs));
  for (memory.offset = 0; memory.offset <= 512; memory.offset += kGranted) {
    for (const int64_t bytes : {1, 100, 256, 1000}) {
      char* const first = static_cast<char*>(call.scratch()->Allocate(bytes));
      const char* const granted = memory.bytes + memory.offset;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 256, 0u);
      EXPECT_GE(first, granted);
      EXPECT_LE(first + bytes, granted + memory.request.size);
    }
  }
  memory.is_full = true;
  EXPECT_EQ(call.scratch()->Allocate(1), nullptr);
}

}  // namespace
}  // namespace rnn_ops::ffi
