// The interface between a cell and the passes.
//
// clang-format off
// Note [Cells]
// A cell is one file of this folder. Cells that stacks run also have a line in WithCell (cells.h).
//
//   part             what it contains or computes                                     in a cell
//   Format(layout)   the gates in the weights and in the gate buffer; requirements    each
//   Tensors<T>       inputs and outputs besides the rows below, such as functions.    each
//                    In a stack they are made from CellInputs<T>
//   Forward<T, NV>   a step of row i on the sums of one tile, NV vectors:             no whole_rows
//     Init             the initial values of the sums of the recurrent product
//     InitialSums      where they are, with four vectors (Note [Halves])
//     Sums             where unfinished sums are stored
//     Finish           from the sums to the results of the row
//   Backward         from dh to the gradients of the gates' pre-activations           each
//   AfterSecond      from the second product to h                                     second_gate
//   BackAfterSecond  the rest of Backward, which needs dm                             second_gate
//   FinishWholeRow   from both products of a row to c and h                           whole_rows
//
// Forward, Backward, AfterSecond and BackAfterSecond work on a range of units of one row. With
// CellFormat::second_gate a step has a second product, which reads m: Forward stores m in rows.out.
// With CellFormat::whole_rows a cell needs all units of a row before it can compute one unit: the
// gate buffer has both products side by side, and Backward stores the gradients of both products.
//
// Buffers of gates and of c are padded to whole vectors. Rows of h have exactly H elements.
// clang-format on
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/core/check.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int kNoGate = -1;

// Gates are numbered by the order of the weights' columns. The order of the gate buffer is
// [unit block][vector][lane]. In a unit block the vectors of the input product are contiguous and
// begin at vector `input_at`, and the vectors of the recurrent product are contiguous and begin at
// `recurrent_at`.
struct CellFormat {
  int gates;            // G
  int buffer;           // vectors of a unit block in the gate buffer
  GateOrder input;      // the gate of each vector of the input product
  GateOrder recurrent;  // the gate of each vector of the recurrent product
  int input_at = 0;
  int recurrent_at = 0;
  int split_bias = kNoGate;   // this gate's recurrent bias is not added to the input bias
  int second_gate = kNoGate;  // this gate's recurrent weights multiply m in a second product
  int second_at = 0;          // the vector of that gate in the gate buffer
  bool has_c = false;         // the cell has a state c besides h
  bool saves_gates = false;   // the backward pass reads the gate buffer
  bool carries_h = false;     // h depends on h_prev also outside of the recurrent product
  bool whole_rows = false;    // a row is computed when both products of all its units are known
  bool pairs = true;          // the products may run on pairs of bfloat16 (Note [Pairs])
  bool quads = true;          // the products may run on quads of int8 (Note [Quads])
  bool unpacked = true;       // the products may run on unpacked weights

  constexpr bool splits_bias() const { return split_bias != kNoGate; }
  constexpr bool has_second_gate() const { return second_gate != kNoGate; }
};

// The rows of one step. The pointer of row i points to unit 0 of the row.
template <typename T>
struct StepRows {
  const T** h_prev;        // [n] rows of S elements
  T** gates;               // [n] in: input products and biases; out: values for backward
  const T** c_prev;        // [n] if the cell has c
  T** c;                   // [n] out, if the cell has c
  T** out;                 // [n] out: h, or the input m of a second product
  int64_t first_row;       // the index of row 0 among the packed rows
  int64_t units;           // H
  int64_t first_block;     // the unit block of panel 0
  const T* split_bias;     // [u][V], padded: the recurrent bias of CellFormat::split_bias
  BFloat16Bits** rounded;  // [n] out: `out` rounded, if the next product is on pairs; else null

  // Sets a vector of `out`, and of `rounded`.
  EIGEN_ALWAYS_INLINE void StoreOut(int64_t i, int64_t unit, const Packet<T>& value) const {
    StoreFirst(out[i] + unit, value, units - unit);
    if constexpr (kHasPairs<T>) {
      if (rounded != nullptr) StoreFirst(rounded[i] + unit, value, units - unit);
    }
  }
};

// Inputs and outputs of AfterSecond.
template <typename T>
struct SecondRow {
  T* gates;
  const T* h_prev;  // [H]
  T* h;             // [H] in: the second product; out: h
};

// Inputs and outputs of FinishWholeRow.
template <typename T>
struct WholeRow {
  const T *from_x, *from_h;  // the products, in the order of the gate buffer
  const T* c_prev;           // may be the same array as c
  T* c;
  T* h;  // [H]
  int64_t units;
};

// The inputs from which a stack makes the Tensors of its cell.
template <typename T>
struct CellInputs {
  const RnnProblem& problem;
  const T* peepholes;         // [3, padded]; null if not IsLstmPeephole
  const T* layer_norm;        // LayerNormTensors::weights; null without layer normalization
  const T* zoneout_masks[2];  // of h and c, [R, padded]; null: zoneout mixes by the rate
  int64_t padded;
};

// The values that the forward pass has left of one step in one row.
template <typename T>
struct PastRow {
  int64_t row;      // the index of the packed row
  const T* gates;   // if the cell saves gates
  const T* h;       // [H]
  const T* h_prev;  // [H] if the cell carries h
  const T* c;       // if the cell has c
  const T* c_prev;
  const T* recurrent_gates;  // with whole_rows: the recurrent product; `gates` is the input product
};

// A row of gradients of the gates, in the order of the gate buffer. One of the pointers is set.
template <typename T>
struct GateGradients {
  T* exact;
  BFloat16Bits* rounded;  // for products on pairs
};

// The gradients of one step in one row.
template <typename T>
struct GradientRow {
  // In: dh from the next step. Out (carries_h): the part of dh_prev that bypasses the recurrent
  // product.
  T* dh;
  const T* dy;              // [H] is added to dh; null: dh is complete
  T* dc;                    // with c: dc from the next step, replaced by dc_prev
  GateGradients<T> dgates;  // out
  const T* dm;              // of the cell's second product, the gradient of m
  T* m;  // out, if a second product reads it: its input m, or h before the projection
  // With whole_rows:
  GateGradients<T>
      recurrent_dgates;  // out, of the recurrent product; `dgates` are of the input product
  T* norm_sums;          // gradients of the normalizations, summed over steps
};

// The NV sums of a panel in the gate buffer. A unit block has kBuffer vectors, and the sums begin
// at vector kAt. If a unit block is one vector, a panel has NV unit blocks.
template <typename T, int NV, int kBuffer, int kAt = 0>
struct SumsInGates {
  static constexpr int kVectors = NV;
  static constexpr int kBlocks = kBuffer == 1 ? NV : 1;
  StepRows<T> rows;

  EIGEN_ALWAYS_INLINE T* Sums(int64_t i, int64_t panel) const {
    return rows.gates[i] + ((rows.first_block + panel * kBlocks) * kBuffer + kAt) * kLanes<T>;
  }
  EIGEN_ALWAYS_INLINE const T* InitialSums(int64_t i, int64_t panel) const {
    return Sums(i, panel);
  }
  EIGEN_ALWAYS_INLINE void Init(int64_t i, int64_t panel, Packet<T>* acc) const {
    const T* sums = InitialSums(i, panel);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[v] = Load(sums + v * kLanes<T>);
  }
};

// ---- Helpers of the gradients ----

// Units [begin, end) of a row of `size` units; begin is a multiple of V.
struct UnitRange {
  int64_t begin;
  int64_t end;
  int64_t size;
};

// s'(x) and tanh'(x) from the function's value y.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> SigmoidSlope(const Packet<T>& y) {
  return pmul(y, psub(Set<T>(T(1)), y));
}
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> TanhSlope(const Packet<T>& y) {
  return psub(Set<T>(T(1)), pmul(y, y));
}

// carried + added. `added` has `units` elements or is null.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadGradient(const T* carried, const T* added, int64_t unit,
                                           int64_t units) {
  const Packet<T> value = Load(carried + unit);
  return added == nullptr ? value : padd(value, LoadFirst(added + unit, units - unit));
}

// Stores the gradient of vector v of a unit block. Lanes beyond H are cleared: with an infinite
// input they contain inf * 0, and the next product reads all lanes.
template <int kBuffer, typename T>
EIGEN_ALWAYS_INLINE void StoreGradient(const GateGradients<T>& dgates, int64_t unit, int v,
                                       const Packet<T>& value, int64_t units) {
  const int64_t at = kBuffer * unit + v * kLanes<T>;
  const Packet<T> valid = KeepFirst<T>(value, units - unit);
  if constexpr (kHasPairs<T>) {
    if (dgates.rounded != nullptr) return StoreFirst(dgates.rounded + at, valid, kLanes<T>);
  }
  Store(dgates.exact + at, valid);
}

// Calls fn(unit) for the first unit of each unit block of a range.
template <typename T, typename F>
EIGEN_ALWAYS_INLINE void ForUnitBlocks(const UnitRange& range, F&& fn) {
  RNN_DCHECK(range.begin % kLanes<T> == 0 && range.end <= range.size);
  for (int64_t unit = range.begin; unit < range.end; unit += kLanes<T>) fn(unit);
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
