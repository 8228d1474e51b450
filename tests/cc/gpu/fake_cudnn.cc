#include "tests/cc/gpu/fake_cudnn.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/cc/gpu/fake_objects.h"
#include "tests/cc/gpu/fake_weights.h"

namespace rnn_ops::gpu::fake {
namespace {

std::atomic<int64_t> live_objects{0};
thread_local std::string last_error;

template <typename Object>
cudnnStatus_t New(Object** object) {
  REQUIRE(object != nullptr);
  *object = new Object;
  ++live_objects;
  return CUDNN_STATUS_SUCCESS;
}

template <typename Object>
cudnnStatus_t Delete(Object* object) {
  REQUIRE(object != nullptr);
  delete object;
  --live_objects;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t BadParam(const std::string& why) {
  last_error = why;
  return CUDNN_STATUS_BAD_PARAM;
}

Quirks& TheQuirks() {
  static Quirks* const quirks = [] {
    const auto is_set = [](const char* name) {
      const char* value = std::getenv(name);
      return value != nullptr && std::strcmp(value, "1") == 0;
    };
    auto* result = new Quirks;
    result->padded_weights = is_set("FAKE_CUDNN_PADDED_WEIGHTS");
    result->refuse_bfloat16 = is_set("FAKE_CUDNN_REFUSE_BFLOAT16");
    result->refuse_persistent = is_set("FAKE_CUDNN_REFUSE_PERSISTENT");
    result->one_reserve = is_set("FAKE_CUDNN_ONE_RESERVE");
    result->no_skip_bias = is_set("FAKE_CUDNN_NO_SKIP_BIAS");
    return result;
  }();
  return *quirks;
}

int64_t LiveObjects() { return live_objects; }

CudnnApi FakeCudnn() {
  CudnnApi api;
#define FILL(result, name, parameters) api.name = &cudnn##name;
  RNN_OPS_CUDNN_FUNCTIONS(FILL)
#undef FILL
  return api;
}

}  // namespace rnn_ops::gpu::fake

using namespace rnn_ops::gpu;        // NOLINT: the functions below are these names' own
using namespace rnn_ops::gpu::fake;  // NOLINT

size_t cudnnGetVersion() { return 99900; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
#define CASE(name, value) \
  case name:              \
    return #name;
    RNN_OPS_CUDNN_STATUSES(CASE)
#undef CASE
  }
  return "an unknown status";
}

void cudnnGetLastErrorString(char* message, size_t size) {
  std::snprintf(message, size, "%s", last_error.c_str());
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return New(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return Delete(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  REQUIRE(handle != nullptr);
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* t) { return New(t); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t t) { return Delete(t); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int rank,
                                         const int dims[], const int strides[]) {
  REQUIRE(t != nullptr && rank == 3);
  REQUIRE(std::all_of(dims, dims + rank, [](int d) { return d > 0; }));
  *t = {type, {dims, dims + rank}, {strides, strides + rank}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t t, int max_rank,
                                         cudnnDataType_t* type, int* rank, int dims[],
                                         int strides[]) {
  REQUIRE(t != nullptr && max_rank >= static_cast<int>(t->dims.size()));
  *type = t->type;
  *rank = static_cast<int>(t->dims.size());
  std::copy(t->dims.begin(), t->dims.end(), dims);
  std::copy(t->strides.begin(), t->strides.end(), strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* d) { return New(d); }
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d) { return Delete(d); }
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* size) {
  REQUIRE(handle != nullptr);
  *size = kStatesSize;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle,
                                            float dropout, void* states, size_t size,
                                            unsigned long long) {
  REQUIRE(handle != nullptr && d != nullptr && dropout >= 0 && dropout <= 1);
  REQUIRE(dropout == 0 || (states != nullptr && size >= kStatesSize));
  *d = {true, dropout, static_cast<char*>(states)};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle,
                                        float dropout, void* states, size_t size,
                                        unsigned long long seed) {
  const cudnnStatus_t status =
      cudnnRestoreDropoutDescriptor(d, handle, dropout, states, size, seed);
  if (status != CUDNN_STATUS_SUCCESS || states == nullptr) return status;
  const DropoutStates initial{kStatesMagic, Mix(seed), 0};
  std::memcpy(states, &initial, sizeof(initial));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* rnn) { return New(rnn); }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnn) { return Delete(rnn); }
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algo,
                                       cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
                                       cudnnDirectionMode_t direction, cudnnRNNInputMode_t input,
                                       cudnnDataType_t type, cudnnDataType_t precision,
                                       cudnnMathType_t math, int32_t input_size,
                                       int32_t hidden_size, int32_t proj_size, int32_t num_layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  REQUIRE(rnn != nullptr && bias == CUDNN_RNN_DOUBLE_BIAS);
  REQUIRE(flags == CUDNN_RNN_PADDED_IO_ENABLED);
  REQUIRE(dropout != nullptr && dropout->set);
  REQUIRE(input_size > 0 && hidden_size > 0 && num_layers > 0);
  REQUIRE(proj_size > 0 && proj_size <= hidden_size);
  REQUIRE(input == CUDNN_LINEAR_INPUT || input_size == hidden_size);
  const bool projects = proj_size != hidden_size;
  REQUIRE(!projects || (mode == CUDNN_LSTM && algo == CUDNN_RNN_ALGO_STANDARD));
  REQUIRE(precision == (type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
  REQUIRE(type != CUDNN_DATA_DOUBLE || math == CUDNN_DEFAULT_MATH);
  if (type == CUDNN_DATA_BFLOAT16 && TheQuirks().refuse_bfloat16) {
    BadParam("no bfloat16");
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (type == CUDNN_DATA_DOUBLE && algo != CUDNN_RNN_ALGO_STANDARD) {
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  rnn->set = true;
  rnn->algo = algo;
  rnn->type = type;
  rnn->math = math;
  rnn->size = {static_cast<Mode>(mode),
               input == CUDNN_SKIP_INPUT,
               direction == CUDNN_BIDIRECTIONAL ? 2 : 1,
               num_layers,
               input_size,
               hidden_size,
               proj_size};
  rnn->dropout = dropout;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* d) { return New(d); }
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) { return Delete(d); }
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int max_time, int batch,
                                        int width, const int lengths[], void* fill) {
  REQUIRE(d != nullptr && max_time > 0 && batch > 0 && width > 0);
  if (max_time > kMostSteps) {
    last_error.clear();  // like cuDNN, gives no reason
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  // cuDNN's reaction to a length of 0 is unknown. The mock rejects it, which is the strictest
  // reaction.
  REQUIRE(std::all_of(lengths, lengths + batch, [=](int n) { return n > 0 && n <= max_time; }));
  *d = {type, layout, max_time, batch, width, {lengths, lengths + batch}, fill != nullptr};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                        size_t* work_size, size_t* reserve_size) {
  REQUIRE(handle != nullptr && rnn != nullptr && rnn->set);
  REQUIRE(IsSequence(x, *rnn, rnn->size.input));
  *work_size = kWorkSize;
  *reserve_size = mode == CUDNN_FWD_MODE_TRAINING ? ReserveSize(*rnn, *x) : 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                         size_t* size) {
  REQUIRE(handle != nullptr && rnn != nullptr && rnn->set);
  *size = PlaceWeights(*rnn).elements * SizeOf(ToDtype(rnn->type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                      int32_t pseudo_layer, size_t size, const void* space,
                                      int32_t id, cudnnTensorDescriptor_t matrix,
                                      void** matrix_address, cudnnTensorDescriptor_t bias,
                                      void** bias_address) {
  REQUIRE(handle != nullptr && rnn != nullptr && rnn->set && matrix != nullptr && bias != nullptr);
  const RnnSize& s = rnn->size;
  const int gates = static_cast<int>(s.gates()), hidden = static_cast<int>(s.hidden);
  const int out = static_cast<int>(s.out);
  REQUIRE(pseudo_layer >= 0 && pseudo_layer < s.pseudo_layers());
  REQUIRE(id >= 0 && id < 2 * gates + (s.projects() ? 1 : 0));
  const WeightSpace weights = PlaceWeights(*rnn);
  const int64_t element = SizeOf(ToDtype(rnn->type));
  REQUIRE(size == static_cast<size_t>(weights.elements * element));
  const Place& place = weights.places[pseudo_layer];
  const auto put = [&](int64_t at, int rows, int cols, cudnnTensorDescriptor_t t, void** address) {
    *address = nullptr;
    if (at < 0) return;
    *t = {rnn->type, {1, rows, cols}, {rows * cols, cols, 1}};
    *address = const_cast<char*>(static_cast<const char*>(space)) + at * element;
  };
  *bias_address = nullptr;
  if (id == 2 * gates) {
    put(place.projection, out, hidden, matrix, matrix_address);
    return CUDNN_STATUS_SUCCESS;
  }
  const bool recurrent = id >= gates;
  const int cols = recurrent ? out : static_cast<int>(s.columns(pseudo_layer / s.dirs));
  const int64_t gate = id % gates;
  const int64_t all = recurrent ? place.recurrent : place.input;
  const int64_t all_bias = recurrent ? place.recurrent_bias : place.input_bias;
  put(all < 0 ? -1 : all + gate * hidden * cols, hidden, cols, matrix, matrix_address);
  put(all_bias < 0 ? -1 : all_bias + gate * hidden, hidden, 1, bias, bias_address);
  return CUDNN_STATUS_SUCCESS;
}
