// Helpers of the tests of sigmoid and tanh: the levels, exact results, and errors.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cc/cpu/dispatch/variant.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/activation_samples.h"

namespace rnn_ops::cpu {

struct Level {
  std::string name;  // "avx512_emulated": see Note [Emulation] in cc/cpu/simd/isa.h
  const ActivationSamples* samples;
};

// The instruction sets of this machine, beginning with the baseline. Behind them the emulation of
// AVX-512.
inline const std::vector<Level>& Levels() {
  static const auto* const levels = [] {
    auto* list = new std::vector<Level>;
    std::vector<std::string> names;
    for (Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
      if (isa <= DetectIsa()) names.push_back(Name(isa));
    }
    if (DetectIsa() >= Isa::kAvx2) names.push_back("avx512_emulated");
    for (const std::string& name : names) {
      const std::string path = "./tests/cc/cpu/activations_" + name + ".so";
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        ADD_FAILURE() << dlerror();
        continue;
      }
      const auto get = reinterpret_cast<decltype(&tf_rnn_ops_activation_samples)>(
          dlsym(library, "tf_rnn_ops_activation_samples"));
      list->push_back({name, get()});
    }
    return list;
  }();
  return *levels;
}

// Whether the sigmoid of float32 is that of cc/cpu/simd/vec.h instead of Eigen's.
inline bool HasOwnSigmoid(const Level& level) { return level.name.rfind("avx", 0) == 0; }

// The best instruction set of this machine.
inline const Level& BestLevel() {
  const auto native = [](const Level& level) { return level.name == Name(DetectIsa()); };
  return *std::find_if(Levels().begin(), Levels().end(), native);
}

// The distance from |x| to the next larger value of T.
template <typename T>
double UnitInLastPlace(double x) {
  using Limits = std::numeric_limits<T>;
  const int exponent = x == 0 ? Limits::min_exponent : std::ilogb(x) + 1;
  return std::ldexp(1.0, std::max(exponent, Limits::min_exponent) - Limits::digits);
}

// Exact results in a type with at least eleven more bits.
inline double ExactSigmoid(float x) { return 1 / (1 + std::exp(-double{x})); }
inline double ExactTanh(float x) { return std::tanh(double{x}); }
inline long double ExactSigmoid(double x) {
  return 1 / (1 + std::exp(-static_cast<long double>(x)));
}
inline long double ExactTanh(double x) { return std::tanh(static_cast<long double>(x)); }

struct Worst {
  double error = 0;
  double at = 0;
  double absolute = 0;  // largest absolute error below the floor
};

// Replaces a NaN error by infinity. Otherwise comparisons would ignore the NaN.
inline double Comparable(double error) {
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

// Exact results with an absolute value below `floor`, near the end of the exponent range, are
// measured by their absolute error.
template <typename T, typename Exact>
Worst Measure(const std::vector<T>& x, const std::vector<Exact>& exact, const std::vector<T>& y,
              double floor) {
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = Comparable(static_cast<double>(std::abs(y[i] - exact[i])));
    const auto size = static_cast<double>(std::abs(exact[i]));
    if (size < floor) {
      worst.absolute = std::max(worst.absolute, difference);
      continue;
    }
    const double error = difference / UnitInLastPlace<T>(size);
    if (error > worst.error) worst.error = error, worst.at = static_cast<double>(x[i]);
  }
  return worst;
}

}  // namespace rnn_ops::cpu
