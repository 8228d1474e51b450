// Dense layers of the kernel tables beside sums in double.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/kernel_args.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_tables.h"

namespace rnn_ops::cpu {
namespace {

std::vector<float> Draw(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = between(random);
  return values;
}

void CheckDense(const KernelTable& table, int64_t rows, int64_t depth, int64_t columns,
                bool has_bias) {
  SCOPED_TRACE(::testing::Message() << table.isa << " rows " << rows << " depth " << depth
                                    << " columns " << columns << " bias " << has_bias);
  const std::vector<float> x = Draw(rows * depth, 1), w = Draw(depth * columns, 2);
  const std::vector<float> bias = Draw(columns, 3);
  const DenseFormat format = table.dense_format(depth, columns);
  std::unique_ptr<void, decltype(&std::free)> packed(
      std::aligned_alloc(64, (format.bytes + 63) / 64 * 64), &std::free);
  constexpr float kUntouched = 77;
  std::vector<float> y(rows * columns + 1, kUntouched);
  std::vector<const void*> input(rows);
  std::vector<float*> output(rows);
  for (int64_t i = 0; i < rows; ++i) {
    input[i] = x.data() + i * depth;
    output[i] = y.data() + i * columns;
  }
  const DenseArgs args = {rows,          depth,        columns,  input.data(),
                          output.data(), packed.get(), rows == 1};
  table.dense_pack(&args, w.data(), has_bias ? bias.data() : nullptr);
  // Panel by panel, the last one first.
  for (int64_t p = format.panels - 1; p >= 0; --p) table.dense(&args, p, p + 1);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = has_bias ? bias[n] : 0, magnitude = 1;
      for (int64_t k = 0; k < depth; ++k) {
        const double product = double{x[i * depth + k]} * w[k * columns + n];
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(y[i * columns + n], sum, 3e-7 * magnitude) << "row " << i << " column " << n;
    }
  }
  EXPECT_EQ(y.back(), kUntouched);
  const std::vector<float> parts = y;
  table.dense(&args, 0, format.panels);
  EXPECT_EQ(y, parts);
}

TEST(Dense, IsTheProductAndTheBias) {
  for (const KernelTable* table : testing::Tables()) {
    for (const int64_t rows : {1, 2, 5, 13}) {
      for (const int64_t depth : {1, 3, 64, 600}) {
        for (const int64_t columns : {1, 7, 16, 48, 65, 130}) {
          CheckDense(*table, rows, depth, columns, depth != 3);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rnn_ops::cpu
