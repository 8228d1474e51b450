// The class of this name in Clang's library, for the compilers that lack it: with the member
// functions that the fuzz targets call. It gives the same values for the same bytes, so that the
// committed corpora reach here what libFuzzer reached with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

class FuzzedDataProvider {
 public:
  FuzzedDataProvider(const uint8_t* data, size_t size) : begin_(data), end_(data + size) {}
  FuzzedDataProvider(const FuzzedDataProvider&) = delete;
  FuzzedDataProvider& operator=(const FuzzedDataProvider&) = delete;

  // Numbers come from the end of the bytes, the last byte first. As many bytes are read as the
  // range needs. A number is the smallest one when no bytes are left.
  template <typename T>
  T ConsumeIntegralInRange(T smallest, T largest) {
    static_assert(std::is_integral_v<T> && sizeof(T) <= sizeof(uint64_t));
    if (smallest > largest) std::abort();
    const uint64_t first = static_cast<uint64_t>(smallest);
    const uint64_t range = static_cast<uint64_t>(largest) - first;
    uint64_t value = 0;
    for (size_t k = 0; k < sizeof(T) && range >> 8 * k > 0 && begin_ != end_; ++k) {
      value = value << 8 | *--end_;
    }
    if (range != std::numeric_limits<uint64_t>::max()) value %= range + 1;
    return static_cast<T>(first + value);
  }
  template <typename T>
  T ConsumeIntegral() {
    return ConsumeIntegralInRange(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  bool ConsumeBool() { return (ConsumeIntegral<uint8_t>() & 1) != 0; }

  // From 0 to 1.
  template <typename T>
  T ConsumeProbability() {
    using Bits = std::conditional_t<sizeof(T) <= sizeof(uint32_t), uint32_t, uint64_t>;
    return static_cast<T>(ConsumeIntegral<Bits>()) /
           static_cast<T>(std::numeric_limits<Bits>::max());
  }
  // Any finite number. A bool selects the half of the range, which as a whole would overflow.
  template <typename T>
  T ConsumeFloatingPoint() {
    constexpr T kLargest = std::numeric_limits<T>::max();
    T value = ConsumeBool() ? T{0} : -kLargest;
    value += kLargest * ConsumeProbability<T>();
    return std::min(value, kLargest);
  }
  template <typename T>
  T PickValueInArray(std::initializer_list<const T> values) {
    return values.begin()[ConsumeIntegralInRange<size_t>(0, values.size() - 1)];
  }

  // Bytes and characters come from the beginning.
  template <typename T>
  std::vector<T> ConsumeBytes(size_t count) {
    static_assert(sizeof(T) == 1);
    std::vector<T> bytes(std::min<size_t>(count, end_ - begin_));
    if (!bytes.empty()) std::memcpy(bytes.data(), begin_, bytes.size());
    begin_ += bytes.size();
    return bytes;
  }
  // A backslash ends the string, except before a second one: the two are one backslash.
  std::string ConsumeRandomLengthString(size_t longest) {
    std::string text;
    while (text.size() < longest && begin_ != end_) {
      char next = static_cast<char>(*begin_++);
      if (next == '\\' && begin_ != end_) {
        next = static_cast<char>(*begin_++);
        if (next != '\\') break;
      }
      text += next;
    }
    return text;
  }

 private:
  const uint8_t* begin_;
  const uint8_t* end_;
};
