#include "tests/cc/cpu/emulated_kernels.h"

#include "cc/cpu/pass/dense.h"
#include "cc/cpu/pass/elementwise.h"
#include "cc/cpu/pass/entry.h"
#include "cc/cpu/simd/vec.h"
#include "tests/cc/cpu/simd/emulated_cpu.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {
namespace {

// kFunction on a CPU with the units `kUnits`.
template <uint32_t kUnits, auto kFunction>
struct OnCpu;
template <uint32_t kUnits, typename R, typename... Args, R (*kFunction)(Args...)>
struct OnCpu<kUnits, kFunction> {
  static R Run(Args... args) {
    EmulatedCpu().store(kUnits, std::memory_order_relaxed);
    return kFunction(args...);
  }
};

#if defined(RNN_OPS_ISA_AVX512)

template <uint32_t kUnits>
constexpr KernelTable TableOf(const char* name) {
  return {
      /*version=*/kKernelTableVersion,
      /*struct_size=*/sizeof(KernelTable),
      /*args_size=*/sizeof(RnnArgs),
      /*isa=*/name,
      /*vector_bytes=*/static_cast<int32_t>(sizeof(Packet<float>)),
      /*rnn_packed_format=*/&OnCpu<kUnits, &FormatOfPacked>::Run,
      /*rnn_longest_reserve=*/&OnCpu<kUnits, &LongestReserve>::Run,
      /*rnn_forward=*/&OnCpu<kUnits, &isa_avx512::Forward>::Run,
      /*rnn_plan_size=*/&OnCpu<kUnits, &PlanSize>::Run,
      /*rnn_plan_init=*/&OnCpu<kUnits, &PlanInit>::Run,
      /*rnn_plan_run=*/&OnCpu<kUnits, &PlanRun>::Run,
      /*rnn_backward=*/&OnCpu<kUnits, &isa_avx512::Run<BackwardPass, RnnArgs>>::Run,
      /*rnn_pack=*/&OnCpu<kUnits, &isa_avx512::Run<PackPass, RnnArgs>>::Run,
      /*block_lstm_forward=*/&isa_avx512::Run<BlockLstmForwardPass, BlockLstmArgs>,
      /*block_lstm_backward=*/&isa_avx512::Run<BlockLstmBackwardPass, BlockLstmArgs>,
      /*linear_recurrence=*/&LinearRecurrence,
      /*dense_format=*/&FormatOfDense,
      /*dense_pack=*/&PackDense,
      /*dense=*/&Dense,
      /*quantized_dense_format=*/&FormatOfQuantizedDense,
      /*quantized_dense_pack=*/&PackQuantizedDense,
      /*quantize_row=*/&QuantizeDenseRow,
      /*quantized_dense=*/&OnCpu<kUnits, &QuantizedDense>::Run,
      /*activate=*/&Activate,
      /*softmax=*/&Softmax,
      /*depthwise=*/&Depthwise,
  };
}

// Skylake, Zen 4 and Sapphire Rapids.
constexpr KernelTable kTables[] = {
    TableOf<0>("avx512-emulated"),
    TableOf<kEmulatedBf16 | kEmulatedVnni>("avx512-bf16-emulated"),
    TableOf<kEmulatedBf16 | kEmulatedAmx | kEmulatedVnni>("avx512-amx-emulated"),
};

testing::EmulatedTables Tables(const KernelTable*) {
  return {sizeof(kTables) / sizeof(kTables[0]), kTables};
}

#else

const KernelTable* of_other_types;

PackedFormat QuantizedFormat(const RnnProblem* p) {
  return p->int8_weights ? FormatOfPacked(p) : of_other_types->rnn_packed_format(p);
}
int32_t QuantizedForward(const RnnArgs* args) {
  return args->problem.int8_weights ? isa_avx2::Forward(args) : of_other_types->rnn_forward(args);
}
MemorySizes QuantizedPlanSize(const RnnArgs* args) {
  return args->problem.int8_weights ? PlanSize(args) : of_other_types->rnn_plan_size(args);
}
void QuantizedPlanInit(const RnnArgs* args, void* plan) {
  args->problem.int8_weights ? PlanInit(args, plan) : of_other_types->rnn_plan_init(args, plan);
}
int32_t QuantizedPlanRun(const RnnArgs* args, void* plan, void* reserve) {
  return args->problem.int8_weights ? PlanRun(args, plan, reserve)
                                    : of_other_types->rnn_plan_run(args, plan, reserve);
}
int32_t QuantizedPack(const RnnArgs* args) {
  return args->problem.int8_weights ? isa_avx2::Run<PackPass, RnnArgs>(args)
                                    : of_other_types->rnn_pack(args);
}

template <uint32_t kUnits>
KernelTable TableOf(const char* name, const KernelTable* native) {
  KernelTable table = *native;
  table.isa = name;
  table.rnn_packed_format = &OnCpu<kUnits, &QuantizedFormat>::Run;
  table.rnn_forward = &OnCpu<kUnits, &QuantizedForward>::Run;
  table.rnn_plan_size = &OnCpu<kUnits, &QuantizedPlanSize>::Run;
  table.rnn_plan_init = &OnCpu<kUnits, &QuantizedPlanInit>::Run;
  table.rnn_plan_run = &OnCpu<kUnits, &QuantizedPlanRun>::Run;
  table.rnn_pack = &OnCpu<kUnits, &QuantizedPack>::Run;
  table.quantized_dense_format = &FormatOfQuantizedDense;
  table.quantized_dense_pack = &PackQuantizedDense;
  table.quantize_row = &QuantizeDenseRow;
  table.quantized_dense = &OnCpu<kUnits, &QuantizedDense>::Run;
  return table;
}

// A CPU without VNNI and one with it.
testing::EmulatedTables Tables(const KernelTable* native) {
  static KernelTable tables[2];
  of_other_types = native;
  tables[0] = TableOf<0>("avx2-emulated", native);
  tables[1] = TableOf<kEmulatedVnni>("avx2-vnni-emulated", native);
  return {2, tables};
}

#endif

}  // namespace
}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

__attribute__((visibility("default"))) rnn_ops::cpu::testing::EmulatedTables
tf_rnn_ops_emulated_tables(const rnn_ops::cpu::KernelTable* native) {
  return rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE::Tables(native);
}
