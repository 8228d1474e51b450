// The instructions on bfloat16: rounding, products of pairs (AVX512_BF16), and AMX.
//
// Note [AMX]
// A core with AMX has eight tiles of 16 rows of 64 bytes. One instruction multiplies a tile of A
// with a tile of B and adds the product to a tile of sums:
//   A     up to 16 rows of 16 pairs
//   B     16 rows of pairs, for 16 columns each
//   sums  16 x 16 values of float32
//
// A row of a tile of B is one vector of a panel (Note [Panels]), so a tile of B is read directly
// from a panel. The order of a sum does not depend on the other rows. Each thread has its own
// tiles. A thread must set the sizes of its tiles before use and release the tiles afterwards. A
// process must ask Linux once for permission to use the tiles.
#pragma once

#if defined(RNN_OPS_ISA_AVX512)

#include <cpuid.h>
#include <immintrin.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>

#include "cc/cpu/simd/isa.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int kAmxRows = 16;   // rows of a tile
constexpr int kAmxPairs = 16;  // pairs in a row of A

// The tiles: 0 to 3 contain sums, 4 and 5 contain A and B, 6 and 7 contain A and B with half as
// many pairs.
constexpr int kAmxSums = 0, kAmxA = 4, kAmxB = 5, kAmxHalfA = 6, kAmxHalfB = 7;

struct alignas(64) AmxSizes {
  explicit AmxSizes(int rows) {
    auto set = [&](int tile, int tile_rows, int bytes) {
      this->rows[tile] = static_cast<uint8_t>(tile_rows);
      row_bytes[tile] = static_cast<uint16_t>(bytes);
    };
    for (int tile = 0; tile < 4; ++tile) set(kAmxSums + tile, rows, 64);
    set(kAmxA, rows, 64);
    set(kAmxB, kAmxPairs, 64);
    set(kAmxHalfA, rows, 32);
    set(kAmxHalfB, kAmxPairs / 2, 64);
  }
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(AmxSizes) == 64);

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#if defined(RNN_OPS_EMULATE)
#include "tests/cc/cpu/simd/bf16_emulated.h"
#else

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The features that cpuid reports.
inline bool CpuHasBf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 5)) != 0;
}
inline bool CpuHasAmx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxBf16AndTile = (1u << 22) | (1u << 24);
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16AndTile) == kAmxBf16AndTile;
}

// Asks the operating system for permission to use AMX in this process.
inline bool AskForAmx() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

EIGEN_ALWAYS_INLINE __m256i RoundToBFloat16(const __m512& v) {
  return (__m256i)_mm512_cvtneps_pbh(v);
}

// sum + the products of both halves of a and b.
EIGEN_ALWAYS_INLINE __m512 MultiplyAddPairs(const __m512i& a, const __m512i& b, const __m512& sum) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

// WHY assembly and not intrinsics: the intrinsics of GCC do not declare that they read and write
// memory, so the compiler may move them past loads and stores.
inline void AmxConfigure(const AmxSizes& sizes) { __asm__ volatile("ldtilecfg %0" ::"m"(sizes)); }
inline void AmxRelease() { __asm__ volatile("tilerelease" ::: "memory"); }

// The rows of the tile are `stride` bytes apart in memory.
template <int kTile>
EIGEN_ALWAYS_INLINE void AmxLoad(const void* rows, int64_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(rows), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
EIGEN_ALWAYS_INLINE void AmxStore(void* rows, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(rows), "r"(stride), "i"(kTile)
                   : "memory");
}
template <int kTile>
EIGEN_ALWAYS_INLINE void AmxZero() {
  __asm__ volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kSums, int kA, int kB>
EIGEN_ALWAYS_INLINE void AmxMultiplyAdd() {
  __asm__ volatile("tdpbf16ps %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(kB), "i"(kA), "i"(kSums));
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // RNN_OPS_EMULATE

#endif  // RNN_OPS_ISA_AVX512
