// A bounded cache of immutable values. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace rnn_ops::gpu {

// Keeps the `capacity` most recently used values. A dropped value lives until its last user
// releases it.
template <typename Key, typename Value>
class LruCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  // Null if there is no value.
  Pointer Find(const Key& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    values_.splice(values_.begin(), values_, found->second);
    return found->second->second;
  }

  // Returns the value that the cache then has under `key`: if two threads insert, the first value
  // stays.
  Pointer Insert(const Key& key, Pointer value) {
    Pointer dropped;  // destroyed after the lock is released
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(key);
    if (found != index_.end()) return found->second->second;
    values_.emplace_front(key, std::move(value));
    index_[key] = values_.begin();
    if (values_.size() > capacity_) {
      dropped = values_.back().second;
      index_.erase(values_.back().first);
      values_.pop_back();
    }
    return values_.front().second;
  }

  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return values_.size();
  }

 private:
  using Entry = std::pair<Key, Pointer>;

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> values_;  // most recently used first
  std::map<Key, typename std::list<Entry>::iterator> index_;
};

}  // namespace rnn_ops::gpu
