// Conversions between the 16-bit types and double. They do not use Eigen, because its conversions
// are under test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rnn_ops::cpu::testing {

// An IEEE format of 16 bits with rounding to nearest, ties to even.
template <int FractionBits>
struct Narrow {
  static constexpr int kExponentBits = 15 - FractionBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint16_t kInfinity = ((1 << kExponentBits) - 1) << FractionBits;

  static uint16_t Bits(double v) {
    const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
    if (std::isnan(v)) return sign | kInfinity | 1 << (FractionBits - 1);
    if (std::isinf(v)) return sign | kInfinity;
    const double a = std::abs(v);
    int exponent = 1 - kBias;  // exponent of the subnormals
    if (a > 0) exponent = std::max(exponent, std::ilogb(a));
    // In units in the last place. A carry increments the exponent, up to infinity.
    const auto units = static_cast<int64_t>(std::nearbyint(std::ldexp(a, FractionBits - exponent)));
    const int64_t bits = units + (int64_t{exponent - 1 + kBias} << FractionBits);
    return sign | static_cast<uint16_t>(std::min<int64_t>(bits, kInfinity));
  }

  static double Value(uint16_t bits) {
    const double sign = bits & 0x8000 ? -1 : 1;
    const int fraction = bits & ((1 << FractionBits) - 1);
    const int exponent = (bits & 0x7FFF) >> FractionBits;
    if ((bits & kInfinity) == kInfinity) {
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    }
    const int one = exponent > 0 ? 1 << FractionBits : 0;
    return sign * std::ldexp(one + fraction, std::max(exponent, 1) - kBias - FractionBits);
  }
};

inline uint16_t HalfBits(double v) { return Narrow<10>::Bits(v); }
inline double HalfValue(uint16_t bits) { return Narrow<10>::Value(bits); }
inline uint16_t BFloat16Bits(double v) { return Narrow<7>::Bits(v); }
inline double BFloat16Value(uint16_t bits) { return Narrow<7>::Value(bits); }

}  // namespace rnn_ops::cpu::testing
