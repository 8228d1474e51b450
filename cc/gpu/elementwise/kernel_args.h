// The arguments of the kernels, one struct each, passed by value: the same for NVRTC and for the
// host. NVRTC has no standard headers, hence no int64_t.
#ifndef TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNEL_ARGS_H_
#define TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNEL_ARGS_H_

namespace rnn_ops {
namespace gpu {
namespace elementwise {

typedef long long Int64;

// T is the element type of the tensors, A that of the arithmetic: float for 16-bit types, else T.

enum { kGates = 4 };      // i, f, ci, o: the columns of w, b and of gate buffers
enum { kPeepholes = 3 };  // wci, wcf, wco

// One step of BlockLSTMV2. Runs over [B, H].
struct BlockLstmForwardStep {
  const void* gates;            // A [B, 4*H]: [x, h] w, without the bias
  const void* bias;             // T [4*H]
  const void *wci, *wcf, *wco;  // T [H]; null without peephole
  const void* c_prev;           // A [B, H]
  void* c_state;                // A [B, H]: c before rounding; null where T is A; may be c_prev
  void *i, *cs, *f, *o, *ci, *co, *h;  // T [B, H]
  Int64 batch, units;
  float cell_clip;  // <= 0: off
};

// One step of its gradient. Runs over [B, H].
struct BlockLstmBackwardStep {
  const void *i, *f, *o, *ci, *co;  // T [B, H]
  const void* cs;                   // T [B, H] of the step before
  const void *cs_grad, *h_grad;     // T [B, H]
  const void *wci, *wcf, *wco;      // T [H]; null without peephole
  const void* dh;                   // A [B, H] from the step after; null at the last step
  const void* dc;                   // A [B, H] likewise
  void* dc_prev;                    // A [B, H]; may be dc
  void* dgates;                     // T [B, 4*H]
  Int64 batch, units;
};

// Sums over time and batch, in two passes so that their order depends on the sizes alone. The first
// runs over [chunks, H]: a thread sums its unit's values in chunk_rows rows.
struct BlockLstmSums {
  const void* dgates;   // T [rows, 4*H]
  const void* cs;       // T [rows, H]
  const void* cs_prev;  // T [B, H]
  void* partial;        // A [chunks, sums, H]: di, df, dci, do; di * c_prev, df * c_prev, do * c
  Int64 rows;           // steps * B
  Int64 batch, units;
  Int64 chunks, chunk_rows;
  Int64 sums;  // kGates, or with peephole kGates + kPeepholes
};

// The second runs over [sums, H].
struct BlockLstmFinishSums {
  const void* partial;                   // A [chunks, sums, H]
  void* b_grad;                          // T [4*H]
  void *wci_grad, *wcf_grad, *wco_grad;  // T [H]; not used without peephole
  Int64 units, chunks, sums;
};

// Runs over [1, size].
struct Conversion {
  const void* from;
  void* to;
  Int64 size;
};

// [rows, columns, width] -> [columns, rows, width]. Runs over [rows * columns, width].
struct SwapLeading {
  const void* from;
  void* to;
  Int64 rows, columns, width;
};

// Rows of a sequence [T, B, W] or [B, T, W], or of states [N, B, W]. Runs over [outer * batch, W].
struct MaskRows {
  const void* from;
  void* to;
  const int* lengths;  // [B]
  Int64 outer;         // T or N
  Int64 batch, width;
  int time_major;  // states are
};

}  // namespace elementwise
}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNEL_ARGS_H_
