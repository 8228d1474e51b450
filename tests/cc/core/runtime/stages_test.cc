#include "cc/core/runtime/stages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace rnn_ops {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Each share computes the sum over all shares of the stage before. So a share that runs too early,
// twice or never changes every later value. The memory is not atomic: if the stages were not
// ordered, the thread sanitizer would report a race.
class Sums {
 public:
  Sums(int64_t shares, int64_t stages)
      : shares_(shares), values_(stages, std::vector<int64_t>(shares)) {}

  void Run(int64_t stage, int64_t share) {
    int64_t sum = share + 1;
    for (int64_t k = 0; stage > 0 && k < shares_; ++k) sum += values_[stage - 1][k];
    values_[stage][share] += sum % 1000003;
  }

  // Computes the sums again in one loop, and compares.
  void ExpectRight() const {
    Sums want(shares_, static_cast<int64_t>(values_.size()));
    for (size_t stage = 0; stage < values_.size(); ++stage) {
      for (int64_t share = 0; share < shares_; ++share) {
        want.Run(static_cast<int64_t>(stage), share);
      }
    }
    EXPECT_EQ(values_, want.values_);
  }

 private:
  const int64_t shares_;
  std::vector<std::vector<int64_t>> values_;
};

// Runs `script(worker)` on a thread for each worker. The script decides when the worker enters, if
// at all.
void RunWorkers(int64_t workers, const std::function<void(int64_t worker)>& script) {
  std::vector<std::thread> threads;
  for (int64_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&script, worker] { script(worker); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(StagesTest, OneWorkerRunsAllSharesInOrder) {
  Stages stages(3);
  std::vector<int64_t> seen;
  stages.Run(1, 2, [&](int64_t stage, int64_t share) { seen.push_back(10 * stage + share); });
  // First the worker's own share, then the shares of absent workers.
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 0, 2, 11, 10, 12}));
}

TEST(StagesTest, NoStageIsNoWork) {
  Stages stages(2);
  stages.Run(0, 0, [](int64_t, int64_t) { FAIL(); });
}

TEST(StagesTest, AWorkerThatEntersAfterTheEndFindsNothing) {
  Stages stages(2);
  Sums sums(2, 5);
  const auto work = [&](int64_t stage, int64_t share) { sums.Run(stage, share); };
  stages.Run(0, 5, work);
  stages.Run(1, 5, work);
  sums.ExpectRight();
}

TEST(StagesTest, AllWillingAtEveryNumberOfWorkers) {
  for (int64_t workers = 1; workers <= 16; ++workers) {
    SCOPED_TRACE(workers);
    Stages stages(workers);
    Sums sums(workers, 300);
    RunWorkers(workers, [&](int64_t worker) {
      stages.Run(worker, 300, [&](int64_t stage, int64_t share) { sums.Run(stage, share); });
    });
    sums.ExpectRight();
  }
}

TEST(StagesTest, SomeNeverEnter) {
  Stages stages(16);
  Sums sums(16, 200);
  RunWorkers(16, [&](int64_t worker) {
    if (worker % 3 != 0) return;
    stages.Run(worker, 200, [&](int64_t stage, int64_t share) { sums.Run(stage, share); });
  });
  sums.ExpectRight();
}

TEST(StagesTest, SomeEnterLate) {
  Stages stages(8);
  Sums sums(8, 2000);
  RunWorkers(8, [&](int64_t worker) {
    std::this_thread::sleep_for(std::chrono::microseconds(300 * worker));
    stages.Run(worker, 2000, [&](int64_t stage, int64_t share) { sums.Run(stage, share); });
  });
  sums.ExpectRight();
}

// A worker enters and then loses its core inside a share. The other workers wait for the end of
// that share, and for no other share of that worker.
TEST(StagesTest, AStalledShareIsWaitedFor) {
  Stages stages(4);
  Sums sums(4, 50);
  std::atomic<bool> stalled{false};
  RunWorkers(4, [&](int64_t worker) {
    stages.Run(worker, 50, [&](int64_t stage, int64_t share) {
      if (worker == 2 && stage == 20 && !stalled.exchange(true)) {
        std::this_thread::sleep_for(milliseconds(20));
      }
      sums.Run(stage, share);
    });
  });
  sums.ExpectRight();
}

// No worker waits for a worker that has not entered. If one did, the test would hang with this
// bound.
TEST(StagesTest, AWorkerThatNeverEnteredCostsNoWait) {
  Stages stages(2, std::chrono::hours(1));
  Sums sums(2, 1000);
  stages.Run(0, 1000, [&](int64_t stage, int64_t share) { sums.Run(stage, share); });
  sums.ExpectRight();
}

// A worker that entered and disappeared costs one wait in all. One wait at each stage would take
// 999 times 100 ms.
TEST(StagesTest, AWorkerThatIsGoneCostsOneWait) {
  Stages stages(2, milliseconds(100));
  Sums sums(2, 1000);
  const auto work = [&](int64_t stage, int64_t share) { sums.Run(stage, share); };
  stages.Run(1, 1, work);
  const auto start = steady_clock::now();
  stages.Run(0, 1000, work);
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(20));
  sums.ExpectRight();
}

// The others wait again for an absent worker that comes back, and that worker runs its own share.
TEST(StagesTest, AWorkerThatComesBackOwnsItsShareAgain) {
  Stages stages(2, milliseconds(1));
  const auto nothing = [](int64_t, int64_t) {};
  stages.Run(1, 1, nothing);
  stages.Run(0, 10, nothing);  // finds worker 1 absent
  std::vector<int64_t> own;
  stages.Run(1, 12, [&](int64_t, int64_t share) { own.push_back(share); });
  EXPECT_EQ(own, (std::vector<int64_t>{1, 0, 1, 0}));
}

// More threads than CPUs: a waiting thread must yield its CPU to the threads that it waits for.
TEST(StagesTest, ManyMoreThreadsThanCpus) {
  constexpr int64_t kWorkers = Stages::kMaxShares;
  Stages stages(kWorkers);
  Sums sums(kWorkers, 100);
  RunWorkers(kWorkers, [&](int64_t worker) {
    stages.Run(worker, 100, [&](int64_t stage, int64_t share) {
      if ((stage + share) % 37 == 0) std::this_thread::sleep_for(milliseconds(1));
      sums.Run(stage, share);
    });
  });
  sums.ExpectRight();
}

}  // namespace
}  // namespace rnn_ops
