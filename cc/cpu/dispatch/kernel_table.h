// The C interface between the main library and the kernels of one instruction set.
#pragma once

#include <cstdint>

#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu {

// Increment this with every change of this table, and with every change of the layout or meaning of
// what crosses it: kernel_args.h and op_spec.h, call_tensors.h, dtype.h and rnn_types.h of core/op.
constexpr int32_t kKernelTableVersion = 23;

// No function throws, allocates memory that the caller must free, or keeps a pointer. The caller
// has validated every argument. The kernels return a KernelResult.
struct KernelTable {
  int32_t version;
  int32_t struct_size;  // sizeof(KernelTable)
  int32_t args_size;    // sizeof(RnnArgs)
  const char* isa;      // "baseline", "avx2", "avx512"
  int32_t vector_bytes;

  // Sizes that a caller needs before a call. Neither function reads the lengths. With T and B of a
  // call, rnn_longest_reserve is the ReserveSizes::longest_bytes of the call.
  PackedFormat (*rnn_packed_format)(const RnnProblem* problem);
  int64_t (*rnn_longest_reserve)(const RnnProblem* problem);

  int32_t (*rnn_forward)(const RnnArgs* args);

  // rnn_forward in parts, for calls that follow each other with one problem. A plan has its sizes,
  // its partition among threads and its memory. It is scratch_bytes of rnn_plan_size() large,
  // aligned to 64 bytes and never moved; it is freed without a call. rnn_plan_size() and
  // rnn_plan_init() read the problem, the number of threads and its costs, and the types and sizes
  // of the tensors, but no data.
  //
  // rnn_plan_run() runs the plan any number of times, one call at a time, on the tensors, panels
  // and threads of its args; `reserve` has the bytes of rnn_plan_size(). The problem must be that
  // of the plan. Only the dropout_key and the lengths may be others, and the number of threads: it
  // returns kOtherLengths without any effect if the plan was made for other lengths.
  MemorySizes (*rnn_plan_size)(const RnnArgs* args);
  void (*rnn_plan_init)(const RnnArgs* args, void* plan);
  int32_t (*rnn_plan_run)(const RnnArgs* args, void* plan, void* reserve);

  int32_t (*rnn_backward)(const RnnArgs* args);
  int32_t (*rnn_pack)(const RnnArgs* args);
  int32_t (*block_lstm_forward)(const BlockLstmArgs* args);
  int32_t (*block_lstm_backward)(const BlockLstmArgs* args);
  int32_t (*linear_recurrence)(const LinearRecurrenceArgs* args);

  // kernel: [K, N]. bias: [N], or null for zeros. dense() computes the panels [begin, end).
  DenseFormat (*dense_format)(int64_t depth, int64_t columns);
  void (*dense_pack)(const DenseArgs* args, const float* kernel, const float* bias);
  void (*dense)(const DenseArgs* args, int64_t begin, int64_t end);

  // The same in int8. scales: [N], by which Keras has multiplied the kernel. A row x is quantized
  // as round(x * s) with s = 127 / (max|x| + epsilon); the result is the sum of the products of
  // integers, divided by scales * s, plus the bias. It is not a number if x has one that is not
  // finite.
  DenseFormat (*quantized_dense_format)(int64_t depth, int64_t columns);
  void (*quantized_dense_pack)(const DenseArgs* args, const int8_t* kernel, const float* scales,
                               const float* bias);
  void (*quantize_row)(const float* x, int64_t depth, float epsilon, void* row);
  void (*quantized_dense)(const DenseArgs* args, int64_t begin, int64_t end);

  // A function of n elements, and softmax or its logarithm of one row of n >= 1 elements. x may be
  // y.
  void (*activate)(const Elementwise* function, const float* x, float* y, int64_t n);
  void (*softmax)(bool log, const float* x, float* y, int64_t n);

  // One step of a depthwise convolution: bias + the sum over k of rows[k] * kernel[k]. rows:
  // [width] pointers to the channels of a step. kernel: [width, channels]. y overlaps nothing.
  void (*depthwise)(const float* const* rows, const float* kernel, const float* bias, int64_t width,
                    int64_t channels, float* y);
};

// Exported by the shared object of the baseline. Every library of ops is linked to that object. The
// symbol name contains the version, so the library does not load with an object of another version.
template <int32_t version>
const KernelTable* BaselineKernelTable();
template <>
__attribute__((visibility("default"))) const KernelTable*
BaselineKernelTable<kKernelTableVersion>();

}  // namespace rnn_ops::cpu

// Exported by the shared object of each other instruction set. The main library opens the object
// only if the CPU has the instruction set.
extern "C" const rnn_ops::cpu::KernelTable* tf_rnn_ops_kernel_table();
