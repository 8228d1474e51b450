// The LayerRNN part of shapes.h.
#include <algorithm>

#include "cc/core/old_dim_solver.h"
#include "cc/core/old_shapes.h"

namespace rnn_ops {
namespace {

class LayerRnnSolver {
 public:
  explicit LayerRnnSolver(const RnnAttrs& attrs) : attrs_(attrs) {
    RnnConfig config;
    config.mode = attrs.mode;
    gates_.value = config.num_gates();
    gates_.source = "rnn_mode";
  }

  Status MergeInputs(const LayerRnnInputShapes& in) {
    const int64_t gates = gates_.value;
    RNN_OPS_RETURN_IF_ERROR(Sequence("input", in.input, &input_size_));
    RNN_OPS_RETURN_IF_ERROR(State("input_h", in.input_h));
    RNN_OPS_RETURN_IF_ERROR(CellState("input_c", in.input_c));
    RNN_OPS_RETURN_IF_ERROR(MergeShape("kernel", in.kernel, {&input_size_, {&units_, gates}}));
    RNN_OPS_RETURN_IF_ERROR(
        MergeShape("recurrent_kernel", in.recurrent_kernel, {&units_, {&units_, gates}}));
    if (attrs_.mode == RnnMode::kGru) {
      RNN_OPS_RETURN_IF_ERROR(Optional("bias", in.bias, {DimTerm::Exactly(2), {&units_, gates}}));
    } else {
      RNN_OPS_RETURN_IF_ERROR(Optional("bias", in.bias, {{&units_, gates}}));
    }
    RNN_OPS_RETURN_IF_ERROR(Optional("sequence_lengths", in.sequence_lengths, {&batch_}));
    RNN_OPS_RETURN_IF_ERROR(
        Optional("input_mask", in.input_mask, {&gates_, &batch_, &input_size_}));
    return Optional("recurrent_mask", in.recurrent_mask, {&gates_, &batch_, &units_});
  }

  Status MergeOutputs(const LayerRnnBackpropShapes& in) {
    RNN_OPS_RETURN_IF_ERROR(Sequence("output", in.output, &units_));
    RNN_OPS_RETURN_IF_ERROR(State("output_h", in.output_h));
    RNN_OPS_RETURN_IF_ERROR(CellState("output_c", in.output_c));
    RNN_OPS_RETURN_IF_ERROR(Sequence("output_backprop", in.output_backprop, &units_));
    RNN_OPS_RETURN_IF_ERROR(State("output_h_backprop", in.output_h_backprop));
    return CellState("output_c_backprop", in.output_c_backprop);
  }

  Status Finish(RnnDims* dims) const {
    RnnDims result;
    result.max_time = max_time_.value;
    result.batch = batch_.value;
    result.input_size = input_size_.value;
    result.num_units = units_.value;
    result.hidden_size = units_.value;
    result.pseudo_layers = 1;
    // With every unknown size as small as it can be: what is refused here cannot become legal.
    RnnDims smallest = result;
    for (int64_t* size : {&smallest.max_time, &smallest.batch}) *size = std::max<int64_t>(0, *size);
    for (int64_t* size : {&smallest.input_size, &smallest.num_units}) {
      *size = std::max<int64_t>(1, *size);
    }
    RnnConfig config;
    RNN_OPS_RETURN_IF_ERROR(MakeLayerRnnConfig(attrs_, smallest, &config));
    *dims = result;
    return Status();
  }

 private:
  Status Sequence(const char* tensor, const PartialShape& shape, OldLetter* last) {
    if (attrs_.time_major) return MergeShape(tensor, shape, {&max_time_, &batch_, last});
    return MergeShape(tensor, shape, {&batch_, &max_time_, last});
  }

  Status State(const char* tensor, const PartialShape& shape) {
    return MergeShape(tensor, shape, {&batch_, &units_});
  }

  Status CellState(const char* tensor, const PartialShape& shape) {
    return attrs_.mode == RnnMode::kLstm ? State(tensor, shape) : Status();
  }

  Status Optional(const char* tensor, const PartialShape& shape,
                  std::initializer_list<DimTerm> terms) {
    if (IsAbsent(shape)) return Status();
    // A vector of unknown size may yet turn out to be [0].
    if (shape.known_rank && shape.dims.size() == 1 && shape.dims[0] < 0) return Status();
    return MergeShape(tensor, shape, terms);
  }

  const RnnAttrs attrs_;
  OldLetter max_time_{"T", 0};
  OldLetter batch_{"B", 0};
  OldLetter input_size_{"I", 1};
  OldLetter units_{"H", 1};
  OldLetter gates_{"G", 1};
};

}  // namespace

Status InferLayerRnn(const RnnAttrs& attrs, const LayerRnnInputShapes& in, RnnDims* dims) {
  LayerRnnSolver solver(attrs);
  RNN_OPS_RETURN_IF_ERROR(solver.MergeInputs(in));
  return solver.Finish(dims);
}

Status InferLayerRnnBackprop(const RnnAttrs& attrs, const LayerRnnBackpropShapes& in,
                             RnnDims* dims) {
  LayerRnnSolver solver(attrs);
  RNN_OPS_RETURN_IF_ERROR(solver.MergeInputs(in.in));
  RNN_OPS_RETURN_IF_ERROR(solver.MergeOutputs(in));
  RNN_OPS_RETURN_IF_ERROR(RequireReserveSpace(in.reserve_space));
  return solver.Finish(dims);
}

Status MakeLayerRnnConfig(const RnnAttrs& attrs, const RnnDims& dims, RnnConfig* config) {
  if (dims.max_time < 0 || dims.batch < 0 || dims.input_size < 1 || dims.num_units < 1) {
    return Internal("The sizes of a recurrent layer are not complete: T = ", dims.max_time,
                    ", B = ", dims.batch, ", I = ", dims.input_size, ", H = ", dims.num_units, ".");
  }
  RnnAttrs layer = attrs;  // without what CudnnRNN alone has
  layer.input_mode = InputMode::kLinear;
  layer.direction = Direction::kUnidirectional;
  layer.dropout = 0;
  layer.num_proj = 0;
  return MakeRnnConfig(layer, /*num_layers=*/1, dims.num_units, dims.input_size, dims.max_time,
                       dims.batch, config);
}

}  // namespace rnn_ops
