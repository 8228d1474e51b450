// The CudnnRNN half of shapes.h.
#include <algorithm>
#include <limits>

#include "cc/core/checked_math.h"
#include "cc/core/old_dim_solver.h"
#include "cc/core/old_shapes.h"
#include "cc/core/param_layout.h"

namespace rnn_ops {
namespace {

// The letters of one call. With projection S is P, otherwise H; without projection S and H are one.
class RnnSolver {
 public:
  explicit RnnSolver(const RnnAttrs& attrs) : attrs_(attrs) {
    if (attrs.num_proj > 0) {
      hidden_.value = attrs.num_proj;
      hidden_.source = "num_proj";
    }
  }

  Status MergeInputs(const RnnInputShapes& in) {
    RNN_OPS_RETURN_IF_ERROR(Sequence("input", in.input, {&input_size_}));
    RNN_OPS_RETURN_IF_ERROR(HiddenState("input_h", in.input_h));
    RNN_OPS_RETURN_IF_ERROR(CellState("input_c", in.input_c));
    RNN_OPS_RETURN_IF_ERROR(RequireRank("params", in.params, 1));
    RNN_OPS_RETURN_IF_ERROR(MergeShape("sequence_lengths", in.sequence_lengths, {&batch_}));
    return MergeShape("seed", in.seed, {DimTerm::Exactly(2)});
  }

  Status MergeOutputs(const RnnBackpropShapes& in) {
    const DimTerm output_size(hidden(), static_cast<int64_t>(attrs_.direction));
    RNN_OPS_RETURN_IF_ERROR(Sequence("output", in.output, output_size));
    RNN_OPS_RETURN_IF_ERROR(HiddenState("output_h", in.output_h));
    RNN_OPS_RETURN_IF_ERROR(CellState("output_c", in.output_c));
    RNN_OPS_RETURN_IF_ERROR(Sequence("output_backprop", in.output_backprop, output_size));
    RNN_OPS_RETURN_IF_ERROR(HiddenState("output_h_backprop", in.output_h_backprop));
    return CellState("output_c_backprop", in.output_c_backprop);
  }

  // Checks what involves several sizes and gives the result.
  Status Finish(const PartialShape& params, RnnDims* dims) {
    const int64_t num_dirs = static_cast<int64_t>(attrs_.direction);
    if (pseudo_layers_.known() && pseudo_layers_.value % num_dirs != 0) {
      return InvalidArgument("direction='", Name(attrs_.direction), "' needs an even number of ",
                             "layers times directions, but it is ", pseudo_layers_.value,
                             " according to ", pseudo_layers_.source, ".");
    }
    RnnDims result;
    result.max_time = max_time_.value;
    result.batch = batch_.value;
    result.input_size = input_size_.value;
    result.hidden_size = hidden()->value;
    result.num_units = units_.value;
    result.pseudo_layers = pseudo_layers_.value;
    RNN_OPS_RETURN_IF_ERROR(CheckSmallestCompletion(params, &result));
    *dims = result;
    return Status();
  }

 private:
  OldLetter* hidden() { return attrs_.num_proj > 0 ? &hidden_ : &units_; }

  Status Sequence(const char* tensor, const PartialShape& shape, DimTerm last) {
    if (attrs_.time_major) return MergeShape(tensor, shape, {&max_time_, &batch_, last});
    return MergeShape(tensor, shape, {&batch_, &max_time_, last});
  }

  Status State(const char* tensor, const PartialShape& shape, OldLetter* last) {
    if (attrs_.time_major) return MergeShape(tensor, shape, {&pseudo_layers_, &batch_, last});
    return MergeShape(tensor, shape, {&batch_, &pseudo_layers_, last});
  }

  Status HiddenState(const char* tensor, const PartialShape& shape) {
    return State(tensor, shape, hidden());
  }

  // WHY: for models without a cell state TensorFlow's callers pass anything here, often a scalar.
  Status CellState(const char* tensor, const PartialShape& shape) {
    if (attrs_.mode != RnnMode::kLstm) return Status();
    return State(tensor, shape, &units_);
  }

  // Validates the problem with every unknown size as small as it can be: what is refused here
  // cannot become legal, and no product of known sizes overflows. With every size known, also
  // `params`.
  Status CheckSmallestCompletion(const PartialShape& params, RnnDims* dims) const {
    const int64_t num_dirs = static_cast<int64_t>(attrs_.direction);
    int64_t units = units_.value;
    int64_t input_size = input_size_.value;
    if (!units_.known()) {
      const bool same = attrs_.input_mode == InputMode::kSkip && input_size_.known();
      units = same ? input_size : std::max<int64_t>(1, attrs_.num_proj);
    }
    if (!input_size_.known()) input_size = attrs_.input_mode == InputMode::kSkip ? units : 1;
    RnnConfig config;
    RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(
        attrs_, pseudo_layers_.known() ? pseudo_layers_.value / num_dirs : 1, units, input_size,
        std::max<int64_t>(0, max_time_.value), std::max<int64_t>(0, batch_.value), &config));
    if (!units_.known() || !input_size_.known() || !pseudo_layers_.known()) return Status();

    dims->params_size = ParamsSize(config);
    if (!params.known_rank || params.dims[0] < 0 || params.dims[0] == dims->params_size) {
      return Status();
    }
    return InvalidArgument(
        "params must have ", dims->params_size, " elements for rnn_mode='", Name(config.mode),
        "', input_mode='", Name(attrs_.input_mode), "', direction='", Name(config.direction),
        "', num_layers = ", config.num_layers, ", num_units = ", config.num_units,
        ", input_size = ", config.input_size, " and num_proj = ", config.num_proj,
        ", but its shape is ", ToString(params), ".");
  }

  const RnnAttrs attrs_;
  OldLetter max_time_{"T", 0};
  OldLetter batch_{"B", 0};
  OldLetter input_size_{"I", 1};
  OldLetter units_{"H", 1};
  OldLetter hidden_{"P", 1};
  OldLetter pseudo_layers_{"L*D", 1};
};

PartialShape StateShape(const RnnAttrs& attrs, const RnnDims& dims, int64_t last) {
  if (attrs.time_major) return PartialShape::Of({dims.pseudo_layers, dims.batch, last});
  return PartialShape::Of({dims.batch, dims.pseudo_layers, last});
}

Status RequireKnown(const char* tensor, const PartialShape& shape) {
  const bool known = shape.known_rank && std::none_of(shape.dims.begin(), shape.dims.end(),
                                                      [](int64_t dim) { return dim < 0; });
  if (known) return Status();
  return Internal("The shape of ", tensor, " is not complete: ", ToString(shape), ".");
}

Status FromDims(const RnnAttrs& attrs, const RnnInputShapes& in, const RnnDims& dims,
                RnnConfig* config) {
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("input", in.input));
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("input_h", in.input_h));
  if (attrs.mode == RnnMode::kLstm) RNN_OPS_RETURN_IF_ERROR(RequireKnown("input_c", in.input_c));
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("params", in.params));
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("sequence_lengths", in.sequence_lengths));
  return MakeRnnConfig(attrs, dims.pseudo_layers / static_cast<int64_t>(attrs.direction),
                       dims.num_units, dims.input_size, dims.max_time, dims.batch, config);
}

}  // namespace

Status InferRnn(const RnnAttrs& attrs, const RnnInputShapes& in, RnnDims* dims) {
  RNN_OPS_RETURN_IF_ERROR(attrs.Validate());
  RnnSolver solver(attrs);
  RNN_OPS_RETURN_IF_ERROR(solver.MergeInputs(in));
  return solver.Finish(in.params, dims);
}

Status InferRnnBackprop(const RnnAttrs& attrs, const RnnBackpropShapes& in, RnnDims* dims) {
  RNN_OPS_RETURN_IF_ERROR(attrs.Validate());
  RnnSolver solver(attrs);
  RNN_OPS_RETURN_IF_ERROR(solver.MergeInputs(in.in));
  RNN_OPS_RETURN_IF_ERROR(solver.MergeOutputs(in));
  RNN_OPS_RETURN_IF_ERROR(RequireReserveSpace(in.reserve_space));
  return solver.Finish(in.in.params, dims);
}

Status MakeRnnConfig(const RnnAttrs& attrs, const RnnInputShapes& in, RnnConfig* config) {
  RnnDims dims;
  RNN_OPS_RETURN_IF_ERROR(InferRnn(attrs, in, &dims));
  return FromDims(attrs, in, dims, config);
}

Status MakeRnnConfig(const RnnAttrs& attrs, const RnnBackpropShapes& in, RnnConfig* config) {
  RnnDims dims;
  RNN_OPS_RETURN_IF_ERROR(InferRnnBackprop(attrs, in, &dims));
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("output", in.output));
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("output_h", in.output_h));
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("output_backprop", in.output_backprop));
  RNN_OPS_RETURN_IF_ERROR(RequireKnown("output_h_backprop", in.output_h_backprop));
  if (attrs.mode == RnnMode::kLstm) {
    RNN_OPS_RETURN_IF_ERROR(RequireKnown("output_c", in.output_c));
    RNN_OPS_RETURN_IF_ERROR(RequireKnown("output_c_backprop", in.output_c_backprop));
  }
  return FromDims(attrs, in.in, dims, config);
}

PartialShape RnnOutputShape(const RnnAttrs& attrs, const RnnDims& dims) {
  int64_t last = kUnknownDim;
  if (dims.hidden_size >= 0 &&
      !CheckedMul(dims.hidden_size, static_cast<int64_t>(attrs.direction), &last)) {
    last = kUnknownDim;
  }
  if (attrs.time_major) return PartialShape::Of({dims.max_time, dims.batch, last});
  return PartialShape::Of({dims.batch, dims.max_time, last});
}

PartialShape RnnOutputHShape(const RnnAttrs& attrs, const RnnDims& dims) {
  return StateShape(attrs, dims, dims.hidden_size);
}

PartialShape RnnOutputCShape(const RnnAttrs& attrs, const RnnDims& dims) {
  if (attrs.mode != RnnMode::kLstm) return PartialShape::Of({});
  return StateShape(attrs, dims, dims.num_units);
}

}  // namespace rnn_ops
