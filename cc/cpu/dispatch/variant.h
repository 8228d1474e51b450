// The choice of the instruction set, and the search for its shared object. dispatch.h is the
// interface for callers. The functions here take all properties of the machine as arguments, so
// that tests can choose them.
#pragma once

#include <functional>
#include <string>

#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"

namespace rnn_ops::cpu {

enum class Isa : int { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };

const char* Name(Isa isa);

// The best level that both the processor and the operating system support.
Isa DetectIsa();

// Opens the shared object of a variant and returns its table, or null and a reason in *problem. The
// object is never unloaded after its table is in use.
const KernelTable* OpenVariant(const std::string& path, Isa isa, std::string* problem);

// The problem of a table for `isa`; empty if the table can be used.
std::string CheckTable(const KernelTable* table, Isa isa);

struct VariantSearch {
  Isa best = Isa::kBaseline;     // best level of this machine
  const char* wanted = nullptr;  // TF_RNN_OPS_CPU_ISA; null if not set
  std::string folder;            // folder of the main library
  const KernelTable* baseline = nullptr;
  std::function<const KernelTable*(const std::string& path, Isa isa, std::string* problem)> open =
      OpenVariant;
};

struct VariantChoice {
  const KernelTable* table = nullptr;
  DispatchReport report;
  bool warn = false;  // whether to show report.why to the user
};

// Always succeeds, because the baseline is always present. Tries the wanted level, then each lower
// level.
VariantChoice ChooseVariant(const VariantSearch& search);

// The folder of the library or program that contains this function, as it was at load time. Ends in
// '/'. The path is absolute if the system can determine it.
const std::string& OwnFolder();

}  // namespace rnn_ops::cpu
