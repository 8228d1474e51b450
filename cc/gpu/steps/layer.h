// One layer as a product and a kernel for each step: its sizes, memory and passes.
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/modules.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/problem/layer_problem.h"

namespace rnn_ops::gpu {

// Sizes, kernels and memory of a call, from its problem.

// The kernels of a cell, for float32.
struct CellKernels {
  Kernel step, back;
};

// The threads of a block that computes a row (LayerSizes::by_row).
constexpr int64_t kMostThreadsOfRow = 256;

// The letters of docs/design.md, the cell's kernels and the properties of its steps.
struct LayerSizes {
  int64_t T, B, I, H, S, G;
  int64_t saved;  // blocks of H columns in a row of the gate buffer
  CellKernels cell;
  bool has_c, carries_h;  // carries_h: a step reads h_prev outside of its product
  bool splits_gradients;  // the gradients of x W and of h R differ
  bool by_row;            // a block of threads computes a row
  bool reset_before;      // the product of the candidate reads m, not h

  explicit LayerSizes(const LayerProblem& p);

  int64_t rows() const { return T * B; }
  int64_t columns() const { return G * H; }
  int64_t gate_step() const { return B * saved * H; }  // elements of the gate buffer in a step
  // The gates whose recurrent product reads h.
  int64_t gates_of_h() const { return reset_before ? 2 : G; }
};

// The parts of the reserve space: a header with the steps of the rows, the gates [T, B, saved*H],
// and c [T + 1, B, H] beginning with the initial state.
struct LayerReserve {
  int64_t gates_at, c_at, bytes;
  explicit LayerReserve(const LayerProblem& p);
};

// The fields that all kernels of a call read. `header`: of the reserve space, or null.
elementwise::LayerCall CallOf(const LayerProblem& p, const LayerInputs& in, void* header);

inline int ElementOf(Dtype dtype) {
  return dtype == Dtype::kFloat16    ? elementwise::kHalf
         : dtype == Dtype::kBFloat16 ? elementwise::kBFloat16
                                     : elementwise::kArithmetic;
}

// Replaces int8 weights by their values in the type of the tensors.
Status DequantizeWeights(const ProductCall& call, const LayerProblem& p, LayerInputs* in);

// Whether a sequence tensor is in another order than the kernels need, which is time-major. With
// one row or one step both orders are the same.
inline bool SwapsSequences(const LayerProblem& p) {
  return !p.time_major && p.batch > 1 && p.max_time > 1;
}

// A tensor that the kernels need time-major: itself, or a transposed copy.
// `width`: elements of a row.
Status TimeMajor(const ProductCall& call, const LayerProblem& p, const char* purpose,
                 const void* tensor, int64_t width, const void** result);

// to = from with its first two dimensions swapped.
Status SwapLeading(const ProductCall& call, Dtype dtype, void* to, const void* from, int64_t rows,
                   int64_t columns, int64_t width);

// The number of rows of x whose copies for each gate fit a buffer: whole steps, at least 1 and at
// most `steps`. `element`: the size of an element of a copy.
int64_t MaskedRows(const ProductCall& call, const LayerProblem& p, int64_t element, int64_t steps);

// The steps of rows from row `first_row` of a sequence tensor on.
elementwise::RowSteps StepsFrom(const LayerProblem& p, const int32_t* lengths, int64_t first_row);

// Copies of [rows, width] for each gate, multiplied by the masks [gates, B, width], or by 1 if they
// are null; see ApplyMasks.
struct MaskedCopy {
  const void* from;
  void* to;
  int64_t rows, all_rows, first_row;  // first_row: in `to`
  elementwise::RowSteps steps;
};
Status MaskCopies(const ProductCall& call, const LayerProblem& p, const void* masks, int64_t gates,
                  int64_t width, const MaskedCopy& copy);

// The functions of rnn_gpu.h for LayerRNN and BlockLSTMV2, with the libraries as arguments.

// One layer within a call that has prepared products. B > 0, and for the gradient T > 0.
Status ForwardLayer(const ProductCall& call, const LayerForwardArgs& args);
Status BackwardLayer(const ProductCall& call, const LayerBackwardArgs& args);

Status RunLayerForward(const ProductLibraries& libraries, const LayerForwardArgs& args,
                       DeviceAllocator* allocator, void* stream);
Status RunLayerBackward(const ProductLibraries& libraries, const LayerBackwardArgs& args,
                        DeviceAllocator* allocator, void* stream);
Status RunBlockLstmForward(const ProductLibraries& libraries, const BlockLstmForwardArgs& args,
                           DeviceAllocator* allocator, void* stream);
Status RunBlockLstmBackward(const ProductLibraries& libraries, const BlockLstmBackwardArgs& args,
                            DeviceAllocator* allocator, void* stream);

}  // namespace rnn_ops::gpu
