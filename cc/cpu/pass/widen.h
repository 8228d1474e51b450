// The tensors of a call in float32: what each op reads and writes, and how large it is.
#ifndef TF_RNN_OPS_CC_CPU_PASS_WIDEN_H_
#define TF_RNN_OPS_CC_CPU_PASS_WIDEN_H_

#include <cstdint>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/rnn_forward.h"
#include "cc/cpu/pass/sizes.h"
#include "cc/cpu/pass/weights.h"
#include "cc/cpu/rows/narrow.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Elements of the tensors of a problem.
struct RnnCounts {
  int64_t x, y, h, c, params;
  // 0 with opaque weights
  int64_t kernel, recurrent_kernel, bias, projection, peepholes, layer_norm, input_mask,
      recurrent_mask;
};

inline RnnCounts CountsOf(const RnnProblem& p) {
  const Sizes<float> s = MakeSizes<float>(p);
  const int64_t rows = Area(p.max_time, p.batch);
  const int64_t states = Area(p.num_pseudo_layers(), p.batch);
  RnnCounts n = {};
  n.x = Area(rows, p.input_size);
  n.y = Area(rows, s.output);
  n.h = Area(states, s.hidden);
  n.c = s.cell.has_c ? Area(states, s.units) : 0;
  if (p.weight_layout != kKerasWeights) {
    n.params = OffsetsOf(p, s).size();
    return n;
  }
  const int64_t columns = s.gate_units();
  n.kernel = Area(p.input_size, columns);
  n.recurrent_kernel = Area(s.hidden, columns);
  n.bias = p.bias_rows * columns;
  n.projection = Area(s.units, s.proj);
  n.peepholes = p.has_peepholes ? 3 * s.units : 0;
  n.layer_norm = p.has_layer_norm ? kLayerNormRows * s.units : 0;
  const int64_t mask_rows = Area(s.cell.gates, p.batch);
  n.input_mask = p.input_masked ? Area(mask_rows, p.input_size) : 0;
  n.recurrent_mask = p.recurrent_masked ? Area(mask_rows, s.hidden) : 0;
  return n;
}

// What packed weights hold.
template <typename Narrow>
void WidenPacked(const LayerWeights& layer, const RnnCounts& n, Widened<Narrow>& w,
                 LayerWeights* wide) {
  wide->kernel = w.In(layer.kernel, n.kernel);
  wide->recurrent_kernel = w.In(layer.recurrent_kernel, n.recurrent_kernel);
  wide->bias = w.In(layer.bias, n.bias);
  wide->projection = w.In(layer.projection, n.projection);
}

// What is read beside them.
template <typename Narrow>
void WidenUnpacked(const LayerWeights& layer, const RnnCounts& n, Widened<Narrow>& w,
                   LayerWeights* wide) {
  wide->peepholes = w.In(layer.peepholes, n.peepholes);
  wide->layer_norm = w.In(layer.layer_norm, n.layer_norm);
  wide->input_mask = w.In(layer.input_mask, n.input_mask);
  wide->recurrent_mask = w.In(layer.recurrent_mask, n.recurrent_mask);
}

// Whether the products of a problem run on pairs of bfloat16 (Note [Pairs]). What is rare computes
// in float32: a second product in each step, peepholes, skip_input, masks. The batch has no say,
// because packed weights do not know it.
inline bool UsesPairs(const RnnProblem& p) {
  return p.bf16_products && p.dtype == kBFloat16 && p.num_proj == 0 && FormatOf(p).pairs &&
         !p.skips_input(0) && !p.input_masked && !p.recurrent_masked &&
         CpuPairUnit() != PairUnit::kNone;
}

template <typename Narrow>
RnnForwardArgs Widen(const RnnForwardArgs& args, Widened<Narrow>& w) {
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
    WidenPacked(args.layer, n, w, &wide.layer);
  } else if (args.problem.has_layer_norm) {  // which reads the bias apart from the panels
    wide.layer.bias = w.In(args.layer.bias, n.bias);
  }
  WidenUnpacked(args.layer, n, w, &wide.layer);
  wide.y = w.Out(args.y, n.y);
  wide.h_n = w.Out(args.h_n, n.h);
  wide.c_n = w.Out(args.c_n, n.c);
  return wide;
}

template <typename Narrow>
RnnBackwardArgs Widen(const RnnBackwardArgs& args, Widened<Narrow>& w) {
  const RnnCounts n = CountsOf(args.problem);
  const bool pairs = UsesPairs(args.problem);
  RnnBackwardArgs wide = args;
  wide.x = w.In(args.x, n.x);
  wide.h0 = w.In(args.h0, n.h);
  wide.c0 = w.In(args.c0, n.c);
  if (!pairs) {  // which are packed from bfloat16
    wide.params = w.In(args.params, n.params);
    WidenPacked(args.layer, n, w, &wide.layer);
  }
  WidenUnpacked(args.layer, n, w, &wide.layer);
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
  wide.dprojection = w.Out(args.dprojection, n.projection);
  wide.dpeepholes = w.Out(args.dpeepholes, n.peepholes);
  wide.dlayer_norm = w.Out(args.dlayer_norm, n.layer_norm);
  return wide;
}

template <typename Narrow>
RnnPackArgs Widen(const RnnPackArgs& args, Widened<Narrow>& w) {
  RnnPackArgs wide = args;
  if (UsesPairs(args.problem)) return wide;
  const RnnCounts n = CountsOf(args.problem);
  wide.params = w.In(args.params, n.params);
  WidenPacked(args.layer, n, w, &wide.layer);
  return wide;
}

// Elements of the tensors of a problem.
struct BlockLstmCounts {
  int64_t x, state, w, units, b, steps;
};

inline BlockLstmCounts CountsOf(const BlockLstmProblem& p) {
  const int64_t rows = Area(p.max_time, p.batch);
  return {Area(rows, p.input_size),
          Area(p.batch, p.num_units),
          Area(p.input_size + p.num_units, 4 * p.num_units),
          p.num_units,
          4 * p.num_units,
          Area(rows, p.num_units)};
}

// What forward and backward share of their arguments.
template <typename Narrow, typename Args>
Args WidenBlockLstmInputs(const Args& args, const BlockLstmCounts& n, Widened<Narrow>& w) {
  Args wide = args;
  wide.x = w.In(args.x, n.x);
  for (auto state : {&Args::cs_prev, &Args::h_prev}) wide.*state = w.In(args.*state, n.state);
  wide.w = w.In(args.w, n.w);
  for (auto peephole : {&Args::wci, &Args::wcf, &Args::wco}) {
    wide.*peephole = w.In(args.*peephole, n.units);
  }
  wide.b = w.In(args.b, n.b);
  return wide;
}

template <typename Narrow>
BlockLstmForwardArgs Widen(const BlockLstmForwardArgs& args, Widened<Narrow>& w) {
  using Args = BlockLstmForwardArgs;
  const BlockLstmCounts n = CountsOf(args.problem);
  Args wide = WidenBlockLstmInputs(args, n, w);
  for (auto out : {&Args::i, &Args::cs, &Args::f, &Args::o, &Args::ci, &Args::co, &Args::h}) {
    wide.*out = w.Out(args.*out, n.steps);
  }
  return wide;
}

template <typename Narrow>
BlockLstmBackwardArgs Widen(const BlockLstmBackwardArgs& args, Widened<Narrow>& w) {
  using Args = BlockLstmBackwardArgs;
  const BlockLstmCounts n = CountsOf(args.problem);
  Args wide = WidenBlockLstmInputs(args, n, w);
  for (auto in : {&Args::i, &Args::cs, &Args::f, &Args::o, &Args::ci, &Args::co, &Args::h,
                  &Args::cs_grad, &Args::h_grad}) {
    wide.*in = w.In(args.*in, n.steps);
  }
  wide.x_grad = w.Out(args.x_grad, n.x);
  for (auto out : {&Args::cs_prev_grad, &Args::h_prev_grad}) {
    wide.*out = w.Out(args.*out, n.state);
  }
  wide.w_grad = w.Out(args.w_grad, n.w);
  for (auto out : {&Args::wci_grad, &Args::wcf_grad, &Args::wco_grad}) {
    wide.*out = w.Out(args.*out, n.units);
  }
  wide.b_grad = w.Out(args.b_grad, n.b);
  return wide;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_WIDEN_H_
