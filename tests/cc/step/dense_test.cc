// Dense layers of the kernel tables: float32 next to sums in double, and int8 equal to integers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
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

// More products than a block of the kernels has.
TEST(Dense, IsTheProductOfManyFeatures) {
  for (const KernelTable* table : testing::Tables()) {
    for (const int64_t rows : {1, 5}) {
      for (const int64_t columns : {1, 17}) {
        CheckDense(*table, rows, /*depth=*/20000, columns, /*has_bias=*/true);
      }
    }
  }
}

using Packed = std::unique_ptr<void, decltype(&std::free)>;

// The numbers of Keras, one by one: not a number if x has one that is not finite.
std::vector<float> QuantizedReference(const float* x, const std::vector<int8_t>& w,
                                      const std::vector<float>& scales,
                                      const std::vector<float>& bias, float epsilon,
                                      int64_t depth) {
  float largest = 0;
  for (int64_t k = 0; k < depth; ++k) {
    largest = std::isfinite(x[k]) ? std::max(largest, std::fabs(x[k]))
                                  : std::numeric_limits<float>::quiet_NaN();
    if (std::isnan(largest)) break;
  }
  const float scale = 127.0f / (largest + epsilon);
  const int64_t columns = static_cast<int64_t>(scales.size());
  std::vector<float> y(columns, std::numeric_limits<float>::quiet_NaN());
  for (int64_t n = 0; n < columns && !std::isnan(scale); ++n) {
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      sum += static_cast<int64_t>(std::nearbyint(x[k] * scale)) * w[k * columns + n];
    }
    const float divisor = scales[n] * scale;
    y[n] = static_cast<float>(sum) / divisor;
    if (!bias.empty()) y[n] += bias[n];
  }
  return y;
}

void CheckQuantizedDense(const KernelTable& table, int64_t rows, int64_t depth, int64_t columns,
                         bool has_bias) {
  SCOPED_TRACE(::testing::Message() << table.isa << " rows " << rows << " depth " << depth
                                    << " columns " << columns << " bias " << has_bias);
  constexpr float kEpsilon = 1e-7f, kUntouched = 77;
  std::vector<float> x = Draw(rows * depth, 1), scales = Draw(columns, 2);
  for (float& scale : scales) scale = 100 + 50 * scale;
  std::vector<float> bias = has_bias ? Draw(columns, 3) : std::vector<float>();
  std::mt19937 random(4);
  std::vector<int8_t> w(depth * columns);
  // Also the value that has no opposite.
  for (int8_t& value : w) value = static_cast<int8_t>(static_cast<int>(random() % 256) - 128);
  // Rows of one factor each; one of zeros, of values that are not finite, and of the largest.
  for (int64_t i = 0; i < rows; ++i) {
    const float factors[] = {1, 1e-9f, 0, 3e38f, 1e9f};
    for (int64_t k = 0; k < depth; ++k) x[i * depth + k] *= factors[i % 5];
  }
  if (rows > 7) {
    x[5 * depth] = std::numeric_limits<float>::quiet_NaN();
    x[6 * depth + depth / 2] = -std::numeric_limits<float>::infinity();
  }
  const DenseFormat format = table.quantized_dense_format(depth, columns);
  const Packed packed(std::aligned_alloc(64, (format.bytes + 63) / 64 * 64), &std::free);
  const Packed quantized(std::aligned_alloc(64, rows * format.row_bytes), &std::free);
  std::vector<float> y(rows * columns + 1, kUntouched);
  std::vector<const void*> input(rows);
  std::vector<float*> output(rows);
  for (int64_t i = 0; i < rows; ++i) {
    char* const row = static_cast<char*>(quantized.get()) + i * format.row_bytes;
    table.quantize_row(x.data() + i * depth, depth, kEpsilon, row);
    input[i] = row;
    output[i] = y.data() + i * columns;
  }
  const DenseArgs args = {rows,          depth,        columns,  input.data(),
                          output.data(), packed.get(), rows == 1};
  table.quantized_dense_pack(&args, w.data(), scales.data(), has_bias ? bias.data() : nullptr);
  for (int64_t p = format.panels - 1; p >= 0; --p) table.quantized_dense(&args, p, p + 1);
  for (int64_t i = 0; i < rows; ++i) {
    const std::vector<float> want =
        QuantizedReference(x.data() + i * depth, w, scales, bias, kEpsilon, depth);
    for (int64_t n = 0; n < columns; ++n) {
      const float got = y[i * columns + n];
      if (std::isnan(want[n])) {
        ASSERT_TRUE(std::isnan(got)) << "row " << i << " column " << n;
      } else {
        ASSERT_EQ(got, want[n]) << "row " << i << " column " << n;
      }
    }
  }
  EXPECT_EQ(y.back(), kUntouched);
}

TEST(Dense, InInt8IsEqualToIntegers) {
  for (const KernelTable* table : testing::Tables()) {
    for (const int64_t rows : {1, 2, 5, 13}) {
      for (const int64_t depth : {1, 3, 64, 601}) {
        for (const int64_t columns : {1, 7, 16, 48, 65, 130}) {
          CheckQuantizedDense(*table, rows, depth, columns, depth != 3);
        }
      }
    }
  }
}

// The sums of the unit that multiplies unsigned integers wrap: they are 255 * 127 * depth.
TEST(Dense, InInt8HasTheLargestDepth) {
  constexpr int64_t kDepth = 1 << 17;
  const std::vector<float> x(kDepth, 0.5f), scales = {1, 2};
  std::vector<int8_t> w(2 * kDepth);
  for (int64_t k = 0; k < kDepth; ++k) {
    w[2 * k] = -128;
    w[2 * k + 1] = 127;
  }
  const std::vector<float> want = QuantizedReference(x.data(), w, scales, {}, 0, kDepth);
  for (const KernelTable* table : testing::Tables()) {
    const DenseFormat format = table->quantized_dense_format(kDepth, 2);
    const Packed packed(std::aligned_alloc(64, (format.bytes + 63) / 64 * 64), &std::free);
    const Packed row(std::aligned_alloc(64, format.row_bytes), &std::free);
    table->quantize_row(x.data(), kDepth, 0, row.get());
    std::vector<float> y(2);
    const void* input = row.get();
    float* output = y.data();
    const DenseArgs args = {1, kDepth, 2, &input, &output, packed.get(), true};
    table->quantized_dense_pack(&args, w.data(), scales.data(), nullptr);
    table->quantized_dense(&args, 0, format.panels);
    EXPECT_EQ(y, want) << table->isa;
  }
}

}  // namespace
}  // namespace rnn_ops::cpu
