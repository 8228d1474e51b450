// The arguments of the kernels, one struct for each kernel, passed by value. NVRTC and the host
// compiler read the same structs. NVRTC has no standard headers, so there is no int64_t.
#pragma once

#include "cc/core/op/layer_norm_rows.h"

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

// The arguments of the kernels of LayerRNN, one struct for each kernel, passed by value. The
// tensors are time-major, and t is the step of the call.

// A: the type of the arithmetic, float or double. T: the type of the tensors, which is A or, if A
// is float, a 16-bit type. The kernels exist for A only, and read the type T from their arguments.
enum TensorElement { kArithmetic = 0, kHalf = 1, kBFloat16 = 2 };

// The columns of LayerBackStep::stats.
enum LayerNormStat { kMeanX = 0, kSlopeX = 1, kMeanH = 2, kSlopeH = 3, kStats = 4 };

enum { kMostGates = 4 };  // G is at most this

// The start of the reserve space: the forward call that wrote it. The steps of its rows follow,
// int [B].
struct ReserveHeader {
  unsigned long long fingerprint;
  long long seed[2];  // 0 if the call has no seed
};

// Properties of a call that all its kernels read.
struct LayerCall {
  Int64 batch, units;              // B, H
  Int64 hidden;                    // S: P with projection, otherwise H
  Int64 max_time;                  // T
  const int* lengths;              // [B]; null: all T. A length outside of [0, T] makes its row NaN
  const void* input_h;             // T [B, S]
  const void* input_c;             // T [B, H]; null without c
  const void* bias;                // T [bias_rows, G*H]
  const void* peepholes;           // T [3, H]; null without peepholes
  const void* layer_norm;          // T [18, H]; null without layer normalization
  const void* masks;               // T [G, B, S], of h; null without masks
  const long long* seed;           // [2]: zoneout draws; null: it mixes by the rates
  ReserveHeader* header;           // of the reserve space; null in inference
  unsigned long long fingerprint;  // of the problem
  int element;                     // TensorElement
  int bias_rows;                   // 0, 1 or 2
  int gates;                       // G
  int saved;                       // blocks of H columns in a row of the gate buffer
  int activation, recurrent_activation;  // Activation
  float cell_clip, proj_clip;            // 0: off
  float zoneout_h, zoneout_c;
  float epsilon;  // of layer normalization
};

// The first kernel of a forward pass. The grid is [B, max(S, H)].
struct LayerBegin {
  LayerCall call;
  void* h_first;    // T [B, S]: input_h
  void* h_state;    // A [B, S]; null if the cell does not carry h
  void* masked_h;   // T [G, B, S]; null without masks
  void* c_first;    // A [B, H]; null without c
  void *h_n, *c_n;  // T, written for rows without steps
};

// One step. The grid is [B, H], or [B, P] for the projection.
struct LayerStep {
  LayerCall call;
  Int64 t;
  void* gates;         // A [B, saved*H] in: x W in the first G*H columns; out: what backward reads
  void* from_h;        // A [B, G*H]: h R; changed by the normalizing cell
  const void* c_prev;  // A [B, H]
  void* c;             // A [B, H]; may be c_prev
  void* h_state;       // A [B, S]: h without rounding, of cells that carry h
  void* m;             // T [B, H]: the input of a second product
  const void* from_m;  // A [B, P]: the projection
  void* y;             // T [B, S]
  void* masked_h;      // T [G, B, S]; null without masks
  void *h_n, *c_n;     // T [B, S], [B, H], written by the last step of a row
};

// One step of the gradient. The grid is that of LayerStep.
struct LayerBackStep {
  LayerCall call;
  Int64 t;
  const void* gates;             // A [B, saved*H]
  const void* h_prev;            // T [B, S]
  const void* c_prev;            // A [B, H]
  const void* c;                 // A [B, H]: c', with layer normalization
  const void* y;                 // T [B, S]
  const void *dy, *dh_n, *dc_n;  // T
  const void* dh;    // A [products, B, S]: dgates R' from step t + 1, for each gate with masks
  int products;      // 1; with masks the number of gates whose product reads h
  void* direct;      // A [B, S]: the part of dh that bypasses the product; null: none
  void* dc;          // A [B, H], from step t + 1, replaced by that for step t - 1
  const void* dm;    // A [B, H]: the gradient of m, of a second product
  void* m;           // T [B, H]: the input of a second product
  void* dgates_x;    // T [B, G*H]: of x W
  void* dgates_h;    // T [B, G*H]: of h R; may be dgates_x
  void* dprojected;  // T [B, P]: of m times the projection
  // With layer normalization:
  void* dsums;      // A [B, G*H]: of the normalized sums
  void* c_unit;     // A [B, H]: c with mean 0 and variance 1
  void* dc_scaled;  // A [B, H]: of the normalized c
  void* stats;      // A [B, 4]: mean and 1 / deviation of x W and of h R
};

// The last kernel of a backward pass: the gradients of the initial states. The grid is
// [B, max(S, H)].
struct LayerEnd {
  LayerBackStep step;  // of t = -1
  void *dh0, *dc0;     // T
};

// The steps of the rows of a matrix: row r is step first_step + r / batch of sequence r % batch.
struct RowSteps {
  const int* lengths;  // [batch]; null: all sequences have max_time steps
  Int64 batch, max_time, first_step;
};

// Copies for each gate, multiplied by its mask: to[g, r, k] = from[r, k] * mask[g, r % B, k], and 0
// where the sequence is finished. The grid is [rows, width].
struct ApplyMasks {
  const void* from;   // T [rows, width]
  const void* masks;  // T [gates, batch, width]; null: 1
  void* to;           // T [gates, all_rows, width], from row `first_row`
  RowSteps steps;
  Int64 rows, width, all_rows, first_row;
  int gates, element;
};

// The reverse: to[r, k] = sum over g of from[g, r, k] * mask[g, r % B, k], and 0 where the sequence
// is finished. The grid is [rows, width].
struct SumMasked {
  const void* from;   // A [gates, rows, width]
  const void* masks;  // T [gates, batch, width]
  void* to;           // T [rows, width]
  RowSteps steps;
  Int64 rows, width;
  int gates, element;
};

// A matrix of integers times the scales of its columns: to[r, k] = from[r, k] * scales[k]. The grid
// is [rows, columns].
struct Dequantize {
  const signed char* from;
  const float* scales;
  void* to;  // T
  Int64 rows, columns;
  int element;
};

// Copies sequences between the layers of a stack. A reversed sequence begins with the last valid
// step of its row, and steps behind the end are 0. The grid is [T * B, width].
struct MoveSequence {
  const void* from;    // T, rows of `from_row` elements, of which `width` are read
  void* to;            // T, rows of `to_row`
  const int* lengths;  // [B], each in [0, max_time]; null: all max_time
  Int64 batch, max_time, width;
  Int64 from_row, to_row;
  int from_time_major, to_time_major;  // rows of [T, B] or of [B, T]
  int from_reversed, to_reversed;
  int adds;  // to `to`
  int element;
  // Dropout: the words of column `first_column` + k are those of the CPU (rows/masks.h).
  float rate;      // 0: none
  unsigned layer;  // whose output is dropped
  Int64 first_column;
  int stores_key;  // 1: `key` is used and stored; 0: the stored key is used
  unsigned long long key;
  unsigned long long* stored_key;
};

// Copies the blocks of gates of a matrix or of biases into another order:
// to[r, g, u] = from[r, g, u] with a stride for each index. The grid is [rows, gates * units].
struct CopyGates {
  const void* from;  // T; null: 1 where r == u, and 0 elsewhere
  void* to;          // T
  Int64 rows, units;
  Int64 from_row, from_gate, from_unit;
  Int64 to_row, to_gate, to_unit;
  int gates;
  int swaps;  // 1: the first two gates change places
  int element;
};

// Sums of a[r, k] * b[r, k] over the rows r of running steps. Two kernels compute the sums, so that
// the order of summation depends on the sizes only. The grid of the first is [chunks, columns]: a
// thread sums chunk_rows rows.
struct SumRows {
  const void* a;      // [rows, a_size], of element `a_element`
  const void* b;      // A [rows, b_size]; null: 1
  const void* stats;  // A [rows, stats_size]: b is replaced by (b - stats[0]) * stats[1]; null: not
  void* partial;      // A [chunks, columns]
  RowSteps steps;
  Int64 rows, columns;
  Int64 a_size, b_size, stats_size;
  Int64 chunks, chunk_rows;
  int a_element;
};

// The second kernel. Its grid is [1, columns].
struct FinishRowSums {
  const void* partial;  // A [chunks, columns]
  void* to;             // T [columns]
  Int64 columns, chunks;
  int element;
};

// The arguments of the persistent kernels of LayerRNN. A launch computes all steps of some rows of
// the batch, and its blocks run at the same time.

// Memory that the blocks of a launch share. It is zero before the launch.
struct Exchange {
  unsigned* values;    // factors of the products, twice, for even and odd steps
  unsigned* counter;   // of blocks that have announced a step
  float* partial;      // sums of a part of the inner dimension, if a kernel has parts
  unsigned* counters;  // of the blocks that share a sum, kCounterStep apart
  unsigned* gave_up;   // host memory: gets `number` if a block waited in vain
  unsigned number;     // of the kernel
  unsigned max_spins;  // reads of a counter before a block gives up
};

enum { kCounterStep = 32 };  // a cache line of 128 bytes

struct PersistentForward {
  LayerStep step;         // of the first step
  const void* recurrent;  // T [H, G*H]
  const void* h_before;   // T [B, H]: h of the step before
  Exchange exchange;
  Int64 steps;
  Int64 c_stride;  // from the c of a step to the next: B*H in training, else 0
  Int64 first_row;
  int rows;
};

struct PersistentBackward {
  LayerBackStep step;     // its tensors of steps begin with step 0; h_prev is input_h
  const void* recurrent;  // T [H, G*H]
  Exchange exchange;
  Int64 first_row;
  int rows;
};

}  // namespace rnn_ops::gpu::elementwise
