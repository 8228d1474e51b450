// Activations, softmax and depthwise convolutions of the kernel tables next to their formulas in
// double, within the bounds of docs/numerics.md.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/kernel_args.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_tables.h"

namespace rnn_ops::cpu {
namespace {

constexpr double kEps = 0x1p-23;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double Sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double Softplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0); }
double HardSigmoid(double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }
double Elu(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }

constexpr Elementwise Plain(ElementFunction function) { return {function, 0, 0, 0}; }

struct Function {
  const char* name;
  Elementwise function;
  double (*exact)(double x);
  bool rounded_at_one;  // whether the bound is relative to 1 for smaller results
};

const std::vector<Function>& Functions() {
  static const auto* const functions = new std::vector<Function>{
      {"relu",
       {ElementFunction::kRelu, 0, 0, kInfinity},
       [](double x) { return std::max(x, 0.0); },
       false},
      {"leaky relu",
       {ElementFunction::kRelu, 0.25f, 0.5f, 30},
       [](double x) { return x > 0.5 ? std::min(x, 30.0) : 0.25 * (x - 0.5); },
       false},
      {"tanh", Plain(ElementFunction::kTanh), [](double x) { return std::tanh(x); }, false},
      {"sigmoid", Plain(ElementFunction::kSigmoid), Sigmoid, false},
      {"hard_sigmoid", Plain(ElementFunction::kHardSigmoid), HardSigmoid, true},
      {"exponential", Plain(ElementFunction::kExponential), [](double x) { return std::exp(x); },
       false},
      {"softplus", Plain(ElementFunction::kSoftplus), Softplus, false},
      {"softsign", Plain(ElementFunction::kSoftsign),
       [](double x) { return x / (1 + std::fabs(x)); }, false},
      {"elu", {ElementFunction::kElu, 0.75f, 0, 0}, [](double x) { return Elu(x, 0.75); }, false},
      {"selu", Plain(ElementFunction::kSelu),
       [](double x) { return 1.0507009873554805 * Elu(x, 1.6732632423543772); }, false},
      {"silu", Plain(ElementFunction::kSilu), [](double x) { return x * Sigmoid(x); }, false},
      {"hard_silu", Plain(ElementFunction::kHardSilu), [](double x) { return x * HardSigmoid(x); },
       true},
      {"gelu", Plain(ElementFunction::kGelu),
       [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, true},
      {"mish", Plain(ElementFunction::kMish), [](double x) { return x * std::tanh(Softplus(x)); },
       false},
  };
  return *functions;
}

// Of all magnitudes, and many where the functions are not constant.
std::vector<float> Samples() {
  std::vector<float> x = {0.0f, -0.0f};
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> near(-12, 12), far(-130, 130), exponent(-126, 127);
  for (int i = 0; i < 200'000; ++i) {
    x.push_back(near(random));
    x.push_back(far(random));
    const float size = std::exp2(exponent(random));
    x.push_back(i % 2 == 0 ? size : -size);
  }
  return x;
}

TEST(Activate, IsWithinItsBound) {
  const std::vector<float> x = Samples();
  std::vector<float> y(x.size());
  for (const KernelTable* table : testing::Tables()) {
    for (const Function& function : Functions()) {
      SCOPED_TRACE(::testing::Message() << table->isa << " " << function.name);
      table->activate(&function.function, x.data(), y.data(), static_cast<int64_t>(x.size()));
      double worst = 0;
      float at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = function.exact(x[i]), size = std::fabs(want);
        if (size > std::numeric_limits<float>::max()) continue;
        const double unit = kEps * (function.rounded_at_one ? std::max(size, 1.0) : size);
        const double error = std::fabs(y[i] - want) / (unit + 2e-36 / 3);
        if (!(error <= worst)) worst = error, at = x[i];
      }
      EXPECT_LE(worst, 3) << "at " << at;
    }
  }
}

TEST(Activate, HasTheLimitsOfItsFunction) {
  const auto apply = [](const KernelTable& table, const Function& function, float x) {
    std::vector<float> in(19, x), out(19);  // each lane and a tail
    table.activate(&function.function, in.data(), out.data(), 19);
    for (const float y : out) {
      EXPECT_TRUE(y == out[0] || (std::isnan(y) && std::isnan(out[0]))) << function.name;
    }
    return out[0];
  };
  for (const KernelTable* table : testing::Tables()) {
    for (const Function& function : Functions()) {
      SCOPED_TRACE(::testing::Message() << table->isa << " " << function.name);
      EXPECT_TRUE(std::isnan(apply(*table, function, kNan)));
      EXPECT_NEAR(apply(*table, function, 0), function.exact(0), 1e-7);
      const std::string name = function.name;
      if (name == "tanh" || name == "sigmoid" || name == "hard_sigmoid") {
        EXPECT_EQ(apply(*table, function, kInfinity), 1);
        EXPECT_EQ(apply(*table, function, -kInfinity), name == "tanh" ? -1 : 0);
      } else if (name == "leaky relu") {
        EXPECT_EQ(apply(*table, function, kInfinity), 30);
        EXPECT_EQ(apply(*table, function, -kInfinity), -kInfinity);
      } else if (name != "softsign") {
        EXPECT_EQ(apply(*table, function, kInfinity), kInfinity);
      }
      if (name == "relu" || name == "exponential" || name == "softplus") {
        EXPECT_EQ(apply(*table, function, -kInfinity), 0);
      }
      if (name == "exponential") {
        EXPECT_EQ(apply(*table, function, 88.8f), kInfinity);
        EXPECT_LT(apply(*table, function, 88.72f), kInfinity);
      }
    }
  }
}

// Every length and place, in the same memory; nothing behind the row changes.
TEST(Activate, TouchesItsRowOnly) {
  const Elementwise relu = {ElementFunction::kRelu, 0, 0, kInfinity};
  for (const KernelTable* table : testing::Tables()) {
    for (int64_t n = 0; n < 70; ++n) {
      std::vector<float> row(n + 2, -1.0f);
      table->activate(&relu, row.data() + 1, row.data() + 1, n);
      EXPECT_EQ(row.front(), -1);
      EXPECT_EQ(row.back(), -1);
      EXPECT_EQ(std::count(row.begin() + 1, row.end() - 1, 0.0f), n);
    }
  }
}

TEST(Softmax, IsWithinItsBound) {
  std::mt19937_64 random(8);
  std::normal_distribution<float> normal;
  for (const KernelTable* table : testing::Tables()) {
    for (const int64_t n : {1, 2, 7, 16, 19, 32, 33, 1000, 50'000}) {
      for (const float scale : {0.0f, 1.0f, 30.0f}) {
        for (const float offset : {0.0f, 1e4f}) {
          std::vector<float> x(n), y(n), logs(n);
          for (float& value : x) value = offset + scale * normal(random);
          if (scale == 0.0f) x[n / 2] += 16.6f;  // one large and many small terms
          const double largest = *std::max_element(x.begin(), x.end());
          double sum = 0, top = 0;
          for (const float value : x) sum += std::exp(value - largest);
          table->softmax(false, x.data(), y.data(), n);
          table->softmax(true, x.data(), logs.data(), n);
          double worst = 0, worst_log = 0;
          for (int64_t i = 0; i < n; ++i) {
            const double want = std::exp(x[i] - largest) / sum,
                         log = x[i] - largest - std::log(sum);
            top = std::max(top, want);
            worst = std::max(worst, std::fabs(y[i] - want));
            worst_log = std::max(worst_log, std::fabs(logs[i] - log) / std::max(1.0, -log));
          }
          EXPECT_LE(worst, 8 * kEps * top) << table->isa << " " << n << " " << scale;
          EXPECT_LE(worst_log, 8 * kEps) << table->isa << " " << n << " " << scale;
          table->softmax(false, x.data(), x.data(), n);
          EXPECT_EQ(x, y) << "in place";
        }
      }
    }
  }
}

TEST(Softmax, OfInfinities) {
  for (const KernelTable* table : testing::Tables()) {
    for (const size_t n : {3, 40}) {
      for (const float special : {kNan, kInfinity, -kInfinity}) {
        for (size_t at = 0; at < n; ++at) {
          std::vector<float> x(n, 1.0f), y(n);
          x[at] = special;
          table->softmax(false, x.data(), y.data(), static_cast<int64_t>(n));
          for (size_t i = 0; i < n; ++i) {
            if (special != -kInfinity) {
              EXPECT_TRUE(std::isnan(y[i])) << table->isa;
            } else {
              EXPECT_NEAR(y[i], i == at ? 0.0 : 1.0 / static_cast<double>(n - 1), 1e-7);
            }
          }
        }
      }
    }
  }
}

TEST(Depthwise, IsTheSumOfItsRows) {
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  for (const KernelTable* table : testing::Tables()) {
    for (const int64_t channels : {1, 3, 16, 65, 130}) {
      for (const int64_t width : {1, 2, 9}) {
        std::vector<float> x(width * channels), kernel(width * channels), bias(channels);
        for (auto* values : {&x, &kernel, &bias}) {
          for (float& value : *values) value = normal(random);
        }
        std::vector<const float*> rows;
        for (int64_t k = 0; k < width; ++k) rows.push_back(x.data() + (width - 1 - k) * channels);
        std::vector<float> y(channels + 1, 77.0f);
        table->depthwise(rows.data(), kernel.data(), bias.data(), width, channels, y.data());
        EXPECT_EQ(y.back(), 77);
        for (int64_t c = 0; c < channels; ++c) {
          double sum = bias[c], size = std::fabs(bias[c]);
          for (int64_t k = 0; k < width; ++k) {
            const double product = double{rows[k][c]} * kernel[k * channels + c];
            sum += product;
            size += std::fabs(product);
          }
          EXPECT_NEAR(y[c], sum, 4 * kEps * size) << table->isa << " " << channels << " " << width;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rnn_ops::cpu
