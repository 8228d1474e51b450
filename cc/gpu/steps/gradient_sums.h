// Gradients of weights as sums over all rows of a call.
#pragma once

#include <cstdint>

#include "cc/core/op/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/problem/layer_problem.h"

namespace rnn_ops::gpu {

// Sums over all rows of a call, for the gradients of biases, peepholes and normalizations.

// The parts of a sum over rows. A thread sums the rows of a chunk.
struct SumChunks {
  explicit SumChunks(int64_t all);  // `all`: the number of rows
  int64_t rows;                     // of a chunk
  int64_t count;                    // of chunks
};

// to[k] = sum of a[r, k] * b[r, k] over the rows of running steps.
struct RowSum {
  void* to;  // [columns] of the problem's type; null: does nothing
  int64_t columns;
  const void* a;   // rows of `a_size` elements
  bool a_is_wide;  // a has the type of the arithmetic, not that of the tensors
  int64_t a_size;
  const void* b = nullptr;  // wide, rows of `b_size`; null: 1
  int64_t b_size = 0;
  const void* stats = nullptr;  // wide, [rows, 4]: b is replaced by (b - stats[0]) * stats[1]
};

// Computes sums of a call one after the other in one scratch memory.
class RowSums {
 public:
  // `most_columns`: of any sum.
  RowSums(const ProductCall& call, const LayerProblem& p, const int32_t* lengths)
      : call_(call), p_(p), lengths_(lengths), chunks_(p.max_time * p.batch) {}

  Status Allocate(int64_t most_columns);
  Status Add(const RowSum& sum) const;

 private:
  const ProductCall& call_;
  const LayerProblem& p_;
  const int32_t* const lengths_;
  const SumChunks chunks_;
  void* partial_ = nullptr;
};

// The gradient of a matrix of weights, as a sum of products.

// A 16-bit gradient that several products add to is summed in float32 and rounded once.
class WeightGradient {
 public:
  WeightGradient(const ProductCall& call, Dtype dtype, void* to, int64_t size)
      : call_(call), dtype_(dtype), to_(to), size_(size), sum_type_(dtype) {}

  // `in_parts`: whether a column may be the sum of more than one product.
  Status Begin(bool in_parts) {
    sum_ = to_;
    if (!IsNarrow(dtype_) || !in_parts) return Status();
    sum_type_ = MathDtype(dtype_);
    return call_.Scratch("the gradient of w", size_, sum_type_, &sum_);
  }
  // The first product of some columns sets them, and later products are added. The sum has rows of
  // `row_size`, and `stride` elements between products.
  Status Add(const ProductSizes& sizes, const Factor& a, const Factor& b, int64_t row_size,
             int64_t stride = 0) {
    if (sizes.inner == 0) return Status();
    const Result::Update update = began_ ? Result::kAdd : Result::kSet;
    began_ = true;
    return call_.Multiply(sizes, a, b, {sum_, sum_type_, update, row_size, stride});
  }
  // Adds h_prev' dgates of all steps. The h_prev of the first step, `h0`, is in another tensor than
  // the h_prev of later steps, `h`. `first`: the sizes of the product of the first step. `rows`: of
  // all steps.
  Status AddSteps(const ProductSizes& first, int64_t rows, const void* h0, const void* h,
                  const Factor& dgates) {
    const int64_t row_size = dgates.row_size, batch = first.inner;
    RNN_OPS_RETURN_IF_ERROR(Add(first, Transposed(h0, first.rows), dgates, row_size));
    return Add({first.rows, first.columns, rows - batch}, Transposed(h, first.rows),
               {At(dgates.data, dtype_, batch * row_size), row_size}, row_size);
  }
  // A product of columns of its own, from column `column` on.
  Status AddAt(int64_t column, const ProductSizes& sizes, const Factor& a, const Factor& b,
               int64_t row_size) const {
    return call_.Multiply(sizes, a, b,
                          {At(sum_, sum_type_, column), sum_type_, Result::kSet, row_size});
  }
  Status End() const { return sum_ == to_ ? Status() : call_.Narrow(to_, sum_, size_); }

 private:
  const ProductCall& call_;
  const Dtype dtype_;
  void* const to_;
  const int64_t size_;
  void* sum_ = nullptr;
  Dtype sum_type_;
  bool began_ = false;
};

}  // namespace rnn_ops::gpu
