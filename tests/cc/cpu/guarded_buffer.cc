#include "tests/cc/cpu/guarded_buffer.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstring>

namespace rnn_ops::cpu::testing {
namespace {

// A float32 of these bytes is -1.7e38, so a kernel that reads the float has visibly wrong results.
constexpr unsigned char kGuardByte = 0xFE;

}  // namespace

GuardedBuffer::GuardedBuffer(int64_t bytes, unsigned char fill)
    : block_(new unsigned char[bytes + 2 * kGuard + 64]), size_(bytes) {
  data_ = block_.get() + kGuard;
  data_ += -reinterpret_cast<uintptr_t>(data_) % 64;
  std::memset(data_ - kGuard, kGuardByte, kGuard);
  std::memset(data_, fill, bytes);
  std::memset(data_ + bytes, kGuardByte, kGuard);
  Poison(true);
}

GuardedBuffer::~GuardedBuffer() { Poison(false); }

bool GuardedBuffer::GuardsIntact() const {
  Poison(false);
  auto intact = [](const unsigned char* from) {
    return std::all_of(from, from + kGuard, [](unsigned char b) { return b == kGuardByte; });
  };
  const bool result = intact(data_ - kGuard) && intact(data_ + size_);
  Poison(true);
  return result;
}

// With the address sanitizer, reading a guard is an error too.
void GuardedBuffer::Poison(bool on) const {
  for (const unsigned char* guard : {data_ - kGuard, data_ + size_}) {
    if (on) {
      ASAN_POISON_MEMORY_REGION(guard, kGuard);
    } else {
      ASAN_UNPOISON_MEMORY_REGION(guard, kGuard);
    }
  }
}

}  // namespace rnn_ops::cpu::testing
