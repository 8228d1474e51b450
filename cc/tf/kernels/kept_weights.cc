#include "cc/tf/kernels/kept_weights.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "cc/tf/op_util.h"
#include "tensorflow/core/common_runtime/dma_helper.h"

namespace rnn_ops::tf_kernels {

using ::tensorflow::Tensor;

namespace {

// WHY not Tensor::RefCountIsOne(): it is always false for tensors that were made from numpy arrays.
bool IsLastReference(Tensor& tensor) {
  tensorflow::TensorBuffer* buffer = tensorflow::DMAHelper::buffer(&tensor);
  return buffer->RefCountIsOne() && buffer->root_buffer()->RefCountIsOne();
}

}  // namespace

KeptWeights& KeptWeights::OfProcess() {
  static KeptWeights* const kept = [] {
    // The child of a fork has only one thread. If another thread of the parent held the mutex, the
    // child would wait forever.
    pthread_atfork([] { OfProcess().mutex_.lock(); }, [] { OfProcess().mutex_.unlock(); },
                   [] { OfProcess().mutex_.unlock(); });
    return new KeptWeights();
  }();
  return *kept;
}

// WHY the buffer is compared in addition to the address: each call wraps a numpy array in a new
// buffer, and the array may have changed between two calls.
bool KeptWeights::Weight::Is(const Tensor& tensor) const {
  return tensor.SharesBufferWith(*holder) && Data(tensor) == data && tensor.dtype() == dtype &&
         tensor.shape() == shape;
}

bool KeptWeights::Entry::IsOf(const std::vector<Tensor>& tensors,
                              const cpu::PackedHeader& header) const {
  return std::equal(weights.begin(), weights.end(), tensors.begin(), tensors.end(),
                    [](const Weight& weight, const Tensor& tensor) { return weight.Is(tensor); }) &&
         std::memcmp(Data(packed), &header, sizeof(header)) == 0;
}

bool KeptWeights::Entry::IsDead() const {
  return std::any_of(weights.begin(), weights.end(),
                     [](const Weight& weight) { return IsLastReference(*weight.holder); });
}

// Find looks for entries to drop once in this number of calls, because the search takes as long as
// the rest of Find.
constexpr uint64_t kCallsPerLook = 64;

template <typename Drops>
std::vector<KeptWeights::Entry> KeptWeights::Drop(const Drops& drops) {
  std::vector<Entry> dropped;
  const auto end = std::stable_partition(entries_.begin(), entries_.end(),
                                         [&](const Entry& entry) { return !drops(entry); });
  std::move(end, entries_.end(), std::back_inserter(dropped));
  entries_.erase(end, entries_.end());
  return dropped;
}

KeptWeights::Holder KeptWeights::HolderOf(const Tensor& tensor, const Entry& made) const {
  const auto find = [&tensor](const Entry& entry) -> Holder {
    for (const Weight& weight : entry.weights) {
      if (tensor.SharesBufferWith(*weight.holder)) return weight.holder;
    }
    return nullptr;
  };
  Holder holder = find(made);
  for (size_t k = 0; holder == nullptr && k < entries_.size(); ++k) holder = find(entries_[k]);
  return holder != nullptr ? holder : std::make_shared<Tensor>(tensor);
}

bool KeptWeights::Find(const std::vector<Tensor>& weights, const cpu::PackedHeader& header,
                       Tensor* packed) {
  std::vector<Entry> dropped;  // destroyed after the lock is released
  const std::lock_guard<std::mutex> lock(mutex_);
  if (++calls_ % kCallsPerLook == 0) {
    dropped = Drop([](const Entry& entry) { return entry.IsDead(); });
  }
  for (const Entry& entry : entries_) {
    if (!entry.IsOf(weights, header)) continue;
    *packed = entry.packed;
    return true;
  }
  return false;
}

void KeptWeights::Keep(const std::vector<Tensor>& weights, const Tensor& packed) {
  // Entries need tensors with buffers, because buffers have the reference counts.
  const auto has_buffer = [](const Tensor& tensor) {
    return tensorflow::DMAHelper::buffer(&tensor) != nullptr;
  };
  if (!std::all_of(weights.begin(), weights.end(), has_buffer)) return;
  cpu::PackedHeader header;
  std::memcpy(&header, Data(packed), sizeof(header));
  std::vector<Entry> dropped;  // destroyed after the lock is released
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped = Drop([&](const Entry& entry) { return entry.IsDead() || entry.IsOf(weights, header); });
  Entry made;
  made.packed = packed;
  for (const Tensor& tensor : weights) {
    made.weights.push_back({HolderOf(tensor, made), Data(tensor), tensor.dtype(), tensor.shape()});
  }
  entries_.push_back(std::move(made));
}

}  // namespace rnn_ops::tf_kernels
