#include "cc/xla/handlers/call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "cc/core/runtime/block_cache.h"
#include "cc/core/runtime/machine_limits.h"

namespace rnn_ops::ffi {
namespace {

constexpr int64_t kAlignment = 64;
// The C library keeps smaller freed blocks for reuse. Blocks from its M_MMAP_THRESHOLD on may be
// returned to the system when they are freed. The page faults of the next call would then take a
// tenth of the time of a training call of 100 steps.
constexpr int64_t kCachedBytes = int64_t{128} << 10;

bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

// The number of threads of XLA's pool that a call may keep busy, including the caller.
int NumThreads(const xla::ffi::ThreadPool& pool) {
  return static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(pool.num_threads(), AvailableCpus())));
}

}  // namespace

Call::Call(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
           xla::ffi::Dictionary attrs)
    : Tensors(args, results, attrs),
      team_(
          NumThreads(pool),
          [pool](std::function<void()> closure) mutable { pool.Schedule(std::move(closure)); },
          StayTime(/*eager=*/false)) {}

Call::~Call() {
  for (void* block : allocated_) std::free(block);
  for (void* block : cached_) ProcessBlockCache().Return(block);
}

void Call::SetZeros() const {
  for (const int k : zeros()) {
    if (result(k).bytes > 0) std::memset(result(k).data, 0, result(k).bytes);
  }
}

Status Call::Scratch(int64_t bytes, void** data) {
  *data = nullptr;
  if (bytes == 0) return Status();
  const bool cached = bytes >= kCachedBytes;
  std::vector<void*>& blocks = cached ? cached_ : allocated_;
  blocks.reserve(blocks.size() + 1);  // may throw, before a block could be lost
  if (cached) {
    *data = ProcessBlockCache().Acquire(bytes);
  } else {
    *data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (*data != nullptr) {
    blocks.push_back(*data);
    return Status();
  }
  return ResourceExhausted("There is not enough memory for ", bytes, " bytes of scratch.");
}

Status Call::NewReserve(const cpu::ReserveSizes& sizes, void** data) {
  const int64_t bytes = sizes.bytes;
  if (sizes.longest_bytes < 0) {
    return InvalidArgument("reserve_space would need more than 2^62 bytes.");
  }
  const int index = op().Output(Arg::reserve_space);
  RNN_OPS_RETURN_IF_ERROR(
      RequireResult(index, "reserve_space",
                    PartialShape::Of({ReserveElements(sizes.longest_bytes, SizeOf(dtype()))})));
  const Buffer& space = result(index);
  // Clears the part that shorter sequences do not use, which would otherwise show old memory.
  if (bytes < space.bytes) {
    std::memset(static_cast<char*>(space.data) + bytes, 0, space.bytes - bytes);
  }
  *data = space.data;
  if (IsAligned(*data)) return Status();
  RNN_OPS_RETURN_IF_ERROR(Scratch(bytes, data));
  reserve_copy_ = *data;
  reserve_bytes_ = bytes;
  return Status();
}

void Call::FinishReserve() const {
  if (reserve_copy_ == nullptr) return;
  std::memcpy(tensors().out(Arg::reserve_space), reserve_copy_, reserve_bytes_);
}

Status Call::Aligned(Arg input, const void** data) {
  *data = arg(input).data;
  if (IsAligned(*data)) return Status();
  void* copy = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Scratch(arg(input).bytes, &copy));
  if (copy != nullptr) std::memcpy(copy, *data, arg(input).bytes);
  *data = copy;
  return Status();
}

}  // namespace rnn_ops::ffi
