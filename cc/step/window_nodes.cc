// Nodes of windows only: masks, the other direction, and other numbers of steps.
// See Note [Windows] in program.h.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cc/step/builder.h"

namespace rnn_ops::step {
namespace {

// The number of valid steps of row b.
int64_t LengthOf(const Value* lengths, int64_t b, int64_t steps) {
  return lengths == nullptr ? steps : lengths->in<int32_t>()[b];
}

// ---- Masks ----

// The lengths of a mask: a word of 0, or a step whose features are all `value`, is not valid.
class LengthsNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Field("words", &words_));
    std::vector<Value*> inputs;
    RNN_OPS_RETURN_IF_ERROR(reader->Inputs(1, &inputs, words_));
    input_ = inputs[0];
    RNN_OPS_RETURN_IF_ERROR(reader->CheckSequence(*input_, nullptr));
    if (!words_) RNN_OPS_RETURN_IF_ERROR(reader->Field("value", &value_));
    if (words_ && input_->dims.size() != 1) return InvalidArgument("its input has no words");
    RNN_OPS_RETURN_IF_ERROR(reader->Output(0, false, {}, &output_));
    output_->type = ElementType::kOther;
    output_->most_steps = input_->steps();
    return Status();
  }

  Status Run(const Call&) override {
    int32_t* const lengths = reinterpret_cast<int32_t*>(output_->out());
    const int64_t steps = input_->steps();
    for (int64_t b = 0; b < output_->rows; ++b) {
      int64_t length = 0;  // the steps up to the last valid one
      int64_t valid = 0;
      for (int64_t t = 0; t < steps; ++t) {
        if (!IsValid(b * steps + t)) continue;
        length = t + 1;
        ++valid;
      }
      if (valid != length) {
        return InvalidArgument("The mask of '", input_->name,
                               "' must have valid steps first and then masked ones only, but in "
                               "row ",
                               b, " a step before the valid step ", length - 1,
                               " is masked: pad on the right, as pad_sequences does with "
                               "padding='post'.");
      }
      lengths[b] = static_cast<int32_t>(length);
    }
    return Status();
  }

 private:
  bool IsValid(int64_t step) const {
    // Read once: another thread may write to the caller's memory.
    if (words_) return static_cast<const volatile int32_t*>(input_->in<int32_t>())[step] != 0;
    const int64_t count = input_->step_elements();
    const float* x = input_->in() + step * count;
    return std::any_of(x, x + count, [this](float number) { return number != value_; });
  }

  bool words_ = false;
  float value_ = 0;
  Value* input_ = nullptr;
  Value* output_ = nullptr;
};

// The steps that are not valid become zeros, or copies of the last valid step.
class MaskNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->InputOfWindow(&input_, &lengths_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("hold", &hold_));
    if (lengths_ == nullptr) return InvalidArgument("it has no lengths");
    return reader->OutputOver(input_, &output_);
  }

  Status Run(const Call&) override {
    const int64_t steps = input_->steps(), row = input_->step_elements();
    for (int64_t b = 0; b < input_->rows; ++b) {
      const int64_t length = LengthOf(lengths_, b, steps);
      const float* const x = input_->in() + b * steps * row;
      float* const y = output_->out() + b * steps * row;
      if (x != y) std::copy(x, x + length * row, y);
      const float* const last = y + (length - 1) * row;
      for (int64_t t = length; t < steps; ++t) {
        if (hold_ && length > 0) {
          std::copy(last, last + row, y + t * row);
        } else {
          std::fill(y + t * row, y + (t + 1) * row, 0.0f);
        }
      }
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* lengths_ = nullptr;
  Value* output_ = nullptr;
  bool hold_ = false;
};

// ---- The order and the number of steps ----

// The valid steps from the last one to the first one. The others stay.
class ReverseNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->InputOfWindow(&input_, &lengths_));
    return reader->Output(0, false, input_->dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t steps = input_->steps(), row = input_->step_elements();
    for (int64_t b = 0; b < input_->rows; ++b) {
      const int64_t length = LengthOf(lengths_, b, steps);
      const float* const x = input_->in() + b * steps * row;
      float* const y = output_->out() + b * steps * row;
      for (int64_t t = 0; t < length; ++t) {
        std::copy(x + (length - 1 - t) * row, x + (length - t) * row, y + t * row);
      }
      std::copy(x + length * row, x + steps * row, y + length * row);
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* lengths_ = nullptr;
  Value* output_ = nullptr;
};

// Some steps in a row.
class CropNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    Value* lengths = nullptr;
    RNN_OPS_RETURN_IF_ERROR(reader->InputOfWindow(&input_, &lengths));
    int64_t count = 0;
    RNN_OPS_RETURN_IF_ERROR(reader->Field("begin", &begin_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("count", &count));
    if (lengths != nullptr || begin_ < 0 || count < 1 || count > input_->steps() - begin_) {
      return InvalidArgument("it cannot have ", count, " steps from step ", begin_, " on, of ",
                             input_->steps());
    }
    std::vector<int64_t> dims = input_->dims;
    dims[0] = count;
    return reader->Output(0, false, dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t from = input_->row_elements, to = output_->row_elements;
    const int64_t first = begin_ * input_->step_elements();
    for (int64_t b = 0; b < input_->rows; ++b) {
      const float* const x = input_->in() + b * from + first;
      std::copy(x, x + to, output_->out() + b * to);
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  int64_t begin_ = 0;
};

// Each step several times.
class RepeatNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    Value* lengths = nullptr;
    RNN_OPS_RETURN_IF_ERROR(reader->InputOfWindow(&input_, &lengths));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("times", &times_));
    std::vector<int64_t> dims = input_->dims;
    if (lengths != nullptr || times_ < 1 || CountElements({input_->row_elements, times_}) < 0) {
      return InvalidArgument("'times' is ", times_);
    }
    dims[0] *= times_;
    return reader->Output(0, false, dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t row = input_->step_elements();
    float* y = output_->out();
    for (int64_t i = 0; i < input_->elements(); i += row) {
      const float* const x = input_->in() + i;
      for (int64_t k = 0; k < times_; ++k) y = std::copy(x, x + row, y);
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  int64_t times_ = 0;
};

// The largest number or the mean of the valid steps of each part of a sequence.
class PoolNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->InputOfWindow(&input_, &lengths_));
    std::string function;
    std::vector<int64_t> padding;
    RNN_OPS_RETURN_IF_ERROR(reader->Field("function", &function));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("width", &width_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("stride", &stride_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("padding", &padding));
    if (function != "maximum" && function != "average") {
      return InvalidArgument("its function '", function, "' is unknown");
    }
    is_average_ = function == "average";
    std::vector<int64_t> dims = input_->dims;
    RNN_OPS_RETURN_IF_ERROR(
        CountWindows(input_->steps(), width_, stride_, padding, &before_, &dims[0]));
    return reader->Output(0, false, dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t steps = input_->steps(), row = input_->step_elements();
    float* y = output_->out();
    for (int64_t b = 0; b < input_->rows; ++b) {
      const int64_t length = LengthOf(lengths_, b, steps);
      const float* const x = input_->in() + b * steps * row;
      for (int64_t k = 0; k < output_->steps(); ++k, y += row) {
        const int64_t begin = k * stride_ - before_;
        const int64_t first = std::max<int64_t>(0, begin), end = std::min(begin + width_, length);
        Pool(x, first, end, row, y);
      }
    }
    return Status();
  }

 private:
  void Pool(const float* x, int64_t first, int64_t end, int64_t row, float* y) const {
    if (!is_average_) {
      std::fill(y, y + row, -INFINITY);
      for (int64_t t = first; t < end; ++t) {
        for (int64_t c = 0; c < row; ++c) {
          const float value = x[t * row + c];
          y[c] = y[c] > value || y[c] != y[c] ? y[c] : value;  // a NaN stays
        }
      }
      return;
    }
    std::fill(y, y + row, 0.0f);
    for (int64_t t = first; t < end; ++t) {
      for (int64_t c = 0; c < row; ++c) y[c] += x[t * row + c];
    }
    // NaN without a valid step, as in Keras.
    const float count = static_cast<float>(std::max<int64_t>(0, end - first));
    for (int64_t c = 0; c < row; ++c) y[c] /= count;
  }

  Value* input_ = nullptr;
  Value* lengths_ = nullptr;
  Value* output_ = nullptr;
  bool is_average_ = false;
  int64_t width_ = 0, stride_ = 0, before_ = 0;
};

// The dims in another order.
class PermuteNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    std::vector<int64_t> order;
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("order", &order));
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    const int64_t rank = static_cast<int64_t>(input_->dims.size());
    bool is_order = !input_->has_time && static_cast<int64_t>(order.size()) == rank &&
                    rank <= kMostDims && rank > 0;
    for (int64_t k = 0; is_order && k < rank; ++k) is_order = sorted[k] == k;
    if (!is_order) return InvalidArgument("'order' is no order of the dims of its input");
    std::vector<int64_t> dims;
    for (int64_t k = 0; k < rank; ++k) {
      dims.push_back(input_->dims[order[k]]);
      strides_[k] = 1;
      for (int64_t i = order[k] + 1; i < rank; ++i) strides_[k] *= input_->dims[i];
    }
    return reader->Output(0, false, dims, &output_);
  }

  Status Run(const Call&) override {
    const std::vector<int64_t>& dims = output_->dims;
    const int64_t rank = static_cast<int64_t>(dims.size()), count = output_->row_elements;
    float* y = output_->out();
    for (int64_t b = 0; b < output_->rows && count > 0; ++b) {
      int64_t index[kMostDims] = {};
      const float* x = input_->in() + b * count;
      for (int64_t i = 0; i < count; i += dims[rank - 1]) {
        for (int64_t c = 0; c < dims[rank - 1]; ++c) *y++ = x[c * strides_[rank - 1]];
        for (int64_t k = rank - 2; k >= 0; --k) {
          x += strides_[k];
          if (++index[k] < dims[k]) break;
          x -= strides_[k] * dims[k];
          index[k] = 0;
        }
      }
    }
    return Status();
  }

 private:
  static constexpr int64_t kMostDims = 8;
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  int64_t strides_[kMostDims] = {};  // in the input
};

}  // namespace

Status CountWindows(int64_t steps, int64_t span, int64_t stride,
                    const std::vector<int64_t>& padding, int64_t* before, int64_t* count) {
  // Each part has a step of the sequence.
  if (span < 1 || stride < 1 || padding.size() != 2 || padding[0] < 0 || padding[1] < 0 ||
      padding[0] >= span || padding[1] >= span) {
    return InvalidArgument("its sizes, 'stride' and 'padding' do not fit each other");
  }
  const int64_t all = steps + padding[0] + padding[1];
  if (span > all) {
    return InvalidArgument("it needs ", span, " steps, but its input has ", steps);
  }
  *before = padding[0];
  *count = (all - span) / stride + 1;
  return Status();
}

Status MakeLengthsNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<LengthsNode>(reader, node);
}

Status MakeMaskNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<MaskNode>(reader, node);
}

Status MakeReverseNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<ReverseNode>(reader, node);
}

Status MakeCropNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<CropNode>(reader, node);
}

Status MakeRepeatNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<RepeatNode>(reader, node);
}

Status MakePoolNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<PoolNode>(reader, node);
}

Status MakePermuteNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<PermuteNode>(reader, node);
}

}  // namespace rnn_ops::step
