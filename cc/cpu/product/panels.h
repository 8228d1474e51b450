// Packs weights into panels, and unpacks gradients from panels.
//
// Note [Panels]
// A product reads B one panel at a time. A panel is K rows of NV vectors, contiguous in memory.
// There are two kinds of panels:
//   Gate panels: panel u has one vector for each gate of the V units of unit block u. So one
//     register tile has all gates of its units, and the cell computes on registers.
//   Dense panels: four vectors of consecutive columns. The last panel has the remaining 1 to 4.
// With AVX2 a panel of four vectors of exact operands is in halves (Note [Halves]).
// Rows of gate buffers have the same order: [unit block][gate][lane]. For a product over such rows
// (the gradients), K has that order, and the rows of units beyond H are zeros.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cc/cpu/product/gemm.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// A matrix with strides: element (k, n) is data[k * k_stride + n * n_stride].
template <typename T>
struct MatrixView {
  T* data;
  int64_t k_stride;
  int64_t n_stride;
  MatrixView At(int64_t k, int64_t n) const {
    return {data + k * k_stride + n * n_stride, k_stride, n_stride};
  }
};

// The prefetch distance of packing, ahead of the current block. Weights are in memory or in the
// third-level cache, and their rows are far apart.
constexpr int64_t kPackAheadColumns = 64;
constexpr int64_t kPackAheadRows = 16;

// dst[k * ldb + lane] = src(k, lane) for k < depth, lane < n. The other lanes are zeros.
template <typename T>
void PackVector(const MatrixView<const T>& src, int64_t depth, int64_t n, T* dst, int64_t ldb) {
  constexpr int V = kLanes<T>;
  int64_t k = 0;
  if (src.n_stride == 1) {
    for (; k < depth; ++k) {
      __builtin_prefetch(src.data + (k + kPackAheadRows) * src.k_stride);
      Store(dst + k * ldb, LoadFirst(src.data + k * src.k_stride, n));
    }
    return;
  }
  if (src.k_stride == 1 && n >= V) {
    for (; k + V <= depth; k += V) {
      // The hardware prefetcher does not follow V rows at once.
      for (int r = 0; r < V; ++r) {
        __builtin_prefetch(src.data + r * src.n_stride + k + kPackAheadColumns);
      }
      TransposeBlock(src.data + k, src.n_stride, dst + k * ldb, ldb);
    }
  }
  for (; k < depth; ++k) {
    for (int64_t lane = 0; lane < V; ++lane) {
      dst[k * ldb + lane] = lane < n ? src.data[k * src.k_stride + lane * src.n_stride] : T(0);
    }
  }
}

#if defined(RNN_OPS_ISA_AVX512)

// Packs bfloat16 values as pairs of k.
inline void PackVector(const MatrixView<const BFloat16Bits>& src, int64_t depth, int64_t n,
                       Pair* dst, int64_t ldb) {
  constexpr int V = kLanes<float>;
  int64_t k = 0;
  if (src.n_stride == 1 && n >= V) {
    for (; k + 2 <= depth; k += 2) {
      const BFloat16Bits* row = src.data + k * src.k_stride;
      const __m512i pairs = Interleave(LoadBits(row), LoadBits(row + src.k_stride));
      _mm512_storeu_si512(dst + k / 2 * ldb, pairs);
    }
  } else if (src.k_stride == 1 && n >= V) {
    // A pair is 32 bits of memory, so the transpose of float works for pairs.
    for (; k + 2 * V <= depth; k += 2 * V) {
      Block<float> block;
      for (int r = 0; r < V; ++r) {
        block.packet[r] = _mm512_loadu_ps(src.data + k + r * src.n_stride);
      }
      ptranspose(block);
      for (int c = 0; c < V; ++c) _mm512_storeu_ps(dst + (k / 2 + c) * ldb, block.packet[c]);
    }
  }
  for (; k < depth; k += 2) {
    for (int64_t lane = 0; lane < V; ++lane) {
      const BFloat16Bits* at = src.data + k * src.k_stride + lane * src.n_stride;
      Pair pair = {};
      if (lane < n) pair.first = at[0];
      if (lane < n && k + 1 < depth) pair.second = at[src.k_stride];
      dst[k / 2 * ldb + lane] = pair;
    }
  }
}

#endif

// Packs int8 values as quads of k, behind the header of a panel.
inline void PackVector(const MatrixView<const int8_t>& src, int64_t depth, int64_t n, Quad* dst,
                       int64_t ldb) {
  constexpr int V = kLanes<float>;
  std::fill(dst + ldb, dst + ldb + V, Quad{});  // the header's unused operand
  dst += kHeaderOperands<Quad> * ldb;
  for (int64_t k = 0; k < depth; k += 4, dst += ldb) {
    for (int64_t lane = 0; lane < V; ++lane) {
      const int8_t* at = src.data + k * src.k_stride + lane * src.n_stride;
      Quad quad = {};
      for (int64_t i = 0; lane < n && i < std::min<int64_t>(4, depth - k); ++i) {
        quad.k[i] = at[i * src.k_stride];
      }
      dst[lane] = quad;
    }
  }
}

// Writes the scales of n columns to the header of a panel, for the vector that begins at `dst`.
inline void PackScales(const float* scales, int64_t n, Quad* dst) {
  const Packet<float> vector = LoadFirst(scales, n);
  std::memcpy(dst, &vector, sizeof(vector));
}

// The inverse of PackVector: dst(k, lane) = src[k * ldb + lane] for k < depth, lane < n.
template <typename T>
void UnpackVector(const T* src, int64_t ldb, int64_t depth, int64_t n, const MatrixView<T>& dst) {
  constexpr int V = kLanes<T>;
  int64_t k = 0;
  if (dst.n_stride == 1) {
    for (; k < depth; ++k) StoreFirst(dst.data + k * dst.k_stride, Load(src + k * ldb), n);
    return;
  }
  if (dst.k_stride == 1 && n >= V) {
    for (; k + V <= depth; k += V) TransposeBlock(src + k * ldb, ldb, dst.data + k, dst.n_stride);
  }
  for (; k < depth; ++k) {
    for (int64_t lane = 0; lane < n; ++lane) {
      dst.data[k * dst.k_stride + lane * dst.n_stride] = src[k * ldb + lane];
    }
  }
}

// The gates of the vectors of a unit block, in order.
struct GateOrder {
  int count;      // vectors in a unit block
  int source[4];  // the gate of each vector
};

// Packs gate panel u of a matrix with columns [gate][H].
template <typename T, typename E>
void PackGatePanel(const MatrixView<const T>& src, int64_t depth, int64_t units,
                   const GateOrder& gates, int64_t u, E* panel) {
  constexpr int V = kOperandLanes<E>;
  const int64_t n = std::min<int64_t>(V, units - u * V);
  for (int g = 0; g < gates.count; ++g) {
    PackVector(src.At(0, gates.source[g] * units + u * V), depth, n,
               panel + VectorAt<E>(gates.count, g, depth), PanelRow<E>(gates.count));
  }
}

// Packs dense panel p of a matrix [depth, columns].
template <typename T, typename E>
void PackDensePanel(const MatrixView<const T>& src, int64_t depth, int64_t columns, int64_t p,
                    E* panel) {
  constexpr int V = kOperandLanes<E>;
  const int nv = PanelVectors(CeilDiv(columns, V), p);
  for (int v = 0; v < nv; ++v) {
    const int64_t n0 = (4 * p + v) * V;
    PackVector(src.At(0, n0), depth, std::min<int64_t>(V, columns - n0),
               panel + VectorAt<E>(nv, v, depth), PanelRow<E>(nv));
  }
}

// Packs dense panel p of a matrix whose rows are [gate][H] in memory. The packed rows have the
// order [unit block][gate][lane], with zeros for lanes beyond H.
template <typename T, typename E>
void PackDensePanelOfGateRows(const MatrixView<const T>& src, int64_t units, const GateOrder& gates,
                              int64_t columns, int64_t p, E* panel) {
  constexpr int V = kOperandLanes<E>;
  constexpr int64_t kRows = V / kPerOperand<E>;  // of one gate of a unit block
  const int nv = PanelVectors(CeilDiv(columns, V), p);
  const int64_t ldb = PanelRow<E>(nv), depth = CeilDiv(units, V) * gates.count * kRows;
  for (int64_t u = 0; u < CeilDiv(units, V); ++u) {
    const int64_t valid = std::min<int64_t>(V, units - u * V);
    for (int g = 0; g < gates.count; ++g) {
      for (int v = 0; v < nv; ++v) {
        const int64_t n0 = (4 * p + v) * V;
        E* dst = panel + VectorAt<E>(nv, v, depth) + (u * gates.count + g) * kRows * ldb;
        PackVector(src.At(gates.source[g] * units + u * V, n0), valid,
                   std::min<int64_t>(V, columns - n0), dst, ldb);
        for (int64_t k = OperandsOf<E>(valid); k < kRows; ++k) {
          std::fill(dst + k * ldb, dst + k * ldb + V, E{});
        }
      }
    }
  }
}

// The number of elements of a packed matrix.
template <typename T>
int64_t DensePanelsSize(int64_t depth, int64_t columns) {
  return depth * RoundUp(columns, kLanes<T>);
}
// The number of dense panels of `columns` columns.
template <typename T>
int64_t DensePanels(int64_t columns) {
  return CeilDiv(CeilDiv(columns, kLanes<T>), 4);
}
// The offset of dense panel p: all panels before it have four vectors.
template <typename T>
int64_t DensePanelOffset(int64_t depth, int64_t p) {
  return p * depth * 4 * kLanes<T>;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
