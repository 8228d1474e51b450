// The three functions of the cuDNN mock that compute.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/cc/gpu/fake_memory.h"
#include "tests/cc/gpu/fake_objects.h"
#include "tests/cc/gpu/fake_rnn.h"
#include "tests/cc/gpu/fake_weights.h"

namespace rnn_ops::gpu::fake {
namespace {

constexpr double kMagic = 271828;  // marks a reserve space that Forward wrote
enum Phase { kForwardDone = 1, kDataDone = 2, kUsedUp = 3 };

int64_t RowOf(const cudnnRNNDataStruct& d, int64_t t, int64_t b) {
  return d.layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED ? b * d.max_time + t
                                                                : t * d.batch + b;
}

// Reads a sequence as [max_time, batch, width]. Padding reads as NaN, because no result may depend
// on it.
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

bool HasDropout(const cudnnRNNStruct& rnn) {
  return rnn.dropout != nullptr && rnn.dropout->set && rnn.dropout->dropout > 0;
}

// Checks that all three computing functions share.
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
  const bool full = std::all_of(x->lengths.begin(), x->lengths.end(),
                                [&](int length) { return length == x->max_time; });
  if (rnn->algo != CUDNN_RNN_ALGO_STANDARD && !full) {
    BadParam("persistent kernels need sequences of one length");
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  std::memset(work, 0x5a, work_size);
  return CUDNN_STATUS_SUCCESS;
}

// Returns NOT_SUPPORTED for sizes that PERSIST_STATIC_SMALL_H does not support.
cudnnStatus_t CheckSmallH(const cudnnRNNStruct& rnn, int64_t most_with_gates,
                          int64_t most_without) {
  const bool gates = rnn.size.mode == kLstm || rnn.size.mode == kGru;
  if (rnn.algo != CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H ||
      rnn.size.hidden <= (gates ? most_with_gates : most_without)) {
    return CUDNN_STATUS_SUCCESS;
  }
  BadParam("too many units for this algorithm");
  return CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t CheckReserve(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x,
                           const double* reserve, size_t size, Phase phase) {
  REQUIRE(reserve != nullptr && reserve[0] == kMagic);
  REQUIRE(size >= ReserveSize(rnn, x) && size >= static_cast<size_t>(reserve[3]));
  const bool from_small_h = reserve[2] == CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H;
  REQUIRE(reserve[2] == rnn.algo || (from_small_h && !TheQuirks().one_reserve));
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

// Advances the states, like cuDNN.
void DrawMasks(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& x, bool training,
               double* tape) {
  const Tape at(rnn.size, x.max_time, x.batch);
  DropoutStates states{};
  const bool drops = training && HasDropout(rnn);
  if (drops) std::memcpy(&states, rnn.dropout->states, sizeof(states));
  if (drops && states.magic != kStatesMagic) states.seed = std::rand();  // not seeded
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
}  // namespace rnn_ops::gpu::fake

using namespace rnn_ops::gpu::fake;  // NOLINT: the functions below are NVIDIA's names

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                              cudnnForwardMode_t mode, const int32_t lengths[],
                              cudnnRNNDataDescriptor_t xd, const void* x,
                              cudnnRNNDataDescriptor_t yd, void* y, cudnnTensorDescriptor_t hd,
                              const void* hx, void* hy, cudnnTensorDescriptor_t cd, const void* cx,
                              void* cy, size_t weight_size, const void* weights, size_t work_size,
                              void* work, size_t reserve_size, void* reserve) {
  cudnnStatus_t status = CheckCall(handle, rnn, lengths, xd, yd, hd, weight_size, work_size, work);
  if (status == CUDNN_STATUS_SUCCESS) status = CheckSmallH(*rnn, 192, 384);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const bool lstm = rnn->size.mode == kLstm, training = mode == CUDNN_FWD_MODE_TRAINING;
  REQUIRE(x != nullptr && y != nullptr && hx != nullptr && hy != nullptr && weights != nullptr);
  REQUIRE(!lstm ||
          (cx != nullptr && cy != nullptr && IsStates(cd, *rnn, xd->batch, rnn->size.hidden)));
  if (rnn->algo != CUDNN_RNN_ALGO_STANDARD && TheQuirks().refuse_persistent) {
    BadParam("no persistent kernel for this GPU");
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  REQUIRE(training ? reserve != nullptr && reserve_size == ReserveSize(*rnn, *xd)
                   : reserve_size == 0);
  const Tape at(rnn->size, xd->max_time, xd->batch);
  Vec inference(training ? 0 : at.doubles());
  double* tape = training ? static_cast<double*>(reserve) + kReserveHeader : inference.data();
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
    const double header[kReserveHeader] = {kMagic, kForwardDone, static_cast<double>(rnn->algo),
                                           static_cast<double>(reserve_size)};
    std::copy_n(header, kReserveHeader, static_cast<double*>(reserve));
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
  if (status == CUDNN_STATUS_SUCCESS) status = CheckSmallH(*rnn, 128, 256);
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
               lstm ? ReadStates(*rnn, xd->batch, hidden, dcy) : Vec(), space + kReserveHeader,
               &input_gradient, &dh0, &dc0);
  // Does not write the padding of dx, which cuDNN's documentation allows.
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
  std::vector<Weights> gradients = ZeroGradients(*rnn);
  BackwardWeights(p, ReadStates(*rnn, xd->batch, rnn->size.out, hx), space + kReserveHeader,
                  &gradients);
  AddWeights(*rnn, gradients, gradient);
  // Overwrites the reserve space, so that a second backward pass cannot use it.
  std::fill_n(space, reserve_size / sizeof(double), std::nan(""));
  space[1] = kUsedUp;
  return CUDNN_STATUS_SUCCESS;
}
