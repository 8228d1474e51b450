#include "tests/cc/gpu/fake_cudnn.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cc/gpu/fake_memory.h"
#include "tests/cc/gpu/fake_rnn.h"

// NVIDIA's names, with the prototypes that the library calls them by.
extern "C" {
#define DECLARE(result, name, parameters) \
  __attribute__((visibility("default"))) result cudnn##name parameters;
RNN_OPS_CUDNN_FUNCTIONS(DECLARE)
#undef DECLARE
}

// The objects behind the handles.
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
  rnn_ops::gpu::fake::RnnSize size{};
  cudnnDropoutDescriptor_t dropout = nullptr;
  int built_for = -1;  // the batch of BuildRNNDynamic
};

namespace rnn_ops {
namespace gpu {
namespace fake {
namespace {

using Vec = std::vector<double>;

std::atomic<int64_t> live_objects{0};
thread_local std::string last_error;

constexpr size_t kStatesSize = 520;
constexpr size_t kWorkSize = 1000;
constexpr int64_t kBlockBytes = 128;  // with Quirks::padded_weights
constexpr double kMagic = 271828;     // marks a reserve space that Forward wrote
constexpr int64_t kHeader = 4;        // doubles: magic, phase, algo, size
enum Phase { kForwardDone = 1, kDataDone = 2, kUsedUp = 3 };

struct DropoutStates {  // in "device" memory
  uint64_t magic, seed, counter;
};
constexpr uint64_t kStatesMagic = 0x64726f706f7574;

cudnnStatus_t BadParam(const std::string& why) {
  last_error = why;
  return CUDNN_STATUS_BAD_PARAM;
}
#define REQUIRE(condition)                                     \
  do {                                                         \
    if (!(condition)) return BadParam("not met: " #condition); \
  } while (false)

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

Dtype ToDtype(cudnnDataType_t type) {
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

uint64_t Mix(uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

// Where the blocks of a pseudo-layer lie in the weight space, in elements; -1: absent.
struct Place {
  int64_t input = -1, recurrent = -1, projection = -1, input_bias = -1, recurrent_bias = -1;
};

struct WeightSpace {
  std::vector<Place> places;
  int64_t elements = 0;
};

WeightSpace PlaceWeights(const cudnnRNNStruct& rnn) {
  const RnnSize& s = rnn.size;
  const int64_t rows = s.gates() * s.hidden;
  const int64_t unit = TheQuirks().padded_weights ? kBlockBytes / SizeOf(ToDtype(rnn.type)) : 1;
  WeightSpace space;
  space.places.resize(s.pseudo_layers());
  const auto take = [&](int64_t size) -> int64_t {
    if (size == 0) return -1;
    const int64_t at = (space.elements + unit - 1) / unit * unit;
    space.elements = at + size;
    return at;
  };
  const auto biases = [&](int64_t pl) {
    const bool skipped = s.columns(pl / s.dirs) == 0;
    if (!(skipped && TheQuirks().no_skip_bias)) space.places[pl].input_bias = take(rows);
    space.places[pl].recurrent_bias = take(rows);
  };
  for (int64_t pl = 0; pl < s.pseudo_layers(); ++pl) {
    Place& place = space.places[pl];
    place.input = take(rows * s.columns(pl / s.dirs));
    place.recurrent = take(rows * s.out);
    if (s.projects()) place.projection = take(s.out * s.hidden);
    if (TheQuirks().padded_weights) biases(pl);
  }
  for (int64_t pl = 0; !TheQuirks().padded_weights && pl < s.pseudo_layers(); ++pl) biases(pl);
  return space;
}

// Calls visit(offset, &vector, size) for every block.
template <typename Visit>
void ForEachBlock(const RnnSize& s, const Place& place, int64_t pl, Weights* w, Visit visit) {
  const int64_t rows = s.gates() * s.hidden;
  visit(place.input, &w->input, rows * s.columns(pl / s.dirs));
  visit(place.recurrent, &w->recurrent, rows * s.out);
  visit(place.projection, &w->projection, s.projects() ? s.out * s.hidden : 0);
  visit(place.input_bias, &w->input_bias, rows);
  visit(place.recurrent_bias, &w->recurrent_bias, rows);
}

std::vector<Weights> ReadWeights(const cudnnRNNStruct& rnn, const void* memory) {
  const WeightSpace space = PlaceWeights(rnn);
  std::vector<Weights> weights(rnn.size.pseudo_layers());
  for (size_t pl = 0; pl < weights.size(); ++pl) {
    ForEachBlock(rnn.size, space.places[pl], pl, &weights[pl],
                 [&](int64_t at, Vec* block, int64_t size) {
                   block->assign(size, 0);
                   for (int64_t k = 0; at >= 0 && k < size; ++k) {
                     (*block)[k] = Read(ToDtype(rnn.type), memory, at + k);
                   }
                 });
  }
  return weights;
}

void AddWeights(const cudnnRNNStruct& rnn, std::vector<Weights> gradients, void* memory) {
  const WeightSpace space = PlaceWeights(rnn);
  const Dtype dtype = ToDtype(rnn.type);
  for (size_t pl = 0; pl < gradients.size(); ++pl) {
    ForEachBlock(rnn.size, space.places[pl], pl, &gradients[pl],
                 [&](int64_t at, Vec* block, int64_t size) {
                   for (int64_t k = 0; at >= 0 && k < size; ++k) {
                     Write(dtype, memory, at + k, Read(dtype, memory, at + k) + (*block)[k]);
                   }
                 });
  }
}

int64_t RowOf(const cudnnRNNDataStruct& d, int64_t t, int64_t b) {
  return d.layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED ? b * d.max_time + t
                                                                : t * d.batch + b;
}

// [max_time, batch, width]; padding, which nothing may depend on, reads as NaN.
Vec ReadSequence(const cudnnRNNDataStruct& d, const void* memory) {
  Vec values(int64_t{d.max_time} * d.batch * d.width, std::nan(""));
  for (int64_t b = 0; b < d.batch; ++b) {
    for (int64_t t = 0; t < d.lengths[b]; ++t) {
      for (int64_t k = 0; k < d.width; ++k) {
        values[(t * d.batch + b) * d.width + k] =
            Read(ToDtype(d.type), memory, RowOf(d, t, b) * d.width + k);
      }
    }
  }
  return values;
}

void WriteSequence(const cudnnRNNDataStruct& d, const Vec& values, bool fill, void* memory) {
  for (int64_t b = 0; b < d.batch; ++b) {
    for (int64_t t = 0; t < d.max_time; ++t) {
      const bool valid = t < d.lengths[b];
      for (int64_t k = 0; (valid || fill) && k < d.width; ++k) {
        Write(ToDtype(d.type), memory, RowOf(d, t, b) * d.width + k,
              valid ? values[(t * d.batch + b) * d.width + k] : 0);
      }
    }
  }
}

bool IsStates(cudnnTensorDescriptor_t t, const cudnnRNNStruct& rnn, int64_t batch, int64_t width) {
  const int w = static_cast<int>(width), n = static_cast<int>(batch);
  return t != nullptr && t->type == rnn.type &&
         t->dims == std::vector<int>{static_cast<int>(rnn.size.pseudo_layers()), n, w} &&
         t->strides == std::vector<int>{n * w, w, 1};
}

bool IsSequence(cudnnRNNDataDescriptor_t d, const cudnnRNNStruct& rnn, int64_t width) {
  return d != nullptr && d->type == rnn.type && d->width == width && !d->lengths.empty();
}

bool HasDropout(const cudnnRNNStruct& rnn) {
  return rnn.dropout != nullptr && rnn.dropout->set && rnn.dropout->dropout > 0;
}

size_t ReserveSize(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x) {
  const Tape tape(rnn.size, x.max_time, x.batch);
  // Sizes differ between the algorithms, and are no round numbers.
  return (kHeader + tape.doubles() + 8 * rnn.algo + 1) * sizeof(double);
}

// What all three computing functions check.
cudnnStatus_t CheckCall(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t* lengths,
                        cudnnRNNDataDescriptor_t x, cudnnRNNDataDescriptor_t y,
                        cudnnTensorDescriptor_t h, size_t weight_size, size_t work_size,
                        void* work) {
  REQUIRE(handle != nullptr && rnn != nullptr && rnn->set);
  REQUIRE(lengths == nullptr);
  REQUIRE(IsSequence(x, *rnn, rnn->size.input));
  REQUIRE(IsSequence(y, *rnn, rnn->size.dirs * rnn->size.out));
  REQUIRE(x->lengths == y->lengths && x->layout == y->layout && x->max_time == y->max_time);
  REQUIRE(IsStates(h, *rnn, x->batch, rnn->size.out));
  REQUIRE(weight_size ==
          static_cast<size_t>(PlaceWeights(*rnn).elements * SizeOf(ToDtype(rnn->type))));
  REQUIRE(work_size == kWorkSize && work != nullptr);
  REQUIRE(rnn->algo != CUDNN_RNN_ALGO_PERSIST_DYNAMIC || rnn->built_for == x->batch);
  std::memset(work, 0x5a, work_size);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CheckReserve(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x,
                           const double* reserve, size_t size, Phase phase) {
  REQUIRE(reserve != nullptr && size == ReserveSize(rnn, x));
  REQUIRE(reserve[0] == kMagic && reserve[2] == rnn.algo && reserve[3] == size);
  REQUIRE(reserve[1] == phase);
  return CUDNN_STATUS_SUCCESS;
}

Problem MakeProblem(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, const void* weights) {
  Problem p{rnn.size, x.max_time, x.batch, x.lengths, {}};
  if (weights != nullptr) p.weights = ReadWeights(rnn, weights);
  return p;
}

Vec ReadStates(const cudnnRNNStruct& rnn, int64_t batch, int64_t width, const void* memory) {
  return ReadAll(ToDtype(rnn.type), memory, rnn.size.pseudo_layers() * batch * width);
}

// Advances the states, as cuDNN does.
void DrawMasks(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, bool training,
               double* tape) {
  const Tape at(rnn.size, x.max_time, x.batch);
  DropoutStates states{};
  const bool drops = training && HasDropout(rnn);
  if (drops) std::memcpy(&states, rnn.dropout->states, sizeof(states));
  const double keep = drops ? 1 - static_cast<double>(rnn.dropout->dropout) : 1;
  for (int64_t layer = 1; layer < rnn.size.layers; ++layer) {
    for (int64_t t = 0; t < x.max_time; ++t) {
      for (int64_t b = 0; b < x.batch; ++b) {
        for (int64_t k = 0; k < rnn.size.width(layer); ++k) {
          const double uniform =
              static_cast<double>(Mix(states.seed + ++states.counter) >> 11) / (1ull << 53);
          tape[at.mask(layer, t, b) + k] = uniform < keep ? 1 / keep : 0;
        }
      }
    }
  }
  if (drops) std::memcpy(rnn.dropout->states, &states, sizeof(states));
}

}  // namespace

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

}  // namespace fake
}  // namespace gpu
}  // namespace rnn_ops

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
  REQUIRE(handle != nullptr && d != nullptr && states != nullptr && size >= kStatesSize);
  REQUIRE(dropout >= 0 && dropout <= 1);
  *d = {true, dropout, static_cast<char*>(states)};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle,
                                        float dropout, void* states, size_t size,
                                        unsigned long long seed) {
  const cudnnStatus_t status =
      cudnnRestoreDropoutDescriptor(d, handle, dropout, states, size, seed);
  if (status != CUDNN_STATUS_SUCCESS) return status;
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
  REQUIRE(rnn != nullptr && bias == CUDNN_RNN_DOUBLE_BIAS && flags == CUDNN_RNN_PADDED_IO_ENABLED);
  REQUIRE(input_size > 0 && hidden_size > 0 && num_layers > 0);
  REQUIRE(proj_size > 0 && proj_size <= hidden_size);
  REQUIRE(input == CUDNN_LINEAR_INPUT || input_size == hidden_size);
  const bool projects = proj_size != hidden_size;
  REQUIRE(!projects || (mode == CUDNN_LSTM && algo == CUDNN_RNN_ALGO_STANDARD));
  REQUIRE(precision == (type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
  REQUIRE(type != CUDNN_DATA_DOUBLE || math == CUDNN_DEFAULT_MATH);
  if (type == CUDNN_DATA_BFLOAT16 && TheQuirks().refuse_bfloat16) {
    last_error = "no bfloat16";
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (type == CUDNN_DATA_DOUBLE && algo != CUDNN_RNN_ALGO_STANDARD &&
      algo != CUDNN_RNN_ALGO_PERSIST_DYNAMIC) {
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  rnn->set = true;
  rnn->algo = algo;
  rnn->type = type;
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
cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int batch) {
  REQUIRE(handle != nullptr && rnn != nullptr && rnn->set && batch > 0);
  REQUIRE(rnn->algo == CUDNN_RNN_ALGO_PERSIST_DYNAMIC);
  rnn->built_for = batch;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* d) { return New(d); }
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) { return Delete(d); }
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int max_time, int batch,
                                        int width, const int lengths[], void* fill) {
  REQUIRE(d != nullptr && max_time > 0 && batch > 0 && width > 0);
  // cuDNN's own answer to a length of 0 is not known; the harshest is this.
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

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                              cudnnForwardMode_t mode, const int32_t lengths[],
                              cudnnRNNDataDescriptor_t xd, const void* x,
                              cudnnRNNDataDescriptor_t yd, void* y, cudnnTensorDescriptor_t hd,
                              const void* hx, void* hy, cudnnTensorDescriptor_t cd, const void* cx,
                              void* cy, size_t weight_size, const void* weights, size_t work_size,
                              void* work, size_t reserve_size, void* reserve) {
  const cudnnStatus_t status =
      CheckCall(handle, rnn, lengths, xd, yd, hd, weight_size, work_size, work);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const bool lstm = rnn->size.mode == kLstm, training = mode == CUDNN_FWD_MODE_TRAINING;
  REQUIRE(x != nullptr && y != nullptr && hx != nullptr && hy != nullptr && weights != nullptr);
  REQUIRE(!lstm ||
          (cx != nullptr && cy != nullptr && IsStates(cd, *rnn, xd->batch, rnn->size.hidden)));
  if (rnn->algo != CUDNN_RNN_ALGO_STANDARD && TheQuirks().refuse_persistent) {
    last_error = "no persistent kernel for this GPU";
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  REQUIRE(training ? reserve != nullptr && reserve_size == ReserveSize(*rnn, *xd)
                   : reserve_size == 0);
  const Tape at(rnn->size, xd->max_time, xd->batch);
  Vec inference(training ? 0 : at.doubles());
  double* tape = training ? static_cast<double*>(reserve) + kHeader : inference.data();
  DrawMasks(*rnn, *xd, training, tape);
  const Vec input = ReadSequence(*xd, x);
  for (int64_t t = 0; t < xd->max_time; ++t) {
    for (int64_t b = 0; b < xd->batch; ++b) {
      std::copy_n(input.begin() + (t * xd->batch + b) * xd->width, xd->width,
                  tape + at.input(0, t, b));
    }
  }
  const Problem p = MakeProblem(*rnn, *xd, weights);
  const Vec h0 = ReadStates(*rnn, xd->batch, rnn->size.out, hx);
  const Vec c0 = lstm ? ReadStates(*rnn, xd->batch, rnn->size.hidden, cx) : Vec();
  Vec out(int64_t{yd->max_time} * yd->batch * yd->width), h_n(h0.size()), c_n(c0.size());
  Forward(p, h0, c0, tape, &out, &h_n, &c_n);
  WriteSequence(*yd, out, yd->fills, y);
  WriteAll(ToDtype(rnn->type), hy, h_n);
  if (lstm) WriteAll(ToDtype(rnn->type), cy, c_n);
  if (training) {
    const double header[kHeader] = {kMagic, kForwardDone, static_cast<double>(rnn->algo),
                                    static_cast<double>(reserve_size)};
    std::copy_n(header, kHeader, static_cast<double*>(reserve));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                      const int32_t lengths[], cudnnRNNDataDescriptor_t yd,
                                      const void* y, const void* dy, cudnnRNNDataDescriptor_t xd,
                                      void* dx, cudnnTensorDescriptor_t hd, const void* hx,
                                      const void* dhy, void* dhx, cudnnTensorDescriptor_t cd,
                                      const void* cx, const void* dcy, void* dcx,
                                      size_t weight_size, const void* weights, size_t work_size,
                                      void* work, size_t reserve_size, void* reserve) {
  cudnnStatus_t status = CheckCall(handle, rnn, lengths, xd, yd, hd, weight_size, work_size, work);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const bool lstm = rnn->size.mode == kLstm;
  REQUIRE(y != nullptr && dy != nullptr && dx != nullptr && hx != nullptr && dhy != nullptr);
  REQUIRE(dhx != nullptr && weights != nullptr);
  REQUIRE(!lstm || (cx != nullptr && dcy != nullptr && dcx != nullptr &&
                    IsStates(cd, *rnn, xd->batch, rnn->size.hidden)));
  double* space = static_cast<double*>(reserve);
  status = CheckReserve(*rnn, *xd, space, reserve_size, kForwardDone);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const Problem p = MakeProblem(*rnn, *xd, weights);
  const int64_t out = rnn->size.out, hidden = rnn->size.hidden;
  const Vec h0 = ReadStates(*rnn, xd->batch, out, hx);
  const Vec c0 = lstm ? ReadStates(*rnn, xd->batch, hidden, cx) : Vec();
  Vec input_gradient, dh0(h0.size()), dc0(c0.size());
  BackwardData(p, h0, c0, ReadSequence(*yd, dy), ReadStates(*rnn, xd->batch, out, dhy),
               lstm ? ReadStates(*rnn, xd->batch, hidden, dcy) : Vec(), space + kHeader,
               &input_gradient, &dh0, &dc0);
  // Leaves the padding of dx alone, as cuDNN's documentation allows.
  WriteSequence(*xd, input_gradient, /*fill=*/false, dx);
  WriteAll(ToDtype(rnn->type), dhx, dh0);
  if (lstm) WriteAll(ToDtype(rnn->type), dcx, dc0);
  space[1] = kDataDone;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                         cudnnWgradMode_t mode, const int32_t lengths[],
                                         cudnnRNNDataDescriptor_t xd, const void* x,
                                         cudnnTensorDescriptor_t hd, const void* hx,
                                         cudnnRNNDataDescriptor_t yd, const void* y,
                                         size_t weight_size, void* gradient, size_t work_size,
                                         void* work, size_t reserve_size, void* reserve) {
  cudnnStatus_t status = CheckCall(handle, rnn, lengths, xd, yd, hd, weight_size, work_size, work);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  REQUIRE(mode == CUDNN_WGRAD_MODE_ADD);
  REQUIRE(x != nullptr && hx != nullptr && y != nullptr && gradient != nullptr);
  double* space = static_cast<double*>(reserve);
  status = CheckReserve(*rnn, *xd, space, reserve_size, kDataDone);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const Problem p = MakeProblem(*rnn, *xd, nullptr);
  std::vector<Weights> gradients(rnn->size.pseudo_layers());
  const WeightSpace places = PlaceWeights(*rnn);
  for (size_t pl = 0; pl < gradients.size(); ++pl) {
    ForEachBlock(rnn->size, places.places[pl], pl, &gradients[pl],
                 [](int64_t, Vec* block, int64_t size) { block->assign(size, 0); });
  }
  BackwardWeights(p, ReadStates(*rnn, xd->batch, rnn->size.out, hx), space + kHeader, &gradients);
  AddWeights(*rnn, gradients, gradient);
  // Used up: nothing sensible is left for a second backward pass.
  std::fill_n(space, reserve_size / sizeof(double), std::nan(""));
  space[1] = kUsedUp;
  return CUDNN_STATUS_SUCCESS;
}
