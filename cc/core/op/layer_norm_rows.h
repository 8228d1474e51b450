// The tensor layer_norm. It includes nothing, because the kernels of GPUs read it too.
#pragma once

namespace rnn_ops {

// The rows of the gammas and betas of x * W, of h * R and of c. For x and h it is the row of the
// first of four gates.
enum LayerNormRow {
  kGammaX = 0,
  kBetaX = 4,
  kGammaH = 8,
  kBetaH = 12,
  kGammaC = 16,
  kBetaC = 17,
  kLayerNormRows = 18
};

}  // namespace rnn_ops
