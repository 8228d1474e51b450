// Large blocks of memory, kept for the next call. The C library gives a large block back to the
// system when it is freed, and the next call pays for every page again.
#ifndef TF_RNN_OPS_CC_CORE_MACHINE_BLOCK_CACHE_H_
#define TF_RNN_OPS_CC_CORE_MACHINE_BLOCK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace rnn_ops {

class BlockCache {
 public:
  // Keeps at most `limit` bytes of returned blocks; 0: none.
  explicit BlockCache(int64_t limit) : limit_(limit) {}
  // Unmaps what is kept. Blocks in use stay with their users.
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least `bytes` bytes of any contents, aligned to a page, and to 2 MiB from that size on. Null
  // when the system has no more, or bytes <= 0. Any thread may call, and return any block.
  void* Take(int64_t bytes);

  // Ends the use of a block that Take() gave. Other pointers are ignored.
  void Return(void* data);

  // Around a fork, in the parent, and AfterFork in the child too.
  void BeforeFork();
  void AfterFork();

  int64_t kept_bytes() const;
  int64_t in_use_bytes() const;

 private:
  struct Block {
    int64_t bytes = 0;
    uint64_t returned = 0;  // when: the number of the return
    bool marked = false;    // whether the kernel may take the pages of what is kept
  };
  // Beside the blocks and not in them, so that a stray write cannot change it. Blocks go from map
  // to map by node, which cannot fail.
  using Blocks = std::map<void*, Block>;

  Blocks::node_type TakeKept(int64_t bytes);
  Blocks::node_type MapNew(int64_t bytes);
  void Keep(Blocks::node_type block);
  void CountOut(const Block& block);
  static void Unmap(Blocks* blocks);

  const int64_t limit_;
  mutable std::mutex mutex_;  // never held during a system call
  Blocks in_use_;
  Blocks kept_;
  int64_t kept_bytes_ = 0;
  int64_t unmarked_bytes_ = 0;  // of these, what is not marked
  int64_t in_use_bytes_ = 0;
  uint64_t returns_ = 0;
};

// In bytes: what TF_RNN_OPS_CACHE_MB, null where not set, makes of the limit: that many MiB, or an
// eighth of the memory available where it is not a number.
int64_t CacheLimit(const char* megabytes, int64_t available_bytes);

// One for each shared object that links this file, so the two op libraries have one each.
BlockCache& ProcessBlockCache();

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_MACHINE_BLOCK_CACHE_H_
