// Where each weight and bias lies in the opaque parameter buffer. See docs/param-layout.md.
#ifndef TF_RNN_OPS_CC_CORE_NETWORK_PARAM_LAYOUT_H_
#define TF_RNN_OPS_CC_CORE_NETWORK_PARAM_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "cc/core/network/rnn_config.h"

namespace rnn_ops {

// A row-major matrix [rows, cols] (or a vector, cols == 1), perhaps empty, at `offset` elements.
struct ParamBlock {
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t size() const { return rows * cols; }
};

// The blocks of one layer and direction. Gate order: LSTM i, f, c, o; GRU r, u, h.
struct PseudoLayerParams {
  ParamBlock input_weights;  // [G*H, in]: the gates' [H, in] one after another; [G*H, 0] if skipped
  ParamBlock recurrent_weights;  // [G*H, P or H]
  ParamBlock projection;         // [P, H]; empty without projection
  ParamBlock input_bias;         // [G*H, 1]
  ParamBlock recurrent_bias;     // [G*H, 1]
};

// Elements of the whole buffer, without building the blocks; -1 when that does not fit in 62 bits.
int64_t ParamsSize(const RnnConfig& config);

class ParamLayout {
 public:
  // `config` must be valid; T and B do not matter. Needs memory for L*D blocks, so an op that takes
  // the number of layers as a value compares it with its other inputs first.
  explicit ParamLayout(const RnnConfig& config);

  int64_t size() const { return size_; }  // elements of the whole buffer
  const PseudoLayerParams& at(int64_t layer, int64_t dir) const {
    return blocks_[layer * num_dirs_ + dir];
  }

  // The canonical tensors in the order of CudnnRNNParamsToCanonicalV2: for each pseudo-layer the
  // gates' input weights, then recurrent weights, then the projection; biases likewise.
  std::vector<ParamBlock> CanonicalWeights() const;
  std::vector<ParamBlock> CanonicalBiases() const;

 private:
  RnnConfig config_;
  int64_t num_dirs_;
  int64_t size_ = 0;
  std::vector<PseudoLayerParams> blocks_;
};

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_NETWORK_PARAM_LAYOUT_H_
