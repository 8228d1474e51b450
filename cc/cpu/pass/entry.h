// The functions of the kernel table. Each selects the type of the arithmetic, allocates memory, and
// widens the tensors of 16-bit types.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include "Eigen/Core"
#include "cc/core/check.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/pass.h"
#include "cc/cpu/pass/block_lstm.h"
#include "cc/cpu/pass/forward/pass.h"
#include "cc/cpu/pass/forward/stream.h"
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

// A pass in float32 on tensors of a 16-bit type. The widened tensors are in front of its memory.
template <typename Pass, typename Narrow>
class WidenedPass {
 public:
  template <typename Args>
  explicit WidenedPass(const Args& args) : pass_(args) {
    Arena measured;
    Widened<Narrow> nothing(measured, nullptr);
    Widen(*args.tensors, pass_, nothing);
    widened_bytes_ = measured.bytes();
  }

  void Take(Arena& arena) {
    widened_ = arena.Take<char>(widened_bytes_);
    pass_.Take(arena);
  }
  ReserveSizes reserve_sizes() const { return pass_.reserve_sizes(); }
  template <typename Args>
  KernelResult Run(const Args& args, void* reserve) {
    Arena arena(widened_);
    Widened<Narrow> widened(arena, &args.parallel);
    const CallTensors tensors = Widen(*args.tensors, pass_, widened);
    Args wide = args;
    wide.tensors = &tensors;
    const KernelResult result = pass_.Run(wide, reserve);
    if (result == kDone) widened.Round();
    return result;
  }

 private:
  Pass pass_;
  int64_t widened_bytes_;
  char* widened_ = nullptr;
};

// A type as an argument of a function.
template <typename P>
struct PassType {
  using Pass = P;
};

// Returns fn(PassType) for tensors of a type.
template <template <typename> class Pass, typename F>
decltype(auto) WithPass(Dtype dtype, F&& fn) {
  switch (dtype) {
    case kFloat64:
      return fn(PassType<Pass<double>>());
    case kFloat16:
      return fn(PassType<WidenedPass<Pass<float>, Eigen::half>>());
    case kBFloat16:
      return fn(PassType<WidenedPass<Pass<float>, Eigen::bfloat16>>());
    default:
      return fn(PassType<Pass<float>>());
  }
}

// Plans a call and runs it once.
template <typename Pass, typename Args>
int32_t RunOnce(const Args& args) {
  Pass pass(args);
  Arena measured;
  pass.Take(measured);
  const MemorySizes sizes = {measured.bytes(), pass.reserve_sizes()};
  MemoryBlocks blocks = {};
  if (!args.memory.allocate(args.memory.context, sizes, &blocks)) return kStopped;
  Arena arena(blocks.scratch);
  pass.Take(arena);
  return pass.Run(args, blocks.reserve);
}

template <template <typename> class Pass, typename Args>
int32_t Run(const Args* args) {
  return WithPass<Pass>(args->problem.dtype,
                        [&](auto type) { return RunOnce<typename decltype(type)::Pass>(*args); });
}

// The forward pass, planned and run at once or in parts.

// Returns fn(PassType) for the forward pass of a call.
template <typename F>
decltype(auto) WithForwardPass(const RnnArgs& args, F&& fn) {
  // Only float32: steppers have no other type.
  if (args.problem.dtype == kFloat32 && StreamPass<float>::Runs(args)) {
    return fn(PassType<StreamPass<float>>());
  }
  return WithPass<ForwardPass>(args.problem.dtype, fn);
}

inline int32_t Forward(const RnnArgs* args) {
  return WithForwardPass(*args,
                         [&](auto type) { return RunOnce<typename decltype(type)::Pass>(*args); });
}

// A kept plan: how it runs, its pass, and behind them the memory of the pass.
struct Plan {
  int32_t (*run)(Plan* plan, const RnnArgs& args, void* reserve);
};

template <typename Pass>
struct PlanOf : Plan {
  Pass pass;

  explicit PlanOf(const RnnArgs& args) : Plan{&RunPass}, pass(args) {}

  static int32_t RunPass(Plan* plan, const RnnArgs& args, void* reserve) {
    return static_cast<PlanOf*>(plan)->pass.Run(args, reserve);
  }
  static MemorySizes Size(const RnnArgs& args) {
    PlanOf plan(args);
    Arena measured;
    measured.Take<PlanOf>(1);
    plan.pass.Take(measured);
    return {measured.bytes(), plan.pass.reserve_sizes()};
  }
  static void Init(const RnnArgs& args, void* memory) {
    static_assert(std::is_trivially_destructible_v<PlanOf>, "a plan is freed without a call");
    Arena arena(memory);
    auto* const plan = new (arena.Take<PlanOf>(1)) PlanOf(args);
    RNN_DCHECK(static_cast<Plan*>(plan) == memory);
    plan->pass.Take(arena);
  }
};

inline MemorySizes PlanSize(const RnnArgs* args) {
  return WithForwardPass(
      *args, [&](auto type) { return PlanOf<typename decltype(type)::Pass>::Size(*args); });
}

inline void PlanInit(const RnnArgs* args, void* plan) {
  WithForwardPass(*args,
                  [&](auto type) { PlanOf<typename decltype(type)::Pass>::Init(*args, plan); });
}

inline int32_t PlanRun(const RnnArgs* args, void* plan, void* reserve) {
  auto* const kept = static_cast<Plan*>(plan);
  return kept->run(kept, *args, reserve);
}

// The op has no 16-bit types.
inline int32_t LinearRecurrence(const LinearRecurrenceArgs* args) {
  return args->problem.dtype == kFloat64 ? RunOnce<LinearPass<double>>(*args)
                                         : RunOnce<LinearPass<float>>(*args);
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
