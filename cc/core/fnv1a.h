// FNV-1a (Fowler, Noll, Vo), a hash of 64 bits for checksums and fingerprints.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace rnn_ops {

class Fnv1a {
 public:
  constexpr void AddByte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  // The eight bytes of a number, from the lowest.
  constexpr void Add(uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) AddByte(static_cast<unsigned char>(number >> (8 * byte)));
  }
  void Add(float number) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    Add(uint64_t{bits});
  }
  constexpr void Add(std::string_view text) {
    for (const char c : text) Add(uint64_t{static_cast<unsigned char>(c)});
    Add(uint64_t{text.size()});
  }
  constexpr uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace rnn_ops
