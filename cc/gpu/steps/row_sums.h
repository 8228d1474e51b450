// Sums over all rows of a call, for the gradients of biases, peepholes and normalizations.
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/layer_gpu.h"

namespace rnn_ops::gpu {

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

}  // namespace rnn_ops::gpu
