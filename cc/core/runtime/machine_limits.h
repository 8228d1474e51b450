// The part of the machine that this process may use.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace rnn_ops {

// The limits that the control groups of this process, and all groups above them, set.
struct CgroupLimits {
  double cpus = std::numeric_limits<double>::infinity();  // CPU seconds per second
  int64_t memory_bytes = std::numeric_limits<int64_t>::max();
};

// Reads versions 1 and 2 of control groups. `root` replaces / in tests. Files that cannot be read
// or understood set no limit.
CgroupLimits ReadCgroupLimits(const std::string& root = "");

// The number of CPUs that threads can keep busy: `affinity` CPUs, or `quota` CPUs rounded down if
// that is less; at least 1.
int UsableCpus(double quota, int affinity);

// UsableCpus() for the affinity and the control groups of this process. The files are read once.
//
// WHY: TensorFlow ignores the quota when it sizes its thread pools, so a container that may use two
// CPUs of 64 has 64 pool threads. A program may also ask for more threads than there are CPUs.
// Threads with a barrier at every step then wait for threads that the kernel does not run.
int AvailableCpus();

// Bytes of physical memory, or of the control groups' limit if that is less; 0 if unknown. Read
// once.
int64_t AvailableMemory();

}  // namespace rnn_ops
