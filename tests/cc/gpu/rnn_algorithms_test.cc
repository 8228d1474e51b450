// Tests the candidates for the algorithm and the choice among them.
#include "cc/gpu/cudnn/rnn_algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace rnn_ops::gpu {
namespace {

constexpr cudnnRNNAlgo_t kStandard = CUDNN_RNN_ALGO_STANDARD;
constexpr cudnnRNNAlgo_t kStatic = CUDNN_RNN_ALGO_PERSIST_STATIC;
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

// The algorithms of forward.
std::vector<cudnnRNNAlgo_t> Algos(AlgoPolicy policy, const RnnChoiceKey& key) {
  std::vector<cudnnRNNAlgo_t> algos;
  for (const RnnChoice& choice : Candidates(policy, key)) algos.push_back(choice.algos.forward);
  return algos;
}

TEST(AlgoPolicyTest, Names) {
  AlgoPolicy policy = AlgoPolicy::kSmallH;
  ASSERT_TRUE(ParseAlgoPolicy(nullptr, &policy).ok());
  EXPECT_EQ(policy, AlgoPolicy::kHeuristic);
  const std::pair<const char*, AlgoPolicy> known[] = {
      {"", AlgoPolicy::kHeuristic},          {"standard", AlgoPolicy::kStandard},
      {"heuristic", AlgoPolicy::kHeuristic}, {"persist_static", AlgoPolicy::kPersistStatic},
      {"small_h", AlgoPolicy::kSmallH},
  };
  for (const auto& [name, expected] : known) {
    ASSERT_TRUE(ParseAlgoPolicy(name, &policy).ok()) << name;
    EXPECT_EQ(policy, expected) << name;
  }
  const Status status = ParseAlgoPolicy("fast", &policy);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("TF_RNN_OPS_CUDNN_ALGO must be one of "
                                                     "'heuristic', 'standard', "
                                                     "'persist_static', 'small_h'"));
}

TEST(RnnCandidatesTest, OnlyLegalOnes) {
  using ::testing::ElementsAre;
  EXPECT_THAT(Algos(AlgoPolicy::kStandard, SmallKey()), ElementsAre(kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kSmallH, SmallKey()), ElementsAre(kSmallH, kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kPersistStatic, SmallKey()), ElementsAre(kStatic, kStandard));
  RnnChoiceKey key = SmallKey();
  key.dtype = Dtype::kFloat64;
  const auto every = {AlgoPolicy::kPersistStatic, AlgoPolicy::kSmallH, AlgoPolicy::kHeuristic};
  for (AlgoPolicy policy : every) EXPECT_THAT(Algos(policy, key), ElementsAre(kStandard));
  for (AlgoPolicy policy : every) {
    key = SmallKey();
    key.config.num_proj = 32;
    EXPECT_THAT(Algos(policy, key), ElementsAre(kStandard));
    key = SmallKey();
    key.full_length = false;
    EXPECT_THAT(Algos(policy, key), ElementsAre(kStandard));
  }
  key = SmallKey();
  key.config.batch = 1000;
  EXPECT_THAT(Algos(AlgoPolicy::kPersistStatic, key), ElementsAre(kStandard));
  key = SmallKey();
  key.config.num_units = 512;
  EXPECT_THAT(Algos(AlgoPolicy::kPersistStatic, key), ElementsAre(kStatic, kStandard));
  EXPECT_THAT(Algos(AlgoPolicy::kSmallH, key), ElementsAre(kStandard));
}

// The kernels for few units support more units in forward than in backward.
TEST(RnnCandidatesTest, SmallHIsLeftWhereItsBackwardEnds) {
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
    const auto candidates = Candidates(AlgoPolicy::kSmallH, key);
    const RnnChoice& choice = candidates[candidates.size() - 2];
    EXPECT_EQ(choice.algos.forward, forward) << Name(mode) << " " << units;
    EXPECT_EQ(choice.algos.backward, backward) << Name(mode) << " " << units;
  }
  RnnChoiceKey key = SmallKey();
  key.config.num_units = 193;
  EXPECT_THAT(Algos(AlgoPolicy::kSmallH, key), ::testing::Not(::testing::Contains(kSmallH)));
}

TEST(RnnCandidatesTest, BFloat16TakesThePersistentKernelsOfFloat32) {
  RnnChoiceKey key = SmallKey();
  key.dtype = Dtype::kBFloat16;
  const auto candidates = Candidates(AlgoPolicy::kStandard, key);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].compute, Dtype::kBFloat16);
  EXPECT_EQ(candidates[1].compute, Dtype::kFloat32);
  const auto fast = Candidates(AlgoPolicy::kHeuristic, key);
  ASSERT_EQ(fast.size(), 3u);
  EXPECT_EQ(fast[0].algos.forward, kSmallH);
  EXPECT_EQ(fast[0].compute, Dtype::kFloat32);
  EXPECT_TRUE(fast[1].standard());
  EXPECT_EQ(fast[1].compute, Dtype::kBFloat16);
  EXPECT_TRUE(fast[2].standard());
  EXPECT_EQ(fast[2].compute, Dtype::kFloat32);
}

// Trials that succeed or fail.
class Trials {
 public:
  using Failure = std::tuple<cudnnRNNAlgo_t, Dtype, Status>;
  explicit Trials(std::vector<Failure> failures = {}) : failures_(std::move(failures)) {}
  RnnChoiceTable::Trial function() {
    return [this](const RnnChoice& candidate) {
      tried.push_back(candidate.algos.forward);
      for (const auto& [algo, compute, status] : failures_) {
        if (algo == candidate.algos.forward && compute == candidate.compute) return status;
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

TEST(RnnChoiceTableTest, TheHeuristicTriesOneCandidateOnceForAllLengths) {
  RnnChoiceTable table(AlgoPolicy::kHeuristic);
  Trials trials;
  const auto trial = trials.function();
  RnnChoiceKey key = SmallKey();
  for (int64_t time : {10, 20, 1000}) {
    key.config.max_time = time;
    const RnnChoice choice = Choose(&table, key, trial);
    EXPECT_EQ(choice.algos.forward, kSmallH);
    EXPECT_EQ(choice.algos.backward, kSmallH);
  }
  EXPECT_EQ(trials.tried, std::vector<cudnnRNNAlgo_t>{kSmallH});
  // With a persistent kernel, another batch size needs another trial.
  key.config.batch = 9;
  Choose(&table, key, trial);
  EXPECT_EQ(trials.tried.size(), 2u);
}

TEST(RnnChoiceTableTest, WhatTheHeuristicWantsAndCudnnRefusesRunsAsStandard) {
  RnnChoiceTable table(AlgoPolicy::kHeuristic);
  Trials trials({{kSmallH, Dtype::kFloat32, Unimplemented("no")}});
  const auto trial = trials.function();
  EXPECT_TRUE(Choose(&table, SmallKey(), trial).standard());
  EXPECT_TRUE(Choose(&table, SmallKey(), trial).standard());
  EXPECT_EQ(trials.tried.size(), 1u);
}

TEST(RnnChoiceTableTest, WithoutACandidateToChooseFromNothingIsTried) {
  RnnChoiceTable table(AlgoPolicy::kStandard);
  Trials trials;
  EXPECT_TRUE(Choose(&table, SmallKey(), trials.function()).standard());
  EXPECT_TRUE(trials.tried.empty());
  EXPECT_EQ(table.size(), 0u);
}

TEST(RnnChoiceTableTest, WhatCudnnRefusesIsPassedOver) {
  Trials trials({{kStatic, Dtype::kFloat32, Unimplemented("no")},
                 {kSmallH, Dtype::kFloat32, Internal("broken")}});
  for (AlgoPolicy policy : {AlgoPolicy::kSmallH, AlgoPolicy::kPersistStatic}) {
    RnnChoiceTable table(policy);
    EXPECT_TRUE(Choose(&table, SmallKey(), trials.function()).standard());
  }
}

// cuDNN may also report BAD_PARAM and EXECUTION_FAILED for a type that it does not know.
TEST(RnnChoiceTableTest, BFloat16ThatCudnnRefusesRunsInFloat32) {
  for (const Status& refusal : {Unimplemented("no"), Internal("BAD_PARAM")}) {
    RnnChoiceTable table(AlgoPolicy::kStandard);
    Trials trials({{kStandard, Dtype::kBFloat16, refusal}});
    EXPECT_EQ(Choose(&table, BFloat16Key(), trials.function()).compute, Dtype::kFloat32);
  }
  RnnChoiceTable table(AlgoPolicy::kStandard);
  Trials trials;
  EXPECT_EQ(Choose(&table, BFloat16Key(), trials.function()).compute, Dtype::kBFloat16);
}

// A server sees new lengths and batch sizes all the time, but only a few networks.
TEST(RnnChoiceTableTest, WhetherCudnnTakesBFloat16IsAskedOnceForANetwork) {
  RnnChoiceTable table(AlgoPolicy::kStandard);
  Trials trials;
  RnnChoiceKey key = BFloat16Key();
  for (int64_t size = 1; size < 100; ++size) {
    key.config.max_time = key.config.batch = size;
    key.full_length = true;
    Choose(&table, key, trials.function());
  }
  EXPECT_EQ(trials.tried.size(), 1u);
  EXPECT_EQ(table.size(), 1u);
}

TEST(RnnChoiceTableTest, ATrialWithoutMemoryDoesNotRuleOutTheStandardAlgorithm) {
  for (AlgoPolicy policy : {AlgoPolicy::kStandard, AlgoPolicy::kSmallH, AlgoPolicy::kHeuristic}) {
    RnnChoiceTable table(policy);
    Trials trials({{kStatic, Dtype::kFloat32, ResourceExhausted("full")},
                   {kSmallH, Dtype::kFloat32, ResourceExhausted("full")},
                   {kStandard, Dtype::kBFloat16, ResourceExhausted("full")}});
    const RnnChoice choice = Choose(&table, BFloat16Key(), trials.function());
    EXPECT_TRUE(choice.standard());
    EXPECT_EQ(choice.compute, Dtype::kBFloat16);
  }
}

TEST(RnnChoiceTableTest, ATrialWithoutMemoryIsNotRemembered) {
  for (AlgoPolicy policy : {AlgoPolicy::kSmallH, AlgoPolicy::kHeuristic}) {
    RnnChoiceTable table(policy);
    Trials full({{kStatic, Dtype::kFloat32, ResourceExhausted("full")},
                 {kSmallH, Dtype::kFloat32, ResourceExhausted("full")}});
    EXPECT_TRUE(Choose(&table, SmallKey(), full.function()).standard());
    EXPECT_EQ(table.size(), 0u);
    Trials later;
    EXPECT_EQ(Choose(&table, SmallKey(), later.function()).algos.forward, kSmallH);
    EXPECT_EQ(table.size(), 1u);
  }
}

// Failures of a device without memory for a kernel, or after the error of another program.
const Status kForAWhile[] = {Internal("EXECUTION_FAILED"), FailedPrecondition("NOT_INITIALIZED"),
                             ResourceExhausted("full")};

TEST(RnnChoiceTableTest, ATrialThatFailedForAWhileIsRepeatedUntilItSucceeds) {
  for (const Status& failure : kForAWhile) {
    for (int failures : {1, 2, 3}) {
      RnnChoiceTable table(AlgoPolicy::kHeuristic);
      int trials = 0;
      const auto trial = [&](const RnnChoice&) { return trials++ < failures ? failure : Status(); };
      for (int call = 0; call < 100 && trials <= failures; ++call) {
        ASSERT_EQ(table.size(), 0u);
        const bool standard = Choose(&table, SmallKey(), trial).standard();
        ASSERT_EQ(standard, trials <= failures);
      }
      ASSERT_EQ(table.size(), 1u);
      for (int call = 0; call < 20; ++call) {
        EXPECT_EQ(Choose(&table, SmallKey(), trial).algos.forward, kSmallH);
      }
      EXPECT_EQ(trials, failures + 1);
    }
  }
}

// So the trials cost less than the calls even if they always fail.
TEST(RnnChoiceTableTest, ATrialThatAlwaysFailsIsRepeatedAfterMoreAndMoreCalls) {
  for (const Status& failure : kForAWhile) {
    RnnChoiceTable table(AlgoPolicy::kHeuristic);
    std::vector<int> calls_with_trials;
    int call = 0;
    const auto trial = [&](const RnnChoice&) {
      calls_with_trials.push_back(call);
      return failure;
    };
    for (; call < 100; ++call) EXPECT_TRUE(Choose(&table, SmallKey(), trial).standard());
    EXPECT_THAT(calls_with_trials, ::testing::ElementsAre(0, 1, 3, 7, 15, 31, 63));
  }
}

TEST(RnnChoiceTableTest, OneNetworkDoesNotWaitForAnother) {
  RnnChoiceTable table(AlgoPolicy::kHeuristic);
  Trials fails({{kSmallH, Dtype::kFloat32, Internal("broken")}}), succeeds;
  for (int call = 0; call < 3; ++call) Choose(&table, SmallKey(), fails.function());
  RnnChoiceKey other = SmallKey();
  other.config.num_units = 32;
  EXPECT_EQ(Choose(&table, other, succeeds.function()).algos.forward, kSmallH);
  EXPECT_EQ(succeeds.tried.size(), 1u);
}

TEST(RnnChoiceTest, EveryCandidateHasACodeThatGivesItBack) {
  for (Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16}) {
    RnnChoiceKey key = SmallKey();
    key.dtype = dtype;
    for (AlgoPolicy policy : {AlgoPolicy::kHeuristic, AlgoPolicy::kStandard,
                              AlgoPolicy::kPersistStatic, AlgoPolicy::kSmallH}) {
      for (const RnnChoice& choice : RnnCandidates(policy, key, kH100)) {
        const int8_t code = CodeOf(choice, dtype);
        EXPECT_NE(code, 0);
        RnnChoice back;
        ASSERT_TRUE(ChoiceOf(code, dtype, &back).ok());
        EXPECT_EQ(back.algos.forward, choice.algos.forward);
        EXPECT_EQ(back.algos.backward, choice.algos.backward);
        EXPECT_EQ(back.compute, choice.compute);
      }
    }
  }
}

TEST(RnnChoiceTest, OtherCodesAreRejected) {
  RnnChoice choice;
  for (int code : {-128, -1, 0, 33, 127}) {
    const Status status = ChoiceOf(static_cast<int8_t>(code), Dtype::kBFloat16, &choice);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << code;
    EXPECT_NE(status.message().find("host_reserved"), std::string::npos) << status.message();
  }
  // Only bfloat16 tensors may be computed in another type.
  EXPECT_EQ(ChoiceOf(17, Dtype::kFloat32, &choice).code(), Code::kInvalidArgument);
  EXPECT_TRUE(ChoiceOf(17, Dtype::kBFloat16, &choice).ok());
}

// The batch sizes at which the choice changes.
class FastestAlgosTest : public ::testing::Test {
 protected:
  // "forward/backward", with the first letter of standard or persist_static, and h for small_h.
  std::string Fastest(RnnMode mode, int64_t units, int64_t batch, bool training,
                      Dtype dtype = Dtype::kFloat32, const DeviceTraits& gpu = kH100) {
    RnnConfig c;
    c.mode = mode;
    c.num_units = c.input_size = units;
    c.batch = batch;
    c.is_training = training;
    return Letters(FastestAlgos(c, dtype, gpu));
  }

  static std::string Letters(const RnnAlgos& algos) {
    const auto letter = [](cudnnRNNAlgo_t algo) {
      return algo == kStandard ? "s" : algo == kStatic ? "p" : algo == kSmallH ? "h" : "?";
    };
    return StrCat(letter(algos.forward), "/", letter(algos.backward));
  }
};

TEST_F(FastestAlgosTest, Float32) {
  const std::tuple<RnnMode, int64_t, int64_t, const char*, const char*> expected[] = {
      // mode, H, B, in inference, in training
      {RnnMode::kLstm, 64, 1, "h/h", "h/h"},   {RnnMode::kLstm, 128, 1, "p/p", "p/p"},
      {RnnMode::kLstm, 128, 2, "h/h", "h/h"},  {RnnMode::kLstm, 160, 4, "p/p", "p/p"},
      {RnnMode::kLstm, 160, 8, "h/s", "p/p"},  {RnnMode::kLstm, 192, 9, "h/s", "h/s"},
      {RnnMode::kLstm, 193, 8, "p/p", "p/p"},  {RnnMode::kLstm, 193, 9, "s/s", "s/s"},
      {RnnMode::kLstm, 768, 8, "p/p", "p/p"},  {RnnMode::kLstm, 1024, 4, "p/p", "p/p"},
      {RnnMode::kLstm, 1024, 5, "s/s", "s/s"}, {RnnMode::kGru, 160, 5, "h/s", "p/p"},
      {RnnMode::kLstm, 1025, 1, "s/s", "s/s"}, {RnnMode::kGru, 128, 1, "h/h", "h/h"},
      {RnnMode::kGru, 256, 8, "p/p", "p/p"},   {RnnMode::kTanh, 200, 1, "h/h", "h/h"},
      {RnnMode::kTanh, 256, 2, "p/p", "p/p"},  {RnnMode::kTanh, 256, 3, "h/h", "h/h"},
      {RnnMode::kRelu, 384, 16, "p/p", "h/s"}, {RnnMode::kRelu, 384, 17, "h/s", "h/s"},
      {RnnMode::kTanh, 385, 16, "s/s", "s/s"},
  };
  for (const auto& [mode, units, batch, inference, training] : expected) {
    EXPECT_EQ(Fastest(mode, units, batch, false), inference) << Name(mode) << units << "," << batch;
    EXPECT_EQ(Fastest(mode, units, batch, true), training) << Name(mode) << units << "," << batch;
  }
}

TEST_F(FastestAlgosTest, Float16OnTensorCores) {
  const auto algo = [&](RnnMode mode, int64_t units, int64_t batch) {
    return Fastest(mode, units, batch, /*training=*/true, Dtype::kFloat16);
  };
  EXPECT_EQ(algo(RnnMode::kLstm, 512, 128), "p/p");
  EXPECT_EQ(algo(RnnMode::kLstm, 512, 136), "s/s");
  EXPECT_EQ(algo(RnnMode::kLstm, 512, 124), "s/s");  // no multiple of 8
  EXPECT_EQ(algo(RnnMode::kLstm, 513, 64), "s/s");
  EXPECT_EQ(algo(RnnMode::kLstm, 513, 8), "p/p");
  EXPECT_EQ(algo(RnnMode::kLstm, 128, 4), "p/p");
  EXPECT_EQ(algo(RnnMode::kLstm, 128, 8), "h/h");
  EXPECT_EQ(algo(RnnMode::kGru, 768, 128), "p/p");
  EXPECT_EQ(algo(RnnMode::kGru, 1024, 32), "p/p");
  EXPECT_EQ(algo(RnnMode::kGru, 1024, 40), "s/s");
}

TEST_F(FastestAlgosTest, WhatOnlyTheStandardAlgorithmTakes) {
  for (Dtype dtype : {Dtype::kFloat64, Dtype::kBFloat16}) {
    EXPECT_EQ(Fastest(RnnMode::kLstm, 64, 1, true, dtype), "s/s");
  }
  RnnConfig c;
  c.num_units = c.input_size = 64;
  c.num_proj = 8;
  c.batch = 1;
  EXPECT_EQ(Letters(FastestAlgos(c, Dtype::kFloat32, kH100)), "s/s");
}

TEST_F(FastestAlgosTest, PersistStaticNeedsALargeGpu) {
  const auto algo = [&](int64_t units, const DeviceTraits& gpu) {
    return Fastest(RnnMode::kLstm, units, 1, false, Dtype::kFloat32, gpu);
  };
  EXPECT_EQ(algo(512, {8, 0, 108}), "p/p");
  EXPECT_EQ(algo(512, {8, 6, 108}), "s/s");
  EXPECT_EQ(algo(512, {8, 9, 46}), "s/s");
  EXPECT_EQ(algo(512, {7, 0, 108}), "s/s");
  EXPECT_EQ(algo(128, {6, 0, 56}), "h/h");
  EXPECT_EQ(algo(128, {5, 2, 24}), "s/s");
}

}  // namespace
}  // namespace rnn_ops::gpu
