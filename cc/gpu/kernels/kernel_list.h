// The names of all kernels.
#pragma once

// K(name, arguments, function): the kernel `name` calls function(arguments). The threads of a block
// of a kernel whose name begins with "row_" work together (BlockSum).
#define RNN_OPS_BLOCK_LSTM_KERNELS(K, suffix, T)                               \
  K(block_lstm_forward_##suffix, BlockLstmForwardStep, BlockLstmForward<T>)    \
  K(block_lstm_backward_##suffix, BlockLstmBackwardStep, BlockLstmBackward<T>) \
  K(block_lstm_sums_##suffix, BlockLstmSums, SumBlockLstm<T>)                  \
  K(block_lstm_finish_sums_##suffix, BlockLstmFinishSums, FinishBlockLstmSums<T>)

#define RNN_OPS_COPY_KERNELS(K, suffix, T)                       \
  K(swap_leading_dims_##suffix, SwapLeading, SwapLeadingDims<T>) \
  K(mask_sequence_##suffix, MaskRows, MaskSequence<T>)           \
  K(copy_empty_rows_##suffix, MaskRows, CopyEmptyRows<T>)        \
  K(zero_empty_rows_##suffix, MaskRows, ZeroEmptyRows<T>)

// LayerRNN, for the types of arithmetic.
#define RNN_OPS_LAYER_FAMILY(K, suffix, A)                                      \
  K(layer_begin_##suffix, LayerBegin, BeginLayer<A>)                            \
  K(layer_end_##suffix, LayerEnd, EndLayer<A>)                                  \
  K(lstm_step_##suffix, LayerStep, (StepCell<Lstm, A>))                         \
  K(lstm_back_##suffix, LayerBackStep, (BackCell<Lstm, A>))                     \
  K(gru_step_##suffix, LayerStep, (StepCell<Gru, A>))                           \
  K(gru_back_##suffix, LayerBackStep, (BackCell<Gru, A>))                       \
  K(vanilla_step_##suffix, LayerStep, (StepCell<Vanilla, A>))                   \
  K(vanilla_back_##suffix, LayerBackStep, (BackCell<Vanilla, A>))               \
  K(reset_before_step_##suffix, LayerStep, StepResetBefore<A>)                  \
  K(reset_before_finish_##suffix, LayerStep, FinishResetBefore<A>)              \
  K(reset_before_back_##suffix, LayerBackStep, BackResetBefore<A>)              \
  K(reset_before_back_second_##suffix, LayerBackStep, BackResetBeforeSecond<A>) \
  K(projection_step_##suffix, LayerStep, StepProjection<A>)                     \
  K(projection_back_##suffix, LayerBackStep, BackProjection<A>)                 \
  K(apply_masks_##suffix, ApplyMasks, MultiplyByMasks<A>)                       \
  K(sum_masked_##suffix, SumMasked, SumOverMasks<A>)                            \
  K(dequantize_##suffix, Dequantize, DequantizeMatrix<A>)                       \
  K(sum_rows_##suffix, SumRows, SumOverRows<A>)                                 \
  K(finish_row_sums_##suffix, FinishRowSums, FinishSumOverRows<A>)              \
  K(move_sequence_##suffix, MoveSequence, MoveRows<A>)                          \
  K(copy_gates_##suffix, CopyGates, CopyGateBlocks<A>)                          \
  K(row_layer_norm_step_##suffix, LayerStep, StepLayerNorm<A>)                  \
  K(row_layer_norm_back_##suffix, LayerBackStep, BackLayerNorm<A>)

// The order in each family is the order of Dtype, or of increasing size. See KernelForType in
// modules.h.
#define RNN_OPS_ELEMENTWISE_KERNELS(K)                           \
  RNN_OPS_BLOCK_LSTM_KERNELS(K, f32, float)                      \
  RNN_OPS_BLOCK_LSTM_KERNELS(K, f64, double)                     \
  RNN_OPS_BLOCK_LSTM_KERNELS(K, f16, Half)                       \
  RNN_OPS_BLOCK_LSTM_KERNELS(K, bf16, BFloat16)                  \
  RNN_OPS_COPY_KERNELS(K, b16, unsigned short)                   \
  RNN_OPS_COPY_KERNELS(K, b32, unsigned int)                     \
  RNN_OPS_COPY_KERNELS(K, b64, unsigned long long)               \
  K(convert_f32_to_f16, Conversion, (Convert<float, Half>))      \
  K(convert_f16_to_f32, Conversion, (Convert<Half, float>))      \
  K(convert_f32_to_bf16, Conversion, (Convert<float, BFloat16>)) \
  K(convert_bf16_to_f32, Conversion, (Convert<BFloat16, float>))

#define RNN_OPS_LAYER_KERNELS(K)      \
  RNN_OPS_LAYER_FAMILY(K, f32, float) \
  RNN_OPS_LAYER_FAMILY(K, f64, double)

// The modules, each a file of PTX with the kernels of a list.
#define RNN_OPS_KERNELS(K)       \
  RNN_OPS_ELEMENTWISE_KERNELS(K) \
  RNN_OPS_LAYER_KERNELS(K)

// K(pass, cell, operand, width, tile, general): RunForward or RunBackward with these arguments.
#define RNN_OPS_PERSISTENT_WIDTHS(K, pass, cell, operand, tile, general) \
  K(pass, cell, operand, 256, tile, general)                             \
  K(pass, cell, operand, 512, tile, general)                             \
  K(pass, cell, operand, 1024, tile, general)

#define RNN_OPS_PERSISTENT_USUAL(K, cell, operand)                \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, cell, operand, 16, false) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, cell, operand, 64, false) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, cell, operand, 64, false)

// A gradient with two products in a step has no kernel.
#define RNN_OPS_PERSISTENT_PAIRS(K, operand)                                \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, GruResetBefore, operand, 16, false) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, GruResetBefore, operand, 64, false)

#define RNN_OPS_PERSISTENT_NARROW(K, operand)                     \
  RNN_OPS_PERSISTENT_USUAL(K, Lstm, operand)                      \
  RNN_OPS_PERSISTENT_USUAL(K, Gru, operand)                       \
  RNN_OPS_PERSISTENT_USUAL(K, Vanilla, operand)                   \
  RNN_OPS_PERSISTENT_PAIRS(K, operand)                            \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, Lstm, operand, 64, true)  \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, Gru, operand, 64, true)   \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Lstm, operand, 64, true) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Gru, operand, 64, true)

// The weights of a general forward pass of 1024 units do not fit the registers in float32.
#define RNN_OPS_PERSISTENT_FLOAT32(K)                             \
  RNN_OPS_PERSISTENT_USUAL(K, Lstm, Float32)                      \
  RNN_OPS_PERSISTENT_USUAL(K, Gru, Float32)                       \
  RNN_OPS_PERSISTENT_USUAL(K, Vanilla, Float32)                   \
  RNN_OPS_PERSISTENT_PAIRS(K, Float32)                            \
  K(Forward, Lstm, Float32, 256, 64, true)                        \
  K(Forward, Lstm, Float32, 512, 64, true)                        \
  K(Forward, Gru, Float32, 256, 64, true)                         \
  K(Forward, Gru, Float32, 512, 64, true)                         \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Lstm, Float32, 64, true) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Gru, Float32, 64, true)

#define RNN_OPS_PERSISTENT_KERNELS(K)    \
  RNN_OPS_PERSISTENT_NARROW(K, BFloat16) \
  RNN_OPS_PERSISTENT_NARROW(K, Half)     \
  RNN_OPS_PERSISTENT_FLOAT32(K)
