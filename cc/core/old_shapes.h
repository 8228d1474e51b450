// The one place that knows the shapes of the tensors of the ops that run an RNN (those of the
// parameter ops are in cc/tf/params_util.h). Shape functions call it with partly unknown shapes,
// kernels with complete ones, so both refuse the same inputs.
#ifndef TF_RNN_OPS_CC_CORE_OLD_SHAPES_H_
#define TF_RNN_OPS_CC_CORE_OLD_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/core/rnn_config.h"
#include "cc/core/shapes.h"
#include "cc/core/status.h"

namespace rnn_ops {

// ---- CudnnRNNV3 and CudnnRNNBackpropV3 ----

struct RnnInputShapes {
  PartialShape input;             // [T, B, I] or [B, T, I]
  PartialShape input_h;           // [L*D, B, P or H] or [B, L*D, P or H]
  PartialShape input_c;           // LSTM: as input_h with H; ignored (any rank) otherwise
  PartialShape params;            // [size]
  PartialShape sequence_lengths;  // [B]
  PartialShape seed;              // [2]; unknown for an op without this input
};

struct RnnBackpropShapes {
  RnnInputShapes in;
  PartialShape output, output_h, output_c;
  PartialShape output_backprop, output_h_backprop, output_c_backprop;
  PartialShape reserve_space;
};

Status InferRnn(const RnnAttrs& attrs, const RnnInputShapes& in, RnnDims* dims);
Status InferRnnBackprop(const RnnAttrs& attrs, const RnnBackpropShapes& in, RnnDims* dims);

// The complete problem of a kernel call; `in` must be fully known. Rejects all that InferRnn does.
Status MakeRnnConfig(const RnnAttrs& attrs, const RnnInputShapes& in, RnnConfig* config);
Status MakeRnnConfig(const RnnAttrs& attrs, const RnnBackpropShapes& in, RnnConfig* config);

// Output shapes; unknown sizes give unknown dimensions.
PartialShape RnnOutputShape(const RnnAttrs& attrs, const RnnDims& dims);   // [T, B, D*P] ...
PartialShape RnnOutputHShape(const RnnAttrs& attrs, const RnnDims& dims);  // as input_h
PartialShape RnnOutputCShape(const RnnAttrs& attrs, const RnnDims& dims);  // as input_c, or []

// ---- LayerRNN and LayerRNNBackprop ----

struct LayerRnnInputShapes {
  PartialShape input;             // [T, B, I] or [B, T, I]
  PartialShape input_h;           // [B, H]
  PartialShape input_c;           // LSTM: [B, H]; ignored (any rank) otherwise
  PartialShape kernel;            // [I, G*H]
  PartialShape recurrent_kernel;  // [H, G*H]
  PartialShape bias;              // [G*H], GRU: [2, G*H]; [0]: none
  PartialShape sequence_lengths;  // [B]; [0]: every row has T steps
  PartialShape input_mask;        // [G, B, I]; [0]: none
  PartialShape recurrent_mask;    // [G, B, H]; [0]: none
};

struct LayerRnnBackpropShapes {
  LayerRnnInputShapes in;
  PartialShape output, output_h, output_c;
  PartialShape output_backprop, output_h_backprop, output_c_backprop;
  PartialShape reserve_space;  // [size]
};

// Of `attrs` only mode, activations, is_training and time_major matter.
Status InferLayerRnn(const RnnAttrs& attrs, const LayerRnnInputShapes& in, RnnDims* dims);
Status InferLayerRnnBackprop(const RnnAttrs& attrs, const LayerRnnBackpropShapes& in,
                             RnnDims* dims);

// The complete problem of a kernel call, from what the functions above found.
Status MakeLayerRnnConfig(const RnnAttrs& attrs, const RnnDims& dims, RnnConfig* config);

// ---- BlockLSTMV2 and BlockLSTMGradV2 ----

struct BlockLstmInputShapes {
  PartialShape seq_len_max;    // []
  PartialShape x;              // [T, B, I]
  PartialShape cs_prev;        // [B, H]
  PartialShape h_prev;         // [B, H]
  PartialShape w;              // [I + H, 4*H]
  PartialShape wci, wcf, wco;  // [H]
  PartialShape b;              // [4*H]
};

struct BlockLstmGradShapes {
  BlockLstmInputShapes in;
  PartialShape i, cs, f, o, ci, co, h;  // [T, B, H]
  PartialShape cs_grad, h_grad;         // [T, B, H]
};

struct BlockLstmDims {
  int64_t max_time = kUnknownDim;    // T
  int64_t batch = kUnknownDim;       // B
  int64_t input_size = kUnknownDim;  // I
  int64_t num_units = kUnknownDim;   // H
};

Status InferBlockLstm(const BlockLstmInputShapes& in, BlockLstmDims* dims);
Status InferBlockLstmGrad(const BlockLstmGradShapes& in, BlockLstmDims* dims);
// Also checks that every product of sizes the kernels form fits (see RnnConfig::Validate).
Status ValidateBlockLstm(const BlockLstmDims& dims, int64_t seq_len_max);

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_OLD_SHAPES_H_
