// An emulation of the instructions of bf16.h, see Note [Emulation] in isa.h. Sums have the order
// and the rounding of the instructions. Denormal numbers are not flushed to zero. Included by
// bf16.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "cc/core/check.h"
#include "tests/cc/cpu/simd/emulated_cpu.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

inline bool CpuHasBf16() { return EmulatedCpuHas(kEmulatedBf16); }
inline bool CpuHasAmx() { return EmulatedCpuHas(kEmulatedAmx); }
inline bool AskForAmx() { return true; }

EIGEN_ALWAYS_INLINE __m256i RoundToBFloat16(const __m512& v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i even = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(even, nan, quiet), 16));
}

EIGEN_ALWAYS_INLINE __m512 LowerHalves(const __m512i& pairs) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
}
EIGEN_ALWAYS_INLINE __m512 UpperHalves(const __m512i& pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(0xffff0000)));
}

EIGEN_ALWAYS_INLINE __m512 MultiplyAddPairs(const __m512i& a, const __m512i& b, const __m512& sum) {
  return _mm512_fmadd_ps(LowerHalves(a), LowerHalves(b),
                         _mm512_fmadd_ps(UpperHalves(a), UpperHalves(b), sum));
}

// The AMX tiles of this thread.
struct AmxTiles {
  bool configured = false;
  AmxSizes sizes{0};
  uint32_t bits[8][16][16];
};
inline AmxTiles& AllTiles() {
  static thread_local AmxTiles tiles;
  return tiles;
}
inline AmxTiles& ConfiguredTiles() {
  RNN_DCHECK(AllTiles().configured);
  return AllTiles();
}

inline void AmxConfigure(const AmxSizes& sizes) {
  AmxTiles& tiles = AllTiles();
  tiles = {true, sizes, {}};
}
inline void AmxRelease() { ConfiguredTiles().configured = false; }

// As in the instruction, elements beyond the rows and bytes of the tile become zero.
template <int kTile>
void AmxLoad(const void* rows, int64_t stride) {
  AmxTiles& t = ConfiguredTiles();
  std::memset(t.bits[kTile], 0, sizeof(t.bits[kTile]));
  for (int row = 0; row < t.sizes.rows[kTile]; ++row) {
    std::memcpy(t.bits[kTile][row], static_cast<const char*>(rows) + row * stride,
                t.sizes.row_bytes[kTile]);
  }
}
template <int kTile>
void AmxStore(void* rows, int64_t stride) {
  const AmxTiles& t = ConfiguredTiles();
  for (int row = 0; row < t.sizes.rows[kTile]; ++row) {
    std::memcpy(static_cast<char*>(rows) + row * stride, t.bits[kTile][row],
                t.sizes.row_bytes[kTile]);
  }
}
template <int kTile>
void AmxZero() {
  std::memset(ConfiguredTiles().bits[kTile], 0, sizeof(AmxTiles::bits[kTile]));
}

// The instruction sums the products of the lower halves and of the upper halves separately.
template <int kSums, int kA, int kB>
void AmxMultiplyAdd() {
  AmxTiles& t = ConfiguredTiles();
  const int pairs = t.sizes.row_bytes[kA] / 4;
  RNN_DCHECK(t.sizes.rows[kB] == pairs && t.sizes.rows[kA] == t.sizes.rows[kSums]);
  for (int row = 0; row < t.sizes.rows[kSums]; ++row) {
    __m512 lower = _mm512_setzero_ps(), upper = lower;
    for (int k = 0; k < pairs; ++k) {
      const __m512i a = _mm512_set1_epi32(static_cast<int>(t.bits[kA][row][k]));
      const __m512i b = _mm512_loadu_si512(t.bits[kB][k]);
      lower = _mm512_fmadd_ps(LowerHalves(a), LowerHalves(b), lower);
      upper = _mm512_fmadd_ps(UpperHalves(a), UpperHalves(b), upper);
    }
    const __m512 sums = _mm512_loadu_ps(t.bits[kSums][row]);
    _mm512_storeu_ps(t.bits[kSums][row], _mm512_add_ps(sums, _mm512_add_ps(lower, upper)));
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
