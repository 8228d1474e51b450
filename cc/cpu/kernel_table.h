// The C interface between the main library and the kernels of one instruction set.
#ifndef TF_RNN_OPS_CC_CPU_KERNEL_TABLE_H_
#define TF_RNN_OPS_CC_CPU_KERNEL_TABLE_H_

#include <cstdint>

#include "cc/cpu/kernel_args.h"

namespace rnn_ops {
namespace cpu {

// Increment this with every change of this table, of kernel_args.h or of core/network/arg.h.
constexpr int32_t kKernelTableVersion = 16;

// The sizes of the structs that cross the interface. The sizes differ if a change forgot to
// increment the version, or if an object of an older build is next to the library.
struct ArgSizes {
  int32_t rnn = sizeof(RnnArgs);
  int32_t block_lstm = sizeof(BlockLstmArgs);
  int32_t linear_recurrence = sizeof(LinearRecurrenceArgs);
  int32_t rnn_problem = sizeof(RnnProblem);
  int32_t thread_budget = sizeof(ThreadBudget);
};

// No function throws, allocates memory that the caller must free, or keeps a pointer. The caller
// has validated every argument. The kernels return a KernelResult.
struct KernelTable {
  int32_t version;
  int32_t struct_size;  // sizeof(KernelTable)
  ArgSizes arg_sizes;
  const char* isa;  // "baseline", "avx2", "avx512"
  int32_t vector_bytes;

  RnnNetwork (*rnn_network)(const RnnProblem* problem);
  int32_t (*rnn_forward)(const RnnArgs* args);
  int32_t (*rnn_backward)(const RnnArgs* args);
  int32_t (*rnn_pack)(const RnnArgs* args);
  int32_t (*block_lstm_forward)(const BlockLstmArgs* args);
  int32_t (*block_lstm_backward)(const BlockLstmArgs* args);
  int32_t (*linear_recurrence)(const LinearRecurrenceArgs* args);
};

// Exported by the shared object of the baseline. Every library of ops is linked to that object. The
// symbol name contains the version, so the library does not load with an object of another version.
template <int32_t version>
const KernelTable* BaselineKernelTable();
template <>
__attribute__((visibility("default"))) const KernelTable*
BaselineKernelTable<kKernelTableVersion>();

}  // namespace cpu
}  // namespace rnn_ops

// Exported by the shared object of each other instruction set. The main library opens the object
// only if the CPU has the instruction set.
extern "C" const rnn_ops::cpu::KernelTable* tf_rnn_ops_kernel_table();

#endif  // TF_RNN_OPS_CC_CPU_KERNEL_TABLE_H_
