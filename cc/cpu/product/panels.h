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
//
// A line of cache can have several vectors, which belong to different panels, and the rows of large
// weights are a page apart. If H is a power of two, the lines of a column are all in one set of the
// cache. So packing and unpacking move whole lines: kPackRows rows of all panels of an item, before
// the next rows.
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

// The rows that are packed or unpacked of all panels of an item before the next rows, if the
// columns of the matrix are contiguous.
constexpr int64_t kPackRows = 16;

// The number of vectors in a line of cache of a matrix of W with contiguous columns. A dense panel
// has at most four.
template <typename E, typename W>
constexpr int kLineVectors =
    std::clamp(64 / (kOperandLanes<E> * static_cast<int>(sizeof(W))), 1, 4);
// The number of vectors that are moved together.
template <typename E, typename W>
int VectorsOfLine(const MatrixView<W>& m) {
  return m.n_stride == 1 ? kLineVectors<E, W> : 1;
}

// The unit blocks of a row that are packed before the next row, if the gates are K.
constexpr int64_t kPackBlocks = 8;

// The prefetch distance of packing, ahead of the current block. Weights are in memory or in the
// third-level cache, and their rows are far apart.
constexpr int64_t kPackAheadColumns = 64;

// dst[k * ldb + lane] = src(k, lane) for k < depth, lane < n. The other lanes are zeros.
template <typename T>
void PackVector(const MatrixView<const T>& src, int64_t depth, int64_t n, T* dst, int64_t ldb) {
  constexpr int V = kLanes<T>;
  int64_t k = 0;
  if (src.n_stride == 1) {
    for (; k < depth; ++k) Store(dst + k * ldb, LoadFirst(src.data + k * src.k_stride, n));
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
  if (src.k_stride == 1 && n >= V) {
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

// Packs int8 values as quads of k.
inline void PackVector(const MatrixView<const int8_t>& src, int64_t depth, int64_t n, Quad* dst,
                       int64_t ldb) {
  constexpr int V = kLanes<float>;
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

// Packs a vector of the operand that begins at `row`, of contiguous columns with `count` rows of K.
template <typename T>
EIGEN_ALWAYS_INLINE void PackColumns(const T* row, int64_t, int64_t, T* dst) {
  Store(dst, Load(row));
}

#if defined(RNN_OPS_ISA_AVX512)

EIGEN_ALWAYS_INLINE void PackColumns(const BFloat16Bits* row, int64_t stride, int64_t count,
                                     Pair* dst) {
  const __m256i second = count > 1 ? LoadBits(row + stride) : _mm256_setzero_si256();
  _mm512_storeu_si512(dst, Interleave(LoadBits(row), second));
}

#endif

inline void PackColumns(const int8_t* row, int64_t stride, int64_t count, Quad* dst) {
  constexpr int V = kLanes<float>;
  int8_t rows[4][V] = {};  // a copy, so that the compiler can use vectors
  for (int64_t i = 0; i < std::min<int64_t>(4, count); ++i) {
    std::memcpy(rows[i], row + i * stride, V);
  }
  for (int lane = 0; lane < V; ++lane) {
    dst[lane] = {{rows[0][lane], rows[1][lane], rows[2][lane], rows[3][lane]}};
  }
}

// Packs N whole vectors of neighbouring contiguous columns. Vector i begins at dst + i * next.
template <int N, typename T, typename E>
EIGEN_ALWAYS_INLINE void PackWholeVectors(const MatrixView<const T>& src, int64_t depth, E* dst,
                                          int64_t ldb, int64_t next) {
  const T* row = src.data;
  for (int64_t k = 0; k < depth; k += kPerOperand<E>, dst += ldb) {
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) {
      PackColumns(row + i * kOperandLanes<E>, src.k_stride, depth - k, dst + i * next);
    }
    row += kPerOperand<E> * src.k_stride;
  }
}

// Packs up to kLineVectors vectors of neighbouring columns, of which the first n columns are valid.
template <typename T, typename E>
void PackVectors(const MatrixView<const T>& src, int64_t depth, int64_t n, int64_t vectors, E* dst,
                 int64_t ldb, int64_t next) {
  constexpr int V = kOperandLanes<E>;
  constexpr int kLine = kLineVectors<E, T>;
  if (src.n_stride == 1 && vectors == kLine && n >= kLine * V) {
    return PackWholeVectors<kLine>(src, depth, dst, ldb, next);
  }
  for (int64_t i = 0; i < vectors; ++i) {
    const MatrixView<const T> from = src.At(0, i * V);
    const int64_t valid = std::min<int64_t>(V, n - i * V);
    if (src.n_stride == 1 && valid == V) {
      PackWholeVectors<1>(from, depth, dst + i * next, ldb, next);
    } else {
      PackVector(from, depth, valid, dst + i * next, ldb);
    }
  }
}

// Writes the header of a panel for the vector that begins at `dst`: the scales of n columns, and
// zeros for the operand that is not used.
inline void PackScales(const float* scales, int64_t n, Quad* dst, int64_t ldb) {
  const Packet<float> vector = LoadFirst(scales, n);
  std::memcpy(dst, &vector, sizeof(vector));
  std::fill(dst + ldb, dst + ldb + kLanes<float>, Quad{});
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

// UnpackVector for neighbouring columns, of which the first n are valid. Vector i begins at
// src + i * next.
template <typename T>
void UnpackVectors(const T* src, int64_t ldb, int64_t next, int64_t depth, int64_t n,
                   int64_t vectors, const MatrixView<T>& dst) {
  constexpr int V = kLanes<T>;
  constexpr int kLine = kLineVectors<T, T>;
  if (dst.n_stride == 1 && vectors == kLine && n >= kLine * V) {
    for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
      for (int i = 0; i < kLine; ++i) {
        Store(dst.data + k * dst.k_stride + i * V, Load(src + k * ldb + i * next));
      }
    }
    return;
  }
  for (int64_t i = 0; i < vectors; ++i) {
    UnpackVector(src + i * next, ldb, depth, std::min<int64_t>(V, n - i * V), dst.At(0, i * V));
  }
}

// Calls fn(k, rows) for the pieces of K of a matrix that are packed or unpacked one after another.
template <typename View, typename F>
void ForPackedPieces(const View& matrix, int64_t depth, F&& fn) {
  const int64_t piece = matrix.n_stride == 1 ? kPackRows : depth;
  for (int64_t k = 0; k < depth; k += piece) fn(k, std::min(piece, depth - k));
}

// The gates of the vectors of a unit block, in order.
struct GateOrder {
  int count;      // vectors in a unit block
  int source[4];  // the gate of each vector
};

// Packs gate panels [u0, u1) of a matrix with columns [gate][H]. `panels`: panel u0.
template <typename T, typename E>
void PackGatePanels(const MatrixView<const T>& src, int64_t depth, int64_t units,
                    const GateOrder& gates, int64_t u0, int64_t u1, E* panels) {
  constexpr int V = kOperandLanes<E>;
  const int64_t operands = OperandsOf<E>(depth), size = operands * gates.count * V;
  const int64_t ldb = PanelRow<E>(gates.count), line = VectorsOfLine<E>(src);
  ForPackedPieces(src, depth, [&](int64_t k, int64_t rows) {
    for (int64_t u = u0; u < u1; u += line) {
      E* const to = panels + (u - u0) * size + OperandsOf<E>(k) * ldb;
      for (int g = 0; g < gates.count; ++g) {
        PackVectors(src.At(k, gates.source[g] * units + u * V), rows, units - u * V,
                    std::min(line, u1 - u), to + VectorAt<E>(gates.count, g, operands), ldb, size);
      }
    }
  });
}

// Packs dense panel p of a matrix [depth, columns].
template <typename T, typename E>
void PackDensePanel(const MatrixView<const T>& src, int64_t depth, int64_t columns, int64_t p,
                    E* panel) {
  constexpr int V = kOperandLanes<E>;
  const int nv = PanelVectors(CeilDiv(columns, V), p);
  const int64_t ldb = PanelRow<E>(nv);
  const int line = VectorsOfLine<E>(src);
  ForPackedPieces(src, depth, [&](int64_t k, int64_t rows) {
    E* const to = panel + OperandsOf<E>(k) * ldb;
    for (int v = 0; v < nv; v += line) {
      const int64_t n0 = (4 * p + v) * V;
      PackVectors(src.At(k, n0), rows, columns - n0, std::min(line, nv - v),
                  to + VectorAt<E>(nv, v, OperandsOf<E>(depth)), ldb, V);
    }
  });
}

// Packs dense panel p of a matrix whose rows are [gate][H] in memory. The packed rows have the
// order [unit block][gate][lane], with zeros for lanes beyond H.
template <typename T, typename E>
void PackDensePanelOfGateRows(const MatrixView<const T>& src, int64_t units, const GateOrder& gates,
                              int64_t columns, int64_t p, E* panel) {
  constexpr int V = kOperandLanes<E>;
  constexpr int64_t kRows = V / kPerOperand<E>;  // of one gate of a unit block
  const int nv = PanelVectors(CeilDiv(columns, V), p);
  const int64_t ldb = PanelRow<E>(nv), blocks = CeilDiv(units, V);
  const int64_t operands = blocks * gates.count * kRows;
  const int line = VectorsOfLine<E>(src);
  for (int64_t u0 = 0; u0 < blocks; u0 += kPackBlocks) {
    for (int g = 0; g < gates.count; ++g) {
      for (int v = 0; v < nv; v += line) {
        const int64_t n0 = (4 * p + v) * V;
        for (int64_t u = u0; u < std::min(blocks, u0 + kPackBlocks); ++u) {
          const int64_t valid = std::min<int64_t>(V, units - u * V);
          E* const to = panel + VectorAt<E>(nv, v, operands) + (u * gates.count + g) * kRows * ldb;
          const int vectors = std::min(line, nv - v);
          PackVectors(src.At(gates.source[g] * units + u * V, n0), valid, columns - n0, vectors, to,
                      ldb, V);
          for (int64_t k = OperandsOf<E>(valid); k < kRows; ++k) {
            std::fill(to + k * ldb, to + k * ldb + vectors * V, E{});
          }
        }
      }
    }
  }
}

// Unpacks panels [u0, u1) of gradients, each [depth][gates][V], to a matrix with columns [gate][H].
// `panels`: panel u0; `size`: from one panel to the next.
template <typename T>
void UnpackGatePanels(const T* panels, int64_t size, int64_t depth, int64_t units,
                      const GateOrder& gates, int64_t u0, int64_t u1, const MatrixView<T>& dst) {
  constexpr int V = kLanes<T>;
  const int64_t ldb = gates.count * V, line = VectorsOfLine<T>(dst);
  ForPackedPieces(dst, depth, [&](int64_t k, int64_t rows) {
    for (int64_t u = u0; u < u1; u += line) {
      for (int g = 0; g < gates.count; ++g) {
        UnpackVectors(panels + (u - u0) * size + k * ldb + g * V, ldb, size, rows, units - u * V,
                      std::min(line, u1 - u), dst.At(k, gates.source[g] * units + u * V));
      }
    }
  });
}

// Unpacks dense panel p of gradients, [depth][nv][V], to a matrix [depth, columns].
template <typename T>
void UnpackDensePanel(const T* panel, int64_t depth, int64_t columns, int64_t p,
                      const MatrixView<T>& dst) {
  constexpr int V = kLanes<T>;
  const int nv = PanelVectors(CeilDiv(columns, V), p), line = VectorsOfLine<T>(dst);
  ForPackedPieces(dst, depth, [&](int64_t k, int64_t rows) {
    for (int v = 0; v < nv; v += line) {
      const int64_t n0 = (4 * p + v) * V;
      UnpackVectors(panel + (k * nv + v) * V, nv * V, V, rows, columns - n0, std::min(line, nv - v),
                    dst.At(k, n0));
    }
  });
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
