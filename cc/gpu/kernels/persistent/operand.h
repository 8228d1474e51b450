// The factors of a persistent kernel's products, in words of 32 bits.
//
//   kPerWord   elements of a word
//   kElement   the type of the tensors (TensorElement)
//   Load       a word of a matrix in memory: elements `first` and, of 16 bits, `second`
//   Store      an element for the other blocks
//   Multiply   d[n] += a b[n] for two words of k in each lane, see warp.h
#pragma once

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/kernels/persistent/warp.h"

namespace rnn_ops::gpu::elementwise {

typedef float Tile[4];    // what a lane holds of a product of 16 x 8
typedef Word Pair[2];     // what it holds of a factor of 8 columns
typedef Word Quartet[4];  // and of a factor of 16 rows

template <typename T>
struct NarrowOperand {
  enum { kPerWord = 2 };

  RNN_OPS_DEVICE static Word Load(const void* matrix, int first, int second) {
    const unsigned short* from = static_cast<const unsigned short*>(matrix);
    return (first < 0 ? 0u : from[first]) | (second < 0 ? 0u : (Word)from[second] << 16);
  }
  RNN_OPS_DEVICE static void Store(float value, Word* to, Int64 at) {
    T narrow;
    Narrow(value, &narrow);
    StoreExchanged(narrow.bits, reinterpret_cast<unsigned short*>(to) + at);
  }
};

struct BFloat16Operand : NarrowOperand<BFloat16> {
  enum { kElement = kBFloat16 };
  template <int kCount>
  RNN_OPS_DEVICE static void Multiply(Tile* d, const Quartet& a, const Pair* b, Word) {
    RNN_OPS_UNROLL for (int n = 0; n < kCount; ++n) MultiplyBFloat16(d[n], a, b[n][0], b[n][1]);
  }
};

struct HalfOperand : NarrowOperand<Half> {
  enum { kElement = kHalf };
  template <int kCount>
  RNN_OPS_DEVICE static void Multiply(Tile* d, const Quartet& a, const Pair* b, Word) {
    RNN_OPS_UNROLL for (int n = 0; n < kCount; ++n) MultiplyHalf(d[n], a, b[n][0], b[n][1]);
  }
};

struct WideOperand {
  enum { kPerWord = 1, kElement = kArithmetic };

  RNN_OPS_DEVICE static Word Load(const void* matrix, int first, int) {
    return first < 0 ? 0u : static_cast<const Word*>(matrix)[first];
  }
  RNN_OPS_DEVICE static void Store(float value, Word* to, Int64 at) {
    StoreExchanged(BitsOf(value), to + at);
  }
};

// TF32 lacks the 13 last bits of float32.
enum : Word { kTf32Mask = 0xffffe000u, kHalfOfTf32 = 0x1000u };

// x = high + low in TF32. `half`: kHalfOfTf32. The low part is NaN for NaN, for infinity and for
// numbers above 3.402 * 10^38, whose high part is infinite; then the product is NaN too.
// WHY no conversion: cvt.rna takes five instructions on a Hopper card.
RNN_OPS_DEVICE void SplitTf32(Word x, Word half, Word* high, Word* low) {
  *high = (x + half) & kTf32Mask;
  *low = BitsOf(FloatFromBits(x) - FloatFromBits(*high));
}

// float32 as three products of TF32: the error is that of float32.
struct Float32Operand : WideOperand {
  // `zero`: 0, which the compiler does not know. Otherwise it would keep both parts of the weights
  // in registers between the steps, where they do not fit.
  template <int kCount>
  RNN_OPS_DEVICE static void Multiply(Tile* d, const Quartet& a, const Pair* b, Word zero) {
    Quartet a_high, a_low;
    RNN_OPS_UNROLL for (int e = 0; e < 4; ++e) {
      SplitTf32(a[e], zero + kHalfOfTf32, &a_high[e], &a_low[e]);
    }
    RNN_OPS_UNROLL for (int n = 0; n < kCount; ++n) {
      Pair high, low;
      RNN_OPS_UNROLL for (int e = 0; e < 2; ++e) {
        SplitTf32(b[n][e], zero + kHalfOfTf32, &high[e], &low[e]);
      }
      MultiplyTf32(d[n], a_low, high[0], high[1]);
      MultiplyTf32(d[n], a_high, low[0], low[1]);
      MultiplyTf32(d[n], a_high, high[0], high[1]);
    }
  }
};

// The product of a step in the registers of a warp, for the rows of the batch in groups.

// Multiplies the packets of a group from `kFirst` on, which are in `v`, in an even number of turns.
template <int kFirst, class Block>
RNN_OPS_DEVICE void MultiplyTurns(const Block& block, int t, int group, bool has_next,
                                  typename Block::Factors& v, typename Block::Factors& next,
                                  typename Block::Sums& sums) {
  typedef typename Block::S S;
  enum { kNext = kFirst + S::kPacketsAtOnce, kIsLast = kNext == S::kPackets };
  if constexpr (!kIsLast) {
    block.template LoadFactors<kNext>(t, group, next);
  } else if (has_next) {
    block.template LoadFactors<0>(t, group + 1, next);
  }
  block.template Multiply<kFirst>(UnknownZero(t + group), v, sums);
  if constexpr (!kIsLast) {
    MultiplyTurns<kNext>(block, t, group, has_next, next, v, sums);
  }
}

// Multiplies all groups of a step: ForwardBlock or BackwardBlock loads, multiplies and stores. Each
// load is issued before the product of the values before it. So the turns of a group use two
// buffers in alternation, or two groups do if each is one turn.
template <class Block>
RNN_OPS_DEVICE void MultiplyGroups(const Block& block, int t, int groups) {
  typedef typename Block::S S;
  typename Block::Factors v, next;
  block.template LoadFactors<0>(t, 0, v);
  RNN_OPS_NO_UNROLL for (int group = 0; group < (S::kHasGroups ? groups : 1); ++group) {
    const bool has_next = S::kHasGroups && group + 1 < groups;
    typename Block::Sums sums = {};
    if constexpr (S::kTurns > 1) {
      MultiplyTurns<0>(block, t, group, has_next, v, next, sums);
      block.StoreSums(group, sums);
    } else {
      if (has_next) block.template LoadFactors<0>(t, group + 1, next);
      block.template Multiply<0>(UnknownZero(t + group), v, sums);
      block.StoreSums(group, sums);
      if (!has_next) break;
      // The same with the buffers exchanged, which saves the moves.
      ++group;
      if (group + 1 < groups) block.template LoadFactors<0>(t, group + 1, v);
      typename Block::Sums second = {};
      block.template Multiply<0>(UnknownZero(t + group), next, second);
      block.StoreSums(group, second);
    }
  }
}

}  // namespace rnn_ops::gpu::elementwise
