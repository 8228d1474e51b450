// Dense layers and convolutions, which are dense layers of parts of a sequence.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cc/cpu/call/op_run.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/heuristics.h"
#include "cc/step/builder.h"

namespace rnn_ops::step {
namespace {

// Sums of more products of int8 could exceed int32.
constexpr int64_t kMostQuantizedDepth = int64_t{1} << 17;

// A product of rows with packed weights [depth, columns].
class Product {
 public:
  Status Make(const float* kernel, const float* bias, int64_t rows, int64_t depth, int64_t columns,
              NodeReader* reader) {
    format_ = cpu::Kernels().dense_format(depth, columns);
    run_ = cpu::Kernels().dense;
    RNN_OPS_RETURN_IF_ERROR(SetSizes(rows, depth, columns, reader));
    if (reader->WritesWeights()) cpu::Kernels().dense_pack(&args_, kernel, bias);
    return Status();
  }

  // The same in int8, with a scale for each column of the kernel. See KernelTable.
  Status MakeQuantized(const int8_t* kernel, const float* scales, const float* bias, float epsilon,
                       int64_t rows, int64_t depth, int64_t columns, NodeReader* reader) {
    format_ = cpu::Kernels().quantized_dense_format(depth, columns);
    run_ = cpu::Kernels().quantized_dense;
    epsilon_ = epsilon;
    RNN_OPS_RETURN_IF_ERROR(SetSizes(rows, depth, columns, reader));
    RNN_OPS_RETURN_IF_ERROR(
        reader->Scratch("its rows in int8", rows, format_.row_bytes, &quantized_));
    if (reader->WritesWeights()) {
      cpu::Kernels().quantized_dense_pack(&args_, kernel, scales, bias);
    }
    return Status();
  }

  // Row i of the call.
  void Set(int64_t i, const float* input, float* output) {
    inputs()[i] = input;
    outputs()[i] = output;
    if (quantized_ == nullptr) return;
    char* const row = static_cast<char*>(quantized_->data) + i * format_.row_bytes;
    cpu::Kernels().quantize_row(input, args_.depth, epsilon_, row);
    inputs()[i] = row;
  }

  void Run(Team* team) const {
    if (team->num_threads() == 1) return run_(&args_, 0, format_.panels);
    const cpu::ParallelFor parallel = cpu::ParallelForOf(team);
    const int64_t ns = std::max(cpu::NsToMultiply(args_.rows * args_.depth * args_.columns),
                                cpu::NsToRead(format_.bytes));
    const int64_t threads = std::min<int64_t>(
        {cpu::WorthThreads(parallel.threads, ns), parallel.threads.count, format_.panels});
    if (threads <= 1) return run_(&args_, 0, format_.panels);
    struct Part {
      const Product* product;
      int64_t threads;
    } part{this, threads};
    parallel.run(
        parallel.context, threads, threads,
        [](void* arg, int64_t i) {
          const Part& part = *static_cast<Part*>(arg);
          const int64_t panels = part.product->format_.panels;
          part.product->run_(&part.product->args_, panels * i / part.threads,
                             panels * (i + 1) / part.threads);
        },
        &part);
  }

 private:
  Status SetSizes(int64_t rows, int64_t depth, int64_t columns, NodeReader* reader) {
    Memory* const memory = reader->memory();
    RNN_OPS_RETURN_IF_ERROR(reader->Share(format_.bytes, &packed_));
    RNN_OPS_RETURN_IF_ERROR(input_.Resize(rows * int64_t{sizeof(void*)}, memory));
    RNN_OPS_RETURN_IF_ERROR(output_.Resize(rows * int64_t{sizeof(void*)}, memory));
    args_ = {rows, depth, columns, inputs(), outputs(), packed_.as<void>(), rows == 1};
    return Status();
  }
  const void** inputs() const { return input_.as<const void*>(); }
  float** outputs() const { return output_.as<float*>(); }

  cpu::DenseFormat format_ = {};
  cpu::DenseArgs args_ = {};
  void (*run_)(const cpu::DenseArgs* args, int64_t begin, int64_t end) = nullptr;
  SharedBlock packed_;
  float epsilon_ = 0;
  Value* quantized_ = nullptr;  // the rows of a call in int8
  Block input_, output_;        // a pointer to each row
};

// A dense layer. In int8 it computes as Keras's layers after quantize("int8").
template <bool kQuantized>
class DenseNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    const StoredTensor* tensor = nullptr;
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel", &tensor));
    if (tensor == nullptr || tensor->shape.size() != 2) {
      return InvalidArgument("it has no matrix 'kernel'");
    }
    const int64_t depth = input_->columns(), columns = tensor->shape[1];
    if (input_->dims.empty()) return InvalidArgument("its input has no features besides the steps");
    if (depth < 1 || columns < 1) return InvalidArgument("its sizes must be at least 1");
    std::vector<int64_t> dims = input_->dims;
    dims.back() = columns;
    RNN_OPS_RETURN_IF_ERROR(reader->Output(0, input_->has_time, dims, &output_));
    rows_ = input_->elements() / depth;
    Block bias;
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("bias", {columns}, &bias, /*optional=*/true));
    if constexpr (kQuantized) {
      return MakeQuantized(reader, *tensor, bias.as<float>(), depth, columns);
    } else {
      Block kernel;
      RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel", {depth, columns}, &kernel));
      return product_.Make(kernel.as<float>(), bias.as<float>(), rows_, depth, columns, reader);
    }
  }

  Status Run(const Call& call) override {
    const int64_t depth = input_->columns(), columns = output_->columns();
    for (int64_t i = 0; i < rows_; ++i) {
      product_.Set(i, input_->in() + i * depth, output_->out() + i * columns);
    }
    product_.Run(call.team);
    return Status();
  }

 private:
  Status MakeQuantized(NodeReader* reader, const StoredTensor& kernel, const float* bias,
                       int64_t depth, int64_t columns) {
    float epsilon = 0;
    Block scales;
    RNN_OPS_RETURN_IF_ERROR(reader->Field("epsilon", &epsilon));
    if (epsilon < 0) return InvalidArgument("'epsilon' must be at least 0, but it is ", epsilon);
    if (kernel.type != ElementType::kInt8 || kernel.shape[0] != depth ||
        depth > kMostQuantizedDepth) {
      return InvalidArgument("'kernel' must be int8 of the shape [", depth, ", N], with at most ",
                             kMostQuantizedDepth, " rows");
    }
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel_scale", {columns}, &scales));
    return product_.MakeQuantized(reinterpret_cast<const int8_t*>(kernel.data), scales.as<float>(),
                                  bias, epsilon, rows_, depth, columns, reader);
  }

  Value* input_ = nullptr;
  Value* output_ = nullptr;
  int64_t rows_ = 0;
  Product product_;
};

// Conv1D. That of a stream is causal, and the state has the inputs before the call, [B, before, C].
// Those before and behind a window are zeros.
class ConvNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("dilation", &dilation_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("groups", &groups_));
    const StoredTensor* tensor = nullptr;
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel", &tensor));
    if (tensor == nullptr || tensor->shape.size() != 3) {
      return InvalidArgument("it has no 'kernel' of the shape [width, C, N]");
    }
    if (input_->dims.size() != (input_->has_time ? 1 : 2)) {
      return InvalidArgument("its input must have the shape [B, T, C]");
    }
    width_ = tensor->shape[0];
    channels_ = input_->columns();
    const int64_t columns = tensor->shape[2];
    if (width_ < 1 || channels_ < 1 || columns < 1 || groups_ < 1 || dilation_ < 1 ||
        channels_ % groups_ != 0 || columns % groups_ != 0 ||
        CountElements({width_, dilation_, channels_}) < 0) {
      return InvalidArgument("its sizes, groups and dilation do not fit each other");
    }
    batch_ = reader->batch();
    if (input_->has_time) {
      before_ = (width_ - 1) * dilation_;
      time_ = windows_ = reader->max_time();
      if (before_ > 0) RNN_OPS_RETURN_IF_ERROR(reader->NewState(0, {before_, channels_}, &state_));
      RNN_OPS_RETURN_IF_ERROR(reader->Output(0, true, {columns}, &output_));
    } else {
      RNN_OPS_RETURN_IF_ERROR(ReadPadding(*reader));
      RNN_OPS_RETURN_IF_ERROR(reader->Output(0, false, {windows_, columns}, &output_));
      RNN_OPS_RETURN_IF_ERROR(reader->Share(channels_ * int64_t{sizeof(float)}, &zeros_));
    }
    return IsDepthwise() ? MakeDepthwise(reader) : MakeProducts(reader);
  }

  Status Run(const Call& call) override {
    if (IsDepthwise()) {
      RunDepthwise(call);
    } else {
      for (int64_t g = 0; g < groups_; ++g) RunGroup(g, call);
    }
    if (state_ != nullptr) KeepSteps(call);
    return Status();
  }

 private:
  Status ReadPadding(const NodeReader& reader) {
    std::vector<int64_t> padding;
    RNN_OPS_RETURN_IF_ERROR(reader.CheckSequence(*input_, nullptr));
    RNN_OPS_RETURN_IF_ERROR(reader.Field("padding", &padding));
    RNN_OPS_RETURN_IF_ERROR(reader.Field("stride", &stride_));
    time_ = input_->steps();
    return CountWindows(time_, (width_ - 1) * dilation_ + 1, stride_, padding, &before_, &windows_);
  }

  bool IsDepthwise() const { return groups_ == channels_ && groups_ == output_->columns(); }

  std::vector<int64_t> KernelShape() const {
    return {width_, channels_ / groups_, output_->columns()};
  }

  Status MakeDepthwise(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel", KernelShape(), &kernel_));
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("bias", {channels_}, &bias_, /*optional=*/true));
    if (bias_.bytes() == 0) {  // zeros
      RNN_OPS_RETURN_IF_ERROR(reader->Share(channels_ * int64_t{sizeof(float)}, &bias_));
    }
    return reader->Scratch("its pointers", width_, sizeof(void*), &window_);
  }

  Status MakeProducts(NodeReader* reader) {
    const int64_t columns = output_->columns(), out_group = columns / groups_;
    const int64_t depth = width_ * (channels_ / groups_), rows = batch_ * windows_;
    Block kernel, bias;
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel", KernelShape(), &kernel));
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("bias", {columns}, &bias, /*optional=*/true));
    RNN_OPS_RETURN_IF_ERROR(
        reader->Scratch("its windows", CopiedWindows() * batch_, depth * 4, &window_));
    products_.resize(groups_);
    std::vector<float> part(depth * out_group);
    for (int64_t g = 0; g < groups_; ++g) {
      for (int64_t k = 0; reader->WritesWeights() && k < depth; ++k) {
        const float* row = kernel.as<float>() + k * columns + g * out_group;
        std::copy(row, row + out_group, part.data() + k * out_group);
      }
      const float* of_group = bias.bytes() == 0 ? nullptr : bias.as<float>() + g * out_group;
      RNN_OPS_RETURN_IF_ERROR(
          products_[g].Make(part.data(), of_group, rows, depth, out_group, reader));
    }
    return Status();
  }

  // The first step of window t.
  int64_t Begin(int64_t t) const { return t * stride_ - before_; }
  // Whether the steps of a window follow each other.
  bool IsContiguous() const { return groups_ == 1 && dilation_ == 1; }
  // Whether the kernel reads a window where the input is, instead of a copy.
  bool IsInPlace(int64_t begin) const {
    return IsContiguous() && begin >= 0 && begin <= time_ - width_;
  }
  int64_t CopiedWindows() const {
    if (!IsContiguous() || time_ < width_) return windows_;
    const int64_t first = (before_ + stride_ - 1) / stride_;  // in place
    const int64_t last = std::min(windows_ - 1, (time_ - width_ + before_) / stride_);
    return windows_ - std::max<int64_t>(0, last - first + 1);
  }

  // The inputs of step t, which is before the call if t < 0.
  const float* StepOf(int64_t b, int64_t t, const Call& call) const {
    if (t >= 0 && t < time_) return input_->in() + (b * time_ + t) * channels_;
    return state_ == nullptr ? zeros_.as<float>()
                             : call.before(*state_) + (b * before_ + before_ + t) * channels_;
  }

  void RunDepthwise(const Call& call) {
    const float** const steps = static_cast<const float**>(window_->data);
    for (int64_t b = 0; b < batch_; ++b) {
      for (int64_t t = 0; t < windows_; ++t) {
        for (int64_t k = 0; k < width_; ++k) steps[k] = StepOf(b, Begin(t) + k * dilation_, call);
        cpu::Kernels().depthwise(steps, kernel_.as<float>(), bias_.as<float>(), width_, channels_,
                                 output_->out() + (b * windows_ + t) * channels_);
      }
    }
  }

  // The last steps of the state, and the first ones of the input of a stream.
  float* CopyWindow(int64_t b, int64_t begin, const Call& call, float* to) const {
    const float* const state = StepOf(b, begin, call);
    const float* const input = StepOf(b, 0, call);
    to = std::copy(state, state - begin * channels_, to);
    return std::copy(input, input + (begin + width_) * channels_, to);
  }

  float* CopySteps(int64_t g, int64_t b, int64_t begin, const Call& call, float* to) const {
    const int64_t in_group = channels_ / groups_;
    for (int64_t k = 0; k < width_; ++k) {
      const float* const from = StepOf(b, begin + k * dilation_, call) + g * in_group;
      to = std::copy(from, from + in_group, to);
    }
    return to;
  }

  void RunGroup(int64_t g, const Call& call) {
    const int64_t columns = output_->columns(), out_group = columns / groups_;
    const bool is_split = IsContiguous() && state_ != nullptr;
    float* copy = window_->out();
    for (int64_t b = 0; b < batch_; ++b) {
      for (int64_t t = 0; t < windows_; ++t) {
        const int64_t row = b * windows_ + t, begin = Begin(t);
        const float* window = nullptr;
        if (IsInPlace(begin)) {
          window = StepOf(b, begin, call);
        } else {
          window = copy;
          copy = is_split ? CopyWindow(b, begin, call, copy) : CopySteps(g, b, begin, call, copy);
        }
        products_[g].Set(row, window, output_->out() + row * columns + g * out_group);
      }
    }
    products_[g].Run(call.team);
  }

  // The state after the call: the last steps.
  void KeepSteps(const Call& call) const {
    for (int64_t b = 0; b < batch_; ++b) {
      float* const after = call.after(*state_) + b * before_ * channels_;
      const int64_t old = std::max<int64_t>(0, before_ - time_);  // steps of the state before
      if (old > 0) {
        const float* const before = StepOf(b, -old, call);
        std::copy(before, before + old * channels_, after);
      }
      const float* const end = StepOf(b, time_ - 1, call) + channels_;
      std::copy(end - (before_ - old) * channels_, end, after + old * channels_);
    }
  }

  Value* input_ = nullptr;
  Value* output_ = nullptr;
  State* state_ = nullptr;
  int64_t batch_ = 0, time_ = 0;
  int64_t before_ = 0, windows_ = 0, stride_ = 1;  // steps before the first one, and outputs
  int64_t width_ = 0, dilation_ = 0, channels_ = 0, groups_ = 0;
  SharedBlock kernel_, bias_;      // of a depthwise convolution
  SharedBlock zeros_;              // a step outside of a window
  std::vector<Product> products_;  // a product for each group otherwise
  // [B * CopiedWindows(), width, C / groups], or pointers to [width] steps.
  Value* window_ = nullptr;
};

}  // namespace

Status MakeDenseNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<DenseNode</*kQuantized=*/false>>(reader, node);
}

Status MakeQuantizedDenseNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<DenseNode</*kQuantized=*/true>>(reader, node);
}

Status MakeConvNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<ConvNode>(reader, node);
}

}  // namespace rnn_ops::step
