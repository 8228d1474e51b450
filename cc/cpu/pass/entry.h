// The functions of the kernel table. Each selects the type of the arithmetic, allocates memory, and
// widens the tensors of 16-bit types.
#pragma once

#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/pass.h"
#include "cc/cpu/pass/block_lstm.h"
#include "cc/cpu/pass/forward/pass.h"
#include "cc/cpu/pass/linear_recurrence.h"
#include "cc/cpu/pass/weights/packed_weights.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

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
bool AllocateMemory(const Args& args, const Pass& pass, const Arena& measured,
                    MemoryBlocks* blocks) {
  const MemorySizes sizes = {measured.bytes(), pass.reserve_sizes()};
  return args.memory.allocate(args.memory.context, sizes, blocks);
}

// Runs a pass on tensors in the type of its arithmetic.
template <typename Pass, typename Args>
int32_t RunPass(const Args& args) {
  Pass pass(args);
  Arena measured;
  pass.Take(measured);
  MemoryBlocks blocks = {};
  if (!AllocateMemory(args, pass, measured, &blocks)) return kStopped;
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
  if (!AllocateMemory(args, pass, measured, &blocks)) return kStopped;
  Arena arena(blocks.scratch);
  Widened<Narrow> widened(arena, &args.parallel);
  Args wide = args;
  wide.tensors = Widen(args.tensors, pass, widened);
  pass.Take(arena);
  const KernelResult result = pass.Run(wide, blocks.reserve);
  if (result == kDone) widened.Round();
  return result;
}

template <template <typename> class Pass, typename Args>
int32_t Run(const Args* args) {
  switch (args->problem.dtype) {
    case kFloat64:
      return RunPass<Pass<double>>(*args);
    case kFloat16:
      return RunWidened<Pass<float>, Eigen::half>(*args);
    case kBFloat16:
      return RunWidened<Pass<float>, Eigen::bfloat16>(*args);
    default:
      return RunPass<Pass<float>>(*args);
  }
}

// The op has no 16-bit types.
inline int32_t LinearRecurrence(const LinearRecurrenceArgs* args) {
  return args->problem.dtype == kFloat64 ? RunPass<LinearPass<double>>(*args)
                                         : RunPass<LinearPass<float>>(*args);
}

inline PackedFormat FormatOfPacked(const RnnProblem* p) {
  return p->dtype == kFloat64 ? PackedFormatOf(*p, MakeSizes<double>(*p))
                              : PackedFormatOf(*p, MakeSizes<float>(*p));
}

inline int64_t LongestReserve(const RnnProblem* p) {
  return p->dtype == kFloat64 ? LongestReserveBytes(*p, MakeSizes<double>(*p))
                              : LongestReserveBytes(*p, MakeSizes<float>(*p));
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
