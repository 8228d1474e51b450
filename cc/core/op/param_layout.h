// The position of each weight and bias in the opaque parameter buffer. See docs/raw-ops.md.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/op/rnn_config.h"

namespace rnn_ops {

// A row-major matrix [rows, cols] (a vector if cols == 1) that starts at element `offset`; may be
// empty.
struct ParamBlock {
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t size() const { return rows * cols; }
};

// The blocks of one layer and direction. The gate order is i, f, c, o in LSTM, and r, u, h in GRU.
struct PseudoLayerParams {
  ParamBlock input_weights;      // [G*H, in]: [H, in] for each gate; [G*H, 0] if skipped
  ParamBlock recurrent_weights;  // [G*H, P or H]
  ParamBlock projection;         // [P, H]; empty without projection
  ParamBlock input_bias;         // [G*H, 1]
  ParamBlock recurrent_bias;     // [G*H, 1]
};

// The number of elements of the buffer, computed without the blocks; -1 if it does not fit 62 bits.
int64_t ParamsSize(const RnnConfig& config);

class ParamLayout {
 public:
  // `config` must be valid; T and B do not matter. Allocates L*D blocks, so an op whose number of
  // layers is the value of an input must first compare the number with the other inputs.
  explicit ParamLayout(const RnnConfig& config);

  int64_t size() const { return size_; }  // elements of the whole buffer
  const PseudoLayerParams& at(int64_t layer, int64_t dir) const {
    return blocks_[layer * num_dirs_ + dir];
  }

  // The canonical tensors in the order of CudnnRNNParamsToCanonicalV2. For each pseudo-layer,
  // CanonicalWeights returns the input weights of the gates, the recurrent weights of the gates,
  // and the projection. CanonicalBiases returns the input biases of the gates and then the
  // recurrent biases.
  std::vector<ParamBlock> CanonicalWeights() const;
  std::vector<ParamBlock> CanonicalBiases() const;

 private:
  RnnConfig config_;
  int64_t num_dirs_;
  int64_t size_ = 0;
  std::vector<PseudoLayerParams> blocks_;
};

}  // namespace rnn_ops
