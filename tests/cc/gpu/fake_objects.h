// The objects behind the handles of the cuDNN mock, shared by its source files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cc/gpu/fake_cudnn.h"
#include "tests/cc/gpu/fake_memory.h"
#include "tests/cc/gpu/fake_rnn.h"

// NVIDIA's names, with the prototypes that the library uses.
extern "C" {
#define DECLARE(result, name, parameters) \
  __attribute__((visibility("default"))) result cudnn##name parameters;
RNN_OPS_CUDNN_FUNCTIONS(DECLARE)
#undef DECLARE
}

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> dims, strides;
};
struct cudnnDropoutStruct {
  bool set = false;
  float dropout = 0;
  char* states = nullptr;
};
struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int max_time = 0, batch = 0, width = 0;
  std::vector<int> lengths;
  bool fills = false;
};
struct cudnnRNNStruct {
  bool set = false;
  cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  rnn_ops::gpu::fake::RnnSize size{};
  cudnnDropoutDescriptor_t dropout = nullptr;
};

namespace rnn_ops::gpu::fake {

using Vec = std::vector<double>;

constexpr int kMostSteps = 65535;
constexpr size_t kStatesSize = 520;
constexpr size_t kWorkSize = 1000;
constexpr int64_t kReserveHeader = 4;  // doubles: magic, phase, algo, size

struct DropoutStates {  // in "device" memory
  uint64_t magic, seed, counter;
};
constexpr uint64_t kStatesMagic = 0x64726f706f7574;

// Returns the status for a bad parameter, and sets the text of cudnnGetLastErrorString.
cudnnStatus_t BadParam(const std::string& why);
#define REQUIRE(condition)                                     \
  do {                                                         \
    if (!(condition)) return BadParam("not met: " #condition); \
  } while (false)

inline Dtype ToDtype(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return Dtype::kFloat64;
    case CUDNN_DATA_HALF:
      return Dtype::kFloat16;
    case CUDNN_DATA_BFLOAT16:
      return Dtype::kBFloat16;
    default:
      return Dtype::kFloat32;
  }
}

inline uint64_t Mix(uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

inline bool IsSequence(cudnnRNNDataDescriptor_t d, const cudnnRNNStruct& rnn, int64_t width) {
  return d != nullptr && d->type == rnn.type && d->width == width && !d->lengths.empty();
}

inline size_t ReserveSize(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  const Tape tape(rnn.size, x.max_time, x.batch);
  // The sizes differ between the algorithms and are not round numbers. STANDARD needs less for one
  // step and more for many steps. TF32 needs more than other arithmetic.
  const int64_t extra = rnn.algo == CUDNN_RNN_ALGO_STANDARD ? 5 * x.max_time : 8 * rnn.algo;
  const bool tf32 = rnn.type == CUDNN_DATA_FLOAT && rnn.math == CUDNN_DEFAULT_MATH;
  return (kReserveHeader + tape.doubles() + extra + (tf32 ? 65 : 1)) * sizeof(double);
}

}  // namespace rnn_ops::gpu::fake
