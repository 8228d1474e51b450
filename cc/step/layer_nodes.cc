// Layers without products: activations, normalization, embedding, and the shapes of features.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/kernel_args.h"
#include "cc/step/builder.h"

namespace rnn_ops::step {
namespace {

// ---- Activations ----

const std::map<std::string, cpu::ElementFunction>& ElementFunctions() {
  using F = cpu::ElementFunction;
  static const auto* const functions = new std::map<std::string, F>{
      {"relu", F::kRelu},
      {"tanh", F::kTanh},
      {"sigmoid", F::kSigmoid},
      {"hard_sigmoid", F::kHardSigmoid},
      {"exponential", F::kExponential},
      {"softplus", F::kSoftplus},
      {"softsign", F::kSoftsign},
      {"elu", F::kElu},
      {"selu", F::kSelu},
      {"silu", F::kSilu},
      {"hard_silu", F::kHardSilu},
      {"gelu", F::kGelu},
      {"mish", F::kMish},
  };
  return *functions;
}

// A function of each element.
class ActivationNode : public Node {
 public:
  Status Make(NodeReader* reader, cpu::ElementFunction function) {
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    function_ = {function, /*alpha=*/0.0f, /*threshold=*/0.0f, /*largest=*/INFINITY};
    const auto read = [reader](const char* name, float* value) {
      return reader->Has(name) ? reader->Field(name, value) : Status();
    };
    RNN_OPS_RETURN_IF_ERROR(read("alpha", &function_.alpha));
    RNN_OPS_RETURN_IF_ERROR(read("threshold", &function_.threshold));
    RNN_OPS_RETURN_IF_ERROR(read("largest", &function_.largest));
    return reader->OutputOver(input_, &output_);
  }

  Status Run(const Call&) override {
    cpu::Kernels().activate(&function_, input_->in(), output_->out(), input_->elements());
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  cpu::Elementwise function_ = {};
};

// Softmax of each row, or its logarithm.
class SoftmaxNode : public Node {
 public:
  Status Make(NodeReader* reader, bool log) {
    log_ = log;
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    if (input_->dims.empty()) {
      return InvalidArgument("softmax needs features, and its input has one number a step");
    }
    return reader->OutputOver(input_, &output_);
  }

  Status Run(const Call&) override {
    const int64_t columns = input_->columns();
    for (int64_t i = 0; i < input_->elements(); i += columns) {
      cpu::Kernels().softmax(log_, input_->in() + i, output_->out() + i, columns);
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  bool log_ = false;
};

// ---- Normalization ----

// x * scale + offset for each column: batch normalization, and rescaling.
class ScaleNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    const std::vector<int64_t> shape = {input_->columns()};
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("scale", shape, &scale_));
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("offset", shape, &offset_));
    return reader->OutputOver(input_, &output_);
  }

  Status Run(const Call&) override {
    const int64_t columns = input_->columns(), count = input_->elements();
    const float *x = input_->in(), *scale = scale_.as<float>(), *offset = offset_.as<float>();
    float* y = output_->out();
    for (int64_t i = 0; i < count; i += columns) {
      for (int64_t c = 0; c < columns; ++c) y[i + c] = x[i + c] * scale[c] + offset[c];
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  SharedBlock scale_, offset_;
};

// The mean of value(c) for all c below count. Four sums, because an addition takes some cycles.
template <typename Function>
double Mean(int64_t count, const Function& value) {
  double sums[4] = {};
  int64_t c = 0;
  for (; c + 4 <= count; c += 4) {
    for (int k = 0; k < 4; ++k) sums[k] += value(c + k);
  }
  for (; c < count; ++c) sums[0] += value(c);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<double>(count);
}

// Layer normalization of the columns of each row, or root-mean-square normalization.
class NormNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("epsilon", &epsilon_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("centered", &centered_));
    if (!(epsilon_ >= 0)) {
      return InvalidArgument("'epsilon' must be at least 0, but it is ", epsilon_);
    }
    const std::vector<int64_t> shape = {input_->columns()};
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("scale", shape, &scale_));
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("offset", shape, &offset_));
    if (input_->columns() < 1) return InvalidArgument("its sizes must be at least 1");
    return reader->OutputOver(input_, &output_);
  }

  Status Run(const Call&) override {
    const int64_t columns = input_->columns();
    const float* x = input_->in();
    float* y = output_->out();
    for (int64_t r = 0; r < input_->elements(); r += columns, x += columns, y += columns) {
      RunRow(x, columns, y);
    }
    return Status();
  }

 private:
  void RunRow(const float* x, int64_t columns, float* y) const {
    // WHY: in double, because the mean may be large next to the deviation from it.
    const double mean = centered_ ? Mean(columns, [&](int64_t c) { return double{x[c]}; }) : 0.0;
    const double variance = Mean(columns, [&](int64_t c) { return (x[c] - mean) * (x[c] - mean); });
    const double factor = 1.0 / std::sqrt(variance + epsilon_);
    const float *scale = scale_.as<float>(), *offset = offset_.as<float>();
    for (int64_t c = 0; c < columns; ++c) {
      y[c] = static_cast<float>((x[c] - mean) * factor * scale[c] + offset[c]);
    }
  }

  Value* input_ = nullptr;
  Value* output_ = nullptr;
  float epsilon_ = 0.0f;
  bool centered_ = false;
  SharedBlock scale_, offset_;
};

// ---- Embedding ----

class EmbeddingNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    std::vector<Value*> inputs;
    RNN_OPS_RETURN_IF_ERROR(reader->Inputs(1, &inputs, /*tokens=*/true));
    input_ = inputs[0];
    const StoredTensor* tensor = nullptr;
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("table", &tensor));
    if (tensor == nullptr || tensor->shape.size() != 2) {
      return InvalidArgument("it has no matrix 'table'");
    }
    tokens_ = tensor->shape[0];
    if (tensor->type == ElementType::kInt8) {
      RNN_OPS_RETURN_IF_ERROR(reader->Weights("scale", {tokens_}, &scale_));
      RNN_OPS_RETURN_IF_ERROR(reader->Share(*tensor, &table_));
    } else {
      RNN_OPS_RETURN_IF_ERROR(reader->Weights("table", tensor->shape, &table_));
    }
    std::vector<int64_t> dims = input_->dims;
    dims.push_back(tensor->shape[1]);
    return reader->Output(0, input_->has_time, dims, &output_);
  }

  Status Run(const Call&) override {
    const int32_t* tokens = input_->in<int32_t>();
    const int64_t columns = output_->columns();
    for (int64_t i = 0; i < input_->elements(); ++i) {
      // Read once: another thread may write to the caller's memory.
      const int32_t token = static_cast<const volatile int32_t*>(tokens)[i];
      if (token < 0 || token >= tokens_) {
        return InvalidArgument("The input '", input_->name, "' must be from 0 to ", tokens_ - 1,
                               ", but element ", i, " is ", token, ".");
      }
      float* const to = output_->out() + i * columns;
      if (scale_.bytes() == 0) {
        const float* row = table_.as<float>() + token * columns;
        std::copy(row, row + columns, to);
      } else {
        const int8_t* row = table_.as<int8_t>() + token * columns;
        const float scale = scale_.as<float>()[token];
        for (int64_t c = 0; c < columns; ++c) to[c] = static_cast<float>(row[c]) / scale;
      }
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  int64_t tokens_ = 0;
  SharedBlock table_;
  SharedBlock scale_;  // of an int8 table: the rows are divided by these
};

// The float32 values of integers.
class CastNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    std::vector<Value*> inputs;
    RNN_OPS_RETURN_IF_ERROR(reader->Inputs(1, &inputs, /*tokens=*/true));
    input_ = inputs[0];
    RNN_OPS_RETURN_IF_ERROR(reader->Field("smallest", &smallest_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("largest", &largest_));
    return reader->Output(0, input_->has_time, input_->dims, &output_);
  }

  Status Run(const Call&) override {
    const int32_t* values = input_->in<int32_t>();
    for (int64_t i = 0; i < input_->elements(); ++i) {
      if (values[i] < smallest_ || values[i] > largest_) {
        return InvalidArgument("The input '", input_->name, "' must be from ", smallest_, " to ",
                               largest_, ", but element ", i, " is ", values[i], ".");
      }
      output_->out()[i] = static_cast<float>(values[i]);
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
  int64_t smallest_ = 0, largest_ = 0;
};

// ---- Several inputs ----

float Plus(float a, float b) { return a + b; }
float Minus(float a, float b) { return a - b; }
float Times(float a, float b) { return a * b; }
float Larger(float a, float b) { return std::isnan(a) || a > b ? a : b; }
float Smaller(float a, float b) { return std::isnan(a) || a < b ? a : b; }

template <float (*kFunction)(float, float)>
void Both(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = kFunction(y[i], x[i]);
}

// Element by element, of inputs of one shape.
class CombineNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    static const auto* const functions = new std::map<std::string, Function>{
        {"add", Both<Plus>},       {"average", Both<Plus>},   {"subtract", Both<Minus>},
        {"multiply", Both<Times>}, {"maximum", Both<Larger>}, {"minimum", Both<Smaller>},
    };
    std::string name;
    RNN_OPS_RETURN_IF_ERROR(reader->Inputs(0, &inputs_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("function", &name));
    const auto found = functions->find(name);
    if (found == functions->end()) return InvalidArgument("its function '", name, "' is unknown");
    function_ = found->second;
    factor_ = name == "average" ? 1.0f / static_cast<float>(inputs_.size()) : 1.0f;
    for (const Value* input : inputs_) {
      if (input->has_time != inputs_[0]->has_time || input->dims != inputs_[0]->dims) {
        return InvalidArgument("its inputs have different shapes");
      }
    }
    return reader->Output(0, inputs_[0]->has_time, inputs_[0]->dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t count = output_->elements();
    float* const y = output_->out();
    std::copy(inputs_[0]->in(), inputs_[0]->in() + count, y);
    for (size_t k = 1; k < inputs_.size(); ++k) function_(inputs_[k]->in(), y, count);
    if (factor_ != 1.0f) {
      for (int64_t i = 0; i < count; ++i) y[i] *= factor_;
    }
    return Status();
  }

 private:
  using Function = void (*)(const float* x, float* y, int64_t count);
  std::vector<Value*> inputs_;
  Value* output_ = nullptr;
  Function function_ = nullptr;
  float factor_ = 1.0f;
};

// Along the last dimension.
class ConcatenateNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Inputs(0, &inputs_));
    std::vector<int64_t> dims = inputs_[0]->dims;
    if (dims.empty()) return InvalidArgument("its inputs have no features");
    dims.back() = 0;
    for (const Value* input : inputs_) {
      std::vector<int64_t> others = input->dims;
      if (others.empty()) return InvalidArgument("its inputs have different shapes");
      others.back() = dims.back();
      if (input->has_time != inputs_[0]->has_time || others != dims) {
        return InvalidArgument("its inputs have different shapes");
      }
      dims.back() += input->columns();
    }
    return reader->Output(0, inputs_[0]->has_time, dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t row = output_->columns();
    int64_t first = 0;
    for (const Value* input : inputs_) {
      const int64_t columns = input->columns();
      for (int64_t i = 0; columns > 0 && i < input->elements() / columns; ++i) {
        const float* from = input->in() + i * columns;
        std::copy(from, from + columns, output_->out() + i * row + first);
      }
      first += columns;
    }
    return Status();
  }

 private:
  std::vector<Value*> inputs_;
  Value* output_ = nullptr;
};

// ---- Shapes ----

// Other dims of the same elements.
class ReshapeNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    std::vector<int64_t> dims;
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("dims", &dims));
    if (CountElements(dims) != input_->row_elements) {
      return InvalidArgument("its input has ", input_->row_elements, " features");
    }
    return reader->OutputOfSameElements(input_, dims, &output_);
  }

  Status Run(const Call&) override {
    if (output_->alias != nullptr) {
      output_->data = input_->data;
    } else {
      std::copy(input_->in(), input_->in() + input_->elements(), output_->out());
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* output_ = nullptr;
};

// [B, T, dims] to [B, dims], the last step; in a window the last valid step, or zeros without one.
class LastStepNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    std::vector<Value*> inputs;
    RNN_OPS_RETURN_IF_ERROR(reader->InputsOfWindow(1, &inputs, &lengths_));
    input_ = inputs[0];
    batch_ = reader->batch();
    std::vector<int64_t> dims = input_->dims;
    if (input_->has_time && lengths_ == nullptr) {
      time_ = reader->max_time();
    } else {
      RNN_OPS_RETURN_IF_ERROR(reader->CheckSequence(*input_, lengths_));
      time_ = input_->steps();
      dims.erase(dims.begin());
    }
    return reader->Output(0, false, dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t row = output_->row_elements;
    for (int64_t b = 0; b < batch_; ++b) {
      const int64_t steps = lengths_ == nullptr ? time_ : lengths_->in<int32_t>()[b];
      float* const to = output_->out() + b * row;
      if (steps == 0) {
        std::fill(to, to + row, 0.0f);
        continue;
      }
      const float* last = input_->in() + (b * time_ + steps - 1) * row;
      std::copy(last, last + row, to);
    }
    return Status();
  }

 private:
  Value* input_ = nullptr;
  Value* lengths_ = nullptr;
  Value* output_ = nullptr;
  int64_t batch_ = 0, time_ = 0;
};

}  // namespace

Status MakeActivationNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  std::string name;
  RNN_OPS_RETURN_IF_ERROR(reader->Field("activation", &name));
  if (name == "softmax" || name == "log_softmax") {
    return MakeNodeOf<SoftmaxNode>(reader, node, /*log=*/name == "log_softmax");
  }
  const auto found = ElementFunctions().find(name);
  if (found == ElementFunctions().end()) {
    return InvalidArgument("its activation '", name, "' is unknown");
  }
  return MakeNodeOf<ActivationNode>(reader, node, found->second);
}

Status MakeScaleNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<ScaleNode>(reader, node);
}

Status MakeNormNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<NormNode>(reader, node);
}

Status MakeEmbeddingNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<EmbeddingNode>(reader, node);
}

Status MakeCastNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<CastNode>(reader, node);
}

Status MakeCombineNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<CombineNode>(reader, node);
}

Status MakeConcatenateNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<ConcatenateNode>(reader, node);
}

Status MakeReshapeNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<ReshapeNode>(reader, node);
}

Status MakeLastStepNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<LastStepNode>(reader, node);
}

}  // namespace rnn_ops::step
