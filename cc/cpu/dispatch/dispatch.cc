#include "cc/cpu/dispatch/dispatch.h"

#include <cstdlib>
#include <string>

#include "cc/core/status.h"
#include "cc/cpu/dispatch/variant.h"

namespace rnn_ops::cpu {
namespace {

VariantChoice ChooseForThisMachine() {
  VariantSearch search;
  search.best = DetectIsa();
  search.wanted = std::getenv("TF_RNN_OPS_CPU_ISA");
  search.folder = OwnFolder();
  search.baseline = BaselineKernelTable<kKernelTableVersion>();
  VariantChoice choice = ChooseVariant(search);
  if (choice.warn) {
    Warn("using the " + choice.report.isa + " CPU kernels: " + choice.report.why + ".");
  }
  return choice;
}

// Never destroyed, because kernels may run while the process exits.
const VariantChoice& Chosen() {
  static const VariantChoice* const choice = new VariantChoice(ChooseForThisMachine());
  return *choice;
}

}  // namespace

const KernelTable& Kernels() { return *Chosen().table; }

bool AllowsBf16Products() {
  static const bool allows = [] {
    const char* value = std::getenv("TF_RNN_OPS_BF16_PRODUCTS");
    const std::string setting = value == nullptr ? "" : value;
    if (!setting.empty() && setting != "0" && setting != "1") {
      Warn("TF_RNN_OPS_BF16_PRODUCTS=" + setting +
           " is neither 0 nor 1; bfloat16 products stay on.");
    }
    return setting != "0";
  }();
  return allows;
}

const DispatchReport& Dispatch() { return Chosen().report; }

}  // namespace rnn_ops::cpu
