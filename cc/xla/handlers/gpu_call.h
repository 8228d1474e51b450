// One call of a handler on a GPU: its tensors, its stream and its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/status.h"
#include "cc/gpu/memory/device_allocator.h"
#include "cc/xla/handlers/tensors.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops::ffi {

// All buffers are on the device.
class GpuCall : public Tensors {
 public:
  // `stream`: a CUstream.
  GpuCall(void* stream, int32_t device, xla::ffi::ScratchAllocator* scratch,
          xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results, xla::ffi::Dictionary attrs)
      : Tensors(args, results, attrs), stream_(stream), device_(device), scratch_(scratch) {}

  void* stream() const { return stream_; }
  int device() const { return device_; }
  // Scratch memory of the call. XLA frees it in the order of the stream.
  gpu::DeviceAllocator* scratch() { return &scratch_; }

  // Enqueues a fill of all bytes of a result with `value`.
  Status Fill(int index, int8_t value) const;

  // Gets the values of an argument on the host. If the attribute `name` exists, it has the values
  // that XLA knew at compile time. Otherwise the values are copied from the device, and the call
  // waits for the copy.
  template <typename V>
  Status HostValues(int index, const char* name, std::vector<V>* values) const {
    const int64_t size = arg(index).bytes / static_cast<int64_t>(sizeof(V));
    if (!HasAttr(name)) {
      values->resize(static_cast<size_t>(size));
      return CopyToHost(index, values->data());
    }
    xla::ffi::Span<const V> known;
    RNN_OPS_RETURN_IF_ERROR(Attr(name, &known));
    if (static_cast<int64_t>(known.size()) != size) {
      return InvalidArgument("The attribute ", name, " must have the ", size,
                             " elements of the argument of this name, but it has ", known.size(),
                             ".");
    }
    values->assign(known.begin(), known.end());
    return Status();
  }

 private:
  class Scratch : public gpu::DeviceAllocator {
   public:
    explicit Scratch(xla::ffi::ScratchAllocator* allocator) : allocator_(*allocator) {}
    void* Allocate(int64_t bytes) override;

   private:
    xla::ffi::ScratchAllocator& allocator_;
  };

  Status CopyToHost(int index, void* host) const;

  void* const stream_;
  const int device_;
  Scratch scratch_;
};

// The functions that the handlers for GPUs call.

// Ops of the CudnnRNN family. CudnnRNNV3Packed reads the unpacked weights, because packed weights
// exist only on the CPU.
Status GpuRnnForward(const OpSpec& op, GpuCall* call);
Status GpuRnnBackprop(const OpSpec& op, GpuCall* call);

// LayerRNN and its relatives. LayerRNNPacked reads the unpacked weights too.
Status GpuLayerForward(const OpSpec& op, GpuCall* call);
Status GpuLayerBackprop(const OpSpec& op, GpuCall* call);

Status GpuBlockLstm(const OpSpec& op, GpuCall* call);
Status GpuBlockLstmGrad(const OpSpec& op, GpuCall* call);

}  // namespace rnn_ops::ffi
