// The arguments of the kernels, one struct for each kernel, passed by value. NVRTC and the host
// compiler read the same structs. NVRTC has no standard headers, so there is no int64_t.
#pragma once

namespace rnn_ops::gpu::elementwise {

typedef long long Int64;

// T: the type of the tensors. A: the type of the arithmetic, which is float if T has 16 bits, or T.

enum { kGates = 4 };      // i, f, ci, o: the column blocks of w, b and the gate buffers
enum { kPeepholes = 3 };  // wci, wcf, wco

// One step of BlockLSTMV2. The grid is [B, H].
struct BlockLstmForwardStep {
  const void* gates;                   // A [B, 4*H]: [x, h] w, without the bias
  const void* bias;                    // T [4*H]
  const void *wci, *wcf, *wco;         // T [H]; null without peephole
  const void* c_prev;                  // A [B, H]
  void* c_state;                       // A [B, H]: c before rounding; null if T is A; may be c_prev
  void *i, *cs, *f, *o, *ci, *co, *h;  // T [B, H]
  Int64 batch, units;
  float cell_clip;  // <= 0: off
};

// One step of the gradient of BlockLSTMV2. The grid is [B, H].
struct BlockLstmBackwardStep {
  const void *i, *f, *o, *ci, *co;  // T [B, H]
  const void* cs;                   // T [B, H], from the step before
  const void *cs_grad, *h_grad;     // T [B, H]
  const void *wci, *wcf, *wco;      // T [H]; null without peephole
  const void* dh;                   // A [B, H], from step t + 1; null at the last step
  const void* dc;                   // A [B, H], from step t + 1; null at the last step
  void* dc_prev;                    // A [B, H]; may be dc
  void* dgates;                     // T [B, 4*H]
  Int64 batch, units;
};

// Sums over time and batch. Two kernels compute the sums, so that the order of summation depends on
// the sizes only. The grid of the first kernel is [chunks, H]: a thread sums the values of one unit
// in chunk_rows rows.
struct BlockLstmSums {
  const void* dgates;   // T [rows, 4*H]
  const void* cs;       // T [rows, H]
  const void* cs_prev;  // T [B, H]
  void* partial;        // A [chunks, sums, H]: di, df, dci, do; di * c_prev, df * c_prev, do * c
  Int64 rows;           // steps * B
  Int64 batch, units;
  Int64 chunks, chunk_rows;
  Int64 sums;  // kGates, or kGates + kPeepholes with peephole
};

// The second kernel. Its grid is [sums, H].
struct BlockLstmFinishSums {
  const void* partial;                   // A [chunks, sums, H]
  void* b_grad;                          // T [4*H]
  void *wci_grad, *wcf_grad, *wco_grad;  // T [H]; not used without peephole
  Int64 units, chunks, sums;
};

// The grid is [1, size].
struct Conversion {
  const void* from;
  void* to;
  Int64 size;
};

// [rows, columns, width] -> [columns, rows, width]. The grid is [rows * columns, width].
struct SwapLeading {
  const void* from;
  void* to;
  Int64 rows, columns, width;
};

// The sequences of a tensor [T, B, W] or [B, T, W], or of states [N, B, W]. The grid is [outer *
// batch, W].
struct MaskRows {
  const void* from;
  void* to;
  const int* lengths;  // [B]
  Int64 outer;         // T or N
  Int64 batch, width;
  int time_major;  // 1 for states
};

}  // namespace rnn_ops::gpu::elementwise
