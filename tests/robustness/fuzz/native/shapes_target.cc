// Configurations, shapes and the parameter layout, with sizes of any magnitude.
#include <algorithm>

#include "cc/core/op/param_layout.h"
#include "cc/core/op/rnn_config.h"
#include "tests/robustness/fuzz/native/drawn.h"

namespace rnn_ops::fuzzing {
namespace {

int64_t DrawDim(FuzzedDataProvider& bytes) {
  switch (bytes.ConsumeIntegralInRange<int>(0, 3)) {
    case 0:
      return bytes.ConsumeIntegralInRange<int64_t>(0, int64_t{1} << 33);
    case 1:
      return bytes.ConsumeIntegralInRange<int64_t>(0, INT64_MAX);
    default:
      return bytes.ConsumeIntegralInRange<int64_t>(0, 12);
  }
}

Sizes DrawAnySizes(FuzzedDataProvider& bytes) {
  Sizes s = DrawSizes(bytes);
  for (int64_t* size : {&s.T, &s.B, &s.I, &s.H, &s.L}) {
    if (bytes.ConsumeIntegralInRange<int>(0, 7) == 0) *size = DrawDim(bytes) >> 8;
  }
  return s;
}

void Edit(FuzzedDataProvider& bytes, std::vector<PartialShape>& shapes) {
  for (int edits = bytes.ConsumeIntegralInRange<int>(0, 3); edits > 0; --edits) {
    EditShape(bytes, &shapes[bytes.ConsumeIntegralInRange<size_t>(0, shapes.size() - 1)],
              [&] { return DrawDim(bytes); });
  }
}

// Makes sizes unknown. An accepted call must still be accepted.
void Hide(FuzzedDataProvider& bytes, std::vector<PartialShape>& shapes) {
  for (PartialShape& shape : shapes) {
    const int kind = bytes.ConsumeIntegralInRange<int>(0, 4);
    if (kind == 0) shape = PartialShape::Unknown();
    if (kind != 1) continue;
    for (int64_t& dim : shape.dims) {
      if (bytes.ConsumeBool()) dim = kUnknownDim;
    }
  }
}

void CheckLayout(const RnnConfig& config, int64_t params) {
  Require(ParamsSize(config) == params, "the size of params");
  if (config.num_pseudo_layers() > 100) return;
  const ParamLayout layout(config);
  Require(layout.size() == params, "the size of the layout");
  std::vector<ParamBlock> blocks;
  for (int64_t l = 0; l < config.num_layers; ++l) {
    for (int64_t d = 0; d < config.num_dirs(); ++d) {
      const PseudoLayerParams& at = layout.at(l, d);
      for (const ParamBlock* block : {&at.input_weights, &at.recurrent_weights, &at.projection,
                                      &at.input_bias, &at.recurrent_bias}) {
        if (block->size() > 0) blocks.push_back(*block);
      }
    }
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const ParamBlock& a, const ParamBlock& b) { return a.offset < b.offset; });
  int64_t end = 0;
  for (const ParamBlock& block : blocks) {
    Require(block.offset == end, "blocks lie one behind the other");
    end += block.size();
  }
  Require(end == params, "the blocks fill the buffer");
}

// The result of forward, or an empty result if forward rejects the call. Makes sizes unknown
// afterwards.
CallShapes CheckBoth(FuzzedDataProvider& bytes, const RnnAttrs& attrs, Shapes& shapes) {
  CallShapes found, unused;
  const bool forward = Accepted(shapes.InferForward(attrs, &found));
  const bool backward = Accepted(shapes.InferBackward(attrs, &unused));
  Require(forward || !backward, "what backward accepts, forward accepts");
  Hide(bytes, shapes.all());
  if (forward) Require(shapes.InferForward(attrs, &unused).ok(), "less is known and refused");
  if (backward) Require(shapes.InferBackward(attrs, &unused).ok(), "less is known and refused");
  return found;
}

void CheckStack(FuzzedDataProvider& bytes) {
  RnnAttrs attrs = DrawAttrs(bytes);
  const Sizes sizes = DrawAnySizes(bytes);
  if (bytes.ConsumeIntegralInRange<int>(0, 2) == 0) {
    attrs.num_proj = bytes.ConsumeBool() ? sizes.P : bytes.ConsumeIntegral<int64_t>();
  }
  if (bytes.ConsumeIntegralInRange<int>(0, 9) == 0) {
    attrs.dropout = bytes.ConsumeFloatingPoint<float>();
  }
  Shapes shapes = StackShapes(attrs, sizes);
  shapes["reserve_space"] = PartialShape::Of({DrawDim(bytes)});
  Edit(bytes, shapes.all());
  const CallShapes found = CheckBoth(bytes, attrs, shapes);
  if (found.outputs.empty()) return;
  const RnnConfig& config = found.config;
  CheckLayout(config, found.dims.params_size);
  const PartialShape& y = found.outputs[0];
  Require(y.dims.size() == 3 && y.dims[2] == config.output_size(), "the shape of output");
}

void CheckLayer(FuzzedDataProvider& bytes) {
  const RnnAttrs attrs = DrawLayerAttrs(bytes);
  Shapes shapes = LayerShapes(attrs, DrawAnySizes(bytes), bytes);
  shapes["reserve_space"] = PartialShape::Of({DrawDim(bytes)});
  Edit(bytes, shapes.all());
  const CallShapes found = CheckBoth(bytes, attrs, shapes);
  if (found.outputs.empty()) return;
  const RnnConfig& config = found.config;
  Require(config.num_units == found.dims.num_units && config.batch == found.dims.batch,
          "the sizes");
}

// The op and the packing of its weights, which has some of the inputs.
void CheckQuantized(FuzzedDataProvider& bytes) {
  const RnnAttrs attrs = DrawQuantizedAttrs(bytes);
  std::vector<PartialShape> shapes = QuantizedShapes(attrs, DrawAnySizes(bytes), bytes);
  Edit(bytes, shapes);
  const auto infer = [&](const OpSpec& op) {
    std::vector<PartialShape> inputs;
    for (const TensorSpec& input : op.inputs) {
      inputs.push_back(shapes[kQuantizedLayerRnn.Input(input.arg)]);
    }
    CallShapes found;
    return Accepted(InferShapes(op, attrs, inputs, &found));
  };
  const bool called = infer(kQuantizedLayerRnn), packed = infer(kPackQuantizedLayerRnn);
  Require(packed || !called, "weights of a call can be packed");
  Hide(bytes, shapes);
  Require(infer(kQuantizedLayerRnn) || !called, "less is known and refused");
  Require(infer(kPackQuantizedLayerRnn) || !packed, "less is known and refused");
}

void CheckBlock(FuzzedDataProvider& bytes) {
  Shapes shapes = BlockShapes(DrawAnySizes(bytes));
  Edit(bytes, shapes.all());
  const CallShapes found = CheckBoth(bytes, RnnAttrs(), shapes);
  if (found.outputs.empty()) return;
  BlockLstmConfig config;
  Accepted(MakeBlockLstmConfig(found.dims, bytes.ConsumeIntegral<int64_t>(), &config));
}

void CheckLinear(FuzzedDataProvider& bytes) {
  const RnnAttrs attrs = DrawLinearAttrs(bytes);
  std::vector<PartialShape> shapes = LinearShapes(attrs, DrawAnySizes(bytes), bytes);
  Edit(bytes, shapes);
  CallShapes found, unused;
  if (!Accepted(InferShapes(kLinearRecurrence, attrs, shapes, &found))) return;
  Require(found.outputs[0].dims == shapes[0].dims, "output has the shape of input");
  Hide(bytes, shapes);
  Require(InferShapes(kLinearRecurrence, attrs, shapes, &unused).ok(), "less is known and refused");
}

void CheckNames(FuzzedDataProvider& bytes) {
  const std::string text = bytes.ConsumeRandomLengthString(20);
  RnnMode mode;
  Activation activation;
  InputMode input;
  Direction direction;
  if (Accepted(ParseRnnMode(text, &mode))) Require(Name(mode) == text, text);
  if (Accepted(ParseActivation("activation", text, &activation))) {
    Require(Name(activation) == text, text);
  }
  if (Accepted(ParseInputMode(text, &input))) Require(Name(input) == text, text);
  if (Accepted(ParseDirection(text, &direction))) Require(Name(direction) == text, text);
}

}  // namespace
}  // namespace rnn_ops::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  switch (bytes.ConsumeIntegralInRange<int>(0, 6)) {
    case 0:
      rnn_ops::fuzzing::CheckNames(bytes);
      break;
    case 1:
      rnn_ops::fuzzing::CheckLayer(bytes);
      break;
    case 2:
      rnn_ops::fuzzing::CheckQuantized(bytes);
      break;
    case 3:
      if (bytes.ConsumeBool()) {
        rnn_ops::fuzzing::CheckLinear(bytes);
      } else {
        rnn_ops::fuzzing::CheckBlock(bytes);
      }
      break;
    default:
      rnn_ops::fuzzing::CheckStack(bytes);
      break;
  }
  return 0;
}
