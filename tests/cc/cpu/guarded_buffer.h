// Memory between two guards.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace rnn_ops::cpu::testing {

// Memory of exactly n bytes between two guards.
class GuardedBuffer {
 public:
  GuardedBuffer(int64_t bytes, unsigned char fill);
  GuardedBuffer(const GuardedBuffer&) = delete;
  ~GuardedBuffer();

  unsigned char* data() { return data_; }
  int64_t size() const { return size_; }
  std::vector<unsigned char> Copy() const { return {data_, data_ + size_}; }
  bool GuardsIntact() const;

 private:
  void Poison(bool on) const;
  static constexpr int64_t kGuard = 256;
  std::unique_ptr<unsigned char[]> block_;
  unsigned char* data_;  // 64-byte aligned
  int64_t size_;
};

}  // namespace rnn_ops::cpu::testing
