// The BlockLSTM half of shapes.h.
#include "cc/core/checked_math.h"
#include "cc/core/old_dim_solver.h"
#include "cc/core/old_shapes.h"

namespace rnn_ops {
namespace {

constexpr int64_t kNumGates = 4;

struct BlockLstmLetters {
  OldLetter max_time{"T", 0};
  OldLetter batch{"B", 0};
  OldLetter input_size{"I", 1};
  OldLetter units{"H", 1};
};

// The rows of w are I + H: finds the one that is missing, or checks the sum.
Status MergeWeightRows(const PartialShape& w, BlockLstmLetters* l) {
  if (!w.known_rank || w.dims[0] < 0) return Status();
  const int64_t rows = w.dims[0];
  OldLetter& known = l->units.known() ? l->units : l->input_size;
  OldLetter& other = l->units.known() ? l->input_size : l->units;
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

Status Merge(const BlockLstmInputShapes& in, BlockLstmLetters* l) {
  RNN_OPS_RETURN_IF_ERROR(RequireRank("seq_len_max", in.seq_len_max, 0));
  RNN_OPS_RETURN_IF_ERROR(MergeShape("x", in.x, {&l->max_time, &l->batch, &l->input_size}));
  RNN_OPS_RETURN_IF_ERROR(MergeShape("cs_prev", in.cs_prev, {&l->batch, &l->units}));
  RNN_OPS_RETURN_IF_ERROR(MergeShape("h_prev", in.h_prev, {&l->batch, &l->units}));
  // MergeWeightRows() takes care of the rows.
  RNN_OPS_RETURN_IF_ERROR(MergeShape("w", in.w, {DimTerm::Any("I+H"), {&l->units, kNumGates}}));
  RNN_OPS_RETURN_IF_ERROR(MergeShape("wci", in.wci, {&l->units}));
  RNN_OPS_RETURN_IF_ERROR(MergeShape("wcf", in.wcf, {&l->units}));
  RNN_OPS_RETURN_IF_ERROR(MergeShape("wco", in.wco, {&l->units}));
  return MergeShape("b", in.b, {{&l->units, kNumGates}});
}

// As for CudnnRNN: an upper bound, in bytes, of everything the op allocates.
Status CheckSize(const BlockLstmDims& dims) {
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

Status Finish(const PartialShape& w, BlockLstmLetters* l, BlockLstmDims* dims) {
  RNN_OPS_RETURN_IF_ERROR(MergeWeightRows(w, l));
  const BlockLstmDims result{l->max_time.value, l->batch.value, l->input_size.value,
                             l->units.value};
  RNN_OPS_RETURN_IF_ERROR(CheckSize(result));
  *dims = result;
  return Status();
}

}  // namespace

Status InferBlockLstm(const BlockLstmInputShapes& in, BlockLstmDims* dims) {
  BlockLstmLetters letters;
  RNN_OPS_RETURN_IF_ERROR(Merge(in, &letters));
  return Finish(in.w, &letters, dims);
}

Status InferBlockLstmGrad(const BlockLstmGradShapes& in, BlockLstmDims* dims) {
  BlockLstmLetters letters;
  RNN_OPS_RETURN_IF_ERROR(Merge(in.in, &letters));
  const struct {
    const char* name;
    const PartialShape& shape;
  } sequences[] = {{"i", in.i}, {"cs", in.cs},           {"f", in.f},
                   {"o", in.o}, {"ci", in.ci},           {"co", in.co},
                   {"h", in.h}, {"cs_grad", in.cs_grad}, {"h_grad", in.h_grad}};
  for (const auto& tensor : sequences) {
    RNN_OPS_RETURN_IF_ERROR(
        MergeShape(tensor.name, tensor.shape, {&letters.max_time, &letters.batch, &letters.units}));
  }
  return Finish(in.in.w, &letters, dims);
}

Status ValidateBlockLstm(const BlockLstmDims& dims, int64_t seq_len_max) {
  if (dims.max_time < 0 || dims.batch < 0 || dims.input_size < 1 || dims.num_units < 1) {
    return Internal("The sizes of a block LSTM are not complete: T = ", dims.max_time,
                    ", B = ", dims.batch, ", I = ", dims.input_size, ", H = ", dims.num_units, ".");
  }
  RNN_OPS_RETURN_IF_ERROR(CheckSize(dims));
  if (seq_len_max >= 0 && seq_len_max <= dims.max_time) return Status();
  return InvalidArgument("seq_len_max must be in [0, ", dims.max_time,
                         "], the number of time steps ", "of x, but it is ", seq_len_max, ".");
}

}  // namespace rnn_ops
