#include "tests/cc/gpu/host_kernels.h"

#include <cstring>

#include "cc/gpu/kernels/kernels.cu"
#include "cc/gpu/kernels/layer_kernels.cu"

namespace rnn_ops::gpu::fake {
namespace {

#define RNN_OPS_ENTRY(name, Args, function) \
  {#name,                                   \
   [](const void* args) { elementwise::name(*static_cast<const elementwise::Args*>(args)); }},
constexpr HostKernel kKernels[] = {RNN_OPS_KERNELS(RNN_OPS_ENTRY)};
#undef RNN_OPS_ENTRY

}  // namespace

const HostKernel* FindHostKernel(const char* name) {
  for (const HostKernel& kernel : kKernels) {
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  }
  return FindPersistentHostKernel(name);
}

void RunHostKernel(const HostKernel& kernel, const Grid& grid, const void* args) {
  // The host has no threads that work together: one loops over all columns (BlockSum).
  const bool by_row = std::strncmp(kernel.name, "row_", 4) == 0;
  const int64_t columns = by_row ? 1 : grid.blocks_x * grid.threads_x;
  for (int64_t row = grid.blocks_y - 1; row >= 0; --row) {
    for (int64_t column = columns - 1; column >= 0; --column) {
      elementwise::grid_position = {column, columns, row, grid.blocks_y};
      kernel.run(args);
    }
  }
}

}  // namespace rnn_ops::gpu::fake
