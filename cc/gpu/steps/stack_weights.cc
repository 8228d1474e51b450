#include "cc/gpu/steps/stack_weights.h"

#include <utility>

#include "cc/gpu/steps/layer.h"

namespace rnn_ops::gpu {

// From a block [gates*units, inputs] of the buffer to [inputs, gates*units].
elementwise::CopyGates LayerWeights::Matrix(const ParamBlock& block, int64_t gates) const {
  elementwise::CopyGates copy = {};
  copy.rows = block.cols;
  copy.units = block.rows / gates;
  copy.from_row = 1;
  copy.from_gate = copy.units * block.cols;
  copy.from_unit = block.cols;
  copy.to_row = block.rows;
  copy.to_gate = copy.units;
  copy.to_unit = 1;
  copy.gates = static_cast<int>(gates);
  copy.swaps = is_gru() ? 1 : 0;
  copy.element = ElementOf(p_.dtype);
  return copy;
}

// Both biases, [2, gates*units].
elementwise::CopyGates LayerWeights::Bias() const {
  elementwise::CopyGates copy = Matrix({0, columns(), 2}, p_.num_gates());
  copy.from_row = columns();
  copy.from_gate = p_.num_units;
  copy.from_unit = 1;
  return copy;
}

Status LayerWeights::Launch(const elementwise::CopyGates& args) const {
  return call_.Launch(KernelForMath(Kernel::copy_gates_f32, p_.dtype), args.rows,
                      args.gates * args.units, args);
}

Status LayerWeights::ReadBlock(elementwise::CopyGates copy, const void* from,
                               const void** to) const {
  void* made = nullptr;
  RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the weights of a layer",
                                        copy.rows * copy.gates * copy.units, p_.dtype, &made));
  copy.from = from;
  copy.to = made;
  *to = made;
  return Launch(copy);
}

Status LayerWeights::WriteBlock(elementwise::CopyGates copy, const void* from, void* to) const {
  std::swap(copy.from_row, copy.to_row);
  std::swap(copy.from_gate, copy.to_gate);
  std::swap(copy.from_unit, copy.to_unit);
  copy.from = from;
  copy.to = to;
  return Launch(copy);
}

Status LayerWeights::Read(const void* params, int64_t input_size, LayerInputs* in) const {
  const int64_t gates = p_.num_gates();
  const auto at = [&](const ParamBlock& block) { return At(params, p_.dtype, block.offset); };
  const bool skips = blocks_.input_weights.size() == 0;
  const ParamBlock kernel = {0, columns(), input_size};
  RNN_OPS_RETURN_IF_ERROR(
      ReadBlock(Matrix(kernel, gates), skips ? nullptr : at(blocks_.input_weights), &in->kernel));
  RNN_OPS_RETURN_IF_ERROR(ReadBlock(Matrix(blocks_.recurrent_weights, gates),
                                    at(blocks_.recurrent_weights), &in->recurrent_kernel));
  if (p_.num_proj > 0) {
    RNN_OPS_RETURN_IF_ERROR(
        ReadBlock(Matrix(blocks_.projection, 1), at(blocks_.projection), &in->projection));
  }
  in->bias = at(blocks_.input_bias);
  return is_gru() ? ReadBlock(Bias(), in->bias, &in->bias) : Status();
}

Status LayerWeights::Allocate(void* dparams, LayerBackwardArgs* args) const {
  const char* const purpose = "the gradients of weights";
  const auto allocate = [&](int64_t size, void** memory) {
    return call_.Scratch(purpose, size, p_.dtype, memory);
  };
  RNN_OPS_RETURN_IF_ERROR(allocate(args->problem.input_size * columns(), &args->dkernel));
  RNN_OPS_RETURN_IF_ERROR(allocate(blocks_.recurrent_weights.size(), &args->drecurrent_kernel));
  RNN_OPS_RETURN_IF_ERROR(allocate(blocks_.projection.size(), &args->dprojection));
  args->dbias = At(dparams, p_.dtype, blocks_.input_bias.offset);
  return is_gru() ? allocate(2 * columns(), &args->dbias) : Status();
}

Status LayerWeights::Write(const LayerBackwardArgs& args, void* dparams) const {
  const int64_t gates = p_.num_gates();
  const auto at = [&](const ParamBlock& block) { return At(dparams, p_.dtype, block.offset); };
  if (blocks_.input_weights.size() > 0) {
    RNN_OPS_RETURN_IF_ERROR(
        WriteBlock(Matrix(blocks_.input_weights, gates), args.dkernel, at(blocks_.input_weights)));
  }
  RNN_OPS_RETURN_IF_ERROR(WriteBlock(Matrix(blocks_.recurrent_weights, gates),
                                     args.drecurrent_kernel, at(blocks_.recurrent_weights)));
  if (p_.num_proj > 0) {
    RNN_OPS_RETURN_IF_ERROR(
        WriteBlock(Matrix(blocks_.projection, 1), args.dprojection, at(blocks_.projection)));
  }
  return is_gru() ? WriteBlock(Bias(), args.dbias, at(blocks_.input_bias)) : Status();
}

}  // namespace rnn_ops::gpu
