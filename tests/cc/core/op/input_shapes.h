// The shapes of an op's inputs by name, and tables of calls that are rejected.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/shapes.h"
#include "tests/cc/core/expect_invalid.h"

namespace rnn_ops {

constexpr int64_t kU = kUnknownDim;
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

using Dims = std::vector<int64_t>;

inline PartialShape Shape(Dims dims) { return PartialShape::Of(std::move(dims)); }

// One input with another shape.
struct Change {
  const char* input;
  Dims dims;
};

// All shapes are unknown at first.
class InputShapes {
 public:
  explicit InputShapes(const OpSpec& op) : op_(&op), shapes_(op.inputs.count) {}
  InputShapes(const OpSpec& op, const std::vector<Change>& changes) : InputShapes(op) {
    for (const Change& change : changes) (*this)[change.input] = Shape(change.dims);
  }

  InputShapes With(const std::vector<Change>& changes) const {
    InputShapes copy = *this;
    for (const Change& change : changes) copy[change.input] = Shape(change.dims);
    return copy;
  }

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

  Status Infer(const RnnAttrs& attrs = {}) const {
    CallShapes result;
    return InferShapes(*op_, attrs, shapes_, &result);
  }

  // The shapes that follow from those of a valid call.
  CallShapes Inferred(const RnnAttrs& attrs = {}) const {
    CallShapes result;
    const Status status = InferShapes(*op_, attrs, shapes_, &result);
    EXPECT_TRUE(status.ok()) << status.message();
    return result;
  }
  RnnConfig Config(const RnnAttrs& attrs = {}) const { return Inferred(attrs).config; }

  // T, B, I and H of a valid call.
  Dims Sizes(const RnnAttrs& attrs = {}) const {
    const RnnDims found = Inferred(attrs).dims;
    return {found.max_time, found.batch, found.input_size, found.num_units};
  }

  // The dimensions of output `index` of a valid call.
  Dims Output(int index, const RnnAttrs& attrs = {}) const {
    const CallShapes result = Inferred(attrs);
    EXPECT_EQ(static_cast<int>(result.outputs.size()), op_->num_outputs());
    EXPECT_TRUE(result.outputs.at(index).known_rank);
    return result.outputs.at(index).dims;
  }

 private:
  const OpSpec* op_;
  std::vector<PartialShape> shapes_;
};

// A call that is rejected: what differs from a valid call, and parts of the message.
struct Rejected {
  std::vector<Change> changes;
  std::vector<const char*> parts;
};

inline void ExpectRejected(const InputShapes& valid, const RnnAttrs& attrs,
                           const std::vector<Rejected>& calls) {
  for (const Rejected& call : calls) {
    std::string what;
    for (const Change& change : call.changes) {
      what += std::string(change.input) + " " + ToString(Shape(change.dims)) + " ";
    }
    SCOPED_TRACE(what);
    ExpectInvalid(valid.With(call.changes).Infer(attrs), call.parts);
  }
}

// A size that does not fit, in one dimension of an input at a time.
inline void ExpectTooLarge(const OpSpec& op, const RnnAttrs& attrs, const char* input) {
  for (int position = 0; position < 3; ++position) {
    Dims big = {kU, kU, kU};
    big[position] = kHuge;
    ExpectRejected(InputShapes(op), attrs, {{{{input, big}}, {"too large"}}});
  }
}

}  // namespace rnn_ops
