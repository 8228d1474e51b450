// Arrays of row pointers that a slice of the batch fills for its products.
#ifndef TF_RNN_OPS_CC_CPU_PASS_MEMORY_SLICE_POINTERS_H_
#define TF_RNN_OPS_CC_CPU_PASS_MEMORY_SLICE_POINTERS_H_

#include <cstdint>
#include <type_traits>

#include "cc/cpu/rows/arena.h"
#include "cc/cpu/simd/isa.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// A struct of arrays, whose ForEach(fn) calls fn(array) for each, with room for `rows` rows.
template <typename Pointers>
Pointers TakePointers(Arena& arena, int64_t rows) {
  Pointers p;
  p.ForEach([&](auto*& array) {
    array = arena.Take<std::remove_pointer_t<std::remove_reference_t<decltype(array)>>>(rows);
  });
  return p;
}

// The arrays from row `rows` on.
template <typename Pointers>
Pointers Shift(Pointers p, int64_t rows) {
  p.ForEach([&](auto*& array) { array += rows; });
  return p;
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_MEMORY_SLICE_POINTERS_H_
