// The sizes of a whole BlockLSTMV2 call.
#include "cc/core/checked_math.h"
#include "cc/core/op/dim_solver.h"
#include "cc/core/op/shapes.h"

namespace rnn_ops {
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
