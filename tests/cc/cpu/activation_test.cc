// The error of sigmoid and tanh of each instruction set, in units in the last place of the exact
// result. The bounds are documented in docs/numerics.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/activation_error.h"
#include "tests/cc/cpu/activation_samples.h"

namespace rnn_ops::cpu {
namespace {

// Every kStep-th bit pattern of the floats, of both signs, without NaN.
std::vector<float> FloatSamples() {
  constexpr uint32_t kStep = 499;  // prime
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStep) {
    const auto pattern = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &pattern, sizeof(value));
    if (!std::isnan(value)) x.push_back(value);
  }
  x.resize(x.size() / 16 * 16);
  return x;
}

// Half of the samples are uniform where the functions are not constant. The other half has all
// magnitudes.
std::vector<double> DoubleSamples() {
  std::mt19937_64 random(51);
  std::uniform_real_distribution<double> near(-40, 40), sign(-1, 1), exponent(-60, 10);
  std::vector<double> x(1 << 20);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = i % 2 ? near(random) : std::copysign(std::exp2(exponent(random)), sign(random));
  }
  return x;
}

template <typename T>
struct Function {
  const char* name;
  void (*ActivationSamples::*run)(const T*, T*, int64_t);
  double bound;  // units in the last place
  double own;    // bound where HasOwnSigmoid, in the same units
  double floor;
  double absolute;  // bound of the absolute error below the floor
  double least;     // the smallest result; the largest is 1
};

template <typename T, typename Exact>
void CheckFunction(const Function<T>& function, const std::vector<T>& x, Exact&& exact_of) {
  std::vector<decltype(exact_of(T()))> exact(x.size());
  for (size_t i = 0; i < x.size(); ++i) exact[i] = exact_of(x[i]);
  std::vector<T> y(x.size());
  for (const Level& level : Levels()) {
    (level.samples->*function.run)(x.data(), y.data(), static_cast<int64_t>(x.size()));
    const Worst worst = Measure(x, exact, y, function.floor);
    std::cout << level.name << " " << function.name << ": " << worst.error << " ulp at " << worst.at
              << "; absolute " << worst.absolute << " below " << function.floor << "\n";
    EXPECT_LE(worst.error, HasOwnSigmoid(level) ? function.own : function.bound)
        << level.name << " " << function.name << " of " << worst.at;
    EXPECT_LE(worst.absolute, function.absolute) << level.name << " " << function.name;
    const auto [least, largest] = std::minmax_element(y.begin(), y.end());
    EXPECT_GE(*least, function.least) << level.name << " " << function.name;
    EXPECT_LE(*largest, 1) << level.name << " " << function.name;
  }
}

TEST(Activations, Float32) {
  const std::vector<float> x = FloatSamples();
  CheckFunction<float>(
      {"sigmoid float32", &ActivationSamples::sigmoid_float, 6, 2.3, 1e-30, 4e-37, 0}, x,
      [](float v) { return ExactSigmoid(v); });
  CheckFunction<float>({"tanh float32", &ActivationSamples::tanh_float, 6, 6, 1e-30, 0, -1}, x,
                       [](float v) { return ExactTanh(v); });
}

TEST(Activations, Float64) {
  const std::vector<double> x = DoubleSamples();
  CheckFunction<double>(
      {"sigmoid float64", &ActivationSamples::sigmoid_double, 3, 3, 1e-300, 1e-316, 0}, x,
      [](double v) { return ExactSigmoid(v); });
  CheckFunction<double>({"tanh float64", &ActivationSamples::tanh_double, 9, 9, 1e-300, 0, -1}, x,
                        [](double v) { return ExactTanh(v); });
}

// Checks special values in every lane and every vector width.
template <typename T>
void CheckSpecialValues(void (*ActivationSamples::*sigmoid)(const T*, T*, int64_t),
                        void (*ActivationSamples::*tanh)(const T*, T*, int64_t)) {
  const T inf = std::numeric_limits<T>::infinity(), max = std::numeric_limits<T>::max();
  const std::vector<T> x = {0, -T(0), inf, -inf, max, -max, std::numeric_limits<T>::quiet_NaN(),
                            1, 0,     0,   0,    0,   0,    0,
                            0, 0};
  for (const Level& level : Levels()) {
    SCOPED_TRACE(level.name);
    std::vector<T> y(x.size());
    (level.samples->*sigmoid)(x.data(), y.data(), static_cast<int64_t>(x.size()));
    EXPECT_EQ(y[0], T(0.5));
    EXPECT_EQ(y[1], T(0.5));
    EXPECT_EQ(y[2], T(1));
    EXPECT_EQ(y[3], T(0));
    EXPECT_EQ(y[4], T(1));
    EXPECT_EQ(y[5], T(0));
    EXPECT_TRUE(std::isnan(y[6]));
    (level.samples->*tanh)(x.data(), y.data(), static_cast<int64_t>(x.size()));
    EXPECT_EQ(y[0], T(0));
    EXPECT_EQ(y[1], T(0));
    EXPECT_EQ(y[2], T(1));
    EXPECT_EQ(y[3], T(-1));
    EXPECT_EQ(y[4], T(1));
    EXPECT_EQ(y[5], T(-1));
    EXPECT_TRUE(std::isnan(y[6]));
  }
}

TEST(Activations, SpecialValues) {
  CheckSpecialValues<float>(&ActivationSamples::sigmoid_float, &ActivationSamples::tanh_float);
  CheckSpecialValues<double>(&ActivationSamples::sigmoid_double, &ActivationSamples::tanh_double);
}

TEST(Measure, NanIsTheWorst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = {1, 2, 3}, exact = {1, 1, 1}, tiny = {1e-9, 1e-9, 1e-9};
  EXPECT_GT(Measure<double>(x, exact, {1, nan, 1}, 1e-6).error, 1e300);
  EXPECT_EQ(Measure<double>(x, exact, {1, nan, 1}, 1e-6).at, 2);
  EXPECT_GT(Measure<double>(x, tiny, {0, nan, 0}, 1e-6).absolute, 1e300);
}

// Results are never outside [0, 1] and [-1, 1], so (1 - z) and (1 - y^2) keep their signs.
template <typename T>
void CheckRange(const std::vector<T>& x, void (*ActivationSamples::*run)(const T*, T*, int64_t),
                T low) {
  std::vector<T> y(x.size());
  for (const Level& level : Levels()) {
    (level.samples->*run)(x.data(), y.data(), static_cast<int64_t>(x.size()));
    const auto outside = std::find_if(y.begin(), y.end(), [low](T v) {
      return !(low <= v && v <= T(1));  // true for NaN too
    });
    EXPECT_TRUE(outside == y.end()) << level.name << ": " << *outside;
  }
}

TEST(Activations, Range) {
  CheckRange<float>(FloatSamples(), &ActivationSamples::sigmoid_float, 0);
  CheckRange<float>(FloatSamples(), &ActivationSamples::tanh_float, -1);
  CheckRange<double>(DoubleSamples(), &ActivationSamples::sigmoid_double, 0);
  CheckRange<double>(DoubleSamples(), &ActivationSamples::tanh_double, -1);
}

}  // namespace
}  // namespace rnn_ops::cpu
