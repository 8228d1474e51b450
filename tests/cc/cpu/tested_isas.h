// The instruction sets that tests run.
#ifndef TF_RNN_OPS_TESTS_CC_CPU_TESTED_ISAS_H_
#define TF_RNN_OPS_TESTS_CC_CPU_TESTED_ISAS_H_

#include <cstdlib>
#include <string>
#include <vector>

#include "cc/cpu/dispatch/variant.h"

namespace rnn_ops {
namespace cpu {
namespace testing {

// The instruction sets of this machine, up to the one that TF_RNN_OPS_CPU_ISA names.
inline std::vector<Isa> TestedIsas() {
  const char* last = std::getenv("TF_RNN_OPS_CPU_ISA");
  std::vector<Isa> isas;
  for (Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) break;
    isas.push_back(isa);
    if (last != nullptr && std::string(last) == Name(isa)) break;
  }
  return isas;
}

}  // namespace testing
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_CC_CPU_TESTED_ISAS_H_
