// The part of cuDNN 9's C API that this library calls, so that the build needs no NVIDIA header.
// tests/gpu/host/check_cudnn_abi.cc compares these lists with cudnn.h at compile time.
#pragma once

#include <cstddef>
#include <cstdint>

// Each list: V(enumerator, value).
#define RNN_OPS_CUDNN_STATUSES(V)                               \
  V(CUDNN_STATUS_SUCCESS, 0)                                    \
  V(CUDNN_STATUS_NOT_INITIALIZED, 1001)                         \
  V(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, 1002)             \
  V(CUDNN_STATUS_BAD_PARAM, 2000)                               \
  V(CUDNN_STATUS_NOT_SUPPORTED, 3000)                           \
  V(CUDNN_STATUS_INTERNAL_ERROR, 4000)                          \
  V(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, 4003)   \
  V(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, 4004) \
  V(CUDNN_STATUS_EXECUTION_FAILED, 5000)

#define RNN_OPS_CUDNN_DATA_TYPES(V) \
  V(CUDNN_DATA_FLOAT, 0)            \
  V(CUDNN_DATA_DOUBLE, 1)           \
  V(CUDNN_DATA_HALF, 2)             \
  V(CUDNN_DATA_BFLOAT16, 9)

#define RNN_OPS_CUDNN_MATH_TYPES(V) \
  V(CUDNN_DEFAULT_MATH, 0)          \
  V(CUDNN_TENSOR_OP_MATH, 1)        \
  V(CUDNN_FMA_MATH, 3)

#define RNN_OPS_CUDNN_RNN_ALGOS(V)    \
  V(CUDNN_RNN_ALGO_STANDARD, 0)       \
  V(CUDNN_RNN_ALGO_PERSIST_STATIC, 1) \
  V(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, 3)

#define RNN_OPS_CUDNN_FORWARD_MODES(V) \
  V(CUDNN_FWD_MODE_INFERENCE, 0)       \
  V(CUDNN_FWD_MODE_TRAINING, 1)

#define RNN_OPS_CUDNN_RNN_MODES(V) \
  V(CUDNN_RNN_RELU, 0)             \
  V(CUDNN_RNN_TANH, 1)             \
  V(CUDNN_LSTM, 2)                 \
  V(CUDNN_GRU, 3)

#define RNN_OPS_CUDNN_BIAS_MODES(V) V(CUDNN_RNN_DOUBLE_BIAS, 2)

#define RNN_OPS_CUDNN_DIRECTIONS(V) \
  V(CUDNN_UNIDIRECTIONAL, 0)        \
  V(CUDNN_BIDIRECTIONAL, 1)

#define RNN_OPS_CUDNN_INPUT_MODES(V) \
  V(CUDNN_LINEAR_INPUT, 0)           \
  V(CUDNN_SKIP_INPUT, 1)

#define RNN_OPS_CUDNN_LAYOUTS(V)                 \
  V(CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 0) \
  V(CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED, 2)

#define RNN_OPS_CUDNN_WGRAD_MODES(V) V(CUDNN_WGRAD_MODE_ADD, 0)

#define RNN_OPS_CUDNN_AUX_FLAGS(V) V(CUDNN_RNN_PADDED_IO_ENABLED, 1)

#ifndef CUDNN_H_  // the include guard of NVIDIA's header, which defines the types
#define RNN_OPS_ENUMERATOR(name, value) name = value,
extern "C" {
typedef struct CUstream_st* cudaStream_t;
typedef struct cudnnContext* cudnnHandle_t;
typedef struct cudnnRNNStruct* cudnnRNNDescriptor_t;
typedef struct cudnnRNNDataStruct* cudnnRNNDataDescriptor_t;
typedef struct cudnnTensorStruct* cudnnTensorDescriptor_t;
typedef struct cudnnDropoutStruct* cudnnDropoutDescriptor_t;
typedef enum { RNN_OPS_CUDNN_STATUSES(RNN_OPS_ENUMERATOR) } cudnnStatus_t;
typedef enum { RNN_OPS_CUDNN_DATA_TYPES(RNN_OPS_ENUMERATOR) } cudnnDataType_t;
typedef enum { RNN_OPS_CUDNN_MATH_TYPES(RNN_OPS_ENUMERATOR) } cudnnMathType_t;
typedef enum { RNN_OPS_CUDNN_RNN_ALGOS(RNN_OPS_ENUMERATOR) } cudnnRNNAlgo_t;
typedef enum { RNN_OPS_CUDNN_FORWARD_MODES(RNN_OPS_ENUMERATOR) } cudnnForwardMode_t;
typedef enum { RNN_OPS_CUDNN_RNN_MODES(RNN_OPS_ENUMERATOR) } cudnnRNNMode_t;
typedef enum { RNN_OPS_CUDNN_BIAS_MODES(RNN_OPS_ENUMERATOR) } cudnnRNNBiasMode_t;
typedef enum { RNN_OPS_CUDNN_DIRECTIONS(RNN_OPS_ENUMERATOR) } cudnnDirectionMode_t;
typedef enum { RNN_OPS_CUDNN_INPUT_MODES(RNN_OPS_ENUMERATOR) } cudnnRNNInputMode_t;
typedef enum { RNN_OPS_CUDNN_LAYOUTS(RNN_OPS_ENUMERATOR) } cudnnRNNDataLayout_t;
typedef enum { RNN_OPS_CUDNN_WGRAD_MODES(RNN_OPS_ENUMERATOR) } cudnnWgradMode_t;
enum { RNN_OPS_CUDNN_AUX_FLAGS(RNN_OPS_ENUMERATOR) };
}
#undef RNN_OPS_ENUMERATOR
#endif  // CUDNN_H_

// F(result, name after "cudnn", parameters). The functions are not declared, because TensorFlow
// exports global symbols with these names, and this library must not refer to those symbols.
#define RNN_OPS_CUDNN_FUNCTIONS(F)                                                                \
  F(size_t, GetVersion, (void))                                                                   \
  F(const char*, GetErrorString, (cudnnStatus_t))                                                 \
  F(void, GetLastErrorString, (char* message, size_t max_size))                                   \
  F(cudnnStatus_t, Create, (cudnnHandle_t*))                                                      \
  F(cudnnStatus_t, Destroy, (cudnnHandle_t))                                                      \
  F(cudnnStatus_t, SetStream, (cudnnHandle_t, cudaStream_t))                                      \
  F(cudnnStatus_t, CreateTensorDescriptor, (cudnnTensorDescriptor_t*))                            \
  F(cudnnStatus_t, DestroyTensorDescriptor, (cudnnTensorDescriptor_t))                            \
  F(cudnnStatus_t, SetTensorNdDescriptor,                                                         \
    (cudnnTensorDescriptor_t, cudnnDataType_t, int rank, const int dims[], const int strides[]))  \
  F(cudnnStatus_t, GetTensorNdDescriptor,                                                         \
    (const cudnnTensorDescriptor_t, int max_rank, cudnnDataType_t*, int* rank, int dims[],        \
     int strides[]))                                                                              \
  F(cudnnStatus_t, CreateDropoutDescriptor, (cudnnDropoutDescriptor_t*))                          \
  F(cudnnStatus_t, DestroyDropoutDescriptor, (cudnnDropoutDescriptor_t))                          \
  F(cudnnStatus_t, DropoutGetStatesSize, (cudnnHandle_t, size_t*))                                \
  F(cudnnStatus_t, SetDropoutDescriptor,                                                          \
    (cudnnDropoutDescriptor_t, cudnnHandle_t, float dropout, void* states, size_t states_size,    \
     unsigned long long seed))                                                                    \
  F(cudnnStatus_t, RestoreDropoutDescriptor,                                                      \
    (cudnnDropoutDescriptor_t, cudnnHandle_t, float dropout, void* states, size_t states_size,    \
     unsigned long long seed))                                                                    \
  F(cudnnStatus_t, CreateRNNDescriptor, (cudnnRNNDescriptor_t*))                                  \
  F(cudnnStatus_t, DestroyRNNDescriptor, (cudnnRNNDescriptor_t))                                  \
  F(cudnnStatus_t, SetRNNDescriptor_v8,                                                           \
    (cudnnRNNDescriptor_t, cudnnRNNAlgo_t, cudnnRNNMode_t, cudnnRNNBiasMode_t,                    \
     cudnnDirectionMode_t, cudnnRNNInputMode_t, cudnnDataType_t data_type,                        \
     cudnnDataType_t math_precision, cudnnMathType_t, int32_t input_size, int32_t hidden_size,    \
     int32_t proj_size, int32_t num_layers, cudnnDropoutDescriptor_t, uint32_t aux_flags))        \
  F(cudnnStatus_t, CreateRNNDataDescriptor, (cudnnRNNDataDescriptor_t*))                          \
  F(cudnnStatus_t, DestroyRNNDataDescriptor, (cudnnRNNDataDescriptor_t))                          \
  F(cudnnStatus_t, SetRNNDataDescriptor,                                                          \
    (cudnnRNNDataDescriptor_t, cudnnDataType_t, cudnnRNNDataLayout_t, int max_time, int batch,    \
     int vector_size, const int lengths[], void* padding_fill))                                   \
  F(cudnnStatus_t, GetRNNTempSpaceSizes,                                                          \
    (cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t, cudnnRNNDataDescriptor_t x,         \
     size_t* work_size, size_t* reserve_size))                                                    \
  F(cudnnStatus_t, GetRNNWeightSpaceSize, (cudnnHandle_t, cudnnRNNDescriptor_t, size_t*))         \
  F(cudnnStatus_t, GetRNNWeightParams,                                                            \
    (cudnnHandle_t, cudnnRNNDescriptor_t, int32_t pseudo_layer, size_t weight_space_size,         \
     const void* weight_space, int32_t lin_layer_id, cudnnTensorDescriptor_t matrix,              \
     void** matrix_address, cudnnTensorDescriptor_t bias, void** bias_address))                   \
  F(cudnnStatus_t, RNNForward,                                                                    \
    (cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t, const int32_t device_lengths[],     \
     cudnnRNNDataDescriptor_t x_desc, const void* x, cudnnRNNDataDescriptor_t y_desc, void* y,    \
     cudnnTensorDescriptor_t h_desc, const void* hx, void* hy, cudnnTensorDescriptor_t c_desc,    \
     const void* cx, void* cy, size_t weight_space_size, const void* weight_space,                \
     size_t work_size, void* work, size_t reserve_size, void* reserve))                           \
  F(cudnnStatus_t, RNNBackwardData_v8,                                                            \
    (cudnnHandle_t, cudnnRNNDescriptor_t, const int32_t device_lengths[],                         \
     cudnnRNNDataDescriptor_t y_desc, const void* y, const void* dy,                              \
     cudnnRNNDataDescriptor_t x_desc, void* dx, cudnnTensorDescriptor_t h_desc, const void* hx,   \
     const void* dhy, void* dhx, cudnnTensorDescriptor_t c_desc, const void* cx, const void* dcy, \
     void* dcx, size_t weight_space_size, const void* weight_space, size_t work_size, void* work, \
     size_t reserve_size, void* reserve))                                                         \
  F(cudnnStatus_t, RNNBackwardWeights_v8,                                                         \
    (cudnnHandle_t, cudnnRNNDescriptor_t, cudnnWgradMode_t, const int32_t device_lengths[],       \
     cudnnRNNDataDescriptor_t x_desc, const void* x, cudnnTensorDescriptor_t h_desc,              \
     const void* hx, cudnnRNNDataDescriptor_t y_desc, const void* y, size_t weight_space_size,    \
     void* weight_gradient, size_t work_size, void* work, size_t reserve_size, void* reserve))
