#include "benchmarks/kernels/fma_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

namespace {

// Enough independent sums to hide the latency of two units, and few enough for 16 registers.
constexpr int kSums = 12;
constexpr int kSteps = 200000;

__attribute__((target("avx512f"))) float Loop512() {
  __m512 sums[kSums], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (auto& s : sums) s = a;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm512_fmadd_ps(sums[k], a, b);
  }
  for (int k = 1; k < kSums; ++k) sums[0] = _mm512_add_ps(sums[0], sums[k]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) float Loop256() {
  __m256 sums[kSums], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (auto& s : sums) s = a;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm256_fmadd_ps(sums[k], a, b);
  }
  for (int k = 1; k < kSums; ++k) sums[0] = _mm256_add_ps(sums[0], sums[k]);
  return _mm256_cvtss_f32(sums[0]);
}

float Loop128() {
  __m128 sums[kSums], a = _mm_set1_ps(0.999f), b = _mm_set1_ps(0.001f);
  for (auto& s : sums) s = a;
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm_add_ps(_mm_mul_ps(sums[k], a), b);
  }
  for (int k = 1; k < kSums; ++k) sums[0] = _mm_add_ps(sums[0], sums[k]);
  return _mm_cvtss_f32(sums[0]);
}

}  // namespace

double FmaPeak(int32_t vector_bytes) {
  using Clock = std::chrono::steady_clock;
  const auto loop = vector_bytes >= 64 ? Loop512 : vector_bytes >= 32 ? Loop256 : Loop128;
  const double flops = 2.0 * kSums * kSteps * std::min(vector_bytes, 64) / sizeof(float);
  double best = 0;
  volatile float keep = 0;
  for (int i = 0; i < 15; ++i) {
    const auto start = Clock::now();
    keep = keep + loop();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, flops / seconds / 1e9);
  }
  return best;
}
