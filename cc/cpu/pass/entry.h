// The entries of the kernel table: each picks the type of the arithmetic, and widens the tensors of
// 16-bit types.
#ifndef TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_
#define TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_

#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "cc/cpu/pass/block_lstm.h"
#include "cc/cpu/pass/rnn_backward.h"
#include "cc/cpu/pass/rnn_forward.h"
#include "cc/cpu/pass/rnn_pack.h"
#include "cc/cpu/pass/widen.h"
#include "cc/cpu/rows/narrow.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// ---- One pass on operands E. `narrow` has the op's own tensors, `wide` those in T ----

template <typename T, typename E>
int32_t RunPass(const RnnForwardArgs& wide, const RnnForwardArgs& narrow) {
  return Forward<T, E>(wide, narrow.x, narrow.y);
}
template <typename T, typename E>
int32_t RunPass(const RnnBackwardArgs& wide, const RnnBackwardArgs&) {
  return Backward<T, E>(wide);
}
template <typename T, typename E>
int32_t RunPass(const RnnPackArgs& wide, const RnnPackArgs&) {
  Pack<T, E>(wide);
  return 0;
}
template <typename T, typename E>
int32_t RunPass(const BlockLstmForwardArgs& wide, const BlockLstmForwardArgs&) {
  return RunBlockLstmForward<T>(wide);
}
template <typename T, typename E>
int32_t RunPass(const BlockLstmBackwardArgs& wide, const BlockLstmBackwardArgs&) {
  return RunBlockLstmBackward<T>(wide);
}

template <typename T, typename E>
RnnSizes SizesOf(const RnnForwardArgs& args) {
  return ForwardSizes<T, E>(args.problem, args.parallel.threads);
}
template <typename T, typename E>
RnnSizes SizesOf(const RnnBackwardArgs& args) {
  return BackwardSizes<T, E>(args.problem, args.parallel.threads);
}
template <typename T, typename E>
RnnSizes SizesOf(const RnnPackArgs&) {
  return {};
}
template <typename T, typename E>
RnnSizes SizesOf(const BlockLstmForwardArgs& args) {
  Arena arena;
  T* peepholes;
  MakeForwardPlan(args.problem, args.parallel.threads, arena, &peepholes);
  return {arena.bytes(), 0};
}
template <typename T, typename E>
RnnSizes SizesOf(const BlockLstmBackwardArgs& args) {
  Arena arena;
  T* peepholes;
  MakeBackwardPlan(args.problem, args.parallel.threads, arena, &peepholes);
  return {arena.bytes(), 0};
}

// ---- The choice ----

template <typename T, typename E = T>
struct Operands {
  using Type = T;
  using Operand = E;
};

// fn(Operands) of a problem of the stack in float32 or of a 16-bit type.
template <typename F>
auto WithFloatOperands(const RnnProblem& p, F&& fn) {
  if constexpr (kHasPairs) {
    if (UsesPairs(p)) return fn(Operands<float, Pair>());
  }
  return fn(Operands<float>());
}
template <typename F>
auto WithFloatOperands(const BlockLstmProblem&, F&& fn) {
  return fn(Operands<float>());
}

template <typename Narrow, typename Args>
int32_t RunWidened(const Args& args) {
  Arena arena(args.scratch);
  Widened<Narrow> widened(arena, &args.parallel);
  Args wide = Widen(args, widened);
  wide.scratch = arena.template Take<char>(0);
  const int32_t result = WithFloatOperands(args.problem, [&](auto o) {
    return RunPass<float, typename decltype(o)::Operand>(wide, args);
  });
  if (result == 0) widened.Round();
  return result;
}

template <typename Narrow, typename Args>
RnnSizes WidenedSizes(const Args& args) {
  Arena arena;
  Widened<Narrow> widened(arena, nullptr);
  Widen(args, widened);
  RnnSizes sizes = WithFloatOperands(
      args.problem, [&](auto o) { return SizesOf<float, typename decltype(o)::Operand>(args); });
  const bool fits = arena.bytes() >= 0 && sizes.scratch_bytes >= 0;
  sizes.scratch_bytes = fits ? sizes.scratch_bytes + arena.bytes() : -1;
  return sizes;
}

template <typename Args>
int32_t Run(const Args* args) {
  switch (args->problem.dtype) {
    case kFloat64:
      return RunPass<double, double>(*args, *args);
    case kFloat16:
      return RunWidened<Eigen::half>(*args);
    case kBFloat16:
      return RunWidened<Eigen::bfloat16>(*args);
    default:
      return RunPass<float, float>(*args, *args);
  }
}

template <typename Args, typename Problem>
RnnSizes SizesOfPass(const Problem& problem, const ThreadBudget& threads) {
  Args args = {};
  args.problem = problem;
  args.parallel.threads = threads;
  switch (problem.dtype) {
    case kFloat64:
      return SizesOf<double, double>(args);
    case kFloat16:
      return WidenedSizes<Eigen::half>(args);
    case kBFloat16:
      return WidenedSizes<Eigen::bfloat16>(args);
    default:
      return SizesOf<float, float>(args);
  }
}

inline RnnSizes RnnForwardSizes(const RnnProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<RnnForwardArgs>(*p, *threads);
}
inline RnnSizes RnnBackwardSizes(const RnnProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<RnnBackwardArgs>(*p, *threads);
}
inline int64_t BlockLstmForwardScratch(const BlockLstmProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<BlockLstmForwardArgs>(*p, *threads).scratch_bytes;
}
inline int64_t BlockLstmBackwardScratch(const BlockLstmProblem* p, const ThreadBudget* threads) {
  return SizesOfPass<BlockLstmBackwardArgs>(*p, *threads).scratch_bytes;
}

inline RnnPackSizes RnnPackedSizes(const RnnProblem* p) {
  const int64_t scratch = SizesOfPass<RnnPackArgs>(*p, ThreadBudget{}).scratch_bytes;
  if (p->dtype == kFloat64) return {scratch, AllPackedBytes<double>(*p), kPackedArithmetic};
  return WithFloatOperands(*p, [&](auto o) -> RnnPackSizes {
    using E = typename decltype(o)::Operand;
    return {scratch, AllPackedBytes<float, E>(*p),
            std::is_same_v<E, float> ? kPackedArithmetic : kPackedBFloat16Pairs};
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_ENTRY_H_
