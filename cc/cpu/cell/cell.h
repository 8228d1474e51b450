// What a cell is to the passes.
//
// clang-format off
// Note [Cells]
// A cell is one file of this folder, with a line in WithCell (cells.h) if stacks run it:
//
//   part             what it is, or does                                                in a cell
//   Format(layout)   the gates, in the weights and in the gate buffer; what it needs    each
//   Tensors<T>       inputs and outputs beyond the rows below, such as functions        each
//   Forward<T,O,NV>  a step of row i on the sums of one register tile, NV vectors:      without whole_rows
//     Init             what the sums of the recurrent product start from
//     Sums             where unfinished sums wait
//     Finish           from the sums to the row's results
//   Backward         from dh to the gradients of the gates' pre-activations             each
//   AfterSecond      from the second product to h                                       with second
//   BackAfterSecond  what Backward lacks until dm is known                              with second
//   FinishWholeRow   from both products of a row to c and h                             with whole_rows
//
// Forward, Backward and those of the second product work on a range of units of one row. With
// CellFormat::second a step has a second product, which reads m: Forward leaves m in rows.out. With
// CellFormat::whole_rows a cell needs all units of a row before it can compute one of them: both
// products are in the gate buffer, side by side, and Backward leaves the gradients of both.
//
// Buffers of gates and of c are padded to whole vectors; rows of h have exactly H elements.
// clang-format on
#ifndef TF_RNN_OPS_CC_CPU_CELL_CELL_H_
#define TF_RNN_OPS_CC_CPU_CELL_CELL_H_

#include <cstdint>

#include "cc/core/check.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/simd/activations.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

constexpr int kNoGate = -1;

// Gates are numbered as the columns of the weights have them. In the gate buffer, whose order is
// [unit block][vector][lane], the vectors of the input product lie side by side, from `input_at`
// on, and so do those of the recurrent product.
struct CellFormat {
  int gates;            // G
  int buffer;           // vectors of a unit block in the gate buffer
  GateOrder input;      // the gate of each vector of the input product
  GateOrder recurrent;  // and of the recurrent product
  int input_at = 0;
  int recurrent_at = 0;
  int split_bias = kNoGate;  // the gate whose recurrent bias is not added to the input bias
  int second = kNoGate;      // the gate whose recurrent weights multiply m in a second product
  int second_at = 0;         // its vector in the gate buffer
  bool has_c = false;        // there is a second state
  bool keeps_gates = false;  // backward reads the gate buffer
  bool carries_h = false;    // h_prev also reaches h outside of the recurrent product
  bool whole_rows = false;   // a row is finished when all units have both products
  bool pairs = true;         // its products may run on pairs of bfloat16 (Note [Pairs])
  bool plain = true;         // and on weights as they lie

  constexpr bool splits_bias() const { return split_bias != kNoGate; }
  constexpr bool has_second() const { return second != kNoGate; }
};

// The rows of one step. Pointers of row i start at the row's unit 0.
template <typename T, typename O = T>
struct StepRows {
  const T** h_prev;     // [n] rows of S elements
  T** gates;            // [n] in: input products and biases; out: what backward needs
  const T** c_prev;     // [n] with a second state
  T** c;                // [n] out, with a second state
  O** out;              // [n] out: h, rounded to O; where a second product follows, its input m
  T** exact_h;          // [n] out, of a cell that carries h, where O is not T: h before rounding
  int64_t first_row;    // the packed row of row 0
  int64_t units;        // H
  int64_t first_block;  // the unit block of panel 0
  const T* split_bias;  // [u][V], padded: the recurrent bias of CellFormat::split_bias
};

// What AfterSecond reads and writes.
template <typename T>
struct SecondRow {
  T* gates;
  const T* h_prev;  // [H]
  T* h;             // [H] in: the second product; out: h
};

// What FinishWholeRow reads and writes.
template <typename T>
struct WholeRow {
  const T *from_x, *from_h;  // the products, in the order of the gate buffer
  const T* c_prev;           // may be c
  T* c;
  T* h;  // [H]
  int64_t units;
};

// A step's values in one row for the gradient.
template <typename T, typename E>
struct GradientRow {
  int64_t row;      // its packed row
  const T* gates;   // what forward left, where the cell keeps gates
  const T* h;       // [H]
  const T* h_prev;  // [H] where the cell carries h
  const T* c;       // with a second state
  const T* c_prev;
  // In: dh from the next step. Out (carries_h): the part of dh_prev that bypasses the recurrent
  // product.
  T* dh;
  const T* dy;  // [H] to be added to dh; null: dh is complete
  T* dc;        // with a second state: from the next step, replaced by that of c_prev
  E* dgates;    // out
  const T* dm;  // with a second product of the cell: the gradient of m
  T* m;         // out, with a second product: its input m; with projection h before it
  // With whole_rows:
  int64_t recurrent_part;  // offset of the recurrent product in gates and dgates
  T* norm_sums;            // gradients of the normalizations, summed over steps
};

// A panel's NV sums in the gate buffer, from vector kAt of a unit block of kBuffer on. Where a unit
// block is one vector a panel has NV of them.
template <typename T, typename O, int NV, int kBuffer, int kAt = 0>
struct SumsInGates {
  static constexpr int kVectors = NV;
  static constexpr int kBlocks = kBuffer == 1 ? NV : 1;
  StepRows<T, O> rows;

  EIGEN_ALWAYS_INLINE T* Sums(int64_t i, int64_t panel) const {
    return rows.gates[i] + ((rows.first_block + panel * kBlocks) * kBuffer + kAt) * kLanes<T>;
  }
  EIGEN_ALWAYS_INLINE void Init(int64_t i, int64_t panel, Packet<T>* acc) const {
    const T* sums = Sums(i, panel);
    for (int v = 0; v < NV; ++v) acc[v] = Load(sums + v * kLanes<T>);
  }
};

// ---- What gradients share ----

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

// carried + added; `added` has `units` elements, or is null.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadGradient(const T* carried, const T* added, int64_t unit,
                                           int64_t units) {
  const Packet<T> value = Load(carried + unit);
  return added == nullptr ? value : padd(value, LoadFirst(added + unit, units - unit));
}

// The gradient of vector v of a unit block. Lanes beyond H are cleared: where an input is infinite
// they hold inf * 0, and a product of all lanes follows.
template <int kBuffer, typename T, typename E>
EIGEN_ALWAYS_INLINE void StoreGradient(E* dgates, int64_t unit, int v, const Packet<T>& value,
                                       int64_t units) {
  StoreOperands(dgates, kBuffer * unit + v * kLanes<T>, KeepFirst<T>(value, units - unit));
}

// fn(unit) for the first unit of each unit block of a range.
template <typename T, typename F>
EIGEN_ALWAYS_INLINE void ForUnitBlocks(const UnitRange& range, F&& fn) {
  RNN_DCHECK(range.begin % kLanes<T> == 0 && range.end <= range.size);
  for (int64_t unit = range.begin; unit < range.end; unit += kLanes<T>) fn(unit);
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_CELL_CELL_H_
