// The nodes of a stepper without products: activations, softmax and depthwise convolutions.
// docs/numerics.md has the bounds of their errors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/simd/exp.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// y[i] = fn(x[i]) for all i < n. x may be y.
// WHY two vectors at once: the operations of one wait for each other.
template <typename F>
EIGEN_ALWAYS_INLINE void ForEach(const float* x, float* y, int64_t n, F&& fn) {
  constexpr int V = kLanes<float>;
  int64_t i = 0;
  for (; i + 2 * V <= n; i += 2 * V) {
    const Packet<float> a = fn(Load(x + i)), b = fn(Load(x + i + V));
    Store(y + i, a);
    Store(y + i + V, b);
  }
  for (; i < n; i += V) StoreFirst(y + i, fn(LoadFirst(x + i, n - i)), n - i);
}

// 1 / (1 + exp(-x)), more exact than the sigmoid of the cells at the baseline.
EIGEN_ALWAYS_INLINE Packet<float> ExactSigmoid(const Packet<float>& x) {
  const Packet<float> one = Set(1.0f);
  return pdiv(one, padd(one, Exp(psub(Set(0.0f), x))));
}

// tanh(|x|) = -u / (u + 2) with u = exp(-2 |x|) - 1.
EIGEN_ALWAYS_INLINE Packet<float> ExactTanh(const Packet<float>& x) {
  const Packet<float> zero = Set(0.0f);
  const Packet<float> u = ExpMinusOne(pmul(Abs(x), Set(-2.0f)));
  const Packet<float> y = pdiv(u, padd(u, Set(2.0f)));
  return Select(LessOrEqual(x, zero), y, psub(zero, y));
}

// log(1 + t) for t in [0, 1]: 2 artanh(s) with s = t / (2 + t), whose series is in s^2.
EIGEN_ALWAYS_INLINE Packet<float> LogOfOnePlus(const Packet<float>& t) {
  const Packet<float> s = pdiv(t, padd(t, Set(2.0f)));
  const Packet<float> s2 = pmul(s, s);
  Packet<float> p = Set(0.12209917f);
  for (const float c : {0.106957786f, 0.14310434f, 0.19999343f, 0.3333334f, 1.0f}) {
    p = pmadd(p, s2, Set(c));
  }
  return pmul(padd(s, s), p);
}

EIGEN_ALWAYS_INLINE Packet<float> Softplus(const Packet<float>& x) {
  const Packet<float> power = Exp(psub(Set(0.0f), Abs(x)));
  return padd(LogOfOnePlus(power), Relu<float>(x));
}

// x tanh(log(1 + e)) = x n / (n + 2) with e = exp(x) and n = e (e + 2).
EIGEN_ALWAYS_INLINE Packet<float> Mish(const Packet<float>& x) {
  const Packet<float> two = Set(2.0f);
  const Packet<float> e = Exp(Min(x, Set(20.0f)));  // the quotient is 1 from here on
  const Packet<float> n = pmul(e, padd(e, two));
  return pmul(x, pdiv(n, padd(n, two)));
}

// alpha (exp(x) - 1) below 0.
EIGEN_ALWAYS_INLINE Packet<float> Elu(const Packet<float>& x, float alpha) {
  const Packet<float> zero = Set(0.0f);
  return Select(LessOrEqual(x, zero), pmul(Set(alpha), ExpMinusOne(Min(x, zero))), x);
}

// x times the normal distribution of x, which is erfc(z) / 2 or 1 - erfc(z) / 2 with
// z = |x| / sqrt(2).
// SOURCE: W. Press et al., Numerical Recipes, erfcc: erfc(z) = t exp(p(t) - z^2), t = 2 / (2 + z).
EIGEN_ALWAYS_INLINE Packet<float> Gelu(const Packet<float>& x) {
  const Packet<float> zero = Set(0.0f), one = Set(1.0f);
  const Packet<float> z = pmul(Abs(x), Set(0.70710678f));
  const Packet<float> t = pdiv(one, pmadd(z, Set(0.5f), one));
  Packet<float> p = Set(0.17087277f);
  for (const float c : {-0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f, -0.18628806f,
                        0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f}) {
    p = pmadd(p, t, Set(c));
  }
  const Packet<float> tail = pmul(pmul(Set(0.5f), t), Exp(psub(p, pmul(z, z))));
  return pmul(x, Select(LessOrEqual(x, zero), tail, psub(one, tail)));
}

EIGEN_ALWAYS_INLINE Packet<float> HardSigmoid(const Packet<float>& x) {
  const Packet<float> line = pmadd(x, Set(1.0f / 6.0f), Set(0.5f));
  return Max(Min(line, Set(1.0f)), Set(0.0f));
}

// relu with the parameters of keras.activations.relu.
inline void ActivateRelu(const Elementwise& a, const float* x, float* y, int64_t n) {
  using P = Packet<float>;
  const P threshold = Set(a.threshold), largest = Set(a.largest), alpha = Set(a.alpha);
  // WHY not alpha * x if alpha is 0: x may be infinite.
  if (a.alpha == 0.0f) {
    return ForEach(x, y, n, [=](const P& v) {
      return Select(LessOrEqual(v, threshold), Set(0.0f), Min(v, largest));
    });
  }
  ForEach(x, y, n, [=](const P& v) {
    return Select(LessOrEqual(v, threshold), pmul(alpha, psub(v, threshold)), Min(v, largest));
  });
}

inline void Activate(const Elementwise* function, const float* x, float* y, int64_t n) {
  using P = Packet<float>;
  switch (function->function) {
    case ElementFunction::kRelu:
      return ActivateRelu(*function, x, y, n);
    case ElementFunction::kTanh:
      return ForEach(x, y, n, [](const P& v) { return ExactTanh(v); });
    case ElementFunction::kSigmoid:
      return ForEach(x, y, n, [](const P& v) { return ExactSigmoid(v); });
    case ElementFunction::kHardSigmoid:
      return ForEach(x, y, n, [](const P& v) { return HardSigmoid(v); });
    case ElementFunction::kExponential:
      return ForEach(x, y, n, [](const P& v) { return Exp(v); });
    case ElementFunction::kSoftplus:
      return ForEach(x, y, n, [](const P& v) { return Softplus(v); });
    case ElementFunction::kSoftsign:
      return ForEach(x, y, n, [](const P& v) { return pdiv(v, padd(Set(1.0f), Abs(v))); });
    case ElementFunction::kElu:
      return ForEach(x, y, n, [=](const P& v) { return Elu(v, function->alpha); });
    case ElementFunction::kSelu:
      return ForEach(x, y, n, [](const P& v) {
        return pmul(Set(1.0507009873554805f), Elu(v, 1.6732632423543772f));
      });
    case ElementFunction::kSilu:
      return ForEach(x, y, n, [](const P& v) {
        const P one = Set(1.0f);
        return pdiv(v, padd(one, Exp(psub(Set(0.0f), v))));
      });
    case ElementFunction::kHardSilu:
      return ForEach(x, y, n, [](const P& v) { return pmul(v, HardSigmoid(v)); });
    case ElementFunction::kGelu:
      return ForEach(x, y, n, [](const P& v) { return Gelu(v); });
    case ElementFunction::kMish:
      return ForEach(x, y, n, [](const P& v) { return Mish(v); });
  }
}

// ---- Softmax ----

// The largest element of a row of n >= V elements. It may be another one if an element is NaN.
inline float LargestElement(const float* x, int64_t n) {
  constexpr int V = kLanes<float>;
  Packet<float> largest = Load(x + n - V), other = largest;
  int64_t i = 0;
  for (; i + 2 * V <= n; i += 2 * V) {
    largest = Max(largest, Load(x + i));
    other = Max(other, Load(x + i + V));
  }
  if (i + V <= n) largest = Max(largest, Load(x + i));
  return LargestOfLanes(Max(largest, other));
}

// exp(x - largest) of a row, to y if kStores, but of the last n % V elements to `tail`: loading
// them right after a store of few lanes would wait for the store. Returns the sum.
// WHY in double: a sum in float would lose the small terms of many classes. The sum of two vectors
// in float costs three eps at most.
template <bool kStores>
double SumOfPowers(const float* x, float* y, int64_t n, float largest, Packet<float>* tail) {
  constexpr int V = kLanes<float>;
  const Packet<float> offset = Set(largest);
  double sum = 0;
  int64_t i = 0;
  for (; i + 2 * V <= n; i += 2 * V) {
    const Packet<float> a = Exp(psub(Load(x + i), offset)), b = Exp(psub(Load(x + i + V), offset));
    if constexpr (kStores) {
      Store(y + i, a);
      Store(y + i + V, b);
    }
    sum += static_cast<double>(SumOfLanes(padd(a, b)));
  }
  if (i + V <= n) {
    const Packet<float> a = Exp(psub(Load(x + i), offset));
    if constexpr (kStores) Store(y + i, a);
    sum += static_cast<double>(SumOfLanes(a));
    i += V;
  }
  if (i == n) return sum;
  *tail = KeepFirst<float>(Exp(psub(LoadFirst(x + i, n - i), offset)), n - i);
  return sum + static_cast<double>(SumOfLanes(*tail));
}

// log(x) of a normal x: that of its power of two, and 2 artanh((m - 1) / (m + 1)) of the rest m
// between 2/3 and 4/3.
inline double LogOf(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023;
  bits = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1023} << 52;
  double m;
  std::memcpy(&m, &bits, sizeof(m));
  if (m > 4.0 / 3.0) {
    m /= 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double series = 0;
  for (int k = 13; k >= 1; k -= 2) series = series * s2 + 1.0 / k;
  return static_cast<double>(exponent) * 0.6931471805599453 + 2 * s * series;
}

// The first n lanes from memory. The other lanes are the lowest number.
EIGEN_ALWAYS_INLINE Packet<float> LoadFirstOrLowest(const float* p, int64_t n) {
  const Packet<float> most = Set(std::numeric_limits<float>::max());
  return padd(LoadFirst(p, n), psub(KeepFirst<float>(most, n), most));
}

inline void FillNan(float* y, int64_t n) {
  std::fill(y, y + n, std::numeric_limits<float>::quiet_NaN());
}

// Softmax of N vectors, which stay in registers.
template <int N>
void ShortSoftmax(bool log, const float* x, float* y, int64_t n) {
  using P = Packet<float>;
  constexpr int V = kLanes<float>;
  P values[N], powers[N];
  P largest = values[0] = LoadFirstOrLowest(x, n);
  for (int v = 1; v < N; ++v) {
    values[v] = LoadFirstOrLowest(x + v * V, n - v * V);
    largest = Max(largest, values[v]);
  }
  const P offset = Set(LargestOfLanes(largest));
  P sums = Set(0.0f);
  for (int v = 0; v < N; ++v) {
    values[v] = psub(values[v], offset);
    powers[v] = KeepFirst<float>(Exp(values[v]), n - v * V);
    sums = padd(sums, powers[v]);
  }
  const double sum = static_cast<double>(SumOfLanes(sums));
  if (!(sum >= 1.0)) return FillNan(y, n);
  const P log_sum = Set(log ? static_cast<float>(LogOf(sum)) : 0.0f);
  const P factor = Set(log ? 1.0f : static_cast<float>(1.0 / sum));
  for (int v = 0; v < N; ++v) {
    StoreFirst(y + v * V, log ? psub(values[v], log_sum) : pmul(powers[v], factor), n - v * V);
  }
}

// n >= 1.
inline void Softmax(bool log, const float* x, float* y, int64_t n) {
  using P = Packet<float>;
  constexpr int V = kLanes<float>;
  if (n <= V) return ShortSoftmax<1>(log, x, y, n);
  if (n <= 2 * V) return ShortSoftmax<2>(log, x, y, n);
  const float largest = LargestElement(x, n);
  P tail = Set(0.0f);
  const double sum = log ? SumOfPowers<false>(x, y, n, largest, &tail)
                         : SumOfPowers<true>(x, y, n, largest, &tail);
  if (!(sum >= 1.0)) return FillNan(y, n);
  if (log) {
    const P offset = Set(largest), log_sum = Set(static_cast<float>(LogOf(sum)));
    ForEach(x, y, n, [=](const P& v) { return psub(psub(v, offset), log_sum); });
  } else {
    const P factor = Set(static_cast<float>(1.0 / sum));
    const int64_t whole = n / V * V;
    ForEach(y, y, whole, [=](const P& v) { return pmul(v, factor); });
    StoreFirst(y + whole, pmul(tail, factor), n - whole);
  }
}

// ---- Depthwise convolution ----

// y = bias + the sum over k of rows[k] * kernel[k], for each channel. kernel: [width, channels].
// rows: [width] pointers to the channels.
inline void Depthwise(const float* const* rows, const float* kernel, const float* bias,
                      int64_t width, int64_t channels, float* y) {
  constexpr int V = kLanes<float>, kVectors = 4;
  int64_t c = 0;
  for (; c + kVectors * V <= channels; c += kVectors * V) {
    Packet<float> sums[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[v] = Load(bias + c + v * V);
    for (int64_t k = 0; k < width; ++k) {
      const float *row = rows[k] + c, *factors = kernel + k * channels + c;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[v] = pmadd(Load(row + v * V), Load(factors + v * V), sums[v]);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) Store(y + c + v * V, sums[v]);
  }
  for (; c < channels; c += V) {
    const int64_t n = channels - c;
    Packet<float> sum = LoadFirst(bias + c, n);
    for (int64_t k = 0; k < width; ++k) {
      sum = pmadd(LoadFirst(rows[k] + c, n), LoadFirst(kernel + k * channels + c, n), sum);
    }
    StoreFirst(y + c, sum, n);
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
