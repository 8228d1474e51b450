// Tensors of any type in memory, read and written as doubles.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "cc/core/op/dtype.h"
#include "tests/cc/cpu/narrow_bits.h"

namespace rnn_ops::gpu::fake {

template <typename T>
T ReadAs(const void* memory, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(memory) + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void WriteAs(void* memory, int64_t index, T value) {
  std::memcpy(static_cast<char*>(memory) + index * sizeof(T), &value, sizeof(T));
}

inline double Read(Dtype dtype, const void* memory, int64_t index) {
  switch (dtype) {
    case Dtype::kFloat32:
      return ReadAs<float>(memory, index);
    case Dtype::kFloat64:
      return ReadAs<double>(memory, index);
    case Dtype::kFloat16:
      return cpu::testing::HalfValue(ReadAs<uint16_t>(memory, index));
    case Dtype::kBFloat16:
      return cpu::testing::BFloat16Value(ReadAs<uint16_t>(memory, index));
  }
  return 0;
}

inline void Write(Dtype dtype, void* memory, int64_t index, double value) {
  switch (dtype) {
    case Dtype::kFloat32:
      return WriteAs(memory, index, static_cast<float>(value));
    case Dtype::kFloat64:
      return WriteAs(memory, index, value);
    case Dtype::kFloat16:
      return WriteAs(memory, index, cpu::testing::HalfBits(value));
    case Dtype::kBFloat16:
      return WriteAs(memory, index, cpu::testing::BFloat16Bits(value));
  }
}

inline std::vector<double> ReadAll(Dtype dtype, const void* memory, int64_t size) {
  std::vector<double> values(size);
  for (int64_t k = 0; k < size; ++k) values[k] = Read(dtype, memory, k);
  return values;
}

inline void WriteAll(Dtype dtype, void* memory, const std::vector<double>& values) {
  for (size_t k = 0; k < values.size(); ++k) Write(dtype, memory, k, values[k]);
}

}  // namespace rnn_ops::gpu::fake
