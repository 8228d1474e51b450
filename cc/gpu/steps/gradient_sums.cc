#include "cc/gpu/steps/gradient_sums.h"

#include <algorithm>

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/steps/layer.h"

namespace rnn_ops::gpu {
namespace {

// The rows that one thread sums at least, and the most chunks of rows.
constexpr int64_t kSumRows = 32;
constexpr int64_t kMaxSumChunks = 256;

}  // namespace

SumChunks::SumChunks(int64_t all)
    : rows(std::max<int64_t>(kSumRows, (all + kMaxSumChunks - 1) / kMaxSumChunks)),
      count((all + rows - 1) / rows) {}

Status RowSums::Allocate(int64_t most_columns) {
  return call_.Scratch("the sums", chunks_.count * most_columns, MathDtype(p_.dtype), &partial_);
}

Status RowSums::Add(const RowSum& sum) const {
  if (sum.to == nullptr) return Status();
  elementwise::SumRows args = {};
  args.a = sum.a;
  args.b = sum.b;
  args.stats = sum.stats;
  args.partial = partial_;
  args.steps = StepsFrom(p_, lengths_, 0);
  args.rows = p_.max_time * p_.batch;
  args.columns = sum.columns;
  args.a_size = sum.a_size;
  args.b_size = sum.b_size;
  args.stats_size = elementwise::kStats;
  args.chunks = chunks_.count;
  args.chunk_rows = chunks_.rows;
  args.a_element = sum.a_is_wide ? elementwise::kArithmetic : ElementOf(p_.dtype);
  RNN_OPS_RETURN_IF_ERROR(call_.Launch(KernelForMath(Kernel::sum_rows_f32, p_.dtype), chunks_.count,
                                       sum.columns, args));
  elementwise::FinishRowSums finish = {partial_, sum.to, sum.columns, chunks_.count,
                                       ElementOf(p_.dtype)};
  return call_.Launch(KernelForMath(Kernel::finish_row_sums_f32, p_.dtype), 1, sum.columns, finish);
}

}  // namespace rnn_ops::gpu
