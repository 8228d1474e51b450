#include "cc/core/op/param_layout.h"

#include "cc/core/checked_math.h"
#include "cc/core/op/param_offsets.h"

namespace rnn_ops {
namespace {

// Splits `all` [G*H, cols] into G blocks [H, cols] (or [H] if `all` is a bias), and appends them.
void AppendGates(const ParamBlock& all, int64_t num_gates, std::vector<ParamBlock>* result) {
  const int64_t rows = all.rows / num_gates;
  for (int64_t gate = 0; gate < num_gates; ++gate) {
    result->push_back({all.offset + gate * rows * all.cols, rows, all.cols});
  }
}

}  // namespace

int64_t ParamsSize(const RnnConfig& config) {
  // Each pseudo-layer has G gates with H units. A unit has input weights, recurrent weights and two
  // biases.
  const CheckedSize gate_rows = CheckedSize(config.num_gates()) * config.num_units;
  const CheckedSize hidden = config.hidden_size();
  const CheckedSize output = CheckedSize(config.num_dirs()) * hidden;
  const CheckedSize projection = config.num_proj > 0 ? hidden * config.num_units : CheckedSize(0);
  const CheckedSize without_input = gate_rows * (hidden + 2) + projection;
  const CheckedSize first_input =
      config.skips_input(0) ? CheckedSize(0) : CheckedSize(config.input_size);
  const CheckedSize first = gate_rows * first_input + without_input;
  const CheckedSize other = gate_rows * output + without_input;
  return (CheckedSize(config.num_dirs()) * (first + CheckedSize(config.num_layers - 1) * other))
      .value();
}

ParamLayout::ParamLayout(const RnnConfig& config)
    : config_(config), num_dirs_(config.num_dirs()), blocks_(config.num_pseudo_layers()) {
  const int64_t gate_rows = config.num_gates() * config.num_units;
  const ParamOffsets at = {
      gate_rows, config.hidden_size(), config.num_proj * config.num_units,
      num_dirs_, config.num_layers,    config.skips_input(0) ? 0 : config.input_size};
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    for (int64_t dir = 0; dir < num_dirs_; ++dir) {
      const int64_t weights = at.Weights(layer, dir), biases = at.Biases(layer, dir);
      PseudoLayerParams& p = blocks_[layer * num_dirs_ + dir];
      p.input_weights = {weights, gate_rows, at.Input(layer)};
      p.recurrent_weights = {weights + at.Recurrent(layer), gate_rows, config.hidden_size()};
      p.projection = {weights + at.Projection(layer), config.num_proj,
                      config.num_proj > 0 ? config.num_units : 0};
      p.input_bias = {biases, gate_rows, 1};
      p.recurrent_bias = {biases + gate_rows, gate_rows, 1};
    }
  }
  size_ = at.size();
}

std::vector<ParamBlock> ParamLayout::CanonicalWeights() const {
  std::vector<ParamBlock> result;
  for (const PseudoLayerParams& p : blocks_) {
    AppendGates(p.input_weights, config_.num_gates(), &result);
    AppendGates(p.recurrent_weights, config_.num_gates(), &result);
    if (config_.num_proj > 0) result.push_back(p.projection);
  }
  return result;
}

std::vector<ParamBlock> ParamLayout::CanonicalBiases() const {
  std::vector<ParamBlock> result;
  for (const PseudoLayerParams& p : blocks_) {
    AppendGates(p.input_bias, config_.num_gates(), &result);
    AppendGates(p.recurrent_bias, config_.num_gates(), &result);
  }
  return result;
}

}  // namespace rnn_ops
