#include "cc/core/runtime/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "cc/core/runtime/float_environment.h"

namespace {
// If true, allocating a `Crew` fails. `Crew` is the only object here with its own alignment.
std::atomic<bool> crews_fail{false};
}  // namespace

void* operator new(std::size_t size, std::align_val_t alignment) {
  const std::size_t align = static_cast<std::size_t>(alignment);
  void* const data =
      crews_fail ? nullptr : std::aligned_alloc(align, (size + align - 1) / align * align);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }

namespace rnn_ops {
namespace {

using Closure = std::function<void()>;

// A pool with a queue. The destructor runs the queued closures, so a closure may start after its
// team has been destroyed.
class Pool {
 public:
  explicit Pool(int num_threads) {
    for (int k = 0; k < num_threads; ++k) threads_.emplace_back([this] { Work(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Team::Schedule schedule() {
    return [this](Closure closure) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        queue_.push_back(std::move(closure));
      }
      wake_.notify_one();
    };
  }

 private:
  void Work() {
    for (;;) {
      Closure closure;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (queue_.empty()) return;
        closure = std::move(queue_.front());
        queue_.pop_front();
      }
      closure();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Closure> queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

// Runs `fn` as an item of a job.
template <typename Fn>
void For(Team* team, int64_t n, Fn fn) {
  team->For(n, n, [](void* arg, int64_t i) { (*static_cast<Fn*>(arg))(i); }, &fn);
}

// Memory without synchronization: a lost, duplicated or stale item changes a sum, and a missing
// happens-before edge is a data race that the thread sanitizer reports.
void RunJobs(Team* team, int num_jobs) {
  std::vector<int64_t> hits(37);
  std::vector<int64_t> expected(hits.size());
  for (int job = 0; job < num_jobs; ++job) {
    const int64_t n = job % static_cast<int>(hits.size() + 1);
    // Each job has a new closure on the stack, so a helper that runs a late item reads a dead
    // frame.
    const int64_t weight = 1000003LL * job + 1;
    For(team, n, [&hits, weight](int64_t i) { hits[i] += weight * (i + 1); });
    for (int64_t i = 0; i < n; ++i) expected[i] += weight * (i + 1);
    ASSERT_EQ(hits, expected) << "job " << job;
  }
}

TEST(Team, ThousandsOfShortJobs) {
  for (const int num_threads : {1, 2, 3, 8}) {
    Pool pool(num_threads - 1);
    Team team(num_threads, pool.schedule());
    EXPECT_EQ(team.num_threads(), num_threads);
    RunJobs(&team, 5000);
  }
}

TEST(Team, ManyShortLivedTeamsOnOnePool) {
  Pool pool(2);
  for (int k = 0; k < 500; ++k) {
    Team team(4, pool.schedule());
    RunJobs(&team, 1 + k % 7);
  }
}

TEST(Team, TeamsOfSeveralThreadsShareAPool) {
  Pool pool(2);
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k) {
    callers.emplace_back([&pool] {
      for (int round = 0; round < 20; ++round) {
        Team team(3, pool.schedule());
        RunJobs(&team, 100);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Team, HelpersThatWentHomeAreCalledAgain) {
  std::vector<std::thread> helpers;
  Team team(3, [&](Closure closure) { helpers.emplace_back(std::move(closure)); });
  for (size_t round = 1; round <= 3; ++round) {
    For(&team, 3, [](int64_t) {});
    EXPECT_EQ(helpers.size(), 2 * round);
    for (std::thread& helper : helpers) {
      if (helper.joinable()) helper.join();  // the helper ends because there is no work
    }
  }
}

TEST(Team, AHelperThatWasRefusedIsCalledOnceForTheNextJob) {
  int asked = 0;
  Team team(2, [&](Closure) {
    if (++asked == 1) throw std::bad_alloc();
  });
  For(&team, 2, [](int64_t) {});
  EXPECT_EQ(asked, 1);
  For(&team, 2, [](int64_t) {});
  EXPECT_EQ(asked, 2);
}

TEST(Team, WithoutAPoolTheCallerWorksAlone) {
  Team team(8, nullptr);
  EXPECT_EQ(team.num_threads(), 1);
  RunJobs(&team, 100);
  Team none(0, [](Closure) { FAIL() << "a team of one schedules no helper"; });
  EXPECT_EQ(none.num_threads(), 1);
  RunJobs(&none, 100);
}

TEST(Team, AsksForNoMoreHelpersThanAJobIsWorth) {
  int scheduled = 0;
  Team team(8, [&scheduled](Closure) { ++scheduled; });
  const auto nothing = [](void*, int64_t) {};
  team.For(100, 1, nothing, nullptr);
  EXPECT_EQ(scheduled, 0) << "only the caller works";
  team.For(100, 3, nothing, nullptr);
  EXPECT_EQ(scheduled, 2);
  team.For(2, 100, nothing, nullptr);
  EXPECT_EQ(scheduled, 2) << "the two helpers that were scheduled are enough for two items";
  team.For(100, 100, nothing, nullptr);
  EXPECT_EQ(scheduled, 7);
}

TEST(Team, ALongItemOfAHelperIsWaitedFor) {
  Pool pool(1);
  Team team(2, pool.schedule());
  for (int job = 0; job < 5; ++job) {
    std::atomic<int> inside{0};
    std::atomic<int> ended{0};
    const std::thread::id caller = std::this_thread::get_id();
    For(&team, 2, [&](int64_t) {
      inside.fetch_add(1);
      while (inside.load() < 2) std::this_thread::yield();
      if (std::this_thread::get_id() != caller) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      ended.fetch_add(1);
    });
    EXPECT_EQ(ended.load(), 2);
  }
}

// Halves and doubles the smallest denormal number in all threads of a team, including the caller.
TEST(Team, HelpersFlushDenormals) {
  Pool pool(3);
  Team team(4, pool.schedule());
  const ScopedFloatEnvironment environment;
  volatile float tiny = 1e-38f;
  std::vector<float> got(4, 1.0f);
  std::atomic<int> inside{0};
  For(&team, 4, [&](int64_t i) {
    inside.fetch_add(1);
    while (inside.load() < 4) std::this_thread::yield();
    const float tenth = tiny * 0.1f;
    got[i] = tenth * 1e10f;
  });
  EXPECT_EQ(got, std::vector<float>(4, 0.0f));
}

TEST(FloatEnvironment, IsThatOfBeforeAfterwards) {
  volatile float tiny = 1e-38f;
  {
    const ScopedFloatEnvironment environment;
    volatile float tenth = tiny * 0.1f;
    EXPECT_EQ(tenth * 1e10f, 0.0f);
  }
  volatile float tenth = tiny * 0.1f;
  EXPECT_GT(tenth * 1e10f, 0.0f);
}

TEST(Team, HelpersThatNeverStart) {
  std::vector<Closure> never;
  {
    Team team(4, [&never](Closure closure) { never.push_back(std::move(closure)); });
    RunJobs(&team, 1000);
  }
  EXPECT_EQ(never.size(), 3u) << "a helper that has not started is not scheduled again";
}

TEST(Team, HelpersThatAreDropped) {
  Team team(4, [](Closure) {});
  RunJobs(&team, 1000);
}

TEST(Team, APoolWithoutMemoryForAClosure) {
  Team team(4, [](Closure) { throw std::bad_alloc(); });
  std::vector<int> done(8);
  for (int round = 0; round < 2; ++round) {
    team.For(
        8, 4, [](void* arg, int64_t i) { ++(*static_cast<std::vector<int>*>(arg))[i]; }, &done);
  }
  EXPECT_EQ(done, std::vector<int>(8, 2));
}

TEST(Team, WithoutMemoryForACrewTheCallerWorksAlone) {
  Pool pool(2);
  Team team(3, pool.schedule());
  for (const bool fails : {true, false}) {
    crews_fail = fails;
    RunJobs(&team, 100);
  }
}

TEST(Team, HelpersThatStartAfterTheTeamIsGone) {
  std::vector<Closure> late;
  {
    Team team(4, [&late](Closure closure) { late.push_back(std::move(closure)); });
    RunJobs(&team, 10);
  }
  std::vector<std::thread> threads;
  for (Closure& closure : late) threads.emplace_back(std::move(closure));
  for (std::thread& thread : threads) thread.join();
}

TEST(Team, HelpersThatStartBetweenTwoJobs) {
  std::vector<Closure> late;
  std::vector<std::thread> threads;
  {
    Team team(4, [&late](Closure closure) { late.push_back(std::move(closure)); });
    RunJobs(&team, 10);
    for (Closure& closure : late) threads.emplace_back(std::move(closure));
    late.clear();
    RunJobs(&team, 3000);
    // Idle helpers may have been scheduled again; those closures never run.
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Team, PoolThatRunsClosuresAtOnce) {
  int64_t scheduled = 0;
  Team team(4, [&scheduled](Closure closure) {
    ++scheduled;
    closure();
  });
  RunJobs(&team, 200);
  EXPECT_GE(scheduled, 3);
}

// Both threads must be inside an item at the same time, or the test hangs. So helpers do work.
TEST(Team, HelpersTakePart) {
  Pool pool(1);
  Team team(2, pool.schedule());
  for (int job = 0; job < 20; ++job) {
    std::atomic<int> inside{0};
    For(&team, 2, [&inside](int64_t) {
      inside.fetch_add(1);
      while (inside.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(inside.load(), 2);
  }
}

TEST(Team, HelpersReturnToThePoolWhenIdleAndComeBack) {
  Pool pool(1);
  std::atomic<int> scheduled{0};
  std::atomic<int> ended{0};
  const Team::Schedule inner = pool.schedule();
  Team team(2, [&](Closure closure) {
    scheduled.fetch_add(1);
    inner([&ended, closure = std::move(closure)] {
      closure();
      ended.fetch_add(1);
    });
  });
  const auto meet = [&team] {
    std::atomic<int> inside{0};
    For(&team, 2, [&inside](int64_t) {
      inside.fetch_add(1);
      while (inside.load() < 2) std::this_thread::yield();
    });
  };
  meet();
  while (ended.load() < scheduled.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int before = scheduled.load();
  meet();
  EXPECT_GT(scheduled.load(), before);
}

TEST(Team, ItemsSeeTheCallersWritesAndTheCallerSeesTheirs) {
  Pool pool(3);
  Team team(4, pool.schedule());
  std::vector<int64_t> in(1000), out(1000);
  for (int job = 0; job < 300; ++job) {
    std::iota(in.begin(), in.end(), job);
    For(&team, 1000, [&in, &out](int64_t i) { out[i] = 2 * in[i]; });
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(out[i], 2 * (i + job));
  }
}

TEST(Team, IsWarmSoonAfterTheEndOfTheLast) {
  const auto no_helper = [](Closure) {};
  {
    const Team last(2, no_helper);
  }
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  const Team first(2, no_helper);
  const Team second(2, no_helper);
  EXPECT_FALSE(first.warm());
  EXPECT_FALSE(second.warm()) << "the first team has not ended";
  // The thread may lose its CPU between two teams, but not every time.
  int warm = 0;
  for (int k = 0; k < 1000; ++k) warm += Team(2, no_helper).warm();
  EXPECT_GT(warm, 0);
}

TEST(Team, OfOneThreadIsNoneOfTheProcess) {
  const auto no_helper = [](Closure) {};
  int warm = 0;
  for (int k = 0; k < 1000; ++k) {
    {
      const Team last(2, no_helper);
    }
    warm += Team(1, no_helper).warm();
  }
  EXPECT_EQ(warm, 0);
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  {
    const Team alone(1, no_helper);
  }
  EXPECT_FALSE(Team(2, no_helper).warm()) << "the team before had no threads to keep awake";
}

constexpr std::chrono::microseconds kStay{100};

TEST(Team, HowLongHelpersStayMayBeSet) {
  const auto us = [](const char* setting, bool eager) { return StayTime(setting, eager).count(); };
  for (const char* none : {static_cast<const char*>(nullptr), "", "-1", "a", "1.5", "5 us",
                           "1000001", "99999999999999999999"}) {
    EXPECT_EQ(us(none, true), 100);
    EXPECT_EQ(us(none, false), 0);
  }
  for (bool eager : {false, true}) {
    EXPECT_EQ(us("0", eager), 0);
    EXPECT_EQ(us("1000000", eager), 1000000);
  }
}

// Runs teams with one job of two items, and counts the helpers that the teams schedule on `pool`.
class Teams {
 public:
  explicit Teams(Pool* pool, std::chrono::microseconds stay = kStay)
      : schedule_(pool->schedule()), stay_(stay) {}

  void Run(int count, int num_threads) {
    for (int k = 0; k < count; ++k) {
      const auto ask = [this](Closure closure) {
        ++asked_;
        schedule_(std::move(closure));
      };
      Team team(num_threads, ask, stay_);
      RunJobs(&team, 3);  // jobs with 0, 1 and 2 items
    }
  }
  int asked() const { return asked_; }

 private:
  const Team::Schedule schedule_;
  const std::chrono::microseconds stay_;
  int asked_ = 0;
};

// Waits until the helpers of earlier tests no longer count as close.
void RestForLong() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

TEST(Team, HelpersWaitForATeamThatFollowsAtOnce) {
  RestForLong();
  Pool pool(1);
  Teams teams(&pool);
  teams.Run(2000, 2);
  // A helper is scheduled again each time the machine keeps the caller or the helper from its CPU.
  EXPECT_LT(teams.asked(), 1000);
}

TEST(Team, HelpersWaitAsLongAsTheyAreAskedTo) {
  RestForLong();
  Pool pool(1);
  Teams teams(&pool, std::chrono::seconds(1));
  for (int k = 0; k < 50; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    teams.Run(1, 2);
  }
  EXPECT_LT(teams.asked(), 25) << "two milliseconds are between two calls";
}

TEST(Team, HelpersGoHomeBeforeATeamThatComesLater) {
  Pool pool(1);
  Teams teams(&pool);
  for (int k = 0; k < 20; ++k) {
    RestForLong();
    teams.Run(1, 2);
  }
  EXPECT_EQ(teams.asked(), 20);
}

TEST(Team, HelpersGoHomeWhereTheyAreNotToStay) {
  Pool pool(1);
  Teams teams(&pool, std::chrono::microseconds(0));
  teams.Run(200, 2);
  EXPECT_EQ(teams.asked(), 200);
}

TEST(Team, HelpersGoHomeWhereAnotherTeamIsAlive) {
  RestForLong();
  const Team other(2, [](Closure) {});
  Pool pool(1);
  Teams teams(&pool);
  teams.Run(200, 2);
  EXPECT_EQ(teams.asked(), 200);
}

TEST(Team, ACrewServesTeamsOfItsSizeAlone) {
  RestForLong();
  Pool pool(2);
  Teams teams(&pool);
  for (int round = 0; round < 200; ++round) {
    teams.Run(1, 2);
    teams.Run(1, 3);
    teams.Run(1, 1);  // one thread needs no helper
  }
  EXPECT_EQ(teams.asked(), 400);
}

TEST(Team, ACrewPassesFromThreadToThread) {
  Pool pool(1);
  for (int round = 0; round < 50; ++round) {
    std::thread([&pool] {
      for (int k = 0; k < 10; ++k) {
        Team team(2, pool.schedule(), kStay);
        RunJobs(&team, 5);
      }
    }).join();
  }
}

TEST(Team, HelpersThatWereDroppedAreAskedForAgainAfterARest) {
  int asked = 0;
  const auto run = [&asked](int count) {
    for (int k = 0; k < count; ++k) {
      Team team(2, [&asked](Closure) { ++asked; }, kStay);
      RunJobs(&team, 3);
    }
  };
  RestForLong();
  run(2000);
  EXPECT_LT(asked, 1000) << "the helpers wait for the next team";
  asked = 0;
  RestForLong();
  run(1);
  EXPECT_EQ(asked, 1);
  run(2000);
  asked = 0;
  RestForLong();
  for (int k = 0; k < 10; ++k) RunJobs(std::make_unique<Team>(1, nullptr).get(), 1);
  run(1);
  EXPECT_EQ(asked, 1) << "teams without helpers came first";
}

TEST(Team, EmptyJobs) {
  RestForLong();
  Pool pool(1);
  Team team(2, pool.schedule(), kStay);
  const auto never = [](int64_t) { FAIL() << "there is no item"; };
  For(&team, 0, never);
  For(&team, -3, never);
}

}  // namespace
}  // namespace rnn_ops
