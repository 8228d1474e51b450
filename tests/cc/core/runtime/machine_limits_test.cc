#include "cc/core/runtime/machine_limits.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

namespace rnn_ops {
namespace {

constexpr double kNoCpuLimit = std::numeric_limits<double>::infinity();
constexpr int64_t kNoMemoryLimit = std::numeric_limits<int64_t>::max();

// A folder in place of / with the files of a system.
class MachineLimitsTest : public ::testing::Test {
 protected:
  MachineLimitsTest() {
    std::string pattern = ::testing::TempDir() + "/rootXXXXXX";
    root_ = mkdtemp(pattern.data());
  }

  void Write(const std::string& path, const std::string& text) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      mkdir((root_ + path.substr(0, slash)).c_str(), 0755);
    }
    std::ofstream(root_ + path) << text;
  }

  void Expect(double cpus, int64_t memory) {
    const CgroupLimits limits = ReadCgroupLimits(root_);
    EXPECT_EQ(limits.cpus, cpus);
    EXPECT_EQ(limits.memory_bytes, memory);
  }

  std::string root_;
};

constexpr char kMountsV2[] =
    "22 28 0:21 / /proc rw,nosuid - proc proc rw\n"
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev - cgroup2 cgroup2 rw,nsdelegate\n";

// In a container: the hierarchies are mounted from the container's group.
constexpr char kMountsV1InContainer[] =
    "40 39 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
    "41 39 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    "42 39 0:32 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n";

TEST_F(MachineLimitsTest, NothingToReadLimitsNothing) { Expect(kNoCpuLimit, kNoMemoryLimit); }

TEST_F(MachineLimitsTest, Version2) {
  Write("/proc/self/mountinfo", kMountsV2);
  Write("/proc/self/cgroup", "0::/kubepods/pod1/c1\n");
  Write("/sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "150000 100000\n");
  Write("/sys/fs/cgroup/kubepods/pod1/c1/memory.max", "1073741824\n");
  Expect(1.5, 1 << 30);
}

TEST_F(MachineLimitsTest, AGroupAboveMayAllowLess) {
  Write("/proc/self/mountinfo", kMountsV2);
  Write("/proc/self/cgroup", "0::/pod/c1\n");
  Write("/sys/fs/cgroup/pod/c1/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/pod/c1/memory.max", "max\n");
  Write("/sys/fs/cgroup/pod/cpu.max", "400000 100000\n");
  Write("/sys/fs/cgroup/pod/memory.max", "2147483648\n");
  Expect(4, int64_t{2} << 30);
}

TEST_F(MachineLimitsTest, TheLevelAtWhichTheKernelSlowsDownIsALimit) {
  Write("/proc/self/mountinfo", kMountsV2);
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/b/memory.high", "3000000\n");
  Write("/sys/fs/cgroup/a/memory.max", "4000000\n");
  Write("/sys/fs/cgroup/a/memory.high", "max\n");
  Expect(kNoCpuLimit, 3000000);
}

// proc(5): a space is \040 and a backslash is \134.
TEST_F(MachineLimitsTest, MountPointsWithOddNames) {
  Write("/proc/self/mountinfo",
        "30 23 0:26 /my\\040pods /sys/fs/c\\040g\\134x rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "0::/my pods/one\n");
  Write("/sys/fs/c g\\x/one/memory.max", "1048576\n");
  Expect(kNoCpuLimit, 1 << 20);
}

// The kernel never writes such a line. The characters after the backslash are not an escape.
TEST_F(MachineLimitsTest, AnEscapeThatIsCutOff) {
  Write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cg\\04 rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "0::/one\n");
  Write("/sys/fs/cg\\04/one/memory.max", "1048576\n");
  Expect(kNoCpuLimit, 1 << 20);
}

// A container with its own namespace sees its group as the top.
TEST_F(MachineLimitsTest, Version2SeenFromInside) {
  Write("/proc/self/mountinfo", kMountsV2);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  Expect(2, kNoMemoryLimit);
}

TEST_F(MachineLimitsTest, Version1InAContainer) {
  Write("/proc/self/mountinfo", kMountsV1InContainer);
  Write("/proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc/job\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  Expect(0.5, 1 << 29);
}

TEST_F(MachineLimitsTest, Version1WithoutLimits) {
  Write("/proc/self/mountinfo", kMountsV1InContainer);
  Write("/proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Expect(kNoCpuLimit, kNoMemoryLimit);
}

// If both versions are mounted, a controller of version 1 is not in version 2.
TEST_F(MachineLimitsTest, BothVersions) {
  Write("/proc/self/mountinfo",
        std::string(kMountsV1InContainer) +
            "50 39 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/x\n");
  Write("/sys/fs/cgroup/unified/x/cpu.max", "100000 100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "700000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Expect(7, kNoMemoryLimit);
}

// A group next to the mounted group, whose name only starts with the same text, and malformed
// paths.
TEST_F(MachineLimitsTest, PathsThatAreNotSeenHere) {
  Write("/proc/self/mountinfo", kMountsV1InContainer);
  for (const char* path : {"/docker/abcd", "c1", "", "/", "//"}) {
    SCOPED_TRACE(path);
    Write("/proc/self/cgroup", std::string("3:cpu,cpuacct:") + path + "\n");
    Expect(kNoCpuLimit, kNoMemoryLimit);
  }
}

TEST_F(MachineLimitsTest, WhatIsNoNumberLimitsNothing) {
  Write("/proc/self/mountinfo", std::string("\nnonsense\n1 2 3\n") + kMountsV2);
  Write("/proc/self/cgroup", "garbage\n::\n0::/c\n");
  for (const char* text : {"", "x y", "-5 100000", "100000", "100000 0", "nan nan"}) {
    Write("/sys/fs/cgroup/c/cpu.max", text);
    Write("/sys/fs/cgroup/c/memory.max", "12x");
    SCOPED_TRACE(text);
    Expect(kNoCpuLimit, kNoMemoryLimit);
  }
}

TEST_F(MachineLimitsTest, AGroupBelowTheMountedOne) {
  Write("/proc/self/mountinfo", "30 23 0:26 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("/sys/fs/cgroup/b/cpu.max", "150000 100000\n");
  Write("/sys/fs/cgroup/ab/cpu.max", "250000 100000\n");
  Write("/proc/self/cgroup", "0::/a/b\n");
  Expect(1.5, kNoMemoryLimit);
  // Not below /a, although the text starts with /a.
  Write("/proc/self/cgroup", "0::/ab\n");
  Expect(2.5, kNoMemoryLimit);
}

TEST_F(MachineLimitsTest, LinesThatAreNoGroups) {
  Write("/proc/self/mountinfo", kMountsV2);
  Write("/proc/self/cgroup", "nonsense\n0:nonsense\n0:\n0::/a\n");
  Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  Expect(1.5, kNoMemoryLimit);
}

TEST_F(MachineLimitsTest, AQuotaWithoutAPeriodLimitsNothing) {
  Write("/proc/self/mountinfo", kMountsV2);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "150000\n");
  Expect(kNoCpuLimit, kNoMemoryLimit);
}

TEST_F(MachineLimitsTest, ALimitMayBeOne) {
  Write("/proc/self/mountinfo", kMountsV2);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "1 1\n");
  Write("/sys/fs/cgroup/memory.max", "1\n");
  Expect(1, 1);
}

TEST(UsableCpus, IsTheSmallerOfBoth) {
  EXPECT_EQ(UsableCpus(kNoCpuLimit, 8), 8);
  EXPECT_EQ(UsableCpus(8, 8), 8);
  EXPECT_EQ(UsableCpus(7.9, 8), 7);
  EXPECT_EQ(UsableCpus(1.5, 8), 1);
  EXPECT_EQ(UsableCpus(0.2, 8), 1);
  EXPECT_EQ(UsableCpus(64, 2), 2);
}

TEST(ThisMachine, HasACpuAndMemory) {
  // With a single CPU the threads of this process cannot use another CPU. The number is read only
  // once.
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(AvailableCpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
  EXPECT_GT(AvailableMemory(), 1 << 26);
}

}  // namespace
}  // namespace rnn_ops
