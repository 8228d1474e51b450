// Device operations on host memory, and an allocator whose memory can run out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/gpu/launch/device_ops.h"
#include "cc/gpu/memory/device_allocator.h"

namespace rnn_ops::gpu::fake {

// Called with the name of each operation before the operation. An error of the hook replaces the
// operation.
using Hook = std::function<Status(const char* name)>;

class HostDeviceOps : public DeviceOps {
 public:
  HostDeviceOps() = default;
  explicit HostDeviceOps(Hook hook) : hook_(std::move(hook)) {}

  Status Fill(void* stream, void* to, uint8_t value, int64_t bytes) const override;
  Status Copy(void* stream, void* to, const void* from, int64_t bytes) const override;
  Status CopyFromHost(void* stream, void* to, const void* host, int64_t bytes) const override;
  Status CopyToHost(void* stream, void* host, const void* from, int64_t bytes) const override;
  Status Convert(void* stream, void* to, Dtype to_type, const void* from, Dtype from_type,
                 int64_t size) const override;
  Status SwapLeadingDims(void* stream, Dtype dtype, void* to, const void* from, int64_t rows,
                         int64_t columns, int64_t width) const override;
  Status MaskSequence(void* stream, Dtype dtype, const SequenceShape& shape, void* to,
                      const void* from, const int32_t* lengths) const override;
  Status CopyEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                       const void* from, const int32_t* lengths) const override;
  Status ZeroEmptyRows(void* stream, Dtype dtype, const StateShape& shape, void* to,
                       const void* from, const int32_t* lengths) const override;

 private:
  Status Enter(const char* name) const { return hook_ ? hook_(name) : Status(); }

  Hook hook_;
};

// Memory filled with NaN, freed with the allocator. Null if the hook returns an error.
class HostAllocator : public DeviceAllocator {
 public:
  HostAllocator() = default;
  explicit HostAllocator(Hook hook) : hook_(std::move(hook)) {}
  void* Allocate(int64_t bytes) override;

  const std::vector<int64_t>& sizes() const { return sizes_; }
  void* last() const { return last_; }

 private:
  Hook hook_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<int64_t> sizes_;
  void* last_ = nullptr;
};

}  // namespace rnn_ops::gpu::fake
