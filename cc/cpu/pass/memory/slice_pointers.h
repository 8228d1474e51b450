// Row pointers that a slice of the batch fills for its products.
#ifndef TF_RNN_OPS_CC_CPU_PASS_MEMORY_SLICE_POINTERS_H_
#define TF_RNN_OPS_CC_CPU_PASS_MEMORY_SLICE_POINTERS_H_

#include <cstdint>

#include "cc/cpu/rows/arena.h"
#include "cc/cpu/simd/isa.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Row pointers of one slice: a chunk of input rows and gate rows, and one step of the others.
template <typename T, typename E = T>
struct SlicePointers {
  const E** x;
  T** gates;
  const T** h_prev;
  const T** c_prev;
  T** c;
  T** h;
  TensorOf<T, E>** rounded_h;
  const E** a;  // what the recurrent weights multiply, where that is not h_prev
  T** sums;     // where their product goes, where that is not a cell
};

template <typename T, typename E = T>
SlicePointers<T, E> TakeSlicePointers(Arena& arena, int64_t rows) {
  SlicePointers<T, E> p;
  p.x = arena.Take<const E*>(rows);
  p.gates = arena.Take<T*>(rows);
  p.h_prev = arena.Take<const T*>(rows);
  p.c_prev = arena.Take<const T*>(rows);
  p.c = arena.Take<T*>(rows);
  p.h = arena.Take<T*>(rows);
  p.rounded_h = arena.Take<TensorOf<T, E>*>(rows);
  p.a = arena.Take<const E*>(rows);
  p.sums = arena.Take<T*>(rows);
  return p;
}

template <typename T, typename E>
SlicePointers<T, E> Shift(const SlicePointers<T, E>& p, int64_t rows) {
  return {p.x + rows, p.gates + rows,     p.h_prev + rows, p.c_prev + rows, p.c + rows,
          p.h + rows, p.rounded_h + rows, p.a + rows,      p.sums + rows};
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_MEMORY_SLICE_POINTERS_H_
