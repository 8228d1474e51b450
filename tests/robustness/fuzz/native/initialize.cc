// Checks before the first input of a target.
#include <cstdlib>

#include "cc/cpu/dispatch/dispatch.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/guarded_buffer.h"
#include "tests/robustness/fuzz/native/drawn.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // A failed expectation of the harness must end the process.
  ::testing::GTEST_FLAG(throw_on_failure) = true;
  rnn_ops::cpu::testing::GuardedBuffer buffer(8, 0);
  rnn_ops::fuzzing::RequirePoisoned(buffer.data() + buffer.size(), "a read of a guard is seen");
  const char* wanted = std::getenv("TF_RNN_OPS_CPU_ISA");
  rnn_ops::fuzzing::Require(wanted != nullptr && rnn_ops::cpu::Dispatch().isa == wanted,
                            "the kernels are those of TF_RNN_OPS_CPU_ISA");
  return 0;
}
