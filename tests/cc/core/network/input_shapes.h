// The shapes of an op's inputs by name. All shapes are unknown at first.
#ifndef TF_RNN_OPS_TESTS_CC_CORE_NETWORK_INPUT_SHAPES_H_
#define TF_RNN_OPS_TESTS_CC_CORE_NETWORK_INPUT_SHAPES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "cc/core/network/op_spec.h"
#include "cc/core/network/shapes.h"

namespace rnn_ops {

class InputShapes {
 public:
  explicit InputShapes(const OpSpec& op) : op_(&op), shapes_(op.inputs.count) {}

  // Throws if the op has no such input.
  PartialShape& operator[](std::string_view name) {
    for (int k = 0; k < op_->inputs.count; ++k) {
      if (op_->inputs[k].name() == name) return shapes_[k];
    }
    throw std::out_of_range("no such input");
  }

  // Copies the shapes of the inputs that both ops have.
  InputShapes& Take(const InputShapes& from) {
    for (int k = 0; k < from.op_->inputs.count; ++k) {
      const int index = op_->Input(from.op_->inputs[k].arg);
      if (index != kAbsent) shapes_[index] = from.shapes_[k];
    }
    return *this;
  }

  Status Infer(const RnnAttrs& attrs, CallShapes* result) const {
    return InferShapes(*op_, attrs, shapes_, result);
  }
  Status Infer(const RnnAttrs& attrs, RnnDims* dims) const {
    CallShapes result;
    result.dims = *dims;
    const Status status = Infer(attrs, &result);
    *dims = result.dims;
    return status;
  }
  Status Infer(const RnnAttrs& attrs = {}) const {
    CallShapes result;
    return Infer(attrs, &result);
  }

  // The configuration of a valid call.
  RnnConfig Config(const RnnAttrs& attrs = {}) const {
    CallShapes result;
    EXPECT_TRUE(Infer(attrs, &result).ok());
    return result.config;
  }

  // The dimensions of output `index` of a valid call.
  std::vector<int64_t> Output(int index, const RnnAttrs& attrs = {}) const {
    CallShapes result;
    EXPECT_TRUE(Infer(attrs, &result).ok());
    EXPECT_EQ(static_cast<int>(result.outputs.size()), op_->num_outputs());
    EXPECT_TRUE(result.outputs.at(index).known_rank);
    return result.outputs.at(index).dims;
  }

 private:
  const OpSpec* op_;
  std::vector<PartialShape> shapes_;
};

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_CC_CORE_NETWORK_INPUT_SHAPES_H_
