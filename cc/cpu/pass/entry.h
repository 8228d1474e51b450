// The functions of the kernel table. Each selects the type of the arithmetic, allocates memory, and
// widens the tensors of 16-bit types.
#ifndef TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_
#define TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_

#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/pass.h"
#include "cc/cpu/pass/block_lstm.h"
#include "cc/cpu/pass/forward/pass.h"
#include "cc/cpu/pass/linear_recurrence.h"
#include "cc/cpu/pass/weights/pack.h"
#include "cc/cpu/rows/narrow.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Whether the products of a problem run on pairs of bfloat16 (Note [Pairs]). Rare modes compute in
// float32: a second product in each step, peepholes, skip_input, masks. The batch is not
// considered, because it is unknown when weights are packed.
inline bool UsesPairs(const RnnProblem& p) {
  return p.bf16_products && p.dtype == kBFloat16 && p.num_proj == 0 && FormatOf(p).pairs &&
         !p.skips_input(0) && !p.input_masked && !p.recurrent_masked &&
         CpuPairUnit() != PairUnit::kNone;
}

// Widens the tensors of type Narrow that `pass` does not read or write in their own type.
template <typename Narrow, typename Pass>
CallTensors Widen(const CallTensors& tensors, const Pass& pass, Widened<Narrow>& widened) {
  CallTensors wide = tensors;
  for (int k = 0; k < kNumArgs; ++k) {
    const Arg arg = static_cast<Arg>(k);
    const int64_t in = tensors.in_elements(arg), out = tensors.out_elements(arg);
    if (in > 0 && tensors.in_type(arg) == kElementType<Narrow> && !pass.ReadsAsIs(arg)) {
      wide.SetInput(arg, widened.In(tensors.in<Narrow>(arg), in), ElementType::kFloat32, in);
    }
    if (out > 0 && tensors.out_type(arg) == kElementType<Narrow> && !pass.WritesAsIs(arg)) {
      wide.SetOutput(arg, widened.Out(tensors.out<Narrow>(arg), out), ElementType::kFloat32, out);
    }
  }
  return wide;
}

// Returns false if the call must end.
template <typename Args, typename Pass>
bool TakeMemory(const Args& args, const Pass& pass, const Arena& measured, MemoryBlocks* blocks) {
  const MemorySizes sizes = {measured.bytes(), pass.reserve_bytes()};
  return args.memory.take(args.memory.context, sizes, blocks);
}

// Runs a pass on tensors in the type of its arithmetic.
template <typename Pass, typename Args>
int32_t RunPass(const Args& args) {
  Pass pass(args);
  Arena measured;
  pass.Take(measured);
  MemoryBlocks blocks = {};
  if (!TakeMemory(args, pass, measured, &blocks)) return kStopped;
  Arena arena(blocks.scratch);
  pass.Take(arena);
  return pass.Run(args, blocks.reserve);
}

// Runs a pass in float32 on tensors of a 16-bit type. The widened tensors are in front of its
// memory.
template <typename Pass, typename Narrow, typename Args>
int32_t RunWidened(const Args& args) {
  Pass pass(args);
  Arena measured;
  Widened<Narrow> nothing(measured, nullptr);
  Widen(args.tensors, pass, nothing);
  pass.Take(measured);
  MemoryBlocks blocks = {};
  if (!TakeMemory(args, pass, measured, &blocks)) return kStopped;
  Arena arena(blocks.scratch);
  Widened<Narrow> widened(arena, &args.parallel);
  Args wide = args;
  wide.tensors = Widen(args.tensors, pass, widened);
  pass.Take(arena);
  const KernelResult result = pass.Run(wide, blocks.reserve);
  if (result == kDone) widened.Round();
  return result;
}

// Runs a pass on int8 weights.
template <typename Pass>
int32_t RunQuantized(const RnnArgs& args) {
  switch (args.problem.dtype) {
    case kFloat16:
      return RunWidened<Pass, Eigen::half>(args);
    case kBFloat16:
      return RunWidened<Pass, Eigen::bfloat16>(args);
    default:
      return RunPass<Pass>(args);
  }
}

template <template <typename, typename> class Pass, typename Args>
int32_t Run(const Args* args) {
  if constexpr (!std::is_same_v<Pass<float, float>, BackwardPass<float, float>> &&
                std::is_same_v<Args, RnnArgs>) {
    if (args->problem.int8_weights) return RunQuantized<Pass<float, Quad>>(*args);
  }
  switch (args->problem.dtype) {
    case kFloat64:
      return RunPass<Pass<double, double>>(*args);
    case kFloat16:
      return RunWidened<Pass<float, float>, Eigen::half>(*args);
    case kBFloat16:
      if constexpr (kHasPairs && std::is_same_v<Args, RnnArgs>) {
        if (UsesPairs(args->problem)) return RunWidened<Pass<float, Pair>, Eigen::bfloat16>(*args);
      }
      return RunWidened<Pass<float, float>, Eigen::bfloat16>(*args);
    default:
      return RunPass<Pass<float, float>>(*args);
  }
}

// The op has no 16-bit types.
inline int32_t LinearRecurrence(const LinearRecurrenceArgs* args) {
  return args->problem.dtype == kFloat64 ? RunPass<LinearPass<double>>(*args)
                                         : RunPass<LinearPass<float>>(*args);
}

template <typename T, typename E = T>
RnnNetwork NetworkOf(const RnnProblem& p) {
  const Sizes<T> s = MakeSizes<T>(p);
  const int64_t rows = Area(p.max_time, p.batch);
  return {MakeReserve<T>(nullptr, rows, s, p.num_layers).bytes(), AllPackedBytes<T, E>(p),
          Operands<T, E>::kRounded     ? kPackedBFloat16Pairs
          : Operands<T, E>::kQuantized ? kPackedInt8Quads
                                       : kPackedArithmetic};
}

inline RnnNetwork Network(const RnnProblem* p) {
  if (p->int8_weights) return NetworkOf<float, Quad>(*p);
  if (p->dtype == kFloat64) return NetworkOf<double>(*p);
  if constexpr (kHasPairs) {
    if (UsesPairs(*p)) return NetworkOf<float, Pair>(*p);
  }
  return NetworkOf<float>(*p);
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_
