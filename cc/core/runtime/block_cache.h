// Large memory blocks that are cached for the next call. Without this cache the C library would
// return a freed large block to the system, and the next call would pay for a page fault on every
// page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace rnn_ops {

class BlockCache {
 public:
  // Caches at most `limit` bytes of returned blocks; 0 caches no block.
  explicit BlockCache(int64_t limit) : limit_(limit) {}
  // Unmaps the cached blocks. Blocks in use stay valid.
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Returns at least `bytes` bytes with undefined contents, aligned to a page, or to 2 MiB if
  // `bytes` is at least 2 MiB. Null if the system has no memory or bytes <= 0. Any thread may call
  // Acquire, and any thread may return the block.
  void* Acquire(int64_t bytes);

  // Ends the use of a block from Acquire(). Ignores other pointers.
  void Return(void* data);

  // Called around a fork: BeforeFork in the parent, AfterFork in the parent and in the child.
  void BeforeFork();
  void AfterFork();

  int64_t cached_bytes() const;
  int64_t in_use_bytes() const;

 private:
  struct Block {
    int64_t bytes = 0;
    uint64_t returned = 0;  // the number of the return, as a time stamp
    bool marked = false;    // whether the kernel may take the pages while the block is cached
  };
  // The descriptions are stored outside the blocks, so a stray write into a block cannot change
  // them. Descriptions move between the maps as nodes, which cannot fail.
  using Blocks = std::map<void*, Block>;

  Blocks::node_type AcquireCached(int64_t bytes);
  Blocks::node_type MapNew(int64_t bytes);
  void Cache(Blocks::node_type block);
  void CountOut(const Block& block);
  static void Unmap(Blocks* blocks);

  const int64_t limit_;
  mutable std::mutex mutex_;  // never held during a system call
  Blocks in_use_;
  Blocks cached_;
  int64_t cached_bytes_ = 0;
  int64_t unmarked_bytes_ = 0;  // the part of cached_bytes_ that is not marked
  int64_t in_use_bytes_ = 0;
  uint64_t returns_ = 0;
};

// The limit of the cache in bytes. `megabytes` is the value of TF_RNN_OPS_CACHE_MB in MiB, or null
// if the variable is not set. If the value is not a number, the limit is an eighth of
// `available_bytes`.
int64_t CacheLimit(const char* megabytes, int64_t available_bytes);

// Each shared object that links this file has one cache, so each of the two op libraries has one.
BlockCache& ProcessBlockCache();

}  // namespace rnn_ops
