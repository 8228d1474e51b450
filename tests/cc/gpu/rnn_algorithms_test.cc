// Which algorithms may be chosen, and how.
#include "cc/gpu/rnn_algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "cc/gpu/rnn_heuristics.h"

namespace rnn_ops {
namespace gpu {
namespace {

constexpr cudnnRNNAlgo_t kStandard = CUDNN_RNN_ALGO_STANDARD;
constexpr cudnnRNNAlgo_t kStatic = CUDNN_RNN_ALGO_PERSIST_STATIC;
constexpr cudnnRNNAlgo_t kDynamic = CUDNN_RNN_ALGO_PERSIST_DYNAMIC;
constexpr cudnnRNNAlgo_t kSmallH = CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;

constexpr DeviceTraits kH100 = {9, 0, 132};

RnnChoiceKey SmallKey() {
  RnnChoiceKey key;
  key.config.num_units = 64;
  key.config.input_size = 64;
  key.config.max_time = 10;
  key.config.batch = 8;
  return key;
}

std::vector<RnnChoice> Candidates(AlgoPolicy policy, const RnnChoiceKey& key) {
  return RnnCandidates(policy, key, kH100);
}

// Forward's.
std::vector<cudnnRNNAlgo_t> Algos(AlgoPolicy policy, const RnnChoiceKey& key) {
  std::vector<cudnnRNNAlgo_t> algos;
  for (const RnnChoice& choice : Candidates(policy, key)) algos.push_back(choice.forward);
  return algos;
}

TEST(AlgoPolicyTest, Names) {
  AlgoPolicy policy = AlgoPolicy::kAuto;
  ASSERT_TRUE(ParseAlgoPolicy(nullptr, &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kHeuristic);
  const std::pair<const char*, AlgoPolicy> known[] = {
      {"auto", AlgoPolicy::kAuto},
      {"", AlgoPolicy::kHeuristic},
      {"standard", AlgoPolicy::kStandard},
      {"heuristic", AlgoPolicy::kHeuristic},
      {"persist_static", AlgoPolicy::kPersistStatic},
      {"persist_dynamic", AlgoPolicy::kPersistDynamic},
      {"small_h", AlgoPolicy::kSmallH},
  };
  for (const auto& [name, expected] : known) {
    ASSERT_TRUE(ParseAlgoPolicy(name, &policy).ok()) << name;
    EXPECT_EQ(policy, expected) << name;
  }
  const Status status = ParseAlgoPolicy("fast", &policy);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("TF_RNN_OPS_CUDNN_ALGO must be one of "
                                                     "'heuristic', 'standard', 'auto'"));
}

TEST(RnnCandidatesTest, OnlyLegalOnes) {
  using ::testing::ElementsAre;
  EXPECT_THAT(Algos(AlgoPolicy::kStandard, SmallKey()), ElementsAre(kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, SmallKey()), ElementsAre(kStatic, kSmallH, kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kPersistStatic, SmallKey()), ElementsAre(kStatic, kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kPersistDynamic, SmallKey()), ElementsAre(kDynamic, kStandard));
  RnnChoiceKey key = SmallKey();
  key.dtype = Dtype::kFloat64;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kPersistDynamic, key), ElementsAre(kDynamic, kStandard));
  for (AlgoPolicy policy : {AlgoPolicy::kAuto, AlgoPolicy::kHeuristic}) {
    key = SmallKey();
    key.config.num_proj = 32;
    EXPECT_THAT(Algos(policy, key), ElementsAre(kStandard));
    key = SmallKey();
    key.full_length = false;
    EXPECT_THAT(Algos(policy, key), ElementsAre(kStandard));
  }
  key = SmallKey();
  key.config.batch = 1000;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStandard));
  key = SmallKey();
  key.config.num_units = 512;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStatic, kStandard));
  key = SmallKey();
  key.config.dropout = 0.5f;
  key.config.num_layers = 2;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStatic, kSmallH, kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kPersistDynamic, key), ElementsAre(kStandard));
}

// The kernels for few units reach further in forward than in backward.
TEST(RnnCandidatesTest, SmallHIsLeftWhereItsBackwardEnds) {
  for (AlgoPolicy policy : {AlgoPolicy::kHeuristic, AlgoPolicy::kSmallH, AlgoPolicy::kAuto}) {
    const std::tuple<RnnMode, int64_t, cudnnRNNAlgo_t, cudnnRNNAlgo_t> expected[] = {
        {RnnMode::kLstm, 128, kSmallH, kSmallH},   {RnnMode::kLstm, 129, kSmallH, kStandard},
        {RnnMode::kLstm, 192, kSmallH, kStandard}, {RnnMode::kGru, 128, kSmallH, kSmallH},
        {RnnMode::kGru, 192, kSmallH, kStandard},  {RnnMode::kTanh, 256, kSmallH, kSmallH},
        {RnnMode::kRelu, 257, kSmallH, kStandard}, {RnnMode::kTanh, 384, kSmallH, kStandard},
    };
    for (const auto& [mode, units, forward, backward] : expected) {
      RnnChoiceKey key = SmallKey();
      key.config.mode = mode;
      key.config.num_units = units;
      const auto candidates = Candidates(policy, key);
      const RnnChoice& choice = candidates[candidates.size() - 2];
      EXPECT_EQ(choice.forward, forward) << Name(mode) << " " << units;
      EXPECT_EQ(choice.backward, backward) << Name(mode) << " " << units;
    }
    RnnChoiceKey key = SmallKey();
    key.config.num_units = 193;
    EXPECT_THAT(Algos(policy, key), ::testing::Not(::testing::Contains(kSmallH)));
  }
}

TEST(RnnCandidatesTest, BFloat16FallsBackToFloat32) {
  RnnChoiceKey key = SmallKey();
  key.dtype = Dtype::kBFloat16;
  const auto candidates = Candidates(AlgoPolicy::kStandard, key);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].compute, Dtype::kBFloat16);
  EXPECT_EQ(candidates[1].compute, Dtype::kFloat32);
  // The float32 of the fallback is as fast as it would be alone.
  EXPECT_THAT(Algos(AlgoPolicy::kHeuristic, key),
              ::testing::ElementsAre(kSmallH, kStandard, kSmallH, kStandard));
}

// Tries that take a given time, or fail.
class Trials {
 public:
  using Failure = std::tuple<cudnnRNNAlgo_t, Dtype, Status>;
  explicit Trials(std::vector<Failure> failures = {}) : failures_(std::move(failures)) {}
  RnnChoiceTable::Trial function(cudnnRNNAlgo_t fastest) {
    return [this, fastest](const RnnChoice& candidate, double* seconds) {
      tried.push_back(candidate.forward);
      if (seconds != nullptr) *seconds = candidate.forward == fastest ? 1 : 2;
      for (const auto& [algo, compute, status] : failures_) {
        if (algo == candidate.forward && compute == candidate.compute) return status;
      }
      return Status();
    };
  }
  std::vector<cudnnRNNAlgo_t> tried;

 private:
  std::vector<Failure> failures_;
};

RnnChoice Choose(RnnChoiceTable* table, const RnnChoiceKey& key,
                 const RnnChoiceTable::Trial& trial) {
  RnnChoice choice;
  table->Choose(key, kH100, trial, &choice);
  return choice;
}

RnnChoiceKey BFloat16Key() {
  RnnChoiceKey key = SmallKey();
  key.dtype = Dtype::kBFloat16;
  return key;
}

TEST(RnnChoiceTableTest, TheFastestIsMeasuredOnceForLengthsOfAboutTheSameSize) {
  RnnChoiceTable table(AlgoPolicy::kAuto);
  RnnChoiceKey key = SmallKey();
  for (cudnnRNNAlgo_t fastest : {kStatic, kSmallH, kStandard}) {
    key.config.num_units += 1;
    Trials trials;
    const auto trial = trials.function(fastest);
    EXPECT_EQ(Choose(&table, key, trial).forward, fastest);
    EXPECT_EQ(trials.tried.size(), 3u);
    RnnChoiceKey longer = key;
    longer.config.max_time = 16;
    EXPECT_EQ(Choose(&table, longer, trial).forward, fastest);
    EXPECT_EQ(trials.tried.size(), 3u);
    RnnChoice found;
    EXPECT_TRUE(table.Find(longer, kH100, &found));
    longer.config.max_time = 17;
    EXPECT_FALSE(table.Find(longer, kH100, &found));
  }
}

TEST(RnnChoiceTableTest, TheHeuristicTriesOneCandidateOnceForAllLengths) {
  RnnChoiceTable table(AlgoPolicy::kHeuristic);
  Trials trials;
  const auto trial = trials.function(kStandard);
  RnnChoiceKey key = SmallKey();
  for (int64_t time : {10, 20, 1000}) {
    key.config.max_time = time;
    EXPECT_EQ(Choose(&table, key, trial).forward, kSmallH);
    RnnChoice found;
    ASSERT_TRUE(table.Find(key, kH100, &found));
    EXPECT_EQ(found.backward, kSmallH);
  }
  EXPECT_EQ(trials.tried, std::vector<cudnnRNNAlgo_t>{kSmallH});
  // Another batch is another question to a persistent kernel.
  key.config.batch = 9;
  Choose(&table, key, trial);
  EXPECT_EQ(trials.tried.size(), 2u);
}

TEST(RnnChoiceTableTest, WhatTheHeuristicWantsAndCudnnRefusesRunsAsStandard) {
  RnnChoiceTable table(AlgoPolicy::kHeuristic);
  Trials trials({{kSmallH, Dtype::kFloat32, Unimplemented("no")}});
  const auto trial = trials.function(kSmallH);
  EXPECT_TRUE(Choose(&table, SmallKey(), trial).standard());
  EXPECT_TRUE(Choose(&table, SmallKey(), trial).standard());
  EXPECT_EQ(trials.tried.size(), 1u);
}

TEST(RnnChoiceTableTest, WithoutACandidateToChooseFromNothingIsTried) {
  RnnChoiceTable table(AlgoPolicy::kStandard);
  Trials trials;
  EXPECT_TRUE(Choose(&table, SmallKey(), trials.function(kStatic)).standard());
  EXPECT_TRUE(trials.tried.empty());
  EXPECT_EQ(table.size(), 0u);
}

TEST(RnnChoiceTableTest, WhatCudnnRefusesIsPassedOver) {
  Trials trials({{kStatic, Dtype::kFloat32, Unimplemented("no")},
                 {kSmallH, Dtype::kFloat32, Internal("broken")},
                 {kDynamic, Dtype::kFloat32, ResourceExhausted("full")}});
  for (AlgoPolicy policy :
       {AlgoPolicy::kAuto, AlgoPolicy::kPersistStatic, AlgoPolicy::kPersistDynamic}) {
    RnnChoiceTable table(policy);
    EXPECT_TRUE(Choose(&table, SmallKey(), trials.function(kStatic)).standard());
  }
}

// BAD_PARAM and EXECUTION_FAILED, too, are what a cuDNN may say to a type that it does not know.
TEST(RnnChoiceTableTest, BFloat16ThatCudnnRefusesRunsInFloat32) {
  for (const Status& refusal : {Unimplemented("no"), Internal("BAD_PARAM")}) {
    RnnChoiceTable table(AlgoPolicy::kStandard);
    Trials trials({{kStandard, Dtype::kBFloat16, refusal}});
    EXPECT_EQ(Choose(&table, BFloat16Key(), trials.function(kStandard)).compute, Dtype::kFloat32);
  }
  RnnChoiceTable table(AlgoPolicy::kStandard);
  Trials trials;
  EXPECT_EQ(Choose(&table, BFloat16Key(), trials.function(kStandard)).compute, Dtype::kBFloat16);
}

// A server sees ever new lengths and batches; its networks are few.
TEST(RnnChoiceTableTest, WhetherCudnnTakesBFloat16IsAskedOnceForANetwork) {
  RnnChoiceTable table(AlgoPolicy::kStandard);
  Trials trials;
  RnnChoiceKey key = BFloat16Key();
  for (int64_t size = 1; size < 100; ++size) {
    key.config.max_time = key.config.batch = size;
    key.full_length = true;
    Choose(&table, key, trials.function(kStandard));
  }
  EXPECT_EQ(trials.tried.size(), 1u);
  EXPECT_EQ(table.size(), 1u);
}

TEST(RnnChoiceTableTest, ATrialWithoutMemoryDoesNotRuleOutTheStandardAlgorithm) {
  for (AlgoPolicy policy : {AlgoPolicy::kStandard, AlgoPolicy::kAuto, AlgoPolicy::kHeuristic}) {
    RnnChoiceTable table(policy);
    Trials trials({{kStatic, Dtype::kBFloat16, ResourceExhausted("full")},
                   {kSmallH, Dtype::kBFloat16, ResourceExhausted("full")},
                   {kStandard, Dtype::kBFloat16, ResourceExhausted("full")}});
    const RnnChoice choice = Choose(&table, BFloat16Key(), trials.function(kStandard));
    EXPECT_TRUE(choice.standard());
    EXPECT_EQ(choice.compute, Dtype::kBFloat16);
  }
}

// PyTorch's table, row by row.
TEST(FastestAlgoTest, PersistStatic) {
  RnnConfig c;
  c.num_units = 512;
  c.input_size = 256;
  c.batch = 64;
  const auto algo = [&](Dtype dtype = Dtype::kFloat16, const DeviceTraits& gpu = kH100) {
    return FastestAlgo(c, dtype, gpu, Pass::kForward);
  };
  EXPECT_EQ(algo(), kStatic);
  EXPECT_EQ(algo(Dtype::kFloat32), kStandard);
  EXPECT_EQ(algo(Dtype::kBFloat16), kStandard);
  EXPECT_EQ(algo(Dtype::kFloat16, {8, 0, 108}), kStatic);
  EXPECT_EQ(algo(Dtype::kFloat16, {8, 6, 108}), kStandard);
  EXPECT_EQ(algo(Dtype::kFloat16, {8, 9, 46}), kStandard);
  EXPECT_EQ(algo(Dtype::kFloat16, {7, 0, 108}), kStandard);
  const RnnConfig fits = c;
  const auto with = [&](auto change) {
    c = fits;
    change();
    return algo();
  };
  EXPECT_EQ(with([&] { c.num_units = 1024; }), kStatic);
  EXPECT_EQ(with([&] { c.num_units = 1152; }), kStandard);
  EXPECT_EQ(with([&] { c.num_units = 513; }), kStandard);
  EXPECT_EQ(with([&] { c.input_size = 100; }), kStandard);
  EXPECT_EQ(with([&] { c.batch = 60; }), kStandard);
  EXPECT_EQ(with([&] { c.batch = 136; }), kStandard);
  EXPECT_EQ(with([&] { c.num_layers = 2; }), kStandard);
  EXPECT_EQ(with([&] { c.direction = Direction::kBidirectional; }), kStandard);
  EXPECT_EQ(with([&] { c.num_proj = 8; }), kStandard);
  EXPECT_EQ(with([&] { c.mode = RnnMode::kGru; }), kStandard);
  EXPECT_EQ(with([&] { c.mode = RnnMode::kTanh, c.num_units = 896, c.batch = 96; }), kStandard);
  EXPECT_EQ(with([&] { c.mode = RnnMode::kTanh, c.num_units = 896, c.batch = 88; }), kStatic);
  EXPECT_EQ(with([&] { c.mode = RnnMode::kLstm, c.num_units = 896, c.batch = 96; }), kStatic);
}

TEST(FastestAlgoTest, SmallHNeedsPascalAndNoFloat64) {
  RnnConfig c;
  c.num_units = 64;
  c.input_size = 3;
  c.batch = 1;
  for (Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBFloat16}) {
    EXPECT_EQ(FastestAlgo(c, dtype, kH100, Pass::kBackward), kSmallH);
    EXPECT_EQ(FastestAlgo(c, dtype, {5, 2, 24}, Pass::kForward), kStandard);
  }
  EXPECT_EQ(FastestAlgo(c, Dtype::kFloat64, kH100, Pass::kForward), kStandard);
}

}  // namespace
}  // namespace gpu
}  // namespace rnn_ops
