// Which algorithms may be chosen, and how.
#include "cc/gpu/rnn_algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rnn_ops {
namespace gpu {
namespace {

constexpr cudnnRNNAlgo_t kStandard = CUDNN_RNN_ALGO_STANDARD;
constexpr cudnnRNNAlgo_t kStatic = CUDNN_RNN_ALGO_PERSIST_STATIC;
constexpr cudnnRNNAlgo_t kDynamic = CUDNN_RNN_ALGO_PERSIST_DYNAMIC;
constexpr cudnnRNNAlgo_t kSmallH = CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;

RnnPlanKey SmallKey() {
  RnnPlanKey key;
  key.config.num_units = 64;
  key.config.input_size = 64;
  key.config.max_time = 10;
  key.config.batch = 8;
  return key;
}

std::vector<cudnnRNNAlgo_t> Algos(AlgoPolicy policy, const RnnPlanKey& key,
                                  Dtype dtype = Dtype::kFloat32) {
  std::vector<cudnnRNNAlgo_t> algos;
  for (const RnnChoice& choice : RnnCandidates(policy, key, dtype)) algos.push_back(choice.algo);
  return algos;
}

TEST(AlgoPolicyTest, Names) {
  AlgoPolicy policy = AlgoPolicy::kAuto;
  ASSERT_TRUE(ParseAlgoPolicy(nullptr, &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kStandard);
  ASSERT_TRUE(ParseAlgoPolicy("auto", &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kAuto);
  ASSERT_TRUE(ParseAlgoPolicy("", &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kStandard);
  ASSERT_TRUE(ParseAlgoPolicy("persist_static", &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kPersistStatic);
  ASSERT_TRUE(ParseAlgoPolicy("persist_dynamic", &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kPersistDynamic);
  ASSERT_TRUE(ParseAlgoPolicy("small_h", &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kSmallH);
  const Status status = ParseAlgoPolicy("fast", &policy);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("TF_RNN_OPS_CUDNN_ALGO must be one of "
                                                     "'standard', 'auto'"));
}

TEST(RnnCandidatesTest, OnlyLegalOnes) {
  using ::testing::ElementsAre;
  EXPECT_THAT(Algos(AlgoPolicy::kStandard, SmallKey()), ElementsAre(kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, SmallKey()),
              ElementsAre(kStatic, kSmallH, kDynamic, kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kPersistStatic, SmallKey()), ElementsAre(kStatic, kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, SmallKey(), Dtype::kFloat64),
              ElementsAre(kDynamic, kStandard));
  RnnPlanKey key = SmallKey();
  key.config.num_proj = 32;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStandard));
  key = SmallKey();
  key.full_length = false;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStandard));
  key = SmallKey();
  key.config.batch = 1000;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStandard));
  key = SmallKey();
  key.config.num_units = 512;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStatic, kDynamic, kStandard));
  key = SmallKey();
  key.config.dropout = 0.5f;
  key.config.num_layers = 2;
  EXPECT_THAT(Algos(AlgoPolicy::kAuto, key), ElementsAre(kStatic, kSmallH, kStandard));
}

TEST(RnnCandidatesTest, BFloat16FallsBackToFloat32) {
  const auto candidates = RnnCandidates(AlgoPolicy::kStandard, SmallKey(), Dtype::kBFloat16);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].compute, Dtype::kBFloat16);
  EXPECT_EQ(candidates[1].compute, Dtype::kFloat32);
}

// Tries that take a given time, or fail.
class Trials {
 public:
  explicit Trials(std::vector<std::pair<RnnChoice, Status>> failures = {})
      : failures_(std::move(failures)) {}
  RnnChoiceTable::Trial function(cudnnRNNAlgo_t fastest) {
    return [this, fastest](const RnnChoice& candidate, double* seconds) {
      tried.push_back(candidate.algo);
      *seconds = candidate.algo == fastest ? 1 : 2;
      for (const auto& [choice, status] : failures_) {
        if (choice.algo == candidate.algo && choice.compute == candidate.compute) return status;
      }
      return Status();
    };
  }
  std::vector<cudnnRNNAlgo_t> tried;

 private:
  std::vector<std::pair<RnnChoice, Status>> failures_;
};

RnnChoice Choose(RnnChoiceTable* table, AlgoPolicy policy, const RnnPlanKey& key, Dtype dtype,
                 const RnnChoiceTable::Trial& trial) {
  RnnChoice choice;
  const Status status = table->Choose(key, dtype, RnnCandidates(policy, key, dtype),
                                      policy == AlgoPolicy::kAuto, trial, &choice);
  EXPECT_TRUE(status.ok()) << status.message();
  return choice;
}

TEST(RnnChoiceTableTest, TheFastestIsMeasuredOnceForLengthsOfAboutTheSameSize) {
  RnnChoiceTable table;
  RnnPlanKey key = SmallKey();
  for (cudnnRNNAlgo_t fastest : {kStatic, kSmallH, kDynamic, kStandard}) {
    key.config.num_units += 1;
    Trials trials;
    const auto trial = trials.function(fastest);
    EXPECT_EQ(Choose(&table, AlgoPolicy::kAuto, key, Dtype::kFloat32, trial).algo, fastest);
    EXPECT_EQ(trials.tried.size(), 4u);
    RnnPlanKey longer = key;
    longer.config.max_time = 16;
    EXPECT_EQ(Choose(&table, AlgoPolicy::kAuto, longer, Dtype::kFloat32, trial).algo, fastest);
    EXPECT_EQ(trials.tried.size(), 4u);
    RnnChoice found;
    EXPECT_TRUE(table.Find(longer, Dtype::kFloat32, &found));
    longer.config.max_time = 17;
    EXPECT_FALSE(table.Find(longer, Dtype::kFloat32, &found));
  }
}

TEST(RnnChoiceTableTest, WithoutACandidateToChooseFromNothingIsTried) {
  RnnChoiceTable table;
  Trials trials;
  EXPECT_EQ(
      Choose(&table, AlgoPolicy::kStandard, SmallKey(), Dtype::kFloat32, trials.function(kStatic))
          .algo,
      kStandard);
  EXPECT_TRUE(trials.tried.empty());
}

TEST(RnnChoiceTableTest, WhatCudnnRefusesIsPassedOver) {
  RnnChoiceTable table;
  Trials trials({{{kStatic, Dtype::kFloat32}, Unimplemented("no")},
                 {{kSmallH, Dtype::kFloat32}, Internal("broken")},
                 {{kDynamic, Dtype::kFloat32}, ResourceExhausted("full")}});
  const auto trial = trials.function(kStatic);
  EXPECT_EQ(Choose(&table, AlgoPolicy::kAuto, SmallKey(), Dtype::kFloat32, trial).algo, kStandard);
  EXPECT_EQ(Choose(&table, AlgoPolicy::kPersistStatic, SmallKey(), Dtype::kFloat32, trial).algo,
            kStandard);
}

TEST(RnnChoiceTableTest, BFloat16ThatCudnnRefusesRunsInFloat32) {
  RnnChoiceTable table;
  Trials trials({{{kStandard, Dtype::kBFloat16}, Unimplemented("no")}});
  const RnnChoice choice = Choose(&table, AlgoPolicy::kStandard, SmallKey(), Dtype::kBFloat16,
                                  trials.function(kStandard));
  EXPECT_EQ(choice.compute, Dtype::kFloat32);
  RnnChoiceTable other;
  Trials taken;
  EXPECT_EQ(
      Choose(&other, AlgoPolicy::kStandard, SmallKey(), Dtype::kBFloat16, taken.function(kStandard))
          .compute,
      Dtype::kBFloat16);
}

// BAD_PARAM and EXECUTION_FAILED, too, are what a cuDNN may say to a type that it does not know.
TEST(RnnChoiceTableTest, BFloat16ThatFailsInAnyWayRunsInFloat32) {
  RnnChoiceTable table;
  Trials trials({{{kStandard, Dtype::kBFloat16}, Internal("BAD_PARAM")}});
  const RnnChoice choice = Choose(&table, AlgoPolicy::kStandard, SmallKey(), Dtype::kBFloat16,
                                  trials.function(kStandard));
  EXPECT_EQ(choice.compute, Dtype::kFloat32);
}

TEST(RnnChoiceTableTest, ATrialWithoutMemoryDoesNotRuleOutTheStandardAlgorithm) {
  for (AlgoPolicy policy : {AlgoPolicy::kStandard, AlgoPolicy::kAuto}) {
    RnnChoiceTable table;
    Trials trials({{{kStatic, Dtype::kBFloat16}, ResourceExhausted("full")},
                   {{kSmallH, Dtype::kBFloat16}, ResourceExhausted("full")},
                   {{kDynamic, Dtype::kBFloat16}, ResourceExhausted("full")},
                   {{kStandard, Dtype::kBFloat16}, ResourceExhausted("full")}});
    const RnnChoice choice =
        Choose(&table, policy, SmallKey(), Dtype::kBFloat16, trials.function(kStandard));
    EXPECT_EQ(choice.algo, kStandard);
    EXPECT_EQ(choice.compute, Dtype::kBFloat16);
  }
}

}  // namespace
}  // namespace gpu
}  // namespace rnn_ops
