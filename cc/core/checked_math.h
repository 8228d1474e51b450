// Sizes that cannot overflow: a result outside [0, 2^62) becomes "does not fit", and every result
// computed from that size is "does not fit" too.
#pragma once

#include <cstdint>

namespace rnn_ops {

// The bound of every size in bytes that the library computes. The sum of two sizes fits int64.
constexpr int64_t kSizeLimit = int64_t{1} << 62;

// a * b, or -1 if a factor is negative or the product does not fit int64.
inline int64_t Area(int64_t a, int64_t b) {
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

// A size in [0, kSizeLimit), or a mark for a size that is negative or too large.
class CheckedSize {
 public:
  CheckedSize(int64_t value)  // NOLINT: implicit, so that formulas read as formulas
      : value_(value >= 0 && value < kSizeLimit ? value : kDoesNotFit) {}

  bool ok() const { return value_ != kDoesNotFit; }
  int64_t value() const { return value_; }  // -1 if the size does not fit

  friend CheckedSize operator*(CheckedSize a, CheckedSize b) { return Area(a.value_, b.value_); }
  friend CheckedSize operator+(CheckedSize a, CheckedSize b) {
    if (!a.ok() || !b.ok()) return kDoesNotFit;
    return a.value_ + b.value_;
  }

 private:
  static constexpr int64_t kDoesNotFit = -1;
  int64_t value_;
};

}  // namespace rnn_ops
