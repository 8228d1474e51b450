// Which instruction set to use, and the search for its shared object. dispatch.h is for users; here
// everything that depends on the machine is an argument, so that tests can choose it.
#ifndef TF_RNN_OPS_CC_CPU_VARIANT_H_
#define TF_RNN_OPS_CC_CPU_VARIANT_H_

#include <functional>
#include <string>

#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_table.h"

namespace rnn_ops {
namespace cpu {

enum class Isa : int { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };

const char* Name(Isa isa);

// The best level that both the processor and the operating system support.
Isa DetectIsa();

// Opens a variant's shared object and returns its table, or null and a reason. The object is never
// unloaded once its table is in use.
const KernelTable* OpenVariant(const std::string& path, Isa isa, std::string* problem);

// What is wrong with a table for `isa`; empty when it can be used.
std::string CheckTable(const KernelTable* table, Isa isa);

struct VariantSearch {
  Isa best = Isa::kBaseline;     // of this machine
  const char* wanted = nullptr;  // TF_RNN_OPS_CPU_ISA, null when not set
  std::string folder;            // of the main library
  const KernelTable* baseline = nullptr;
  std::function<const KernelTable*(const std::string& path, Isa isa, std::string* problem)> open =
      OpenVariant;
};

struct VariantChoice {
  const KernelTable* table = nullptr;
  DispatchReport report;
  bool warn = false;  // the user should see report.why
};

// Never fails: the baseline is always there. Tries the wanted level, then each lower one.
VariantChoice ChooseVariant(const VariantSearch& search);

// The folder of the library or program that contains this function when it was loaded. It ends in
// '/', and is absolute where the system can tell.
const std::string& OwnFolder();

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_VARIANT_H_
