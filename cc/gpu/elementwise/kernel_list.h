// The names of all kernels.
#ifndef TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNEL_LIST_H_
#define TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNEL_LIST_H_

// K(name, arguments, function): the kernel `name` calls function(arguments).
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

#endif  // TF_RNN_OPS_CC_GPU_ELEMENTWISE_KERNEL_LIST_H_
