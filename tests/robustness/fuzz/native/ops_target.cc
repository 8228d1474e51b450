// What the op kernels do with shapes and values from strangers, on cc/core and cpu/rnn_run: read
// the shapes, make a configuration, allocate, run. Every tensor has exactly the size of the shape
// that was given, so a wrong shape that is accepted is an access out of bounds.
#include <memory>
#include <vector>

#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/rnn_run.h"
#include "tests/robustness/fuzz/native/drawn.h"

namespace rnn_ops {
namespace fuzzing {
namespace {

using cpu::RnnBackwardArgs;
using cpu::RnnForwardArgs;
using cpu::RnnProblem;
using cpu::RnnSizes;

// The tensors of one call.
class Tensors {
 public:
  Tensors(FuzzedDataProvider& bytes, Dtype dtype) : bytes_(bytes), dtype_(dtype) {}

  void* Filled(const PartialShape& shape) {
    void* data = Output(shape);
    FillNumbers(bytes_, dtype_, memory_.back().get());
    return data;
  }
  void* Output(const PartialShape& shape) { return Bytes(Elements(shape) * SizeOf(dtype_)); }
  void* Bytes(int64_t bytes) {
    memory_.push_back(std::make_unique<Memory>(bytes));
    return memory_.back()->data();
  }

 private:
  FuzzedDataProvider& bytes_;
  const Dtype dtype_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

void Edit(FuzzedDataProvider& bytes, std::vector<PartialShape>& shapes) {
  for (int edits = bytes.ConsumeIntegralInRange<int>(0, 2); edits > 0; --edits) {
    EditShape(bytes, &shapes[bytes.ConsumeIntegralInRange<size_t>(0, shapes.size() - 1)],
              [&] { return bytes.ConsumeIntegralInRange<int64_t>(0, 20); });
  }
}

// The given lengths are any int32; returns whether they were taken.
bool DrawLengths(FuzzedDataProvider& bytes, const RnnConfig& config, bool given,
                 std::vector<int32_t>* lengths) {
  std::vector<int32_t> from(config.batch);
  for (int32_t& n : from) {
    n = bytes.ConsumeIntegralInRange<int>(0, 30) == 0
            ? bytes.ConsumeIntegral<int32_t>()
            : bytes.ConsumeIntegralInRange<int32_t>(0, static_cast<int32_t>(config.max_time));
  }
  lengths->assign(config.batch, -1);
  return Accepted(TakeSequenceLengths(given ? from.data() : nullptr, config.batch, config.max_time,
                                      lengths->data()));
}

struct Call {
  RnnConfig config;
  RnnProblem problem;
  RnnForwardArgs forward = {};
  RnnBackwardArgs backward = {};
};

// Both passes, the second with the reserve space of the first, of which some bytes may be others.
void RunBoth(FuzzedDataProvider& bytes, Tensors& tensors, Shapes& shapes, Call& call) {
  RnnForwardArgs& f = call.forward;
  RnnBackwardArgs& b = call.backward;
  f.problem = b.problem = call.problem;
  f.parallel = b.parallel = OneAfterTheOther(bytes.ConsumeIntegralInRange<int>(1, 4));
  f.x = b.x = tensors.Filled(shapes["input"]);
  f.h0 = b.h0 = tensors.Filled(shapes["input_h"]);
  f.c0 = b.c0 = tensors.Filled(shapes["input_c"]);
  f.y = tensors.Output(shapes["output"]);
  f.h_n = tensors.Output(shapes["output_h"]);
  f.c_n = tensors.Output(shapes["output_c"]);
  const RnnSizes sizes = cpu::RnnForwardSizes(f);
  Require(sizes.scratch_bytes >= 0 && sizes.reserve_bytes >= 0, "the sizes of a small call");
  f.scratch = tensors.Bytes(sizes.scratch_bytes);
  auto* const reserve = static_cast<unsigned char*>(tensors.Bytes(sizes.reserve_bytes));
  f.reserve = reserve;
  Require(cpu::RunRnnForward(f).ok(), "forward runs");

  const RnnSizes back = cpu::RnnBackwardSizes(b);
  Require(back.reserve_bytes == sizes.reserve_bytes, "the passes agree on the reserve space");
  Require(back.scratch_bytes >= 0, "the sizes of a small call");
  b.scratch = tensors.Bytes(back.scratch_bytes);
  b.reserve = reserve;
  b.y = f.y;
  b.dy = tensors.Filled(shapes["output_backprop"]);
  b.dh_n = tensors.Filled(shapes["output_h_backprop"]);
  b.dc_n = tensors.Filled(shapes["output_c_backprop"]);
  b.dx = tensors.Output(shapes["input"]);
  b.dh0 = tensors.Output(shapes["input_h"]);
  b.dc0 = tensors.Output(shapes["input_c"]);
  bool as_written = true;
  for (uint8_t byte : bytes.ConsumeBytes<uint8_t>(bytes.ConsumeIntegralInRange<size_t>(0, 8))) {
    if (sizes.reserve_bytes == 0) break;
    // Often in the header.
    const int64_t end =
        bytes.ConsumeBool() ? std::min<int64_t>(48, sizes.reserve_bytes) : sizes.reserve_bytes;
    reserve[bytes.ConsumeIntegralInRange<int64_t>(0, end - 1)] ^= byte;
    as_written = false;
  }
  const bool ran = Accepted(cpu::RunRnnBackward(b));
  Require(ran || !as_written, "backward runs on what forward wrote");
}

void RunStack(FuzzedDataProvider& bytes, Dtype dtype) {
  RnnAttrs attrs = DrawAttrs(bytes);
  const Sizes sizes = DrawSizes(bytes);
  if (attrs.mode == RnnMode::kLstm && bytes.ConsumeBool()) attrs.num_proj = sizes.P;
  Shapes shapes = StackShapes(attrs, sizes);
  shapes["reserve_space"] = PartialShape::Of({1});
  Edit(bytes, shapes.all());
  Call call;
  for (const PartialShape& shape : shapes.all()) {
    if (shape.dims.size() > 4 || Elements(shape) > 100'000 || Elements(shape) < 0) return;
  }
  CallShapes found;
  if (!Accepted(shapes.InferBackward(attrs, &found))) return;
  if (!Accepted(MakeRnnConfig(attrs, found.dims, &call.config))) return;
  std::vector<int32_t> lengths;
  if (!DrawLengths(bytes, call.config, true, &lengths)) return;
  call.problem = cpu::MakeRnnProblem(call.config, dtype);
  call.problem.lengths = lengths.data();
  call.problem.dropout_key[0] = bytes.ConsumeIntegral<uint32_t>();
  Tensors tensors(bytes, dtype);
  call.forward.params = call.backward.params = tensors.Filled(shapes["params"]);
  call.backward.dparams = tensors.Output(shapes["params"]);
  RunBoth(bytes, tensors, shapes, call);
}

void RunLayer(FuzzedDataProvider& bytes, Dtype dtype) {
  const RnnAttrs attrs = DrawLayerAttrs(bytes);
  Shapes shapes = LayerShapes(attrs, DrawSizes(bytes), bytes);
  shapes["reserve_space"] = PartialShape::Of({1});
  Edit(bytes, shapes.all());
  for (const PartialShape& shape : shapes.all()) {
    if (shape.dims.size() > 4 || Elements(shape) > 100'000) return;
  }
  CallShapes found;
  if (!Accepted(shapes.InferBackward(attrs, &found))) return;
  Call call;
  if (!Accepted(MakeRnnConfig(attrs, found.dims, &call.config))) return;
  std::vector<int32_t> lengths;
  const bool given = !IsAbsent(shapes["sequence_lengths"]);
  if (!DrawLengths(bytes, call.config, given, &lengths)) return;
  RnnProblem& p = call.problem = cpu::MakeRnnProblem(call.config, dtype);
  p.lengths = lengths.data();
  p.weight_layout = cpu::kKerasWeights;
  const bool biased = !IsAbsent(shapes["bias"]);
  p.bias_rows = !biased ? 0 : shapes["bias"].dims.size() == 2 ? 2 : 1;
  p.input_masked = IsAbsent(shapes["input_mask"]) ? 0 : 1;
  p.recurrent_masked = IsAbsent(shapes["recurrent_mask"]) ? 0 : 1;
  p.has_peepholes = IsAbsent(shapes["peepholes"]) ? 0 : 1;
  p.has_layer_norm = !IsAbsent(shapes["layer_norm"]);
  p.zoneout_drawn = attrs.has_zoneout() && !IsAbsent(shapes["seed"]);
  if (p.zoneout_drawn) p.dropout_key[0] = bytes.ConsumeIntegral<uint32_t>();
  Tensors tensors(bytes, dtype);
  cpu::LayerWeights& weights = call.forward.layer;
  // An input that is absent is null for the kernels, as the ops' tables see to.
  auto given_or_null = [&](const char* name) -> const void* {
    return IsAbsent(shapes[name]) ? nullptr : tensors.Filled(shapes[name]);
  };
  weights.kernel = given_or_null("kernel");
  weights.recurrent_kernel = given_or_null("recurrent_kernel");
  weights.bias = given_or_null("bias");
  weights.projection = given_or_null("projection");
  weights.peepholes = given_or_null("peepholes");
  weights.layer_norm = given_or_null("layer_norm");
  weights.input_mask = given_or_null("input_mask");
  weights.recurrent_mask = given_or_null("recurrent_mask");
  call.backward.layer = weights;
  call.backward.dkernel = tensors.Output(shapes["kernel"]);
  call.backward.drecurrent_kernel = tensors.Output(shapes["recurrent_kernel"]);
  call.backward.dbias = tensors.Output(shapes["bias"]);
  call.backward.dprojection = tensors.Output(shapes["projection"]);
  call.backward.dpeepholes = tensors.Output(shapes["peepholes"]);
  call.backward.dlayer_norm = tensors.Output(shapes["layer_norm"]);
  RunBoth(bytes, tensors, shapes, call);
}

void RunBlock(FuzzedDataProvider& bytes, Dtype dtype) {
  Shapes shapes = BlockShapes(DrawSizes(bytes));
  Edit(bytes, shapes.all());
  for (const PartialShape& shape : shapes.all()) {
    if (shape.dims.size() > 4 || Elements(shape) > 100'000) return;
  }
  CallShapes found;
  if (!Accepted(shapes.InferBackward(RnnAttrs(), &found))) return;
  const RnnDims& dims = found.dims;
  const int64_t seq_len = bytes.ConsumeIntegralInRange<int>(0, 9) == 0
                              ? bytes.ConsumeIntegral<int64_t>()
                              : bytes.ConsumeIntegralInRange<int64_t>(0, dims.max_time);
  cpu::BlockLstmProblem p;
  if (!Accepted(MakeBlockLstmConfig(dims, seq_len, &p))) return;
  p.dtype = dtype;
  p.use_peephole = bytes.ConsumeBool();
  p.cell_clip = bytes.ConsumeBool() ? bytes.ConsumeFloatingPoint<float>() : 0;
  Tensors tensors(bytes, dtype);
  cpu::BlockLstmForwardArgs f = {};
  f.problem = p;
  f.parallel = OneAfterTheOther(bytes.ConsumeIntegralInRange<int>(1, 4));
  f.x = tensors.Filled(shapes["x"]), f.cs_prev = tensors.Filled(shapes["cs_prev"]);
  f.h_prev = tensors.Filled(shapes["h_prev"]), f.w = tensors.Filled(shapes["w"]);
  f.wci = tensors.Filled(shapes["wci"]), f.wcf = tensors.Filled(shapes["wcf"]);
  f.wco = tensors.Filled(shapes["wco"]), f.b = tensors.Filled(shapes["b"]);
  f.i = tensors.Output(shapes["i"]), f.cs = tensors.Output(shapes["cs"]);
  f.f = tensors.Output(shapes["f"]), f.o = tensors.Output(shapes["o"]);
  f.ci = tensors.Output(shapes["ci"]), f.co = tensors.Output(shapes["co"]);
  f.h = tensors.Output(shapes["h"]);
  const cpu::KernelTable& kernels = cpu::Kernels();
  f.scratch = tensors.Bytes(kernels.block_lstm_forward_scratch(&p, &f.parallel.threads));
  Require(kernels.block_lstm_forward(&f) == 0, "forward runs");

  cpu::BlockLstmBackwardArgs b = {};
  b.problem = p;
  b.parallel = f.parallel;
  b.x = f.x, b.cs_prev = f.cs_prev, b.h_prev = f.h_prev, b.w = f.w;
  b.wci = f.wci, b.wcf = f.wcf, b.wco = f.wco, b.b = f.b;
  b.i = f.i, b.cs = f.cs, b.f = f.f, b.o = f.o, b.ci = f.ci, b.co = f.co, b.h = f.h;
  b.cs_grad = tensors.Filled(shapes["cs_grad"]), b.h_grad = tensors.Filled(shapes["h_grad"]);
  b.x_grad = tensors.Output(shapes["x"]), b.cs_prev_grad = tensors.Output(shapes["cs_prev"]);
  b.h_prev_grad = tensors.Output(shapes["h_prev"]), b.w_grad = tensors.Output(shapes["w"]);
  b.wci_grad = tensors.Output(shapes["wci"]), b.wcf_grad = tensors.Output(shapes["wcf"]);
  b.wco_grad = tensors.Output(shapes["wco"]), b.b_grad = tensors.Output(shapes["b"]);
  b.scratch = tensors.Bytes(kernels.block_lstm_backward_scratch(&p, &b.parallel.threads));
  Require(kernels.block_lstm_backward(&b) == 0, "backward runs");
}

void RunLinear(FuzzedDataProvider& bytes, Dtype dtype) {
  const OpSpec& op = kLinearRecurrence;
  const RnnAttrs attrs = DrawLinearAttrs(bytes);
  std::vector<PartialShape> shapes = LinearShapes(attrs, DrawSizes(bytes), bytes);
  Edit(bytes, shapes);
  for (const PartialShape& shape : shapes) {
    if (shape.dims.size() > 4 || Elements(shape) > 100'000) return;
  }
  CallShapes found;
  if (!Accepted(InferShapes(op, attrs, shapes, &found))) return;
  Tensors memory(bytes, dtype);
  CallTensors tensors(op);
  for (int k = 0; k < op.inputs.count; ++k) {
    if (IsUsed(op.inputs[k], attrs, shapes[k])) tensors.SetInput(k, memory.Filled(shapes[k]));
  }
  for (int k = 0; k < op.num_outputs(); ++k) {
    if (!IsZero(op.output(k), attrs)) tensors.SetOutput(k, memory.Output(found.outputs[k]));
  }
  if (found.dims.max_time == 0 || found.dims.batch == 0) return;
  cpu::LinearRecurrenceArgs args = cpu::MakeLinearRecurrenceArgs(
      attrs.mode, found.dims, dtype, /*transposed=*/bytes.ConsumeBool(), tensors);
  args.parallel = OneAfterTheOther(bytes.ConsumeIntegralInRange<int>(1, 4));
  const cpu::KernelTable& kernels = cpu::Kernels();
  const int64_t scratch = kernels.linear_recurrence_scratch(&args.problem, &args.parallel.threads);
  Require(scratch >= 0, "the size of a small call");
  args.scratch = memory.Bytes(scratch);
  Require(kernels.linear_recurrence(&args) == 0, "the recurrence runs");
}

}  // namespace
}  // namespace fuzzing
}  // namespace rnn_ops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  const auto dtype = static_cast<rnn_ops::Dtype>(bytes.ConsumeIntegralInRange(0, 3));
  switch (bytes.ConsumeIntegralInRange<int>(0, 3)) {
    case 0:
      if (bytes.ConsumeBool()) {
        rnn_ops::fuzzing::RunLinear(bytes, rnn_ops::fuzzing::LinearType(dtype));
      } else {
        rnn_ops::fuzzing::RunBlock(bytes, dtype);
      }
      break;
    case 1:
      rnn_ops::fuzzing::RunLayer(bytes, dtype);
      break;
    default:
      rnn_ops::fuzzing::RunStack(bytes, dtype);
      break;
  }
  return 0;
}
