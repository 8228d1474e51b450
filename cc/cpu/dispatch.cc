#include "cc/cpu/dispatch.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cc/cpu/variant.h"

namespace rnn_ops {
namespace cpu {
namespace {

VariantChoice ChooseForThisMachine() {
  VariantSearch search;
  search.best = DetectIsa();
  search.wanted = std::getenv("TF_RNN_OPS_CPU_ISA");
  search.folder = OwnFolder();
  search.baseline = BaselineKernelTable<kKernelTableVersion>();
  VariantChoice choice = ChooseVariant(search);
  if (choice.warn) {
    std::fprintf(stderr, "tf_rnn_ops: using the %s CPU kernels: %s.\n", choice.report.isa.c_str(),
                 choice.report.why.c_str());
  }
  return choice;
}

// Never destroyed: kernels may run while the process exits.
const VariantChoice& Chosen() {
  static const VariantChoice* const choice = new VariantChoice(ChooseForThisMachine());
  return *choice;
}

}  // namespace

const KernelTable& Kernels() { return *Chosen().table; }

bool AllowsBf16Products() {
  static const bool allows = [] {
    const char* value = std::getenv("TF_RNN_OPS_BF16_PRODUCTS");
    return value == nullptr || std::strcmp(value, "0") != 0;
  }();
  return allows;
}

const DispatchReport& Dispatch() { return Chosen().report; }

}  // namespace cpu
}  // namespace rnn_ops
