// Tests plans, the positions of weights, and the caches.
#include "cc/gpu/cudnn/rnn_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cc/gpu/memory/lru_cache.h"
#include "tests/cc/gpu/fake_cudnn.h"
#include "tests/cc/gpu/host_device_ops.h"

namespace rnn_ops::gpu {
namespace {

RnnConfig SmallConfig() {
  RnnConfig config;
  config.num_units = 4;
  config.input_size = 3;
  config.max_time = 5;
  config.batch = 2;
  return config;
}

RnnPlanKey SmallKey() {
  RnnPlanKey key;
  key.network = NetworkOf(SmallConfig());
  return key;
}

TEST(LruCacheTest, KeepsWhatWasUsedLast) {
  LruCache<int, int> cache(2);
  const auto value = [](int v) { return std::make_shared<const int>(v); };
  EXPECT_EQ(cache.Find(1), nullptr);
  cache.Insert(1, value(10));
  cache.Insert(2, value(20));
  ASSERT_NE(cache.Find(1), nullptr);  // now 2 is the least recently used
  cache.Insert(3, value(30));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_EQ(*cache.Find(1), 10);
  EXPECT_EQ(*cache.Find(3), 30);
}

TEST(LruCacheTest, TheFirstOfTwoValuesStays) {
  LruCache<int, int> cache(2);
  cache.Insert(1, std::make_shared<const int>(10));
  EXPECT_EQ(*cache.Insert(1, std::make_shared<const int>(11)), 10);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(LruCacheTest, AHeldValueOutlivesItsPlace) {
  LruCache<int, int> cache(1);
  const auto held = cache.Insert(1, std::make_shared<const int>(10));
  cache.Insert(2, std::make_shared<const int>(20));
  EXPECT_EQ(*held, 10);
}

class RnnPlanTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(handle_.Create(cudnn_, "Create").ok()); }
  void TearDown() override { fake::TheQuirks() = fake::Quirks(); }

  Status Get(RnnPlanCache* cache, const RnnPlanKey& key, RnnPlan::Pointer* plan) {
    return cache->Get(handle_.get(), key, params_, plan);
  }

  const CudnnApi cudnn_ = fake::FakeCudnn();
  CudnnHandle handle_;
  char params_[256];  // an address
};

TEST_F(RnnPlanTest, EveryFieldOfTheKeyTellsPlansApart) {
  const RnnPlanKey base = SmallKey();
  std::vector<RnnPlanKey> keys = {base};
  const auto with = [&](auto change) {
    RnnPlanKey key = base;
    change(&key);
    keys.push_back(key);
  };
  with([](RnnPlanKey* k) { k->device = 1; });
  with([](RnnPlanKey* k) { k->network.mode = RnnMode::kGru; });
  with([](RnnPlanKey* k) { k->network.input_mode = InputMode::kSkip; });
  with([](RnnPlanKey* k) { k->network.direction = Direction::kBidirectional; });
  with([](RnnPlanKey* k) { k->network.num_layers = 2; });
  with([](RnnPlanKey* k) { k->network.num_units = 5; });
  with([](RnnPlanKey* k) { k->network.input_size = 4; });
  with([](RnnPlanKey* k) { k->network.num_proj = 2; });
  with([](RnnPlanKey* k) { k->network.batch = 3; });
  with([](RnnPlanKey* k) { k->compute = Dtype::kFloat64; });
  with([](RnnPlanKey* k) { k->allow_tf32 = true; });
  with([](RnnPlanKey* k) { k->algo = CUDNN_RNN_ALGO_PERSIST_STATIC; });
  EXPECT_EQ(std::set<RnnPlanKey>(keys.begin(), keys.end()).size(), keys.size());
}

TEST_F(RnnPlanTest, CallsOfOneNetworkShareItsPlan) {
  RnnConfig config = SmallConfig();
  const RnnConfig network = NetworkOf(config);
  config.max_time = 100;
  config.dropout = 0.5f;
  config.is_training = config.time_major = false;
  RnnPlanKey one = SmallKey(), other = SmallKey();
  one.network = network;
  other.network = NetworkOf(config);
  EXPECT_FALSE(one < other || other < one);
}

TEST_F(RnnPlanTest, TheSamePlanForTheSameNetworkAndABound) {
  RnnPlanCache cache(&cudnn_, 3);
  RnnPlanKey key = SmallKey();
  RnnPlan::Pointer first, again;
  ASSERT_TRUE(Get(&cache, key, &first).ok());
  ASSERT_TRUE(Get(&cache, key, &again).ok());
  EXPECT_EQ(first, again);
  const int64_t objects = fake::LiveObjects();
  for (int64_t batch = 6; batch < 50; ++batch) {
    key.network.batch = batch;
    ASSERT_TRUE(Get(&cache, key, &again).ok());
  }
  EXPECT_EQ(cache.size(), 3u);
  // The first plan is held by the test. The cache has three more plans, with four descriptors each.
  EXPECT_LE(fake::LiveObjects(), objects + 12);
}

TEST_F(RnnPlanTest, PlansOfAllBatchesShareTheWeightMap) {
  RnnPlanCache cache(&cudnn_, 4);
  RnnPlanKey key = SmallKey();
  RnnPlan::Pointer first, second;
  ASSERT_TRUE(Get(&cache, key, &first).ok());
  key.network.batch = 7;
  ASSERT_TRUE(Get(&cache, key, &second).ok());
  EXPECT_EQ(&first->weights(), &second->weights());
  key.network.num_units = 5;
  ASSERT_TRUE(Get(&cache, key, &second).ok());
  EXPECT_NE(&first->weights(), &second->weights());
}

TEST_F(RnnPlanTest, TheDocumentedLayoutNeedsNoCopies) {
  RnnPlanCache cache(&cudnn_, 4);
  RnnPlanKey key = SmallKey();
  key.network.num_layers = 2;
  key.network.direction = Direction::kBidirectional;
  RnnPlan::Pointer plan;
  ASSERT_TRUE(Get(&cache, key, &plan).ok());
  EXPECT_TRUE(plan->weights().identical());
  ASSERT_EQ(plan->weights().runs().size(), 1u);
  EXPECT_EQ(plan->weights().our_bytes(), ParamsSize(key.network) * 4);
  EXPECT_EQ(plan->weights().cudnn_bytes(), plan->weights().our_bytes());
}

TEST_F(RnnPlanTest, AnotherLayoutIsCopiedThereAndBack) {
  fake::TheQuirks().padded_weights = true;
  RnnPlanCache cache(&cudnn_, 4);
  RnnPlanKey key = SmallKey();
  key.network.num_layers = 2;
  RnnPlan::Pointer plan;
  ASSERT_TRUE(Get(&cache, key, &plan).ok());
  const WeightMap& map = plan->weights();
  EXPECT_FALSE(map.identical());
  EXPECT_GT(map.cudnn_bytes(), map.our_bytes());
  EXPECT_GT(map.runs().size(), 1u);

  std::vector<char> ours(map.our_bytes()), theirs(map.cudnn_bytes(), '\x7f'), back(ours.size());
  for (size_t k = 0; k < ours.size(); ++k) ours[k] = static_cast<char>(k % 251 + 1);
  const fake::HostDeviceOps ops;
  ASSERT_TRUE(map.ToCudnn(ops, nullptr, ours.data(), theirs.data()).ok());
  ASSERT_TRUE(map.FromCudnn(ops, nullptr, theirs.data(), back.data()).ok());
  EXPECT_EQ(back, ours);
  EXPECT_NE(theirs, ours);
  EXPECT_EQ(std::count(theirs.begin(), theirs.end(), '\x7f'),
            std::count(ours.begin(), ours.end(), '\x7f'))
      << "the gaps are not zero";
}

}  // namespace
}  // namespace rnn_ops::gpu
