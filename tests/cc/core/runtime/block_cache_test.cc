#include "cc/core/runtime/block_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

thread_local bool no_memory = false;
bool in_child = false;

}  // namespace

// The leak sanitizer calls this function. In the child of a fork, blocks that another thread was
// taking or returning at the time of the fork have no owner.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return in_child; }

// Replaces operator new of the whole program, because the cache has no other source of small
// memory.
void* operator new(std::size_t size) {
  void* const data = no_memory ? nullptr : std::malloc(size > 0 ? size : 1);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace rnn_ops {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGranule = int64_t{64} << 10;
constexpr int64_t kPlenty = int64_t{1} << 40;

int64_t Misalignment(void* data, int64_t multiple) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % multiple);
}

// True if every byte of the block is `value`.
bool Holds(const void* data, int64_t bytes, unsigned char value) {
  const auto* begin = static_cast<const unsigned char*>(data);
  return std::all_of(begin, begin + bytes, [value](unsigned char byte) { return byte == value; });
}

TEST(BlockCacheTest, BlocksAreAlignedAndWritable) {
  BlockCache cache(kPlenty);
  for (int64_t bytes : {int64_t{1}, kMiB, 2 * kMiB - 1, 2 * kMiB, 2 * kMiB + 1, 9 * kMiB + 5}) {
    void* data = cache.Acquire(bytes);
    ASSERT_NE(data, nullptr) << bytes;
    EXPECT_EQ(Misalignment(data, bytes >= 2 * kMiB ? 2 * kMiB : 4096), 0) << bytes;
    EXPECT_EQ(cache.in_use_bytes(), (bytes + kGranule - 1) / kGranule * kGranule);
    std::memset(data, 0xAB, bytes);
    EXPECT_TRUE(Holds(data, bytes, 0xAB));
    cache.Return(data);
    EXPECT_EQ(cache.in_use_bytes(), 0);
  }
}

TEST(BlockCacheTest, AReturnedBlockServesTheNextRequest) {
  BlockCache cache(kPlenty);
  void* data = cache.Acquire(8 * kMiB);
  cache.Return(data);
  EXPECT_EQ(cache.cached_bytes(), 8 * kMiB);
  EXPECT_EQ(cache.Acquire(8 * kMiB), data);
  EXPECT_EQ(cache.cached_bytes(), 0);
  EXPECT_EQ(cache.in_use_bytes(), 8 * kMiB);
  void* other = cache.Acquire(8 * kMiB);
  EXPECT_NE(other, data);
  cache.Return(data);
  cache.Return(other);
  EXPECT_EQ(cache.cached_bytes(), 16 * kMiB);
}

TEST(BlockCacheTest, ABlockServesRequestsALittleSmaller) {
  BlockCache cache(kPlenty);
  void* data = cache.Acquire(10 * kMiB);
  cache.Return(data);
  void* larger = cache.Acquire(10 * kMiB + 1);
  EXPECT_NE(larger, data);
  void* half = cache.Acquire(5 * kMiB);
  EXPECT_NE(half, data);
  EXPECT_EQ(cache.Acquire(8 * kMiB), data);  // 10 = 8 + 8 / 4
  EXPECT_EQ(cache.in_use_bytes(), 25 * kMiB + kGranule);
  for (void* block : {data, larger, half}) cache.Return(block);
}

TEST(BlockCacheTest, TheSmallestThatFitsIsTakenAndOfEqualsTheLastReturned) {
  BlockCache cache(kPlenty);
  void* a = cache.Acquire(8 * kMiB);
  void* b = cache.Acquire(8 * kMiB);
  void* c = cache.Acquire(8 * kMiB);
  void* large = cache.Acquire(9 * kMiB);
  for (void* block : {a, c, b, large}) cache.Return(block);
  EXPECT_EQ(cache.Acquire(8 * kMiB), b);
  EXPECT_EQ(cache.Acquire(8 * kMiB), c);
  EXPECT_EQ(cache.Acquire(8 * kMiB), a);
  EXPECT_EQ(cache.Acquire(8 * kMiB), large);
  for (void* block : {a, b, c, large}) cache.Return(block);
}

TEST(BlockCacheTest, TheLimitEvictsWhatWasReturnedLongestAgo) {
  BlockCache cache(20 * kMiB);
  void* a = cache.Acquire(8 * kMiB);
  void* b = cache.Acquire(10 * kMiB);
  void* c = cache.Acquire(6 * kMiB);
  for (void* block : {b, a, c}) cache.Return(block);
  EXPECT_EQ(cache.cached_bytes(), 14 * kMiB);  // b has been evicted
  EXPECT_EQ(cache.Acquire(6 * kMiB), c);
  EXPECT_EQ(cache.Acquire(8 * kMiB), a);
  EXPECT_EQ(cache.cached_bytes(), 0);
  for (void* block : {a, c}) cache.Return(block);
}

TEST(BlockCacheTest, AllOfTheLimitIsUsed) {
  BlockCache cache(20 * kMiB);
  void* a = cache.Acquire(8 * kMiB);
  void* b = cache.Acquire(12 * kMiB);
  for (void* block : {a, b}) cache.Return(block);
  EXPECT_EQ(cache.cached_bytes(), 20 * kMiB);
}

TEST(BlockCacheTest, ABlockLargerThanTheLimitLeavesTheOthers) {
  BlockCache cache(4 * kMiB);
  void* small = cache.Acquire(2 * kMiB);
  void* large = cache.Acquire(4 * kMiB + 1);
  cache.Return(small);
  cache.Return(large);
  EXPECT_EQ(cache.cached_bytes(), 2 * kMiB);
  EXPECT_EQ(cache.Acquire(2 * kMiB), small);
  cache.Return(small);
}

TEST(BlockCacheTest, AtMost64BlocksAreKept) {
  BlockCache cache(kPlenty);
  std::vector<void*> blocks;
  for (int k = 0; k < 70; ++k) blocks.push_back(cache.Acquire(kGranule));
  for (void* block : blocks) cache.Return(block);
  EXPECT_EQ(cache.cached_bytes(), 64 * kGranule);
  for (int k = 69; k > 69 - 64; --k) EXPECT_EQ(cache.Acquire(kGranule), blocks[k]) << k;
  EXPECT_EQ(cache.cached_bytes(), 0);
  for (void* block : blocks) cache.Return(block);  // six of them are not in use
  EXPECT_EQ(cache.in_use_bytes(), 0);
}

// The pages of this process, in MiB, that the kernel may take. The kernel counts pages in batches,
// so the result is rounded.
int64_t LazilyFreed() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;) {
    int64_t kilobytes = 0;
    if (word == "LazyFree:" && file >> kilobytes) return (kilobytes + 512) >> 10;
  }
  return -1;
}

TEST(BlockCacheTest, TheKernelMayTakeAllButSomeSmallBlocks) {
  BlockCache cache(kPlenty);
  const auto fill = [&cache](int64_t bytes) {
    void* const data = cache.Acquire(bytes);
    std::memset(data, 1, static_cast<size_t>(bytes));
    return data;
  };
  const int64_t before = LazilyFreed();
  ASSERT_GE(before, 0) << "needs Linux 4.14";
  void* const large = fill(8 * kMiB);
  std::vector<void*> small;
  for (int k = 0; k < 40; ++k) small.push_back(fill(kMiB));
  for (int k = 0; k < 32; ++k) cache.Return(small[k]);
  EXPECT_EQ(LazilyFreed(), before);
  cache.Return(large);
  EXPECT_EQ(LazilyFreed(), before + 8);
  for (int k = 32; k < 40; ++k) cache.Return(small[k]);
  EXPECT_EQ(LazilyFreed(), before + 16);
  EXPECT_EQ(cache.cached_bytes(), 48 * kMiB);
  // The blocks that are taken again make room for others.
  std::vector<void*> taken;
  for (int k = 0; k < 40; ++k) taken.push_back(fill(kMiB));
  EXPECT_EQ(LazilyFreed(), before + 8);
  for (int k = 0; k < 32; ++k) cache.Return(taken[k]);
  EXPECT_EQ(LazilyFreed(), before + 8);
  for (int k = 32; k < 40; ++k) cache.Return(taken[k]);
}

TEST(BlockCacheTest, SmallIsBelow4MiB) {
  BlockCache cache(kPlenty);
  const int64_t before = LazilyFreed();
  const auto mebibytes_marked = [&](int64_t bytes) {
    void* const data = cache.Acquire(bytes);
    std::memset(data, 1, static_cast<size_t>(bytes));
    cache.Return(data);
    return LazilyFreed() - before;
  };
  EXPECT_EQ(mebibytes_marked(4 * kMiB - kGranule), 0);
  EXPECT_EQ(mebibytes_marked(4 * kMiB), 4);
}

TEST(BlockCacheTest, ALimitOfZeroKeepsNothing) {
  BlockCache cache(0);
  void* data = cache.Acquire(3 * kMiB);
  ASSERT_NE(data, nullptr);
  std::memset(data, 1, 3 * kMiB);
  cache.Return(data);
  EXPECT_EQ(cache.cached_bytes(), 0);
  EXPECT_EQ(cache.in_use_bytes(), 0);
}

TEST(BlockCacheTest, WhatTheSystemLacksIsNull) {
  BlockCache cache(kPlenty);
  for (int64_t bytes : {int64_t{1} << 60, (int64_t{1} << 62) - 1, int64_t{1} << 62, INT64_MAX,
                        INT64_MIN, int64_t{-1}, int64_t{0}}) {
    EXPECT_EQ(cache.Acquire(bytes), nullptr) << bytes;
  }
  EXPECT_EQ(cache.in_use_bytes(), 0);
}

TEST(BlockCacheTest, WhatIsKeptIsGivenUpBeforeARequestFails) {
  BlockCache cache(kPlenty);
  cache.Return(cache.Acquire(4 * kMiB));
  EXPECT_EQ(cache.cached_bytes(), 4 * kMiB);
  EXPECT_EQ(cache.Acquire(int64_t{1} << 60), nullptr);
  EXPECT_EQ(cache.cached_bytes(), 0);
}

TEST(BlockCacheTest, WithoutMemoryForItsOwnRecordsItMapsNothing) {
  BlockCache cache(kPlenty);
  cache.Return(cache.Acquire(4 * kMiB));
  no_memory = true;
  void* const cached = cache.Acquire(4 * kMiB);
  void* const fresh = cache.Acquire(4 * kMiB);
  cache.Return(cached);
  no_memory = false;
  EXPECT_NE(cached, nullptr) << "a cached block has its record already";
  EXPECT_EQ(fresh, nullptr);
  EXPECT_EQ(cache.in_use_bytes(), 0);
  EXPECT_EQ(cache.cached_bytes(), 4 * kMiB);
}

TEST(BlockCacheTest, OtherPointersAreIgnored) {
  BlockCache cache(kPlenty);
  int local = 0;
  void* data = cache.Acquire(4 * kMiB);
  cache.Return(nullptr);
  cache.Return(&local);
  cache.Return(static_cast<char*>(data) + 64);
  EXPECT_EQ(cache.in_use_bytes(), 4 * kMiB);
  cache.Return(data);
  cache.Return(data);
  EXPECT_EQ(cache.cached_bytes(), 4 * kMiB);
}

TEST(BlockCacheTest, BlocksInUseAreLeftAlone) {
  BlockCache cache(8 * kMiB);
  const std::vector<int64_t> sizes = {kMiB, 3 * kMiB + 7, 2 * kMiB, 5 * kMiB, 9 * kMiB};
  std::vector<void*> held, returned;
  for (int64_t bytes : sizes) {
    returned.push_back(cache.Acquire(bytes));
    held.push_back(cache.Acquire(bytes));
    returned.push_back(cache.Acquire(bytes));
    std::memset(held.back(), static_cast<int>(held.size()), bytes);
  }
  for (void* block : returned) cache.Return(block);
  for (size_t k = 0; k < sizes.size(); ++k) {
    EXPECT_TRUE(Holds(held[k], sizes[k], static_cast<unsigned char>(k + 1))) << k;
    cache.Return(held[k]);
  }
}

// Each thread fills its blocks with its own byte and checks them later, while the other threads
// make the cache keep, reuse and evict blocks.
TEST(BlockCacheTest, ManyThreads) {
  constexpr int kThreads = 8;
  BlockCache cache(12 * kMiB);
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&cache, &wrong, t] {
      struct Held {
        void* data;
        int64_t bytes;
        unsigned char value;
      };
      std::mt19937 random(t);
      std::vector<Held> held;
      for (int k = 0; k < 200; ++k) {
        const int64_t bytes = 1 + static_cast<int64_t>(random() % (3 * kMiB));
        const auto value = static_cast<unsigned char>(t * 16 + k % 16);
        void* data = cache.Acquire(bytes);
        if (data == nullptr) {
          ++wrong[t];
          continue;
        }
        std::memset(data, value, bytes);
        held.push_back({data, bytes, value});
        if (held.size() < 3) continue;
        const size_t which = random() % held.size();
        if (!Holds(held[which].data, held[which].bytes, held[which].value)) ++wrong[t];
        cache.Return(held[which].data);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
      for (const Held& block : held) {
        if (!Holds(block.data, block.bytes, block.value)) ++wrong[t];
        cache.Return(block.data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
  EXPECT_EQ(cache.in_use_bytes(), 0);
  EXPECT_LE(cache.cached_bytes(), 12 * kMiB);
  EXPECT_GT(cache.cached_bytes(), 0);
}

TEST(CacheLimitTest, MegabytesOrAnEighthOfTheMemory) {
  constexpr int64_t kMemory = int64_t{16} << 30;
  EXPECT_EQ(CacheLimit(nullptr, kMemory), kMemory / 8);
  EXPECT_EQ(CacheLimit("0", kMemory), 0);
  EXPECT_EQ(CacheLimit("64", kMemory), 64 * kMiB);
  EXPECT_EQ(CacheLimit("007", kMemory), 7 * kMiB);
  EXPECT_EQ(CacheLimit("4398046511103", kMemory), 4398046511103 * kMiB);
  EXPECT_EQ(CacheLimit("4398046511104", kMemory), int64_t{1} << 62);
  EXPECT_EQ(CacheLimit("99999999999999999999999", kMemory), int64_t{1} << 62);
  for (const char* other : {"", " ", "-1", "+1", " 5", "5 ", "5k", "1.5", "0x10", "many"}) {
    EXPECT_EQ(CacheLimit(other, kMemory), kMemory / 8) << '"' << other << '"';
  }
}

// The child of a fork can use its copy of the cache, even if another thread held the lock.
TEST(ProcessBlockCacheTest, OutlivesAFork) {
  ::testing::FLAGS_gtest_death_test_style = "fast";
  BlockCache& cache = ProcessBlockCache();
  void* const data = cache.Acquire(4 * kMiB);
  ASSERT_NE(data, nullptr);
  std::memset(data, 1, 4 * kMiB);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load()) cache.Return(cache.Acquire(6 * kMiB));
  });
  for (int k = 0; k < 20; ++k) {
    EXPECT_EXIT(
        {
          in_child = true;
          const bool kept = Holds(data, 4 * kMiB, 1);
          cache.Return(data);
          std::exit(kept && cache.Acquire(4 * kMiB) != nullptr ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
  }
  stop.store(true);
  other.join();
  EXPECT_TRUE(Holds(data, 4 * kMiB, 1));
  cache.Return(data);
}

TEST(ProcessBlockCacheTest, IsOne) {
  BlockCache& cache = ProcessBlockCache();
  EXPECT_EQ(&cache, &ProcessBlockCache());
  void* data = cache.Acquire(4 * kMiB);
  ASSERT_NE(data, nullptr);
  EXPECT_GE(cache.in_use_bytes(), 4 * kMiB);
  cache.Return(data);
}

}  // namespace
}  // namespace rnn_ops
