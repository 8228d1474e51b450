#include "cc/cpu/heuristics.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace rnn_ops::cpu {
namespace {

constexpr int64_t kMiB = 1 << 20;

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

TEST(Heuristics, RowsOfASlice) {
  auto rows = [](int64_t recurrent_bytes, int64_t tile_rows, int64_t panels) {
    WorkToSplit p = {};
    p.recurrent_bytes = recurrent_bytes;
    p.tile_rows = tile_rows;
    p.panels = panels;
    return RowsOfSlice(p);
  };
  EXPECT_EQ(rows(0, 6, 2), 4);
  EXPECT_EQ(rows(kMiB, 6, 2), 4);
  EXPECT_EQ(rows(kMiB + 1, 6, 2), 16);
  EXPECT_EQ(rows(kMiB, 3, 2), 8);
  EXPECT_EQ(rows(kMiB, 3, 1), 4) << "units that cannot be shared";
  EXPECT_EQ(rows(kMiB + 1, 3, 1), 16);
}

TEST(WorthThreads, GrowsWithTheWork) {
  const ThreadBudget threads = {4, 1000, 0};
  EXPECT_EQ(WorthThreads(threads, 0), 1);
  EXPECT_EQ(WorthThreads(threads, 1999), 1);
  EXPECT_EQ(WorthThreads(threads, 2000), 5) << "waking five takes little longer than waking one";
  EXPECT_EQ(WorthThreads(threads, 8000), 11);
  EXPECT_EQ(WorthThreads(threads, 32000), 22) << "of how many there are it knows nothing";
}

TEST(WorthThreads, WithoutCosts) {
  EXPECT_EQ(WorthThreads({4, 0, 0}, 7), 10);
  EXPECT_EQ(WorthThreads({4, 0, 0}, -1), 1);
}

TEST(Heuristics, Meetings) {
  const ThreadBudget threads = {16, 0, 200};
  EXPECT_EQ(MeetNs(threads, 2), 600);
  EXPECT_EQ(MeetNs(threads, 16), 3400);
}

TEST(ChooseSplit, OneThread) { Expect(Lstm(100, 32, 256, 256, 1), 1, 1); }

TEST(ChooseSplit, TooLittleWorkForASecondThread) {
  Expect(Lstm(1, 1, 64, 64, 2), 1, 1);
  Expect(Lstm(10, 1, 64, 64, 16), 1, 1);
  Expect(Lstm(1, 1, 0, 1, 64), 1, 1);
}

// For one sequence, 64 units are 0.4 us of work in each step: less than a barrier.
TEST(ChooseSplit, StepsShorterThanAMeeting) { Expect(Lstm(1000, 1, 64, 64, 2), 1, 1); }

TEST(ChooseSplit, FewRowsShareUnits) {
  Expect(Lstm(100, 1, 128, 256, 2), 1, 2);
  Expect(Lstm(100, 4, 256, 256, 2), 1, 2);
}

// One step of one sequence reads 8 MB of weights. Two cores read the weights in half the time.
TEST(ChooseSplit, OneStepOfLargeWeightsIsShared) { Expect(Lstm(1, 1, 512, 512, 2), 1, 2); }

// A step of 78 us. In 16 partitions it takes 4.9 us plus a barrier of 8.5 us, in 8 partitions 9.8
// us plus a barrier of 4.5 us.
TEST(ChooseSplit, OneStepIsAsLongAsTheWork) {
  WorkToSplit p = Lstm(1, 1, 256, 256, 16);
  p.threads.wake_ns = 1;
  p.threads.meet_ns = 500;
  Expect(p, 1, 16);
  p.threads.meet_ns = 1000;
  Expect(p, 1, 8);
}

// In a call of one step most of the time is spent reading the weights. Each of two partitions reads
// half of the weights.
TEST(ChooseSplit, FewStepsOfManyRowsAreShared) {
  Expect(Lstm(1, 8, 256, 256, 2), 1, 2);
  Expect(Lstm(1, 32, 256, 256, 2), 1, 2);
  Expect(Lstm(3, 8, 256, 256, 2), 1, 2);
  Expect(Lstm(10, 8, 256, 256, 2), 2, 1);
}

TEST(ChooseSplit, CallsAtOnceAfterAnotherWakeThreadsForLess) {
  WorkToSplit p = Lstm(1, 1, 256, 256, 2);
  p.threads.wake_ns = WakeNs(/*warm=*/false);
  Expect(p, 1, 1);
  p.threads.wake_ns = WakeNs(/*warm=*/true);
  Expect(p, 1, 2);
}

TEST(ChooseSplit, ManyRowsAreSliced) {
  Expect(Lstm(100, 8, 64, 128, 2), 2, 1);
  Expect(Lstm(100, 32, 256, 256, 2), 2, 1);
  Expect(Lstm(100, 128, 256, 256, 16), 16, 1);
}

// In slices of four rows, tiles of three rows would be half empty.
TEST(ChooseSplit, EightRowsStayTogetherInTilesOfThreeRows) {
  WorkToSplit p = Lstm(30, 8, 256, 256, 2);
  Expect(p, 2, 1);
  p.tile_rows = 3;
  Expect(p, 1, 2);
  p.panels = 1;
  Expect(p, 2, 1);
  p = Lstm(30, 16, 256, 256, 2);
  p.tile_rows = 3;
  Expect(p, 2, 1);
}

// Backwards, the units of two panels are at most two partitions.
TEST(ChooseSplit, FewRowsOfSmallWeightsAreSlicedForWantOfPanels) {
  WorkToSplit p = Lstm(500, 8, 64, 128, 8);
  Expect(p, 1, 8);
  p.panels = 2;
  p.stream_bytes = kBackwardStreamBytes;
  Expect(p, 8, 1);
  p.threads.count = 16;
  Expect(p, 8, 1);
  p.threads.count = 2;
  Expect(p, 2, 1);
  p.recurrent_bytes = kSmallWeightBytes + 1;
  p.threads.count = 8;
  Expect(p, 2, 1);
}

// For a narrow x, reading the weights for every row costs more time than the fuller tile saves.
TEST(ChooseSplit, FewRowsStayTogetherWhereReadingTheWeightsIsMostOfAStep) {
  WorkToSplit p = Lstm(500, 4, 64, 128, 2);
  p.panels = 1;
  Expect(p, 2, 1);
  p = Lstm(500, 4, 0, 128, 2);
  p.panels = 1;
  Expect(p, 1, 1);
}

TEST(ChooseSplit, DearMeetingsAreForBigSteps) {
  WorkToSplit p = Lstm(100, 8, 0, 144, 4);
  Expect(p, 1, 3);
  p.threads.meet_ns = 1000;
  Expect(p, 2, 1);
}

TEST(ChooseSplit, WeightsAsLargeAsTheBoundAreNotStreamed) {
  WorkToSplit p = Lstm(100, 32, 256, 256, 2);
  p.stream_bytes = p.recurrent_bytes;
  Expect(p, 2, 1);
  --p.stream_bytes;
  Expect(p, 1, 2);
}

TEST(ChooseSplit, LargeWeightsShareUnits) { Expect(Lstm(100, 64, 512, 1024, 2), 1, 2); }

// 16 panels on 12 threads: no number of partitions gives a shorter step than 8.
TEST(ChooseSplit, NoMorePiecesThanMakeAStepShorter) { Expect(Lstm(100, 1, 256, 256, 12), 1, 8); }

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

TEST(WeightItems, PanelsOfAnItem) {
  EXPECT_EQ(PanelsOfItem(64, 4, 2), 4);
  EXPECT_EQ(PanelsOfItem(8, 4, 2), 2);
  EXPECT_EQ(PanelsOfItem(8, 4, 16), 1);
}

TEST(WeightItems, PiecesWhereThreadsLackPanels) {
  EXPECT_EQ(PiecesOfItem(16, 512, 16), 1);
  EXPECT_EQ(PiecesOfItem(8, 192, 16), 2);
  EXPECT_EQ(PiecesOfItem(8, 192, 12), 2);
  EXPECT_EQ(PiecesOfItem(2, 512, 16), 8);
  EXPECT_EQ(PiecesOfItem(2, 100, 16), 2) << "a piece has enough columns to be worth its copy";
  EXPECT_EQ(PiecesOfItem(1, 20, 16), 1);
  EXPECT_EQ(PiecesOfItem(0, 0, 16), 1);
}

TEST(ChooseRowItems, OneThreadCutsNoColumns) {
  ExpectItems(ChooseRowItems(100, 4, 1), 128, 1, 1);
  ExpectItems(ChooseRowItems(3200, 4, 1), 128, 1, 25);
}

TEST(ChooseRowItems, ManyRowsAreBlocksOfRows) {
  ExpectItems(ChooseRowItems(3200, 4, 2), 128, 1, 25);
  ExpectItems(ChooseRowItems(6400, 8, 16), 128, 1, 50);
}

TEST(ChooseRowItems, FewRowsAreCutByColumns) {
  ExpectItems(ChooseRowItems(32, 4, 2), 128, 4, 4);
  ExpectItems(ChooseRowItems(80, 8, 4), 128, 8, 8);
}

TEST(ChooseRowItems, SmallerBlocksWhereColumnsAreFew) {
  ExpectItems(ChooseRowItems(100, 2, 16), 32, 2, 8);
  ExpectItems(ChooseRowItems(400, 1, 2), 128, 1, 4);
  ExpectItems(ChooseRowItems(400, 3, 5), 128, 3, 12);
  ExpectItems(ChooseRowItems(400, 1, 3), 64, 1, 7);
}

TEST(ChooseRowItems, NothingToCut) {
  ExpectItems(ChooseRowItems(0, 4, 16), 32, 1, 0);
  ExpectItems(ChooseRowItems(32, 0, 16), 32, 1, 1);
}

}  // namespace
}  // namespace rnn_ops::cpu
