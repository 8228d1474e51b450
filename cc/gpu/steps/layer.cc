#include "cc/gpu/steps/layer.h"

#include <cstring>

#include "cc/core/fnv1a.h"
#include "cc/gpu/kernels/cells/lstm_layer_norm.h"
#include "cc/gpu/kernels/layer_kernels.h"

namespace rnn_ops::gpu {
namespace {

constexpr int64_t kAlignment = 256;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A cell's row of facts: its kernels, and what the struct of its equations says.
struct CellRow {
  CellKernels kernels;
  int64_t saved;
  bool carries_h;
};

template <typename Cell>
CellRow RowOf(Kernel step, Kernel back) {
  return {{step, back}, Cell::kSaved, Cell::kCarriesH != 0};
}

CellRow CellOf(const LayerProblem& p) {
  switch (p.mode) {
    case RnnMode::kLstm:
      if (p.has_layer_norm) {
        return RowOf<elementwise::LstmLayerNorm<float>>(Kernel::row_layer_norm_step_f32,
                                                        Kernel::row_layer_norm_back_f32);
      }
      return RowOf<elementwise::Lstm<float>>(Kernel::lstm_step_f32, Kernel::lstm_back_f32);
    case RnnMode::kGru:
      return RowOf<elementwise::Gru<float>>(Kernel::gru_step_f32, Kernel::gru_back_f32);
    case RnnMode::kGruResetBefore:
      return RowOf<elementwise::GruResetBefore<float>>(Kernel::reset_before_step_f32,
                                                       Kernel::reset_before_back_f32);
    case RnnMode::kRelu:
    case RnnMode::kTanh:
    case RnnMode::kVanilla:
      break;
  }
  return RowOf<elementwise::Vanilla<float>>(Kernel::vanilla_step_f32, Kernel::vanilla_back_f32);
}

Activation StateActivation(const LayerProblem& p) {
  return p.mode == RnnMode::kRelu   ? Activation::kRelu
         : p.mode == RnnMode::kTanh ? Activation::kTanh
                                    : p.activation;
}

// Another problem has another fingerprint, so that its reserve space is not taken for this one's.
// The device compares the lengths and the seed (HasGradient), which only it knows.
uint64_t Fingerprint(const LayerProblem& p) {
  Fnv1a hash;
  for (int64_t size : {p.max_time, p.batch, p.input_size, p.num_units, p.num_proj}) {
    hash.Add(static_cast<uint64_t>(size));
  }
  for (int kind : {static_cast<int>(p.mode), static_cast<int>(p.activation),
                   static_cast<int>(p.recurrent_activation), static_cast<int>(p.dtype),
                   static_cast<int>(p.bias_rows), static_cast<int>(p.input_mode),
                   static_cast<int>(p.direction), static_cast<int>(p.num_layers)}) {
    hash.Add(static_cast<uint64_t>(kind));
  }
  for (bool flag :
       {p.has_peepholes, p.has_layer_norm, p.input_masked, p.recurrent_masked, p.zoneout_drawn}) {
    hash.Add(uint64_t{flag});
  }
  for (float number :
       {p.cell_clip, p.proj_clip, p.zoneout_h, p.zoneout_c, p.layer_norm_epsilon, p.dropout}) {
    hash.Add(number);
  }
  return hash.value();
}

}  // namespace

LayerSizes::LayerSizes(const LayerProblem& p)
    : T(p.max_time),
      B(p.batch),
      I(p.input_size),
      H(p.num_units),
      S(p.hidden_size()),
      G(p.num_gates()),
      saved(CellOf(p).saved),
      cell(CellOf(p).kernels),
      has_c(FactsOf(p.mode).has_c),
      carries_h(CellOf(p).carries_h || p.has_zoneout()),
      splits_gradients(FactsOf(p.mode).bias_rows == 2 || p.has_layer_norm),
      by_row(p.has_layer_norm),
      reset_before(p.mode == RnnMode::kGruResetBefore) {}

LayerReserve::LayerReserve(const LayerProblem& p) {
  const LayerSizes n(p);
  const int64_t element = SizeOf(MathDtype(p.dtype));
  gates_at = Aligned(int64_t{sizeof(elementwise::ReserveHeader)} + n.B * int64_t{sizeof(int)});
  c_at = gates_at + Aligned(n.T * n.gate_step() * element);
  bytes = c_at + (n.has_c ? Aligned((n.T + 1) * n.B * n.H * element) : 0);
}

elementwise::LayerCall CallOf(const LayerProblem& p, const LayerInputs& in, void* header) {
  const LayerSizes n(p);
  elementwise::LayerCall call = {};
  call.batch = n.B;
  call.units = n.H;
  call.hidden = n.S;
  call.max_time = n.T;
  call.lengths = in.lengths;
  call.input_h = in.h0;
  call.input_c = n.has_c ? in.c0 : nullptr;
  call.bias = in.bias;
  call.peepholes = p.has_peepholes ? in.peepholes : nullptr;
  call.layer_norm = p.has_layer_norm ? in.layer_norm : nullptr;
  call.masks = p.recurrent_masked ? in.recurrent_mask : nullptr;
  call.seed = p.zoneout_drawn ? reinterpret_cast<const long long*>(in.seed) : nullptr;
  call.header = static_cast<elementwise::ReserveHeader*>(header);
  call.fingerprint = Fingerprint(p);
  call.element = ElementOf(p.dtype);
  call.bias_rows = p.bias_rows;
  call.gates = static_cast<int>(n.G);
  call.saved = static_cast<int>(n.saved);
  call.activation = static_cast<int>(StateActivation(p));
  call.recurrent_activation = static_cast<int>(p.recurrent_activation);
  call.cell_clip = p.cell_clip;
  call.proj_clip = p.num_proj > 0 ? p.proj_clip : 0.0f;
  call.zoneout_h = p.zoneout_h;
  call.zoneout_c = p.zoneout_c;
  call.epsilon = p.layer_norm_epsilon;
  return call;
}

Status DequantizeWeights(const ProductCall& call, const LayerProblem& p, LayerInputs* in) {
  const LayerSizes n(p);
  const auto widen = [&](const float* scales, int64_t rows, int64_t columns,
                         const void** weights) -> Status {
    if (scales == nullptr) return Status();
    void* wide = nullptr;
    RNN_OPS_RETURN_IF_ERROR(call.Scratch("the weights", rows * columns, p.dtype, &wide));
    const elementwise::Dequantize args = {
        static_cast<const signed char*>(*weights), scales, wide, rows, columns, ElementOf(p.dtype)};
    *weights = wide;
    return call.Launch(KernelForMath(Kernel::dequantize_f32, p.dtype), rows, columns, args);
  };
  RNN_OPS_RETURN_IF_ERROR(widen(in->kernel_scale, n.I, n.columns(), &in->kernel));
  RNN_OPS_RETURN_IF_ERROR(
      widen(in->recurrent_kernel_scale, n.S, n.columns(), &in->recurrent_kernel));
  return widen(in->projection_scale, n.H, n.S, &in->projection);
}

Status SwapLeading(const ProductCall& call, Dtype dtype, void* to, const void* from, int64_t rows,
                   int64_t columns, int64_t width) {
  const elementwise::SwapLeading args = {from, to, rows, columns, width};
  return call.Launch(KernelForSize(Kernel::swap_leading_dims_b16, dtype), rows * columns, width,
                     args);
}

Status TimeMajor(const ProductCall& call, const LayerProblem& p, const char* purpose,
                 const void* tensor, int64_t width, const void** result) {
  *result = tensor;
  if (!SwapsSequences(p)) return Status();
  void* copy = nullptr;
  RNN_OPS_RETURN_IF_ERROR(call.Scratch(purpose, p.max_time * p.batch * width, p.dtype, &copy));
  *result = copy;
  return SwapLeading(call, p.dtype, copy, tensor, p.batch, p.max_time, width);
}

int64_t MaskedRows(const ProductCall& call, const LayerProblem& p, int64_t element, int64_t steps) {
  const LayerSizes n(p);
  return call.StepsThatFit(n.G * n.B * n.I * element, steps) * n.B;
}

elementwise::RowSteps StepsFrom(const LayerProblem& p, const int32_t* lengths, int64_t first_row) {
  return {lengths, p.batch, p.max_time, first_row / p.batch};
}

Status MaskCopies(const ProductCall& call, const LayerProblem& p, const void* masks, int64_t gates,
                  int64_t width, const MaskedCopy& copy) {
  elementwise::ApplyMasks args = {};
  args.from = copy.from;
  args.masks = masks;
  args.to = copy.to;
  args.steps = copy.steps;
  args.rows = copy.rows;
  args.width = width;
  args.all_rows = copy.all_rows;
  args.first_row = copy.first_row;
  args.gates = static_cast<int>(gates);
  args.element = ElementOf(p.dtype);
  return call.Launch(KernelForMath(Kernel::apply_masks_f32, p.dtype), copy.rows, width, args);
}

}  // namespace rnn_ops::gpu
