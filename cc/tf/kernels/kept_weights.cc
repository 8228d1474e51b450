#include "cc/tf/kernels/kept_weights.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "cc/tf/op_util.h"
#include "tensorflow/core/common_runtime/dma_helper.h"

namespace rnn_ops {
namespace tf_kernels {

using ::tensorflow::Tensor;

namespace {

// WHY the buffer and not the address alone: a numpy array that is given to an op is wrapped in a
// new buffer at each call, and may have been written to between two of them.
bool Same(const Tensor& a, const Tensor& b) {
  return a.SharesBufferWith(b) && Data(a) == Data(b) && a.dtype() == b.dtype() &&
         a.shape() == b.shape();
}

bool SharesMemory(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Tensor& tensor) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Tensor& other) { return tensor.SharesBufferWith(other); });
  });
}

// WHY not Tensor::RefCountIsOne(): it is false for what came from numpy, whoever holds it.
bool IsLastHolder(Tensor& tensor) {
  tensorflow::TensorBuffer* buffer = tensorflow::DMAHelper::buffer(&tensor);
  return buffer->RefCountIsOne() && buffer->root_buffer()->RefCountIsOne();
}

// Whether the counts of references to these tensors will tell when nobody else holds them.
bool CanKeep(const std::vector<Tensor>& weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    if (tensorflow::DMAHelper::buffer(&weights[i]) == nullptr) return false;
    for (size_t k = 0; k < i; ++k) {
      if (weights[i].SharesBufferWith(weights[k])) return false;
    }
  }
  return true;
}

}  // namespace

KeptWeights& KeptWeights::OfProcess() {
  static KeptWeights* const kept = [] {
    // The child of a fork has one thread, so it would wait for ever for a mutex that another had.
    pthread_atfork([] { OfProcess().mutex_.lock(); }, [] { OfProcess().mutex_.unlock(); },
                   [] { OfProcess().mutex_.unlock(); });
    return new KeptWeights();
  }();
  return *kept;
}

bool KeptWeights::Find(const std::vector<Tensor>& weights, const cpu::PackedHeader& header,
                       Tensor* packed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) {
    if (std::equal(weights.begin(), weights.end(), entry.weights.begin(), entry.weights.end(),
                   Same) &&
        std::memcmp(Data(entry.packed), &header, sizeof(header)) == 0) {
      *packed = entry.packed;
      return true;
    }
  }
  return false;
}

void KeptWeights::Keep(std::vector<Tensor> weights, const Tensor& packed) {
  std::vector<Entry> dropped;  // freed without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto stale = [&](Entry& entry) {
    return SharesMemory(entry.weights, weights) ||
           std::any_of(entry.weights.begin(), entry.weights.end(), IsLastHolder);
  };
  const auto end = std::stable_partition(entries_.begin(), entries_.end(),
                                         [&](Entry& entry) { return !stale(entry); });
  std::move(end, entries_.end(), std::back_inserter(dropped));
  entries_.erase(end, entries_.end());
  if (CanKeep(weights)) entries_.push_back({std::move(weights), packed});
}

}  // namespace tf_kernels
}  // namespace rnn_ops
