#include "cc/cpu/heuristics.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace rnn_ops::cpu {
namespace {

// One layer in one direction with G = 4 in float32 on 16 lanes. All lengths are T.
WorkToSplit Lstm(int64_t steps, int64_t batch, int64_t input, int64_t units, int64_t threads) {
  WorkToSplit p;
  p.batch = batch;
  p.num_dirs = 1;
  p.threads = {static_cast<int32_t>(threads), kWakeNs, kMeetNs};
  p.steps = steps;
  p.tile_rows = 6;
  p.panels = (units + 15) / 16;
  p.recurrent_bytes = 16 * units * units;
  p.weight_bytes = 16 * (input + units) * units;
  p.stream_bytes = kForwardStreamBytes;
  p.multiplies = steps * batch * 4 * units * (input + units);
  return p;
}

void Expect(const WorkToSplit& p, int64_t slices, int64_t shares) {
  const Split split = ChooseSplit(p);
  EXPECT_EQ(split.slices, slices);
  EXPECT_EQ(split.shares, shares);
}

TEST(WorthThreads, WithoutCosts) {
  EXPECT_EQ(WorthThreads({4, 0, 0}, 7), 10);
  EXPECT_EQ(WorthThreads({4, 0, 0}, -1), 1);
}

TEST(ChooseSplit, OneThread) { Expect(Lstm(100, 32, 256, 256, 1), 1, 1); }

TEST(ChooseSplit, FewRowsShareUnits) {
  Expect(Lstm(100, 1, 128, 256, 2), 1, 2);
  Expect(Lstm(100, 4, 256, 256, 2), 1, 2);
}

TEST(ChooseSplit, ManyRowsAreSliced) {
  Expect(Lstm(100, 8, 64, 128, 2), 2, 1);
  Expect(Lstm(100, 32, 256, 256, 2), 2, 1);
  Expect(Lstm(100, 128, 256, 256, 16), 16, 1);
}

TEST(ChooseSplit, LargeWeightsShareUnits) { Expect(Lstm(100, 64, 512, 1024, 2), 1, 2); }

TEST(ChooseSplit, MoreThreadsThanPanels) {
  WorkToSplit p = Lstm(100, 1, 64, 1024, 64);
  p.panels = 3;
  Expect(p, 1, 3);
}

TEST(ChooseSplit, NeverMorePiecesThanThreads) {
  for (int64_t threads = 1; threads <= 64; ++threads) {
    for (int64_t batch : {1, 3, 8, 32, 200}) {
      for (int64_t units : {1, 16, 200, 1024}) {
        for (int64_t steps : {1, 10, 500}) {
          const Split split = ChooseSplit(Lstm(steps, batch, 64, units, threads));
          EXPECT_GE(split.slices, 1);
          EXPECT_GE(split.shares, 1);
          EXPECT_LE(split.slices * split.shares, threads);
          EXPECT_LE(split.slices, batch);
          EXPECT_TRUE(split.slices == 1 || split.shares == 1);
        }
      }
    }
  }
}

TEST(ChooseSplit, DirectionsShareTheThreads) {
  WorkToSplit p = Lstm(100, 32, 256, 256, 4);
  p.num_dirs = 2;
  const Split split = ChooseSplit(p);
  EXPECT_EQ(split.slices, 2);
  EXPECT_EQ(split.ns, 2 * (NsToMultiply(p.multiplies) + NsToStream(p.weight_bytes)));
}

// Sizes whose products do not fit int64 are rejected later. The decision must not divide by zero.
TEST(ChooseSplit, OverflownSizes) {
  WorkToSplit p = Lstm(0, 0, 0, 16, 8);
  p.multiplies = p.recurrent_bytes = p.weight_bytes = -1;
  Expect(p, 1, 1);
}

void ExpectItems(const RowItems& items, int64_t rows, int64_t parts, int64_t count) {
  EXPECT_EQ(items.rows, rows);
  EXPECT_EQ(items.parts, parts);
  EXPECT_EQ(items.count, count);
}

TEST(ChooseRowItems, OneThreadCutsNoColumns) {
  ExpectItems(ChooseRowItems(100, 4, 1), 128, 1, 1);
  ExpectItems(ChooseRowItems(3200, 4, 1), 128, 1, 25);
}

TEST(ChooseRowItems, NothingToCut) {
  EXPECT_EQ(PiecesOfItem(0, 0, 16), 1);
  ExpectItems(ChooseRowItems(0, 4, 16), 32, 1, 0);
  ExpectItems(ChooseRowItems(32, 0, 16), 32, 1, 1);
}

}  // namespace
}  // namespace rnn_ops::cpu
