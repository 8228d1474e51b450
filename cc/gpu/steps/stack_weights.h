// The weights of one layer and direction, between the opaque buffer and the layout of LayerRNN.
#pragma once

#include <cstdint>

#include "cc/core/op/param_layout.h"
#include "cc/core/status.h"
#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/problem/layer_problem.h"
#include "cc/gpu/problem/stack_problem.h"

namespace rnn_ops::gpu {

// LayerRNN's matrices are the transposed blocks, and its GRU begins with z where the buffer begins
// with r. Both biases together are LayerRNN's bias with two rows. A skipped input has a kernel of
// identity matrices.
class LayerWeights {
 public:
  // `blocks`: of the layer and direction. All arguments must outlive this object.
  LayerWeights(const ProductCall& call, const StackProblem& problem,
               const PseudoLayerParams& blocks)
      : call_(call), p_(problem), blocks_(blocks) {}

  // Copies the weights into scratch memory. `input_size`: of the layer.
  Status Read(const void* params, int64_t input_size, LayerInputs* in) const;

  // Sets the pointers to the gradients in `args`: scratch memory, or their place in `dparams`.
  Status Allocate(void* dparams, LayerBackwardArgs* args) const;
  // Copies the gradients to their places.
  Status Write(const LayerBackwardArgs& args, void* dparams) const;

 private:
  bool is_gru() const { return p_.mode == RnnMode::kGru; }
  int64_t columns() const { return p_.num_gates() * p_.num_units; }
  elementwise::CopyGates Matrix(const ParamBlock& block, int64_t gates) const;
  elementwise::CopyGates Bias() const;
  Status Launch(const elementwise::CopyGates& args) const;
  Status ReadBlock(elementwise::CopyGates copy, const void* from, const void** to) const;
  Status WriteBlock(elementwise::CopyGates copy, const void* from, void* to) const;

  const ProductCall& call_;
  const StackProblem& p_;
  const PseudoLayerParams& blocks_;
};

}  // namespace rnn_ops::gpu
