// Dimensions that XLA knows only when it runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/shapes.h"
#include "cc/tf/op_util.h"
#include "cc/xla/lowering/operands.h"
#include "xla/hlo/builder/lib/constants.h"

namespace rnn_ops::tf_kernels {

// Note [Padding in XLA]
// After ops such as boolean_mask, a dimension has a bound at compile time and a size at run time.
// Tensors have room for the bound. A custom call does not accept such a dimension, so the call
// computes for the bound and treats the excess as padding:
// - RNNs: sequences beyond the batch size get length 0. If no lengths are given, all lengths are
//   the size of the time dimension.
// - BlockLSTMV2: in the gradient op, sequences beyond the batch size are zero.
// - LinearRecurrence: all padding is zero, so it does not affect other results.
// Afterwards the results get the run-time sizes.
//
// The handler would accept a length above the size if the length is within the bound. Such a length
// is replaced by an invalid one: the handler returns an error, or NaN in the row if it reads the
// lengths on the device (LayerRNN on a GPU). All lengths are replaced in that way if the run-time
// size of another tensor differs from the size of the sequence.
class Padding {
 public:
  Padding(const OpSpec& op, bool has_c, bool time_major)
      : op_(op),
        has_c_(has_c),
        time_major_(time_major),
        sequence_(op.Input(IsBlockLstm(op) ? Arg::x : Arg::input)),
        time_dim_(time_major ? 0 : 1) {}

  // The dimension of a tensor with this letter, or kAbsent.
  int DimOf(const TensorSpec& tensor, Dim letter) const {
    const Dim(&dims)[3] = tensor.dims;
    const int d = static_cast<int>(std::find(dims, dims + 3, letter) - dims);
    const bool swaps =
        !time_major_ && dims[1] == Dim::kB && (dims[0] == Dim::kT || dims[0] == Dim::kLayersDirs);
    return d == 3 ? kAbsent : swaps && d < 2 ? 1 - d : d;
  }

  // Makes all dimensions static, with the bound as the size.
  absl::Status Remove(std::vector<XlaTensor>* operands) {
    const xla::Shape sequence = (*operands)[sequence_].shape;
    for (int k = 0; k < static_cast<int>(operands->size()); ++k) {
      XlaTensor& operand = (*operands)[k];
      for (int d = 0; d < static_cast<int>(operand.shape.dimensions().size()); ++d) {
        if (!operand.shape.is_dynamic_dimension(d)) continue;
        // The branches of a condition have reserve spaces of different sizes. The handler checks
        // the size.
        if (!IsIgnored(k) && op_.inputs[k].dims[0] != Dim::kAny) {
          Dim letter = Dim::kB;
          RNN_OPS_RETURN_IF_ERROR(FindLetter(sequence, k, d, &letter));
          const XlaOp size = xla::GetDimensionSize(operand.op, d);
          if (k != sequence_) {
            sizes_.emplace_back(letter, size);
          } else if (letter == Dim::kT) {
            time_ = size;
            has_time_ = true;
          } else {
            batch_ = size;
            has_batch_ = true;
          }
        }
        operand.op = xla::RemoveDynamicDimension(operand.op, d);
        operand.shape.set_dynamic_dimension(d, false);
      }
    }
    return absl::OkStatus();
  }

  // Makes the results independent of the padding, see Note [Padding in XLA]. The shapes must be
  // final.
  void Neutralize(std::vector<XlaTensor>* operands) const {
    if (!has_time_ && !has_batch_) return;
    const xla::Shape& sequence = (*operands)[sequence_].shape;
    if (op_.family == OpFamily::kBlockLstm) {
      CheckSeqLenMax(sequence, &(*operands)[op_.Input(Arg::seq_len_max)]);
      if (op_.gradients.count > 0) ZeroEach(/*time=*/false, operands);
    } else if (&op_ == &kLinearRecurrence) {
      ZeroEach(/*time=*/true, operands);
    } else {
      ShortenLengths(sequence, &(*operands)[op_.Input(Arg::sequence_lengths)]);
    }
  }

  // Gives a result its run-time sizes.
  XlaOp Restore(XlaOp op, const TensorSpec& tensor, const xla::Shape& shape) const {
    if (IsAbsent(shape)) return op;
    const int time = DimOf(tensor, Dim::kT), batch = DimOf(tensor, Dim::kB);
    if (has_time_ && time != kAbsent) op = xla::SetDimensionSize(op, time_, time);
    if (has_batch_ && batch != kAbsent) op = xla::SetDimensionSize(op, batch_, batch);
    return op;
  }

 private:
  // An optional operand that the call does not have is [0], and a result that the mode does not
  // have is a scalar.
  static bool IsAbsent(const xla::Shape& shape) { return shape.dimensions().size() < 2; }

  // Limits sequence_lengths, [B] or [0] if all are T, to the run-time size of the time dimension.
  void ShortenLengths(const xla::Shape& sequence, XlaTensor* lengths) const {
    const int64_t batch = sequence.dimensions(1 - time_dim_);
    const int64_t bound = sequence.dimensions(time_dim_);
    XlaBuilder* builder = lengths->op.builder();
    if (lengths->shape.dimensions(0) != batch) {
      const XlaOp time = has_time_ ? time_ : Scalar(builder, static_cast<int32_t>(bound));
      lengths->op = xla::Broadcast(time, {batch});
      lengths->shape = xla::ShapeUtil::MakeShape(xla::S32, {batch});
    } else if (has_time_) {
      const int64_t beyond = std::min<int64_t>(bound + 1, std::numeric_limits<int32_t>::max());
      lengths->op =
          LeaveNoLonger(lengths->op, time_, Scalar(builder, static_cast<int32_t>(beyond)));
    }
    if (has_batch_) lengths->op = ZeroFrom(*lengths, 0, batch_);
    lengths->op = RefuseOtherSizes(lengths->op, Scalar(builder, kOtherSizes));
  }

  void CheckSeqLenMax(const xla::Shape& sequence, XlaTensor* seq_len_max) const {
    XlaBuilder* builder = seq_len_max->op.builder();
    const auto scalar = [builder](int64_t v) { return xla::ConstantR0<int64_t>(builder, v); };
    if (has_time_) {
      const XlaOp time = xla::ConvertElementType(time_, xla::PrimitiveType::S64);
      const int64_t beyond = sequence.dimensions(time_dim_) + 1;
      seq_len_max->op = LeaveNoLonger(seq_len_max->op, time, scalar(beyond));
    }
    seq_len_max->op = RefuseOtherSizes(seq_len_max->op, scalar(kOtherSizes));
  }

  // Sets the padding of the batch, and of the time, to zero in all operands.
  void ZeroEach(bool time, std::vector<XlaTensor>* operands) const {
    for (int k = 0; k < static_cast<int>(operands->size()); ++k) {
      XlaTensor& operand = (*operands)[k];
      if (IsAbsent(operand.shape)) continue;
      const int t = DimOf(op_.inputs[k], Dim::kT), b = DimOf(op_.inputs[k], Dim::kB);
      if (time && has_time_ && t != kAbsent) operand.op = ZeroFrom(operand, t, time_);
      if (has_batch_ && b != kAbsent) operand.op = ZeroFrom(operand, b, batch_);
    }
  }

  // Whether the mode does not read the input, whatever its shape.
  bool IsIgnored(int k) const {
    const Given given = op_.inputs[k].given;
    return given == Given::kUnchecked || (given == Given::kStateC && !has_c_);
  }

  // Finds the letter of the dynamic dimension d of input k. WHY the dimension of `sequence` must be
  // dynamic too: otherwise a tensor that is declared to be shorter would be read in full.
  absl::Status FindLetter(const xla::Shape& sequence, int k, int d, Dim* letter) const {
    const auto is_dynamic = [&sequence](int dim) {
      return dim < static_cast<int>(sequence.dimensions().size()) &&
             sequence.is_dynamic_dimension(dim);
    };
    for (const Dim candidate : {Dim::kT, Dim::kB}) {
      *letter = candidate;
      if (d == DimOf(op_.inputs[k], candidate) &&
          is_dynamic(DimOf(op_.inputs[sequence_], candidate))) {
        return absl::OkStatus();
      }
    }
    return absl::InvalidArgumentError(
        StrCat("Under XLA only the time and batch dimensions may be dynamic, and only if the same "
               "dimension of ",
               op_.inputs[sequence_].name(), " is dynamic too, but dimension ", d, " of ",
               op_.inputs[k].name(), " is dynamic."));
  }

  // Replaces a length above `time` by an invalid length.
  static XlaOp LeaveNoLonger(XlaOp length, XlaOp time, XlaOp beyond) {
    const XlaOp refused = xla::Max(length, beyond);
    return xla::Select(xla::Le(length, time), length, refused);
  }

  // Replaces all lengths by `refused` if a run-time size differs from the size of the sequence.
  XlaOp RefuseOtherSizes(XlaOp lengths, XlaOp refused) const {
    for (const auto& [letter, size] : sizes_) {
      const XlaOp same = xla::Eq(size, letter == Dim::kT ? time_ : batch_);
      lengths = xla::Select(same, lengths, xla::Add(xla::ZerosLike(lengths), refused));
    }
    return lengths;
  }

  static XlaOp ZeroFrom(const XlaTensor& operand, int dim, XlaOp size) {
    const XlaOp place = xla::Iota(operand.op.builder(),
                                  xla::ShapeUtil::ChangeElementType(operand.shape, xla::S32), dim);
    return xla::Select(xla::Lt(place, size), operand.op, xla::ZerosLike(operand.op));
  }

  const OpSpec& op_;
  const bool has_c_, time_major_;
  const int sequence_;
  const int time_dim_;
  bool has_time_ = false, has_batch_ = false;
  XlaOp time_, batch_;                        // int32 scalars
  std::vector<std::pair<Dim, XlaOp>> sizes_;  // the sizes of the other tensors
};

}  // namespace rnn_ops::tf_kernels
