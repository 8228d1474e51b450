// The table entries of the stack: picks the type of the arithmetic.
#ifndef TF_RNN_OPS_CC_CPU_PASS_RNN_ENTRY_H_
#define TF_RNN_OPS_CC_CPU_PASS_RNN_ENTRY_H_

#include <cstdint>

#include "Eigen/Core"
#include "cc/cpu/pass/rnn_backward.h"
#include "cc/cpu/pass/rnn_forward.h"
#include "cc/cpu/pass/rnn_pack.h"
#include "cc/cpu/rows/narrow.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// Elements of the tensors of a problem.
struct RnnCounts {
  int64_t x, y, h, c, params;
  int64_t kernel, recurrent_kernel, bias, input_mask, recurrent_mask;  // 0 with opaque weights
};

inline RnnCounts CountsOf(const RnnProblem& p) {
  const Sizes<float> s = MakeSizes<float>(p);
  const int64_t rows = Area(p.max_time, p.batch);
  const int64_t states = Area(p.num_layers * p.num_dirs, p.batch);
  RnnCounts n = {};
  n.x = Area(rows, p.input_size);
  n.y = Area(rows, s.output);
  n.h = Area(states, s.hidden);
  n.c = s.lstm() ? Area(states, s.units) : 0;
  if (p.weight_layout != kKerasWeights) {
    n.params = MakeParamCursor(p, s).total;
    return n;
  }
  const int64_t columns = s.gates.count * s.units;
  n.kernel = Area(p.input_size, columns);
  n.recurrent_kernel = Area(s.units, columns);
  n.bias = p.bias_rows * columns;
  const int64_t mask_rows = Area(s.gates.count, p.batch);
  n.input_mask = p.input_masked ? Area(mask_rows, p.input_size) : 0;
  n.recurrent_mask = p.recurrent_masked ? Area(mask_rows, s.units) : 0;
  return n;
}

template <typename Narrow>
LayerWeights WidenLayer(const LayerWeights& layer, const RnnCounts& n, Widened<Narrow>& w) {
  LayerWeights wide;
  wide.kernel = w.In(layer.kernel, n.kernel);
  wide.recurrent_kernel = w.In(layer.recurrent_kernel, n.recurrent_kernel);
  wide.bias = w.In(layer.bias, n.bias);
  wide.input_mask = w.In(layer.input_mask, n.input_mask);
  wide.recurrent_mask = w.In(layer.recurrent_mask, n.recurrent_mask);
  return wide;
}

// Whether the products of a problem run on pairs of bfloat16 (Note [Pairs]). What is rare computes
// in float32: projection, skip_input, masks.
inline bool UsesPairs(const RnnProblem& p) {
  return kHasPairs && p.bf16_products && p.dtype == kBFloat16 && p.num_proj == 0 && !p.skip_input &&
         !p.input_masked && !p.recurrent_masked && CpuHasPairs();
}

template <typename Narrow>
RnnForwardArgs WidenForward(const RnnForwardArgs& args, Widened<Narrow>& w) {
  RnnCounts n = CountsOf(args.problem);
  const bool pairs = UsesPairs(args.problem);
  // What is read and written as it is.
  if (pairs && RowsArePairs(args.problem.input_size)) n.x = 0;
  if (pairs && RowsArePairs(args.problem.num_units)) n.y = 0;
  RnnForwardArgs wide = args;
  wide.x = w.In(args.x, n.x);
  wide.h0 = w.In(args.h0, n.h);
  wide.c0 = w.In(args.c0, n.c);
  if (!pairs && !args.problem.weights_packed) {  // pairs are packed from bfloat16
    wide.params = w.In(args.params, n.params);
    wide.layer = WidenLayer(args.layer, n, w);
  }
  wide.y = w.Out(args.y, n.y);
  wide.h_n = w.Out(args.h_n, n.h);
  wide.c_n = w.Out(args.c_n, n.c);
  return wide;
}

template <typename Narrow>
RnnBackwardArgs WidenBackward(const RnnBackwardArgs& args, Widened<Narrow>& w) {
  const RnnCounts n = CountsOf(args.problem);
  const bool pairs = UsesPairs(args.problem);
  RnnBackwardArgs wide = args;
  wide.x = w.In(args.x, n.x);
  wide.h0 = w.In(args.h0, n.h);
  wide.c0 = w.In(args.c0, n.c);
  if (!pairs) {  // which are packed from bfloat16
    wide.params = w.In(args.params, n.params);
    wide.layer = WidenLayer(args.layer, n, w);
  }
  wide.y = w.In(args.y, n.y);
  wide.dy = w.In(args.dy, n.y);
  wide.dh_n = w.In(args.dh_n, n.h);
  wide.dc_n = w.In(args.dc_n, n.c);
  wide.dx = w.Out(args.dx, n.x);
  wide.dh0 = w.Out(args.dh0, n.h);
  wide.dc0 = w.Out(args.dc0, n.c);
  wide.dparams = w.Out(args.dparams, n.params);
  wide.dkernel = w.Out(args.dkernel, n.kernel);
  wide.drecurrent_kernel = w.Out(args.drecurrent_kernel, n.recurrent_kernel);
  wide.dbias = w.Out(args.dbias, n.bias);
  return wide;
}

template <typename Narrow>
RnnPackArgs WidenPack(const RnnPackArgs& args, Widened<Narrow>& w) {
  RnnPackArgs wide = args;
  if (UsesPairs(args.problem)) return wide;
  RnnCounts n = CountsOf(args.problem);
  n.input_mask = n.recurrent_mask = 0;
  wide.params = w.In(args.params, n.params);
  wide.layer = WidenLayer(args.layer, n, w);
  return wide;
}

template <typename Args, typename Narrow>
struct RnnPass;

template <typename Narrow>
struct RnnPass<RnnForwardArgs, Narrow> {
  static RnnForwardArgs Widen(const RnnForwardArgs& a, Widened<Narrow>& w) {
    return WidenForward(a, w);
  }
  static int32_t Run(const RnnForwardArgs& wide, const RnnForwardArgs& narrow) {
    if constexpr (kHasPairs) {
      if (UsesPairs(wide.problem)) {
        return Forward<float, Pair>(wide, narrow.x, narrow.y);
      }
    }
    return Forward<float>(wide);
  }
  static RnnSizes SizesOf(const RnnProblem& p, const ThreadBudget& n) {
    if constexpr (kHasPairs) {
      if (UsesPairs(p)) return ForwardSizes<float, Pair>(p, n);
    }
    return ForwardSizes<float>(p, n);
  }
};

template <typename Narrow>
struct RnnPass<RnnBackwardArgs, Narrow> {
  static RnnBackwardArgs Widen(const RnnBackwardArgs& a, Widened<Narrow>& w) {
    return WidenBackward(a, w);
  }
  static int32_t Run(const RnnBackwardArgs& wide, const RnnBackwardArgs&) {
    if constexpr (kHasPairs) {
      if (UsesPairs(wide.problem)) return Backward<float, Pair>(wide);
    }
    return Backward<float>(wide);
  }
  static RnnSizes SizesOf(const RnnProblem& p, const ThreadBudget& n) {
    if constexpr (kHasPairs) {
      if (UsesPairs(p)) return BackwardSizes<float, Pair>(p, n);
    }
    return BackwardSizes<float>(p, n);
  }
};

template <typename Narrow>
struct RnnPass<RnnPackArgs, Narrow> {
  static RnnPackArgs Widen(const RnnPackArgs& a, Widened<Narrow>& w) { return WidenPack(a, w); }
  static int32_t Run(const RnnPackArgs& wide, const RnnPackArgs&) {
    if constexpr (kHasPairs) {
      if (UsesPairs(wide.problem)) return Pack<float, Pair>(wide), 0;
    }
    return Pack<float>(wide), 0;
  }
  static RnnSizes SizesOf(const RnnProblem&, const ThreadBudget&) { return {}; }
};

template <typename Narrow, typename Args>
int32_t RunWidened(const Args& args) {
  Arena arena(args.scratch);
  Widened<Narrow> widened(arena, &args.parallel);
  Args wide = RnnPass<Args, Narrow>::Widen(args, widened);
  wide.scratch = arena.template Take<char>(0);
  const int32_t result = RnnPass<Args, Narrow>::Run(wide, args);
  if (result == 0) widened.Round();
  return result;
}

template <typename Narrow, typename Args>
RnnSizes WidenedSizes(const RnnProblem& p, const ThreadBudget& threads) {
  Arena arena;
  Widened<Narrow> widened(arena, nullptr);
  Args args = {};
  args.problem = p;
  RnnPass<Args, Narrow>::Widen(args, widened);
  RnnSizes sizes = RnnPass<Args, Narrow>::SizesOf(p, threads);
  if (arena.bytes() < 0 || sizes.scratch_bytes < 0) {
    sizes.scratch_bytes = -1;
  } else {
    sizes.scratch_bytes += arena.bytes();
  }
  return sizes;
}

inline RnnSizes RnnForwardSizes(const RnnProblem* p, const ThreadBudget* threads) {
  switch (p->dtype) {
    case kFloat64:
      return ForwardSizes<double>(*p, *threads);
    case kFloat16:
      return WidenedSizes<Eigen::half, RnnForwardArgs>(*p, *threads);
    case kBFloat16:
      return WidenedSizes<Eigen::bfloat16, RnnForwardArgs>(*p, *threads);
    default:
      return ForwardSizes<float>(*p, *threads);
  }
}

inline int32_t RnnForward(const RnnForwardArgs* args) {
  switch (args->problem.dtype) {
    case kFloat64:
      return Forward<double>(*args);
    case kFloat16:
      return RunWidened<Eigen::half>(*args);
    case kBFloat16:
      return RunWidened<Eigen::bfloat16>(*args);
    default:
      return Forward<float>(*args);
  }
}

inline RnnSizes RnnBackwardSizes(const RnnProblem* p, const ThreadBudget* threads) {
  switch (p->dtype) {
    case kFloat64:
      return BackwardSizes<double>(*p, *threads);
    case kFloat16:
      return WidenedSizes<Eigen::half, RnnBackwardArgs>(*p, *threads);
    case kBFloat16:
      return WidenedSizes<Eigen::bfloat16, RnnBackwardArgs>(*p, *threads);
    default:
      return BackwardSizes<float>(*p, *threads);
  }
}

inline int32_t RnnBackward(const RnnBackwardArgs* args) {
  switch (args->problem.dtype) {
    case kFloat64:
      return Backward<double>(*args);
    case kFloat16:
      return RunWidened<Eigen::half>(*args);
    case kBFloat16:
      return RunWidened<Eigen::bfloat16>(*args);
    default:
      return Backward<float>(*args);
  }
}

inline RnnPackSizes RnnPackedSizes(const RnnProblem* p) {
  RnnPackSizes sizes = {};
  switch (p->dtype) {
    case kFloat64:
      sizes.packed_bytes = AllPackedBytes<double>(*p);
      return sizes;
    case kFloat16:
      sizes.scratch_bytes =
          WidenedSizes<Eigen::half, RnnPackArgs>(*p, ThreadBudget{}).scratch_bytes;
      break;
    case kBFloat16:
      sizes.scratch_bytes =
          WidenedSizes<Eigen::bfloat16, RnnPackArgs>(*p, ThreadBudget{}).scratch_bytes;
      break;
    default:
      break;
  }
  if constexpr (kHasPairs) {
    if (UsesPairs(*p)) {
      sizes.packed_bytes = AllPackedBytes<float, Pair>(*p);
      sizes.element = kPackedBFloat16Pairs;
      return sizes;
    }
  }
  sizes.packed_bytes = AllPackedBytes<float>(*p);
  return sizes;
}

inline int32_t RnnPack(const RnnPackArgs* args) {
  switch (args->problem.dtype) {
    case kFloat64:
      return Pack<double>(*args), 0;
    case kFloat16:
      return RunWidened<Eigen::half>(*args);
    case kBFloat16:
      return RunWidened<Eigen::bfloat16>(*args);
    default:
      return Pack<float>(*args), 0;
  }
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PASS_RNN_ENTRY_H_
