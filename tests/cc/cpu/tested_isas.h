// The instruction sets that tests run.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "cc/cpu/dispatch/variant.h"

namespace rnn_ops::cpu::testing {

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

}  // namespace rnn_ops::cpu::testing
