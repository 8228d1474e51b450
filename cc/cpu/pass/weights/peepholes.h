// Peephole weights: the vectors by which gates multiply c.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cc/cpu/pass/memory/sizes.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Pads the rows of i, f and o, [H] each, to whole vectors. A null row becomes zeros. Returns
// `padded`, [3, padded].
template <typename T>
const T* PadPeepholes(const T* const (&rows)[3], const Sizes<T>& s, T* padded) {
  for (int k = 0; k < 3; ++k) {
    T* to = padded + k * s.padded;
    const T* from = rows[k];
    std::fill(from == nullptr ? to : std::copy(from, from + s.units, to), to + s.padded, T(0));
  }
  return padded;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
