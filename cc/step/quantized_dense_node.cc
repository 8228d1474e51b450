// Dense layers with int8 weights, as Keras's quantize('int8') makes them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/step/builder.h"

namespace rnn_ops::step {
namespace {

// The inputs of a row are quantized to -kLargest to kLargest.
constexpr float kLargest = 127.0f;
// Sums of more products could exceed int32.
constexpr int64_t kMostDepth = int64_t{1} << 17;

// SOURCE: keras/src/quantizers/quantizers.py, abs_max_quantize, and Dense._int8_call.
// Returns the scale, by which x is multiplied.
float QuantizeRow(const float* x, int64_t depth, float epsilon, int16_t* quantized) {
  float largest = 0.0f;
  for (int64_t k = 0; k < depth; ++k) {
    const float magnitude = std::fabs(x[k]);
    largest = std::isnan(magnitude) || magnitude > largest ? magnitude : largest;
  }
  const float scale = kLargest / (largest + epsilon);
  for (int64_t k = 0; k < depth; ++k) {
    const float rounded = std::nearbyint(x[k] * scale);
    // Not a number if x has infinities, and then the scale makes the outputs so.
    const float in_range = std::isnan(rounded) ? 0.0f : std::clamp(rounded, -kLargest, kLargest);
    quantized[k] = static_cast<int16_t>(in_range);
  }
  return scale;
}

class QuantizedDenseNode : public Node {
 public:
  Status Make(NodeReader* reader) {
    RNN_OPS_RETURN_IF_ERROR(reader->Input(&input_));
    RNN_OPS_RETURN_IF_ERROR(reader->Field("epsilon", &epsilon_));
    const StoredTensor* kernel = nullptr;
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel", &kernel));
    if (kernel == nullptr || kernel->shape.size() != 2 || kernel->type != ElementType::kInt8) {
      return InvalidArgument("it has no int8 matrix 'kernel'");
    }
    const int64_t depth = input_->columns(), columns = kernel->shape[1];
    if (input_->dims.empty() || depth < 1 || depth > kMostDepth || columns < 1 ||
        kernel->shape[0] != depth) {
      return InvalidArgument("'kernel' must have the shape [", depth, ", N], and at most ",
                             kMostDepth, " rows");
    }
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("kernel_scale", {columns}, &kernel_scale_));
    RNN_OPS_RETURN_IF_ERROR(reader->Weights("bias", {columns}, &bias_, /*optional=*/true));
    // [N, C], and int16, which compilers multiply with one instruction for eight products.
    RNN_OPS_RETURN_IF_ERROR(kernel_.Resize(kernel->elements * 2));
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t k = 0; k < depth; ++k) {
        kernel_.as<int16_t>()[n * depth + k] =
            static_cast<signed char>(kernel->data[k * columns + n]);
      }
    }
    RNN_OPS_RETURN_IF_ERROR(quantized_.Resize(depth * 2));
    std::vector<int64_t> dims = input_->dims;
    dims.back() = columns;
    return reader->Output(0, input_->has_time, dims, &output_);
  }

  Status Run(const Call&) override {
    const int64_t depth = input_->columns(), columns = output_->columns();
    for (int64_t i = 0; i < input_->elements() / depth; ++i) {
      RunRow(input_->in() + i * depth, output_->out() + i * columns);
    }
    return Status();
  }

 private:
  void RunRow(const float* x, float* y) {
    const int64_t depth = input_->columns(), columns = output_->columns();
    int16_t* const quantized = quantized_.as<int16_t>();
    const float scale = QuantizeRow(x, depth, epsilon_, quantized);
    for (int64_t n = 0; n < columns; ++n) {
      const int16_t* weights = kernel_.as<int16_t>() + n * depth;
      int32_t sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += int32_t{quantized[k]} * weights[k];
      y[n] = static_cast<float>(sum) / (kernel_scale_.as<float>()[n] * scale);
      if (bias_.bytes() > 0) y[n] += bias_.as<float>()[n];
    }
  }

  Value* input_ = nullptr;
  Value* output_ = nullptr;
  float epsilon_ = 0.0f;
  Block kernel_;        // [N, C], int16
  Block kernel_scale_;  // [N]
  Block bias_;          // [N], or nothing
  Block quantized_;     // [C], int16
};

}  // namespace

Status MakeQuantizedDenseNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<QuantizedDenseNode>(reader, node);
}

}  // namespace rnn_ops::step
