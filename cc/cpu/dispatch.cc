#include "cc/cpu/dispatch.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cc/cpu/variant.h"

namespace rnn_ops {
namespace cpu {
namespace {

void ToStderr(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

void (*warn)(const std::string& text) = &ToStderr;

VariantChoice ChooseForThisMachine() {
  VariantSearch search;
  search.best = DetectIsa();
  search.wanted = std::getenv("TF_RNN_OPS_CPU_ISA");
  search.folder = OwnFolder();
  search.baseline = BaselineKernelTable<kKernelTableVersion>();
  VariantChoice choice = ChooseVariant(search);
  if (choice.warn) {
    warn("tf_rnn_ops: using the " + choice.report.isa + " CPU kernels: " + choice.report.why + ".");
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
      warn("tf_rnn_ops: TF_RNN_OPS_BF16_PRODUCTS=" + setting +
           " is neither 0 nor 1; bfloat16 products stay on.");
    }
    return setting != "0";
  }();
  return allows;
}

const DispatchReport& Dispatch() { return Chosen().report; }

void SetWarningSink(void (*sink)(const std::string& text)) { warn = sink; }

}  // namespace cpu
}  // namespace rnn_ops
