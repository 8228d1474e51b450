// How much of the machine this process may use.
#ifndef TF_RNN_OPS_CC_CORE_MACHINE_MACHINE_LIMITS_H_
#define TF_RNN_OPS_CC_CORE_MACHINE_MACHINE_LIMITS_H_

#include <cstdint>
#include <limits>
#include <string>

namespace rnn_ops {

// What the control groups of this process, and all groups above them, allow.
struct CgroupLimits {
  double cpus = std::numeric_limits<double>::infinity();  // CPU time a second of time
  int64_t memory_bytes = std::numeric_limits<int64_t>::max();
};

// Reads versions 1 and 2 of control groups, below `root` in place of / (for tests). What cannot be
// read or understood limits nothing.
CgroupLimits ReadCgroupLimits(const std::string& root = "");

// CPUs that threads can keep busy: those they may run on, or fewer where the quota of CPU time is
// less, rounded down; at least 1.
int UsableCpus(double quota, int affinity);

// The same of this process and its control groups. Read once.
//
// WHY: TensorFlow sizes its pools without a look at the quota, so a container that may use two CPUs
// of 64 has 64 threads, and a program may ask for more threads than there are CPUs. Threads that
// meet at every step then wait for threads that the kernel does not run.
int AvailableCpus();

// Bytes of physical memory, or fewer where the control groups allow less; 0 where unknown.
int64_t AvailableMemory();

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_MACHINE_MACHINE_LIMITS_H_
