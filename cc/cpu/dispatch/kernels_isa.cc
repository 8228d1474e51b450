// The kernel table of one instruction set. Compiled once for each level, see build_defs.
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/pass/dense.h"
#include "cc/cpu/pass/elementwise.h"
#include "cc/cpu/pass/entry.h"
#include "cc/cpu/simd/isa.h"
#include "cc/cpu/simd/vec.h"

namespace {

namespace isa = rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE;

constexpr rnn_ops::cpu::KernelTable kTable = {
    /*version=*/rnn_ops::cpu::kKernelTableVersion,
    /*struct_size=*/sizeof(rnn_ops::cpu::KernelTable),
    /*args_size=*/sizeof(rnn_ops::cpu::RnnArgs),
    /*isa=*/RNN_OPS_ISA_STRING,
    /*vector_bytes=*/static_cast<int32_t>(sizeof(isa::Packet<float>)),
    /*rnn_packed_format=*/&isa::FormatOfPacked,
    /*rnn_longest_reserve=*/&isa::LongestReserve,
    /*rnn_forward=*/&isa::Forward,
    /*rnn_plan_size=*/&isa::PlanSize,
    /*rnn_plan_init=*/&isa::PlanInit,
    /*rnn_plan_run=*/&isa::PlanRun,
    /*rnn_backward=*/&isa::Run<isa::BackwardPass, rnn_ops::cpu::RnnArgs>,
    /*rnn_pack=*/&isa::Run<isa::PackPass, rnn_ops::cpu::RnnArgs>,
    /*block_lstm_forward=*/&isa::Run<isa::BlockLstmForwardPass, rnn_ops::cpu::BlockLstmArgs>,
    /*block_lstm_backward=*/&isa::Run<isa::BlockLstmBackwardPass, rnn_ops::cpu::BlockLstmArgs>,
    /*linear_recurrence=*/&isa::LinearRecurrence,
    /*dense_format=*/&isa::FormatOfDense,
    /*dense_pack=*/&isa::PackDense,
    /*dense=*/&isa::Dense,
    /*quantized_dense_format=*/&isa::FormatOfQuantizedDense,
    /*quantized_dense_pack=*/&isa::PackQuantizedDense,
    /*quantize_row=*/&isa::QuantizeDenseRow,
    /*quantized_dense=*/&isa::QuantizedDense,
    /*activate=*/&isa::Activate,
    /*softmax=*/&isa::Softmax,
    /*depthwise=*/&isa::Depthwise,
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
