// The kernel table of one instruction set. Compiled once per level; see build_defs.
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/pass/entry.h"
#include "cc/cpu/pass/linear_recurrence.h"
#include "cc/cpu/simd/isa.h"
#include "cc/cpu/simd/vec.h"

namespace {

namespace isa = rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE;

constexpr rnn_ops::cpu::KernelTable kTable = {
    /*version=*/rnn_ops::cpu::kKernelTableVersion,
    /*struct_size=*/sizeof(rnn_ops::cpu::KernelTable),
    /*arg_sizes=*/rnn_ops::cpu::ArgSizes(),
    /*isa=*/RNN_OPS_ISA_STRING,
    /*vector_bytes=*/static_cast<int32_t>(sizeof(isa::Packet<float>)),
    /*rnn_forward_sizes=*/&isa::RnnForwardSizes,
    /*rnn_forward=*/&isa::Run<rnn_ops::cpu::RnnForwardArgs>,
    /*rnn_backward_sizes=*/&isa::RnnBackwardSizes,
    /*rnn_backward=*/&isa::Run<rnn_ops::cpu::RnnBackwardArgs>,
    /*rnn_pack_sizes=*/&isa::RnnPackedSizes,
    /*rnn_pack=*/&isa::Run<rnn_ops::cpu::RnnPackArgs>,
    /*block_lstm_forward_scratch=*/&isa::BlockLstmForwardScratch,
    /*block_lstm_forward=*/&isa::Run<rnn_ops::cpu::BlockLstmForwardArgs>,
    /*block_lstm_backward_scratch=*/&isa::BlockLstmBackwardScratch,
    /*block_lstm_backward=*/&isa::Run<rnn_ops::cpu::BlockLstmBackwardArgs>,
    /*linear_recurrence_scratch=*/&isa::LinearRecurrenceScratch,
    /*linear_recurrence=*/&isa::LinearRecurrence,
};

}  // namespace

#if defined(RNN_OPS_ISA_AVX512) || defined(RNN_OPS_ISA_AVX2)
__attribute__((visibility("default"))) const rnn_ops::cpu::KernelTable* tf_rnn_ops_kernel_table() {
  return &kTable;
}
#else
template <>
const rnn_ops::cpu::KernelTable*
rnn_ops::cpu::BaselineKernelTable<rnn_ops::cpu::kKernelTableVersion>() {
  return &kTable;
}
#endif
