#include "cc/cpu/rows/sequence.h"

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {
namespace {

// A Sequence and its memory.
struct Built {
  explicit Built(int64_t max_time, bool time_major, const std::vector<int32_t>* lengths,
                 int64_t batch) {
    SequenceLengths of = {nullptr, max_time * batch};
    if (lengths != nullptr) {
      of = {lengths->data(), std::accumulate(lengths->begin(), lengths->end(), int64_t{0})};
    }
    Arena measure;
    MakeSequence(measure, max_time, batch, time_major, of);
    // Filled with a value, so that the test sees elements that were not written.
    memory.assign(measure.bytes() / 8 + 8, -7);
    Arena arena(memory.data());
    seq = MakeSequence(arena, max_time, batch, time_major, of);
    EXPECT_EQ(arena.bytes(), measure.bytes());
  }
  std::vector<int64_t> memory;
  Sequence seq;
};

void ExpectRight(const Sequence& seq, int64_t max_time, const std::vector<int32_t>& lengths,
                 bool time_major) {
  const int64_t batch = static_cast<int64_t>(lengths.size());
  int64_t rows = 0;
  for (int32_t n : lengths) rows += n;
  ASSERT_EQ(seq.rows, rows);
  // perm is a permutation, and the lengths descend.
  std::vector<bool> seen(batch);
  for (int64_t j = 0; j < batch; ++j) {
    ASSERT_TRUE(seq.perm[j] >= 0 && seq.perm[j] < batch && !seen[seq.perm[j]]);
    seen[seq.perm[j]] = true;
    ASSERT_EQ(seq.length[j], lengths[seq.perm[j]]);
    if (j > 0) {
      ASSERT_LE(seq.length[j], seq.length[j - 1]);
    }
  }
  int64_t row = 0;
  for (int64_t t = 0; t < max_time; ++t) {
    ASSERT_EQ(seq.start[t], row);
    int64_t alive = 0;
    for (int32_t n : lengths) alive += n > t;
    ASSERT_EQ(seq.alive(t), alive) << "at step " << t;
    row += alive;
    for (int64_t j = 0; j < batch; ++j) {
      const int64_t b = seq.perm[j];
      ASSERT_EQ(seq.user_t[t] + seq.user_j[j], time_major ? t * batch + b : b * max_time + t);
    }
  }
  ASSERT_EQ(seq.start[max_time], rows);
}

TEST(Sequence, RandomLengths) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const int64_t max_time = 1 + random() % 9;
    std::vector<int32_t> lengths(random() % 8);
    for (int32_t& n : lengths) n = static_cast<int32_t>(random() % (max_time + 1));
    const bool time_major = random() % 2 == 0;
    const Built built(max_time, time_major, &lengths, static_cast<int64_t>(lengths.size()));
    ExpectRight(built.seq, max_time, lengths, time_major);
  }
}

TEST(Sequence, WithoutLengthsAllRowsHaveAllSteps) {
  const Built built(4, true, nullptr, 3);
  ExpectRight(built.seq, 4, {4, 4, 4}, true);
}

TEST(Sequence, ForPackedRowsVisitsEachRowOnce) {
  const std::vector<int32_t> lengths = {0, 3, 1, 5, 5};
  const Built built(5, true, &lengths, 5);
  for (int64_t row0 = 0; row0 <= built.seq.rows; ++row0) {
    for (int64_t row1 = row0; row1 <= built.seq.rows; ++row1) {
      int64_t next = row0;
      ForPackedRows(built.seq, row0, row1, [&](int64_t row, int64_t t, int64_t j) {
        EXPECT_EQ(row, next++);
        EXPECT_EQ(built.seq.start[t] + j, row);
        EXPECT_LT(j, built.seq.alive(t));
      });
      EXPECT_EQ(next, row1);
    }
  }
}

// Each direction visits every step of a sequence once, from its first to its last step.
TEST(Sequence, StepsOfBothDirections) {
  const std::vector<int32_t> lengths = {2, 4, 1};
  const Built built(4, true, &lengths, 3);
  for (int dir = 0; dir < 2; ++dir) {
    for (int64_t j = 0; j < 3; ++j) {
      int64_t visited = 0;
      for (int64_t t = FinalStep(built.seq, dir, j); t >= 0;
           t = PreviousStep(built.seq, dir, t, j)) {
        ASSERT_LT(t, built.seq.length[j]);
        ++visited;
      }
      EXPECT_EQ(visited, built.seq.length[j]);
    }
  }
}

TEST(RowMap, UserAndPackedRows) {
  const std::vector<int32_t> lengths = {1, 3};
  const Built built(3, false, &lengths, 2);
  std::vector<float> user(2 * 3 * 4), packed(4 * 4);
  // Sorted sequence 0 is sequence 1 of the batch. The layout is batch-major.
  EXPECT_EQ(UserRows(built.seq, user.data(), 4).at(2, 0), user.data() + (1 * 3 + 2) * 4);
  EXPECT_EQ(UserRows(built.seq, user.data(), 4).at(0, 1), user.data());
  EXPECT_EQ(PackedRows(built.seq, packed.data(), 4).at(1, 0), packed.data() + 2 * 4);
}

TEST(Arena, MeasuresWhatItTakes) {
  alignas(64) char block[1024];
  Arena measure, take(block);
  for (Arena* arena : {&measure, &take}) {
    arena->Take<char>(1);
    arena->Take<double>(9);
    arena->Take<float>(0);
  }
  EXPECT_EQ(measure.bytes(), 64 + 128);
  EXPECT_EQ(take.bytes(), 64 + 128);
  EXPECT_TRUE(measure.measuring());
  EXPECT_FALSE(take.measuring());
}

TEST(Arena, ArraysAreAlignedAndDisjoint) {
  alignas(64) char block[4096];
  Arena arena(block);
  char* end = block;
  for (int64_t n : {1, 64, 65, 3}) {
    char* array = arena.Take<char>(n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array) % 64, 0u);
    EXPECT_GE(array, end);
    end = array + n;
  }
}

TEST(Arena, OverflowStays) {
  for (int64_t n : {int64_t{-1}, int64_t{1} << 62, int64_t{1} << 60}) {
    Arena arena;
    arena.Take<double>(n);
    arena.Take<double>(1);
    EXPECT_EQ(arena.bytes(), -1) << n;
  }
  Arena sum;
  for (int i = 0; i < 4; ++i) sum.Take<char>(int64_t{1} << 60);
  EXPECT_EQ(sum.bytes(), -1) << "each fits, all together do not";
}

}  // namespace
}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
