#include "cc/core/op/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

namespace rnn_ops {
namespace {

// The known answers that the authors of Philox publish with Random123.
TEST(Philox, KnownAnswers) {
  const struct {
    uint32_t counter[4];
    DropoutKey key;
    uint32_t words[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& c : cases) {
    uint32_t words[4];
    Philox4x32(c.key, c.counter, words);
    for (int k = 0; k < 4; ++k) EXPECT_EQ(words[k], c.words[k]) << k;
  }
}

TEST(DropoutKey, IsZeroWithoutDropout) {
  EXPECT_EQ(DropoutKey().k0, 0u);
  EXPECT_EQ(DropoutKey().k1, 0u);
}

TEST(DropoutKey, EveryBitOfEverySeedCounts) {
  std::set<std::pair<uint32_t, uint32_t>> keys;
  const auto add = [&keys](int64_t seed, int64_t seed2, uint64_t call) {
    const DropoutKey key = MakeDropoutKey(seed, seed2, call);
    keys.insert({key.k0, key.k1});
  };
  for (const int64_t base : {int64_t{0}, int64_t{-1}, int64_t{42}}) {
    keys.clear();
    add(base, base, static_cast<uint64_t>(base));
    for (int bit = 0; bit < 64; ++bit) {
      const int64_t changed = static_cast<int64_t>(static_cast<uint64_t>(base) ^ (1ull << bit));
      add(changed, base, static_cast<uint64_t>(base));
      add(base, changed, static_cast<uint64_t>(base));
      add(base, base, static_cast<uint64_t>(changed));
    }
    EXPECT_EQ(keys.size(), 1u + 3 * 64) << "base " << base;
  }
}

TEST(DropoutKey, SeedsAreNotInterchangeableAndNegativeSeedsAreKept) {
  const auto pair = [](DropoutKey key) { return std::make_pair(key.k0, key.k1); };
  EXPECT_NE(pair(MakeDropoutKey(1, 2, 0)), pair(MakeDropoutKey(2, 1, 0)));
  EXPECT_NE(pair(MakeDropoutKey(1, -1, 0)), pair(MakeDropoutKey(2, -1, 0)));
  EXPECT_NE(pair(MakeDropoutKey(0, 0, 0)), pair(MakeDropoutKey(0, 0, 1)));
  EXPECT_EQ(pair(MakeDropoutKey(7, 8, 9)), pair(MakeDropoutKey(7, 8, 9)));
}

// Computed from the definition of the finalizer. A change of these keys changes the masks of saved
// seeds.
TEST(DropoutKey, KnownKeys) {
  const auto key = [](int64_t seed, int64_t seed2, uint64_t call) {
    const DropoutKey found = MakeDropoutKey(seed, seed2, call);
    return (uint64_t{found.k1} << 32) | found.k0;
  };
  EXPECT_EQ(key(0, 0, 0), 0x238275BC38FCBE91u);
  EXPECT_EQ(key(1, 2, 3), 0xD0734750FDE362B3u);
  EXPECT_EQ(key(87654321, -7, uint64_t{1} << 40), 0xD303B18F11DC5CDBu);
}

TEST(DropThreshold, IsTheRate) {
  EXPECT_EQ(DropThreshold(0.0f), 0u);
  EXPECT_EQ(DropThreshold(0.5f), 0x80000000u);
  EXPECT_EQ(DropThreshold(0.25f), 0x40000000u);
  EXPECT_EQ(DropThreshold(std::nextafter(1.0f, 0.0f)), 0xFFFFFF00u);
  EXPECT_EQ(DropThreshold(1.0f), uint64_t{1} << 32);  // above any word
}

// With 4 * kCounters words, the fraction of dropped words is within 5 standard deviations of the
// rate.
TEST(DropThreshold, DropsTheRightShare) {
  constexpr uint32_t kCounters = 50000;
  const DropoutKey key = MakeDropoutKey(3, 4, 5);
  for (const float rate : {0.1f, 0.5f, 0.9f}) {
    int64_t dropped = 0;
    for (uint32_t c = 0; c < kCounters; ++c) {
      const uint32_t counter[4] = {c, 0, 0, 0};
      uint32_t words[4];
      Philox4x32(key, counter, words);
      for (const uint32_t word : words) dropped += word < DropThreshold(rate);
    }
    const double n = 4.0 * kCounters;
    EXPECT_NEAR(dropped / n, rate, 5 * std::sqrt(rate * (1 - rate) / n));
  }
}

}  // namespace
}  // namespace rnn_ops
