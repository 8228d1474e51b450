// The data of one layer for the time loop of a forward pass.
#pragma once

#include <cstdint>
#include <limits>

#include "cc/cpu/pass/forward/weights.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/rows/gate_masks.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/rows/states.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The rows that the recurrent product reads.
enum class HiddenOperand {
  kH,          // h: rows of y or of h0
  kMasked,     // a copy of h for each gate (Note [Operand rows]), made after the step
  kQuantized,  // a copy of h, made by each thread before the product, since it needs the whole row
  kRounded,    // h rounded by the step that computes it: a copy, or rows of y in bfloat16
};

// One direction of one layer.
template <typename T>
struct ForwardDirection {
  ForwardWeights<T> weights;
  T* gates = nullptr;  // [R, gate_row] if all rows are kept
  T* ring = nullptr;   // otherwise: rows of the step blocks of all slices
  T* c = nullptr;      // [R, c_row] if all rows are kept
  T* c0 = nullptr;     // [B, padded] the initial c; updated in place if c is not kept
  // [B, padded]: the input m of a second product. With rounded_y: h before rounding.
  T* carried = nullptr;
  // Copies of h: [B, operand_row] for even and odd steps. Quantized rows: only operand_h[0], with
  // rows of its own for each thread.
  char* operand_h[2] = {};
};

// The row pointers of one slice.
template <typename T>
struct ForwardPointers {
  // For a step block:
  const void** x;  // operands
  T** gates;
  // For one step:
  const T** h_prev;
  const T** c_prev;
  T** c;
  T** h;
  T** out;                 // m if a second product follows, otherwise the array h
  const void** operands;   // rows that the recurrent or the second weights multiply
  T** sums;                // results of that product, if no cell receives them
  BFloat16Bits** rounded;  // with kRounded: h for the next step

  template <typename F>
  void ForEach(F&& fn) {
    fn(x), fn(gates), fn(h_prev), fn(c_prev), fn(c), fn(h), fn(out), fn(operands), fn(sums);
    fn(rounded);
  }
};

template <typename T>
class ForwardRows;

// The functions that run a cell in one step, for a range of panels, units or rows. They are chosen
// once for a layer, so that the time loop is compiled only once for all cells.
template <typename T>
struct CellRunner {
  using Rows = ForwardRows<T>;
  void (*run)(const Rows& rows, const void* tensors, int64_t step,
              const PanelOrder& order) = nullptr;
  // For cells with a second product: runs after the second product.
  void (*after_second)(const Rows& rows, const void* tensors, int64_t step,
                       const UnitRange& units) = nullptr;
  // For cells of whole rows: runs after both products.
  void (*finish_whole_rows)(const Rows& rows, const void* tensors, const Range& range) = nullptr;
  const void* tensors = nullptr;  // the cell's Tensors
};

template <typename T>
struct ForwardLayer {
  const Sequence* seq = nullptr;
  Sizes<T> sizes = {};
  int64_t in = 0;       // columns of x
  bool adds_x = false;  // skip_input: the gates read x itself instead of a product
  GateMasks<T> input_masks;
  GateMasks<T> recurrent_masks;
  T h_limit = std::numeric_limits<T>::infinity();  // see HiddenLimit
  int64_t operand_row = 0;                         // bytes in a row of operand_h
  int64_t c_row = 0;                               // elements in a row of c
  OperandRows operand_x;                           // rows that the input product reads
  RowMap<const T> x;
  RowMap<T> y;                     // rows of [D, S]
  RowMap<BFloat16Bits> rounded_y;  // instead of y, if rows of h are pairs
  StateRows<const T> h0, c0;
  StateRows<T> h_n, c_n;
  int64_t first_pseudo_layer = 0;
  HiddenOperand reads = HiddenOperand::kH;
  CellRunner<T> cells;
  ForwardDirection<T> dirs[2] = {};
  ForwardPointers<T> pointers[2] = {};
};

// The rows that the recurrent product of a layer reads.
template <typename T>
HiddenOperand ReadsOf(const ForwardLayer<T>& layer) {
  switch (layer.sizes.operands) {
    case OperandType::kQuads:
      return HiddenOperand::kQuantized;
    case OperandType::kPairs:
      return HiddenOperand::kRounded;
    default:
      return layer.recurrent_masks ? HiddenOperand::kMasked : HiddenOperand::kH;
  }
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
