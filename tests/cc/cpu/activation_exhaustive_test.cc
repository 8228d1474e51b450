// sigmoid and tanh of every float32, for the best instruction set of this machine. The test takes
// minutes, so `make exhaustive` runs it and `make test` does not.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/activation_error.h"

namespace rnn_ops::cpu {
namespace {

constexpr double kFloor = 1e-30;
constexpr int64_t kChunk = int64_t{1} << 20;
constexpr int64_t kChunks = (int64_t{1} << 32) / kChunk;

// The floats with the bit patterns of the chunk, without NaN, padded with zeros to whole vectors.
std::vector<float> Chunk(int64_t chunk) {
  std::vector<float> x;
  x.reserve(kChunk);
  for (int64_t i = 0; i < kChunk; ++i) {
    const auto pattern = static_cast<uint32_t>(chunk * kChunk + i);
    float value;
    std::memcpy(&value, &pattern, sizeof(value));
    if (!std::isnan(value)) x.push_back(value);
  }
  x.resize((x.size() + 15) / 16 * 16);
  return x;
}

template <typename Exact>
void Check(const char* name, void (*run)(const float*, float*, int64_t), double bound,
           double absolute, Exact&& exact_of) {
  std::atomic<int64_t> next{0};
  std::vector<Worst> worst(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (Worst& mine : worst) {
    threads.emplace_back([&] {
      for (int64_t chunk; (chunk = next++) < kChunks;) {
        const std::vector<float> x = Chunk(chunk);
        std::vector<float> y(x.size());
        std::vector<double> exact(x.size());
        run(x.data(), y.data(), static_cast<int64_t>(x.size()));
        for (size_t i = 0; i < x.size(); ++i) exact[i] = exact_of(x[i]);
        const Worst here = Measure(x, exact, y, kFloor);
        if (here.error > mine.error) mine.error = here.error, mine.at = here.at;
        mine.absolute = std::max(mine.absolute, here.absolute);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Worst all;
  for (const Worst& one : worst) {
    if (one.error > all.error) all.error = one.error, all.at = one.at;
    all.absolute = std::max(all.absolute, one.absolute);
  }
  std::cout << BestLevel().name << " " << name << ": " << all.error << " ulp at " << all.at
            << "; absolute " << all.absolute << " below " << kFloor << "\n";
  EXPECT_LE(all.error, bound) << name << " of " << all.at;
  EXPECT_LE(all.absolute, absolute) << name;
}

TEST(EveryFloat32, Sigmoid) {
  Check("sigmoid", BestLevel().samples->sigmoid_float, HasOwnSigmoid(BestLevel()) ? 2.5 : 6.6,
        4e-37, [](float v) { return ExactSigmoid(v); });
}

TEST(EveryFloat32, Tanh) {
  Check("tanh", BestLevel().samples->tanh_float, 5.2, 0, [](float v) { return ExactTanh(v); });
}

}  // namespace
}  // namespace rnn_ops::cpu
