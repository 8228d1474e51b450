#include "cc/ffi/call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "cc/core/block_cache.h"
#include "cc/core/machine_limits.h"

namespace rnn_ops {
namespace ffi {
namespace {

constexpr int64_t kAlignment = 64;
// Smaller blocks the C library keeps itself. Those from its M_MMAP_THRESHOLD on it may give back to
// the system when they are freed: up to 70 page faults, a tenth of a training call of
// (100,1,128,256).
constexpr int64_t kCachedBytes = int64_t{128} << 10;

// How many threads of XLA's pool a call may keep busy, its caller included.
int NumThreads(const xla::ffi::ThreadPool& pool) {
  return static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(pool.num_threads(), AvailableCpus())));
}

}  // namespace

Call::Call(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
           xla::ffi::Dictionary attrs)
    : Tensors(args, results, attrs),
      team_(NumThreads(pool),
            [pool](std::function<void()> closure) mutable { pool.Schedule(std::move(closure)); }) {}

Call::~Call() {
  for (void* block : allocated_) std::free(block);
  for (void* block : cached_) ProcessBlockCache().Return(block);
}

void Call::Zero(int index) const {
  if (result(index).bytes > 0) std::memset(result(index).data, 0, result(index).bytes);
}

Status Call::Scratch(int64_t bytes, void** data) {
  if (bytes < 0) return InvalidArgument("The problem needs more scratch memory than 2^62 bytes.");
  *data = nullptr;
  if (bytes == 0) return Status();
  const bool cached = bytes >= kCachedBytes;
  std::vector<void*>& blocks = cached ? cached_ : allocated_;
  blocks.reserve(blocks.size() + 1);  // so that no block is lost where there is no memory for this
  if (cached) {
    *data = ProcessBlockCache().Take(bytes);
  } else {
    *data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (*data != nullptr) {
    blocks.push_back(*data);
    return Status();
  }
  return ResourceExhausted("There is not enough memory for ", bytes, " bytes of scratch.");
}

Status Call::Aligned(int index, const void** data) {
  *data = arg(index).data;
  if (reinterpret_cast<uintptr_t>(*data) % kAlignment == 0) return Status();
  void* copy = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Scratch(arg(index).bytes, &copy));
  if (copy != nullptr) std::memcpy(copy, *data, arg(index).bytes);
  *data = copy;
  return Status();
}

}  // namespace ffi
}  // namespace rnn_ops
