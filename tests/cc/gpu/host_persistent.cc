// The persistent kernels, compiled for the host.
#include <cstring>

#include "cc/gpu/kernels/cells/gru.h"
#include "cc/gpu/kernels/cells/lstm.h"
#include "cc/gpu/kernels/cells/vanilla.h"
#include "cc/gpu/kernels/kernel_list.h"
#include "cc/gpu/kernels/persistent/persistent_backward.h"
#include "cc/gpu/kernels/persistent/persistent_forward.h"
#include "tests/cc/gpu/host_kernels.h"

namespace rnn_ops::gpu::fake {
namespace {

#define RNN_OPS_ENTRY(pass, cell, operand, width, tile, general)   \
  {#pass "_" #cell "_" #operand "_" #width "_" #tile "_" #general, \
   [](const void* args) {                                          \
     using namespace elementwise;                                  \
     Run##pass<cell, operand##Operand, width, tile, general>(      \
         *static_cast<const Persistent##pass*>(args));             \
   },                                                              \
   true},
constexpr HostKernel kKernels[] = {RNN_OPS_PERSISTENT_KERNELS(RNN_OPS_ENTRY)};
#undef RNN_OPS_ENTRY

}  // namespace

const HostKernel* FindPersistentHostKernel(const char* name) {
  for (const HostKernel& kernel : kKernels) {
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  }
  return nullptr;
}

}  // namespace rnn_ops::gpu::fake
