// Tests how many cuDNN handles a pool has, and which.
#include "cc/gpu/libraries/handle_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/cc/gpu/fake_cudnn.h"

namespace rnn_ops::gpu {
namespace {

constexpr int kMost = HandlePool::kMostPerDevice;

class HandlePoolTest : public ::testing::Test {
 protected:
  void TearDown() override {
    pool_.reset();
    EXPECT_EQ(fake::LiveObjects(), 0);
  }

  // The handle of a stream, which is free again when the function returns.
  cudnnHandle_t Use(int stream, int device = 0) {
    HandlePool::Lease lease;
    const Status status = pool_->Acquire(device, &streams_[stream], &lease);
    EXPECT_TRUE(status.ok()) << status.message();
    return lease.get();
  }

  const CudnnApi cudnn_ = fake::FakeCudnn();
  std::unique_ptr<HandlePool> pool_ = std::make_unique<HandlePool>(&cudnn_);
  char streams_[200] = {};
};

TEST_F(HandlePoolTest, AStreamKeepsItsHandle) {
  const cudnnHandle_t first = Use(0);
  for (int stream = 1; stream < kMost; ++stream) Use(stream);
  EXPECT_EQ(fake::LiveObjects(), kMost);
  EXPECT_EQ(Use(0), first);
  EXPECT_EQ(fake::LiveObjects(), kMost);
}

// JAX makes streams all the time.
TEST_F(HandlePoolTest, ManyStreamsHaveFewHandles) {
  for (int stream = 0; stream < 200; ++stream) {
    Use(stream);
    Use(0);  // not the one that was idle for the longest time
    EXPECT_LE(fake::LiveObjects(), kMost);
  }
  const cudnnHandle_t first = Use(0);
  for (int stream = 1; stream < kMost; ++stream) Use(stream);
  EXPECT_EQ(Use(0), first);
}

TEST_F(HandlePoolTest, EachDeviceHasItsOwn) {
  for (int stream = 0; stream < 200; ++stream) Use(stream, stream % 2);
  EXPECT_EQ(fake::LiveObjects(), 2 * kMost);
  EXPECT_NE(Use(0, 0), Use(0, 1));
}

TEST_F(HandlePoolTest, AHandleInUseOrAwaitedIsNotDestroyed) {
  std::vector<HandlePool::Lease> leases(2 * kMost);
  for (int k = 0; k < 2 * kMost; ++k) {
    ASSERT_TRUE(pool_->Acquire(0, &streams_[k], &leases[k]).ok());
  }
  EXPECT_EQ(fake::LiveObjects(), 2 * kMost);
  cudnnHandle_t got = nullptr;
  const cudnnHandle_t want = leases[0].get();
  std::thread waiting([&] { got = Use(0); });
  for (int stream = 2 * kMost; stream < 200; ++stream) Use(stream);
  EXPECT_LE(fake::LiveObjects(), 2 * kMost + 1);
  leases.clear();
  waiting.join();
  EXPECT_EQ(got, want);
}

// All overlapping calls together hold the device memory of one handle only.
TEST_F(HandlePoolTest, UsersOfAStreamTakeTurnsWithItsOneHandle) {
  std::atomic<int> users{0}, most{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      HandlePool::Lease lease;
      EXPECT_TRUE(pool_->Acquire(0, &streams_[0], &lease).ok());
      const int now = ++users;
      if (now > most) most = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --users;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(fake::LiveObjects(), 1);
}

TEST_F(HandlePoolTest, AFailureLeavesTheTurnToTheNext) {
  static int creations;
  creations = 0;
  CudnnApi failing = cudnn_;
  failing.Create = [](cudnnHandle_t* handle) {
    return creations++ == 0 ? CUDNN_STATUS_NOT_INITIALIZED : fake::FakeCudnn().Create(handle);
  };
  HandlePool pool(&failing);
  int stream;
  {
    HandlePool::Lease lease;
    EXPECT_FALSE(pool.Acquire(0, &stream, &lease).ok());
  }
  HandlePool::Lease lease;
  EXPECT_TRUE(pool.Acquire(0, &stream, &lease).ok());
}

}  // namespace
}  // namespace rnn_ops::gpu
