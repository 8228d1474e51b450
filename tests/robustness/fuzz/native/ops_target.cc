// Runs the op kernels on untrusted shapes and values, with cc/core and cpu/op_run: reads the
// shapes, makes a configuration, allocates memory, and runs. Every tensor has exactly the size of
// its given shape, so accepting a wrong shape causes an access out of bounds.
#include <memory>
#include <vector>

#include "cc/cpu/call/op_run.h"
#include "tests/robustness/fuzz/native/drawn.h"

namespace rnn_ops::fuzzing {
namespace {

using cpu::RnnProblem;

// The tensors of one call.
class Tensors {
 public:
  Tensors(FuzzedDataProvider& bytes, Dtype dtype) : bytes_(bytes), dtype_(dtype) {}

  void* Filled(const PartialShape& shape) {
    void* data = Output(shape);
    FillNumbers(bytes_, dtype_, memory_.back().get());
    return data;
  }
  // int8 weights, of which all bytes are valid, or their scales.
  void* Filled(const PartialShape& shape, Element element) {
    const int64_t size = element == Element::kInt8 ? 1 : SizeOf(kFloat32);
    memory_.push_back(std::make_unique<Memory>(Elements(shape) * size));
    FillNumbers(bytes_, kFloat32, memory_.back().get());
    return memory_.back()->data();
  }
  void* Output(const PartialShape& shape) {
    memory_.push_back(std::make_unique<Memory>(Elements(shape) * SizeOf(dtype_)));
    return memory_.back()->data();
  }

  // The tensors of a call. Only tensors that the call reads are passed. Outputs of an earlier call
  // may be inputs.
  CallTensors Of(const OpSpec& op, const RnnAttrs& attrs, const std::vector<PartialShape>& inputs,
                 const CallShapes& found, const CallTensors& before = {}) {
    CallTensors tensors;
    for (int k = 0; k < op.inputs.count; ++k) {
      const TensorSpec& input = op.inputs[k];
      const bool of_int8 = input.element == Element::kFloat32 || input.element == Element::kInt8;
      if (of_int8 && input.arg != Arg::host_reserved && IsUsed(input, attrs, inputs[k])) {
        tensors.SetInput(input.arg, Filled(inputs[k], input.element), input.TypeIn(dtype_),
                         Elements(inputs[k]));
      }
      if (!input.has_numbers() || !IsUsed(input, attrs, inputs[k])) continue;
      const void* data = before.out(input.arg) != nullptr  ? before.out(input.arg)
                         : before.in(input.arg) != nullptr ? before.in(input.arg)
                                                           : Filled(inputs[k]);
      tensors.SetInput(input.arg, data, TypeOf(dtype_), Elements(inputs[k]));
    }
    for (int k = 0; k < op.num_outputs(); ++k) {
      const TensorSpec& output = op.output(k);
      if (!output.has_numbers() || IsZero(output, attrs)) continue;
      const PartialShape& shape = found.outputs[k];
      tensors.SetOutput(output.arg, Output(shape), TypeOf(dtype_), Elements(shape));
    }
    return tensors;
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

// The given lengths are any int32. Returns whether the lengths were accepted.
bool DrawLengths(FuzzedDataProvider& bytes, const RnnConfig& config, bool given,
                 std::vector<int32_t>* memory, cpu::SequenceLengths* lengths) {
  std::vector<int32_t> from(config.batch);
  for (int32_t& n : from) {
    n = bytes.ConsumeIntegralInRange<int>(0, 30) == 0
            ? bytes.ConsumeIntegral<int32_t>()
            : bytes.ConsumeIntegralInRange<int32_t>(0, static_cast<int32_t>(config.max_time));
  }
  memory->assign(config.batch, -1);
  lengths->steps = memory->data();
  return Accepted(CopySequenceLengths(given ? from.data() : nullptr, config.batch, config.max_time,
                                      memory->data(), &lengths->sum));
}

// Runs both passes. The second pass gets the reserve space of the first pass, possibly with changed
// bytes.
void RunBoth(FuzzedDataProvider& bytes, Dtype dtype, const RnnAttrs& attrs, Shapes& shapes,
             const cpu::SequenceLengths& lengths, const CallShapes& back) {
  CallShapes found;
  Require(shapes.InferForward(attrs, &found).ok(), "what backward accepts, forward accepts");
  Tensors memory(bytes, dtype);
  CallTensors forward = memory.Of(shapes.forward(), attrs, shapes.all(), found);
  const int64_t seed[2] = {};
  const bool drawn = attrs.has_zoneout() && !IsAbsent(shapes["seed"]);
  if (drawn) forward.SetInput(Arg::seed, seed, ElementType::kOther, 2);
  RnnProblem p = cpu::MakeRnnProblem(found.config, dtype, forward);
  p.lengths = lengths;
  p.dropout_key[0] = bytes.ConsumeIntegral<uint32_t>();
  FuzzHost host(bytes.ConsumeIntegralInRange<int>(1, 4), dtype);
  Require(cpu::RunRnnForward(p, forward, &host).ok(), "forward runs");

  CallTensors backward = memory.Of(shapes.backward(), attrs, shapes.all(), back, forward);
  if (drawn) backward.SetInput(Arg::seed, seed, ElementType::kOther, 2);
  const bool as_written = !host.ChangeReserve(bytes);
  const bool ran = Accepted(cpu::RunRnnBackward(p, backward, &host));
  Require(ran || !as_written, "backward runs on what forward wrote");
}

void RunStack(FuzzedDataProvider& bytes, Dtype dtype) {
  RnnAttrs attrs = DrawAttrs(bytes);
  const Sizes sizes = DrawSizes(bytes);
  if (attrs.mode == RnnMode::kLstm && bytes.ConsumeBool()) attrs.num_proj = sizes.P;
  Shapes shapes = StackShapes(attrs, sizes);
  shapes["reserve_space"] = PartialShape::Of({1});
  Edit(bytes, shapes.all());
  for (const PartialShape& shape : shapes.all()) {
    if (shape.dims.size() > 4 || Elements(shape) > 100'000 || Elements(shape) < 0) return;
  }
  CallShapes found;
  if (!Accepted(shapes.InferBackward(attrs, &found))) return;
  std::vector<int32_t> memory_of_lengths;
  cpu::SequenceLengths lengths;
  if (!DrawLengths(bytes, found.config, true, &memory_of_lengths, &lengths)) return;
  RunBoth(bytes, dtype, attrs, shapes, lengths, found);
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
  std::vector<int32_t> memory_of_lengths;
  cpu::SequenceLengths lengths;
  const bool given = !IsAbsent(shapes["sequence_lengths"]);
  if (!DrawLengths(bytes, found.config, given, &memory_of_lengths, &lengths)) return;
  RunBoth(bytes, dtype, attrs, shapes, lengths, found);
}

void RunQuantized(FuzzedDataProvider& bytes, Dtype dtype) {
  const OpSpec& op = kQuantizedLayerRnn;
  const RnnAttrs attrs = DrawQuantizedAttrs(bytes);
  std::vector<PartialShape> shapes = QuantizedShapes(attrs, DrawSizes(bytes), bytes);
  Edit(bytes, shapes);
  for (const PartialShape& shape : shapes) {
    if (shape.dims.size() > 4 || Elements(shape) > 100'000) return;
  }
  CallShapes found;
  if (!Accepted(InferShapes(op, attrs, shapes, &found))) return;
  std::vector<int32_t> memory_of_lengths;
  cpu::SequenceLengths lengths;
  const bool given = !IsAbsent(shapes[op.Input(Arg::sequence_lengths)]);
  if (!DrawLengths(bytes, found.config, given, &memory_of_lengths, &lengths)) return;
  Tensors memory(bytes, dtype);
  const CallTensors tensors = memory.Of(op, attrs, shapes, found);
  RnnProblem p = cpu::MakeRnnProblem(found.config, dtype, tensors);
  p.lengths = lengths;
  FuzzHost host(bytes.ConsumeIntegralInRange<int>(1, 4), dtype);
  Require(p.int8_weights && cpu::RunRnnForward(p, tensors, &host).ok(), "forward runs");
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
  Tensors memory(bytes, dtype);
  const RnnAttrs none;
  CallShapes forward_shapes;
  Require(shapes.InferForward(none, &forward_shapes).ok(), "the shapes of forward");
  const CallTensors forward = memory.Of(shapes.forward(), none, shapes.all(), forward_shapes);
  FuzzHost host(bytes.ConsumeIntegralInRange<int>(1, 4), dtype);
  Require(cpu::RunBlockLstmForward(p, forward, &host).ok(), "forward runs");
  const CallTensors backward = memory.Of(shapes.backward(), none, shapes.all(), found, forward);
  Require(cpu::RunBlockLstmBackward(p, backward, &host).ok(), "backward runs");
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
  const CallTensors tensors = memory.Of(op, attrs, shapes, found);
  const cpu::LinearRecurrenceProblem problem = cpu::MakeLinearRecurrenceProblem(
      attrs.mode, found.dims, dtype, /*transposed=*/bytes.ConsumeBool(), tensors);
  FuzzHost host(bytes.ConsumeIntegralInRange<int>(1, 4), dtype);
  Require(cpu::RunLinearRecurrence(problem, tensors, &host).ok(), "the recurrence runs");
}

}  // namespace
}  // namespace rnn_ops::fuzzing

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
    case 2:
      rnn_ops::fuzzing::RunQuantized(bytes, rnn_ops::fuzzing::QuantizedType(dtype));
      break;
    default:
      rnn_ops::fuzzing::RunStack(bytes, dtype);
      break;
  }
  return 0;
}
