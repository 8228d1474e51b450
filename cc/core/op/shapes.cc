#include "cc/core/op/shapes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cc/core/checked_math.h"
#include "cc/core/op/dim_solver.h"
#include "cc/core/op/param_layout.h"

namespace rnn_ops {
namespace {

// The shape of an input; `otherwise` if the op has no such input.
PartialShape ShapeOf(const OpSpec& op, const std::vector<PartialShape>& inputs, Arg arg,
                     const PartialShape& otherwise = PartialShape::Unknown()) {
  const int index = op.Input(arg);
  return index == kAbsent ? otherwise : inputs[index];
}

// In LayerRNN, zoneout excludes clipping, projection and peepholes. Only zoneout reads a seed.
Status CheckZoneout(const OpSpec& op, const RnnAttrs& attrs,
                    const std::vector<PartialShape>& inputs) {
  if (op.family != OpFamily::kLayerRnn) return Status();
  const auto check = [&](Arg arg, const char* why) {
    const PartialShape shape = ShapeOf(op, inputs, arg);
    if (!shape.known_rank || (shape.dims.size() == 1 && shape.dims[0] <= 0)) return Status();
    return InvalidArgument(Name(arg), " must have shape [0] with zoneout_h = ", attrs.zoneout_h,
                           " and zoneout_c = ", attrs.zoneout_c, why, ", but its shape is ",
                           ToString(shape), ".");
  };
  if (!attrs.has_zoneout()) return check(Arg::seed, ", because only zoneout reads it");
  if (attrs.cell_clip > 0) {
    return InvalidArgument("cell_clip must be 0 with zoneout_h or zoneout_c, but it is ",
                           attrs.cell_clip, ".");
  }
  RNN_OPS_RETURN_IF_ERROR(check(Arg::projection, ""));
  return check(Arg::peepholes, "");
}

// In LayerRNN, layer normalization excludes clipping, zoneout, projection and peepholes.
Status CheckLayerNorm(const OpSpec& op, const RnnAttrs& attrs,
                      const std::vector<PartialShape>& inputs) {
  const PartialShape norms = ShapeOf(op, inputs, Arg::layer_norm, PartialShape::Of({0}));
  if (op.family != OpFamily::kLayerRnn || !norms.known_rank || norms.dims.size() != 2) {
    return Status();
  }
  for (const auto& [name, value] :
       {std::pair("cell_clip", attrs.cell_clip), std::pair("zoneout_h", attrs.zoneout_h),
        std::pair("zoneout_c", attrs.zoneout_c)}) {
    if (value > 0) {
      return InvalidArgument(name, " must be 0 with layer_norm, but it is ", value, ".");
    }
  }
  for (const Arg arg : {Arg::projection, Arg::peepholes}) {
    const PartialShape shape = ShapeOf(op, inputs, arg);
    if (!shape.known_rank || (shape.dims.size() == 1 && shape.dims[0] <= 0)) continue;
    return InvalidArgument(Name(arg), " must have shape [0] with layer_norm, but its shape is ",
                           ToString(shape), ".");
  }
  return Status();
}

// int8 weights: the projection and its scales come together, and the sums must fit 32 bits.
Status CheckQuantized(const OpSpec& op, const std::vector<PartialShape>& inputs) {
  const int scale = op.Input(Arg::projection_scale);
  if (scale == kAbsent) return Status();
  const PartialShape projection = ShapeOf(op, inputs, Arg::projection);
  const PartialShape& scales = inputs[scale];
  const bool known = projection.known_rank && scales.known_rank &&
                     (projection.dims.size() != 1 || projection.dims[0] >= 0) &&
                     (scales.dims.size() != 1 || scales.dims[0] >= 0);
  if (known && IsAbsent(projection) != IsAbsent(scales)) {
    return InvalidArgument("projection_scale must have a scale for each column of projection, but ",
                           "its shape is ", ToString(scales), " and the shape of projection is ",
                           ToString(projection), ".");
  }
  for (const Arg arg : {Arg::kernel, Arg::recurrent_kernel, Arg::projection}) {
    const PartialShape shape = ShapeOf(op, inputs, arg);
    if (shape.known_rank && !shape.dims.empty() && shape.dims[0] > kMaxQuantizedSize) {
      return InvalidArgument(Name(arg), " must have at most ", kMaxQuantizedSize,
                             " rows, so that a sum fits 32 bits, but its shape is ",
                             ToString(shape), ".");
    }
  }
  return Status();
}

bool IsOptional(const TensorSpec& input) {
  return input.given == Given::kOptional || input.given == Given::kOptionalLstm;
}

std::vector<PartialShape> OutputShapes(const OpSpec& op, const std::vector<PartialShape>& inputs,
                                       DimSolver* solver) {
  std::vector<PartialShape> shapes;
  shapes.reserve(op.num_outputs());
  for (const TensorSpec& output : op.outputs) shapes.push_back(solver->Shape(output));
  for (int k = op.gradients.first; k < op.gradients.first + op.gradients.count; ++k) {
    shapes.push_back(IsOptional(op.inputs[k]) ? inputs[k] : solver->Shape(op.inputs[k]));
  }
  return shapes;
}

}  // namespace

std::string ToString(const PartialShape& shape) {
  if (!shape.known_rank) return "unknown";
  std::string text = "[";
  for (size_t k = 0; k < shape.dims.size(); ++k) {
    if (k > 0) text += ", ";
    text += shape.dims[k] < 0 ? "?" : std::to_string(shape.dims[k]);
  }
  return text + "]";
}

Status InferShapes(const OpSpec& op, const RnnAttrs& attrs, const std::vector<PartialShape>& inputs,
                   CallShapes* result) {
  if (static_cast<int>(inputs.size()) != op.inputs.count) {
    return Internal("An op of ", op.inputs.count, " inputs was called with ", inputs.size(), ".");
  }
  RNN_OPS_RETURN_IF_ERROR(attrs.Validate());
  RNN_OPS_RETURN_IF_ERROR(CheckZoneout(op, attrs, inputs));
  RNN_OPS_RETURN_IF_ERROR(CheckLayerNorm(op, attrs, inputs));
  RNN_OPS_RETURN_IF_ERROR(CheckQuantized(op, inputs));
  DimSolver solver(op, attrs, ShapeOf(op, inputs, Arg::projection, PartialShape::Of({0})));
  for (int k = 0; k < op.inputs.count; ++k) {
    RNN_OPS_RETURN_IF_ERROR(solver.Merge(op.inputs[k], inputs[k]));
  }
  RNN_OPS_RETURN_IF_ERROR(
      op.family == OpFamily::kBlockLstm
          ? FinishBlockLstm(ShapeOf(op, inputs, Arg::w), &solver)
          : FinishRnn(attrs, ShapeOf(op, inputs, Arg::params), &solver, &result->config));
  result->dims = {solver.T.value,
                  solver.B.value,
                  solver.I.value,
                  solver.H.value,
                  solver.layers_dirs.value,
                  solver.params_size.value,
                  attrs.num_proj > 0 ? 0 : std::max<int64_t>(0, solver.P.value)};
  result->outputs = OutputShapes(op, inputs, &solver);
  return Status();
}

bool IsAbsent(const PartialShape& shape) {
  return shape.known_rank && shape.dims.size() == 1 && shape.dims[0] == 0;
}

bool IsUsed(const TensorSpec& input, const RnnAttrs& attrs, const PartialShape& shape) {
  switch (input.given) {
    case Given::kStateC:
      return FactsOf(attrs.mode).has_c;
    case Given::kOptional:
    case Given::kOptionalLstm:
      return !IsAbsent(shape);
    case Given::kUnchecked:
      return false;
    case Given::kAlways:
    case Given::kTraining:
      break;
  }
  return true;
}

bool IsZero(const TensorSpec& output, const RnnAttrs& attrs) {
  return (output.given == Given::kStateC && !FactsOf(attrs.mode).has_c) ||
         (output.given == Given::kTraining && !attrs.is_training) ||
         output.element == Element::kInt8;  // host_reserved
}

Status CheckRunTimeSizes(int64_t length) {
  if (length != kOtherSizes) return Status();
  return InvalidArgument(
      "All arguments must have the time steps and batch size of the sequence, and lengths must be "
      "at least 0, but when the compiled function ran, an argument had another size or a length "
      "was ",
      kOtherSizes, ".");
}

Status ValidateSequenceLengths(const int32_t* lengths, int64_t batch, int64_t max_time,
                               int64_t* sum) {
  *sum = 0;
  for (int64_t row = 0; row < batch; ++row) {
    if (lengths[row] < 0 || lengths[row] > max_time) {
      return InvalidArgument("sequence_lengths must be in [0, ", max_time, "], the number of time ",
                             "steps, but sequence_lengths[", row, "] is ", lengths[row], ".");
    }
    *sum += lengths[row];
  }
  return Status();
}

Status CopySequenceLengths(const int32_t* given, int64_t batch, int64_t max_time, int32_t* lengths,
                           int64_t* sum) {
  *sum = 0;
  if (batch == 0) return Status();
  if (given != nullptr) {
    std::copy_n(given, batch, lengths);
    return ValidateSequenceLengths(lengths, batch, max_time, sum);
  }
  if (max_time > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("input must have fewer than 2^31 time steps, but it has ", max_time,
                           ".");
  }
  std::fill_n(lengths, batch, static_cast<int32_t>(max_time));
  *sum = batch * max_time;
  return Status();
}

int64_t ReserveElements(int64_t bytes, int64_t element_bytes) {
  if (bytes < 0) return -1;
  return bytes / element_bytes + (bytes % element_bytes != 0 ? 1 : 0);
}

Status CheckReserveSpace(const PartialShape& reserve_space, int64_t elements) {
  if (elements >= 0 && reserve_space.dims.size() == 1 && reserve_space.dims[0] == elements) {
    return Status();
  }
  return InvalidArgument(
      "reserve_space must be the vector of ", elements,
      " elements that the forward op with is_training=True returns on this kind of "
      "device for these inputs and attributes, but its shape is ",
      ToString(reserve_space), ".");
}

// The sizes of a whole CudnnRNN or LayerRNN call.

namespace {

Status CheckParams(const RnnAttrs& attrs, const RnnConfig& config, const PartialShape& params,
                   int64_t size) {
  if (!params.known_rank || params.dims[0] < 0 || params.dims[0] == size) return Status();
  return InvalidArgument("params must have ", size, " elements for rnn_mode='", Name(config.mode),
                         "', input_mode='", Name(attrs.input_mode), "', direction='",
                         Name(config.direction), "', num_layers = ", config.num_layers,
                         ", num_units = ", config.num_units, ", input_size = ", config.input_size,
                         " and num_proj = ", config.num_proj, ", but its shape is ",
                         ToString(params), ".");
}

}  // namespace

// Validates the problem with the smallest possible value of every unknown size. So a rejected
// problem is invalid for any value, and no product of known sizes overflows. Checks `params` if all
// sizes of its shape are known.
Status FinishRnn(const RnnAttrs& attrs, const PartialShape& params, DimSolver* solver,
                 RnnConfig* config) {
  const DimSolver& s = *solver;
  const int64_t num_dirs = attrs.num_dirs();
  if (s.layers_dirs.known() && s.layers_dirs.value % num_dirs != 0) {
    return InvalidArgument("direction='", Name(attrs.direction), "' needs an even number of ",
                           "layers times directions, but it is ", s.layers_dirs.value,
                           " according to ", s.layers_dirs.source, ".");
  }
  const bool same = attrs.input_mode == InputMode::kSkip;
  const int64_t num_units = s.H.known()           ? s.H.value
                            : same && s.I.known() ? s.I.value
                                                  : std::max<int64_t>(1, attrs.num_proj);
  const int64_t input_size = s.I.known() ? s.I.value : same ? num_units : 1;
  const int64_t num_layers = s.layers_dirs.known() ? s.layers_dirs.value / num_dirs : 1;
  RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(attrs, num_layers, num_units, input_size,
                                        std::max<int64_t>(0, s.T.value),
                                        std::max<int64_t>(0, s.B.value), config));
  if (attrs.num_proj == 0 && s.P.known()) {
    // A tensor `projection` is a projection even if P == H, unlike the attribute num_proj.
    config->num_proj = s.P.value;
    RNN_OPS_RETURN_IF_ERROR(config->Validate());
  }
  if (!s.H.known() || !s.I.known() || !s.layers_dirs.known()) return Status();
  solver->params_size.value = ParamsSize(*config);
  return CheckParams(attrs, *config, params, solver->params_size.value);
}

// The sizes of a whole BlockLSTMV2 call.

namespace {

// w has I + H rows: computes the unknown one of I and H, or checks the sum.
Status MergeWeightRows(const PartialShape& w, DimSolver* l) {
  if (!w.known_rank || w.dims[0] < 0) return Status();
  const int64_t rows = w.dims[0];
  DimLetter& known = l->H.known() ? l->H : l->I;
  DimLetter& other = l->H.known() ? l->I : l->H;
  if (!known.known()) {
    if (rows >= 2) return Status();
    return InvalidArgument(
        "w must have shape [I+H, 4*H] with I and H at least 1, but its shape is ", ToString(w),
        ".");
  }
  const int64_t rest = rows - known.value;
  if (rest < other.least || (other.known() && other.value != rest)) {
    const std::string other_text =
        other.known() ? StrCat(other.letter, " is ", other.value, " according to ", other.source)
                      : StrCat(other.letter, " must be at least ", other.least);
    return InvalidArgument("w must have shape [I+H, 4*H], but its shape is ", ToString(w), ", ",
                           known.letter, " is ", known.value, " according to ", known.source,
                           " and ", other_text, ".");
  }
  other.value = rest;
  other.source = "w";
  return Status();
}

// An upper bound, in bytes, of everything that the op allocates, as for CudnnRNN.
Status CheckSize(const RnnDims& dims) {
  constexpr int64_t kBytes = sizeof(double);
  constexpr int64_t kPad = 64;
  constexpr int64_t kTensors = 16;  // outputs, gates and their gradients
  const auto known = [](int64_t size) { return CheckedSize(size < 0 ? 0 : size); };
  const CheckedSize width = known(dims.input_size) + known(dims.num_units) + kPad;
  const CheckedSize steps = known(dims.max_time) + 2;
  const CheckedSize rows = known(dims.batch) + kPad;
  const CheckedSize units = known(dims.num_units) + kPad;
  const CheckedSize bytes = kBytes * kTensors * (steps * rows * width + width * units);
  if (bytes.ok()) return Status();
  return InvalidArgument("A block LSTM with ",
                         ToString(PartialShape::Of({dims.max_time, dims.batch, dims.input_size})),
                         " as the shape of x and ", dims.num_units,
                         " units is too large: its tensors and work space must stay below 2^62 ",
                         "bytes.");
}

}  // namespace

Status FinishBlockLstm(const PartialShape& w, DimSolver* solver) {
  RNN_OPS_RETURN_IF_ERROR(MergeWeightRows(w, solver));
  return CheckSize({solver->T.value, solver->B.value, solver->I.value, solver->H.value});
}

Status MakeBlockLstmConfig(const RnnDims& dims, int64_t seq_len_max, BlockLstmConfig* config) {
  if (seq_len_max < 0 || seq_len_max > dims.max_time) {
    return InvalidArgument("seq_len_max must be in [0, ", dims.max_time,
                           "], the number of time steps of x, but it is ", seq_len_max, ".");
  }
  config->max_time = dims.max_time;
  config->batch = dims.batch;
  config->input_size = dims.input_size;
  config->num_units = dims.num_units;
  config->seq_len = seq_len_max;
  return Status();
}

}  // namespace rnn_ops
