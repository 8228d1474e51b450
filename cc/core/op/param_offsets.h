// Start offsets of the parts of the opaque parameter buffer: the only code that defines the layout
// of docs/raw-ops.md. Plain arithmetic, for kernels and validation.
#pragma once

#include <cstdint>

namespace rnn_ops {

// The buffer has the weights of all pseudo-layers first, and then the biases of all pseudo-layers.
// The caller must have checked the sizes: these functions do not check for overflow.
struct ParamOffsets {
  int64_t gate_rows;    // G*H
  int64_t hidden;       // P or H
  int64_t projection;   // the number of elements of a projection: P*H or 0
  int64_t num_dirs;     // D
  int64_t num_layers;   // L
  int64_t first_input;  // columns of the input weights of layer 0; 0 if it has none

  constexpr int64_t Input(int64_t layer) const {
    return layer == 0 ? first_input : num_dirs * hidden;
  }
  // Recurrent and Projection are offsets within the weights of a pseudo-layer, whose order is
  // input, recurrent, projection.
  constexpr int64_t Recurrent(int64_t layer) const { return gate_rows * Input(layer); }
  constexpr int64_t Projection(int64_t layer) const {
    return Recurrent(layer) + gate_rows * hidden;
  }
  constexpr int64_t WeightsSize(int64_t layer) const { return Projection(layer) + projection; }

  constexpr int64_t Weights(int64_t layer, int64_t dir) const {
    const int64_t before =
        layer == 0 ? 0 : num_dirs * (WeightsSize(0) + (layer - 1) * WeightsSize(1));
    return before + dir * WeightsSize(layer);
  }
  // The input bias. The recurrent bias follows the input bias.
  constexpr int64_t Biases(int64_t layer, int64_t dir) const {
    return Weights(num_layers, 0) + (layer * num_dirs + dir) * 2 * gate_rows;
  }
  // The number of elements of the buffer.
  constexpr int64_t size() const { return Biases(num_layers, 0); }
};

}  // namespace rnn_ops
