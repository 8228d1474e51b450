// The element types of the tensors of networks.
#pragma once

#include <cstdint>

namespace rnn_ops {

enum Dtype : int32_t { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 3 };

constexpr int64_t SizeOf(Dtype dtype) { return dtype == kFloat64 ? 8 : dtype == kFloat32 ? 4 : 2; }

constexpr bool IsNarrow(Dtype dtype) { return SizeOf(dtype) == 2; }

// The types of the elements of all tensors of a call. The types of Dtype are in its order.
enum class ElementType : uint8_t {
  kOther,  // not numbers of a network, such as lengths, seeds and opaque buffers
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
};

constexpr ElementType TypeOf(Dtype dtype) { return static_cast<ElementType>(dtype + 1); }

// Sets the Dtype of a type of a framework. `types`: the types of the framework in the order of
// Dtype. Returns false if the type is none of them.
template <typename Type>
constexpr bool ToDtype(Type type, const Type (&types)[4], Dtype* dtype) {
  for (int k = 0; k < 4; ++k) {
    if (types[k] != type) continue;
    *dtype = static_cast<Dtype>(k);
    return true;
  }
  return false;
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

// The names that TensorFlow uses. A number that is not a type, such as one in a file, is unknown.
constexpr const char* Name(Dtype dtype) {
  constexpr const char* kNames[] = {"float", "double", "half", "bfloat16"};
  return kFloat32 <= dtype && dtype <= kBFloat16 ? kNames[dtype] : "unknown";
}

}  // namespace rnn_ops
