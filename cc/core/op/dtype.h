// The element types of the tensors of networks.
#pragma once

#include <cstdint>

namespace rnn_ops {

enum Dtype : int32_t { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 3 };

constexpr int64_t SizeOf(Dtype dtype) { return dtype == kFloat64 ? 8 : dtype == kFloat32 ? 4 : 2; }

constexpr bool IsNarrow(Dtype dtype) { return SizeOf(dtype) == 2; }

// The types of the elements of all tensors of a call.
enum class ElementType : uint8_t {
  kOther,  // not numbers of a network, such as lengths, seeds and opaque buffers
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
};

constexpr ElementType TypeOf(Dtype dtype) {
  switch (dtype) {
    case kFloat32:
      return ElementType::kFloat32;
    case kFloat64:
      return ElementType::kFloat64;
    case kFloat16:
      return ElementType::kFloat16;
    case kBFloat16:
      return ElementType::kBFloat16;
  }
  return ElementType::kOther;
}

// The ElementType of a C++ type.
template <typename T>
inline constexpr ElementType kElementType = ElementType::kOther;
template <>
inline constexpr ElementType kElementType<float> = ElementType::kFloat32;
template <>
inline constexpr ElementType kElementType<double> = ElementType::kFloat64;
template <>
inline constexpr ElementType kElementType<int8_t> = ElementType::kInt8;

// The names that TensorFlow uses.
constexpr const char* Name(Dtype dtype) {
  switch (dtype) {
    case kFloat32:
      return "float";
    case kFloat64:
      return "double";
    case kFloat16:
      return "half";
    case kBFloat16:
      return "bfloat16";
  }
  return "unknown";
}

}  // namespace rnn_ops
