#include "cc/core/runtime/block_cache.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "cc/core/checked_math.h"
#include "cc/core/runtime/machine_limits.h"

namespace rnn_ops {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kGranule = int64_t{64} << 10;  // block sizes are multiples of kGranule
constexpr size_t kMaxCached = 64;

// Blocks below kMarkedBytes are marked with MADV_FREE only if more than about kMostUnmarked bytes
// of unmarked blocks are cached. Marking pages of 4 KiB and writing to these pages again would take
// a tenth of a call of 0.5 ms.
constexpr int64_t kMarkedBytes = int64_t{4} << 20;
constexpr int64_t kMostUnmarked = int64_t{32} << 20;

// The size of the largest cached block that may serve a request of `bytes`. The extra quarter lets
// batches of different lengths share blocks, and leaves at most a fifth of a block unused. With a
// larger bound a small request would take the block that the next large request needs.
int64_t LargestFit(int64_t bytes) { return bytes + bytes / 4; }

int64_t RoundUp(int64_t bytes, int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

// Null if the system has no memory.
void* MapAligned(int64_t bytes) {
  const int64_t slack = bytes >= kHugePage ? kHugePage : 0;  // mmap aligns to one page only
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes + slack), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (slack == 0) return mapped;
  char* const begin = static_cast<char*>(mapped);
  const int64_t before = -reinterpret_cast<intptr_t>(begin) & (kHugePage - 1);
  if (before > 0) munmap(begin, static_cast<size_t>(before));
  munmap(begin + before + bytes, static_cast<size_t>(slack - before));  // at least a page
  // Huge pages are optional: without them the block works, but is slower.
  madvise(begin + before, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return begin + before;
}

}  // namespace

BlockCache::~BlockCache() { Unmap(&cached_); }

void* BlockCache::Acquire(int64_t bytes) {
  if (bytes <= 0 || bytes >= kSizeLimit) return nullptr;
  bytes = RoundUp(bytes, kGranule);
  Blocks::node_type block = AcquireCached(bytes);
  if (block.empty()) block = MapNew(bytes);
  if (block.empty()) return nullptr;
  void* const data = block.key();
  const std::lock_guard<std::mutex> lock(mutex_);
  in_use_bytes_ += block.mapped().bytes;
  in_use_.insert(std::move(block));
  return data;
}

void BlockCache::Return(void* data) {
  Blocks::node_type block;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    block = in_use_.extract(data);
    if (block.empty()) return;
    in_use_bytes_ -= block.mapped().bytes;
    block.mapped().marked = block.mapped().bytes >= kMarkedBytes ||
                            unmarked_bytes_ + block.mapped().bytes > kMostUnmarked;
  }
  const size_t bytes = static_cast<size_t>(block.mapped().bytes);
  // MADV_FREE: until the pages are written again, the kernel may take the pages of a cached block
  // when memory is short, so cached blocks do not reduce the memory of other programs. If the
  // kernel takes no page, reuse causes no page faults for huge pages and cheap page faults for
  // small pages. A block that cannot be marked is not cached.
  const bool cacheable = block.mapped().bytes <= limit_ &&
                         (!block.mapped().marked || madvise(data, bytes, MADV_FREE) == 0);
  if (cacheable) {
    Cache(std::move(block));
  } else {
    munmap(data, bytes);
  }
}

int64_t BlockCache::cached_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cached_bytes_;
}

int64_t BlockCache::in_use_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return in_use_bytes_;
}

// The smallest cached block that fits. Among blocks of equal size the block returned last, because
// its pages are most likely still present. Empty if no block fits.
BlockCache::Blocks::node_type BlockCache::AcquireCached(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto best = cached_.end();
  for (auto it = cached_.begin(); it != cached_.end(); ++it) {
    const Block& block = it->second;
    if (block.bytes < bytes || block.bytes > LargestFit(bytes)) continue;
    const bool better =
        best == cached_.end() || block.bytes < best->second.bytes ||
        (block.bytes == best->second.bytes && block.returned > best->second.returned);
    if (better) best = it;
  }
  if (best == cached_.end()) return {};
  CountOut(best->second);
  return cached_.extract(best);
}

// Empty if the system has no memory even after all cached blocks were unmapped.
BlockCache::Blocks::node_type BlockCache::MapNew(int64_t bytes) {
  Blocks fresh;
  try {
    fresh[nullptr].bytes = bytes;
  } catch (const std::bad_alloc&) {
    return {};
  }
  void* data = MapAligned(bytes);
  if (data == nullptr) {
    Blocks all;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      all.swap(cached_);
      cached_bytes_ = unmarked_bytes_ = 0;
    }
    Unmap(&all);
    data = MapAligned(bytes);
  }
  if (data == nullptr) return {};
  Blocks::node_type block = fresh.extract(fresh.begin());
  block.key() = data;
  return block;
}

// Caches a block that is not larger than the limit. Then unmaps the blocks returned longest ago
// until the cached blocks are within the limits.
void BlockCache::Cache(Blocks::node_type block) {
  Blocks evicted;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    block.mapped().returned = ++returns_;
    cached_bytes_ += block.mapped().bytes;
    if (!block.mapped().marked) unmarked_bytes_ += block.mapped().bytes;
    cached_.insert(std::move(block));
    while (cached_bytes_ > limit_ || cached_.size() > kMaxCached) {
      auto oldest = cached_.begin();
      for (auto it = cached_.begin(); it != cached_.end(); ++it) {
        if (it->second.returned < oldest->second.returned) oldest = it;
      }
      CountOut(oldest->second);
      evicted.insert(cached_.extract(oldest));
    }
  }
  Unmap(&evicted);
}

// Subtracts a block from the counts of cached bytes.
void BlockCache::CountOut(const Block& block) {
  cached_bytes_ -= block.bytes;
  if (!block.marked) unmarked_bytes_ -= block.bytes;
}

void BlockCache::Unmap(Blocks* blocks) {
  for (const auto& [data, block] : *blocks) munmap(data, static_cast<size_t>(block.bytes));
  blocks->clear();
}

int64_t CacheLimit(const char* megabytes, int64_t available_bytes) {
  const int64_t usual = available_bytes / 8;
  if (megabytes == nullptr || *megabytes == '\0') return usual;
  if (megabytes[std::strspn(megabytes, "0123456789")] != '\0') return usual;
  const int64_t value = std::strtoll(megabytes, nullptr, 10);  // INT64_MAX if larger
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  return value < kSizeLimit / kMebibyte ? value * kMebibyte : kSizeLimit;
}

// The child of a fork has only one thread. If another thread of the parent held the mutex, the
// child would wait forever. The child returns inherited tensors to its copy of the cache.
void BlockCache::BeforeFork() { mutex_.lock(); }
void BlockCache::AfterFork() { mutex_.unlock(); }

// Never destroyed: tensors may outlive the static objects of a process that exits.
BlockCache& ProcessBlockCache() {
  static BlockCache* const cache = [] {
    pthread_atfork([] { ProcessBlockCache().BeforeFork(); },
                   [] { ProcessBlockCache().AfterFork(); },
                   [] { ProcessBlockCache().AfterFork(); });
    return new BlockCache(CacheLimit(std::getenv("TF_RNN_OPS_CACHE_MB"), AvailableMemory()));
  }();
  return *cache;
}

}  // namespace rnn_ops
