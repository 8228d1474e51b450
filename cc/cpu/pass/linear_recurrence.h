// A recurrence that is linear in its states: the derivative of a cell's time loop in one direction,
// or the adjoint of that derivative.
//
// Note [Linear recurrence]
// The derivative of one step acts on the states h and (LSTM) c separately for each unit, except for
// the product with the recurrent weights R. `by_gates` and `by_state` are the slopes. The
// recurrence is
//
//   s_t = input_t + by_gates_t * (h_{t-1} R) + by_state_t * s_{t-1},          t = 0, 1, ...
//
// The adjoint runs from the last step:
//
//   s_t = input_t + (by_gates_{t+1} * s_{t+1}) R' (for h) + by_state_{t+1}' * s_{t+1}.
//
// The recurrence does not depend on the cell: the slopes are tensors.
#pragma once

#include <cstdint>
#include <limits>

#include "cc/core/checked_math.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The memory of a pass.
template <typename T>
struct LinearMemory {
  T* weights;      // dense panels of R, or of R' for the adjoint
  T* gates;        // [B, G*H] for one step
  const void** a;  // [B]
  T** c;           // [B]
};

inline Split LinearSplit(const LinearRecurrenceProblem& p, const ThreadBudget& threads,
                         int64_t element) {
  const int64_t columns = p.num_gates * p.num_units;
  WorkToSplit split = {};
  split.batch = p.batch;
  split.num_dirs = 1;
  split.threads = threads;
  split.steps = p.max_time;
  split.tile_rows = kTileRows<4>;
  split.panels = 1;  // units are not split: the products of a step would wait for each other
  split.recurrent_bytes = Area(Area(p.num_units, columns), element);
  split.weight_bytes = split.recurrent_bytes;
  split.stream_bytes = std::numeric_limits<int64_t>::max();
  split.multiplies = Area(Area(p.max_time, p.batch), Area(p.num_units, columns));
  return ChooseSplit(split);
}

// A product of a slope and a value, for each element of a row.
template <typename T>
struct LinearTerm {
  const T* slope;
  const T* value;
};

// result = start + the sum of the terms. `start` may be null or the same row as result.
template <typename T>
void SumTerms(int64_t n, const T* start, const LinearTerm<T>* terms, int count, T* result) {
  for (int64_t at = 0; at < n; at += kLanes<T>) {
    Packet<T> sum = start == nullptr ? Set<T>(T(0)) : LoadFirst(start + at, n - at);
    for (int k = 0; k < count; ++k) {
      sum = pmadd(LoadFirst(terms[k].slope + at, n - at), LoadFirst(terms[k].value + at, n - at),
                  sum);
    }
    StoreFirst(result + at, sum, n - at);
  }
}

// The tensors of each state, h and c. A null tensor is 0.
template <typename T>
struct LinearTensors {
  const T* input[2];
  const T* by_gates[2];     // the derivative by h_prev * weights
  const T* by_state[2][2];  // derivative of the first state by the second state at t - 1
  T* output[2];
};

template <typename T>
LinearTensors<T> LinearTensorsOf(const LinearRecurrenceProblem& p, const CallTensors& t) {
  const bool has_c = p.num_states > 1;
  return {
      {t.in<T>(Arg::input), t.in<T>(Arg::cell_input)},
      {t.in<T>(Arg::h_by_gates), has_c ? t.in<T>(Arg::c_by_gates) : nullptr},
      {{t.in<T>(Arg::h_by_h), t.in<T>(Arg::h_by_c)}, {t.in<T>(Arg::c_by_h), t.in<T>(Arg::c_by_c)}},
      {t.out<T>(Arg::output), t.out<T>(Arg::cell_output)}};
}

// Sequences [j0, j1) of the batch.
template <typename T>
class LinearSlice {
 public:
  LinearSlice(const LinearRecurrenceProblem& p, const LinearTensors<T>& tensors,
              const LinearMemory<T>& memory, int64_t j0, int64_t j1)
      : p_(p), t_(tensors), memory_(memory), j0_(j0), j1_(j1) {}

  void Run() const {
    for (int64_t step = 0; step < p_.max_time; ++step) {
      if (p_.transposed) {
        Adjoint(p_.max_time - 1 - step, step == 0);
      } else {
        Tangent(step, step == 0);
      }
    }
  }

 private:
  void Tangent(int64_t t, bool first) const {
    if (!first && p_.has_gates) Multiply(t - 1, t, Start::kZero);
    ForRows(t, [&](int64_t j, int64_t row) {
      const int64_t before = row - p_.batch;
      for (int k = 0; k < p_.num_states; ++k) {
        LinearTerm<T> terms[kMostTerms];
        int count = 0;
        if (!first && t_.by_gates[k] != nullptr) {
          for (int64_t g = 0; g < p_.num_gates; ++g) {
            terms[count++] = {GateSlope(k, row, g), Gates(j) + g * p_.num_units};
          }
        }
        for (int l = 0; !first && l < p_.num_states; ++l) {
          if (t_.by_state[k][l] == nullptr) continue;
          terms[count++] = {StateSlope(k, l, row), Output(l, before)};
        }
        SumTerms(p_.num_units, Input(k, row), terms, count, Output(k, row));
      }
    });
  }

  void Adjoint(int64_t t, bool first) const {
    ForRows(t, [&](int64_t j, int64_t row) {
      const int64_t after = row + p_.batch;
      LinearTerm<T> terms[kMostTerms];
      for (int l = 0; l < p_.num_states; ++l) {
        int count = 0;
        for (int k = 0; !first && k < p_.num_states; ++k) {
          if (t_.by_state[k][l] == nullptr) continue;
          terms[count++] = {StateSlope(k, l, after), Output(k, after)};
        }
        SumTerms(p_.num_units, Input(l, row), terms, count, Output(l, row));
      }
      for (int64_t g = 0; !first && p_.has_gates && g < p_.num_gates; ++g) {
        int count = 0;
        for (int k = 0; k < p_.num_states; ++k) {
          if (t_.by_gates[k] == nullptr) continue;
          terms[count++] = {GateSlope(k, after, g), Output(k, after)};
        }
        SumTerms<T>(p_.num_units, nullptr, terms, count, Gates(j) + g * p_.num_units);
      }
    });
    if (!first && p_.has_gates) Multiply(t, t, Start::kAccumulate);
  }

  // gates = h_from * R, or h_to += gates * R'.
  void Multiply(int64_t from, int64_t to, Start start) const {
    for (int64_t j = j0_; j < j1_; ++j) {
      memory_.a[j] = p_.transposed ? Gates(j) : Output(0, from * p_.batch + j);
      memory_.c[j] = p_.transposed ? Output(0, to * p_.batch + j) : Gates(j);
    }
    const int64_t gates = p_.num_gates * p_.num_units;
    RowGemm<T> g = {memory_.a + j0_, memory_.c + j0_,
                    j1_ - j0_,       RunsOfK::Dense(p_.transposed ? gates : p_.num_units),
                    memory_.weights, p_.transposed ? p_.num_units : gates};
    g.start = start;
    g.batch = BatchRowsOf(p_.batch);
    g.reversed = to % 2 != 0;
    GemmDense(g, 0, DensePanels<T>(g.columns));
  }

  template <typename F>
  void ForRows(int64_t t, F&& fn) const {
    for (int64_t j = j0_; j < j1_; ++j) fn(j, t * p_.batch + j);
  }

  const T* Input(int k, int64_t row) const { return Row(t_.input[k], row); }
  T* Output(int k, int64_t row) const { return t_.output[k] + row * p_.num_units; }
  const T* StateSlope(int k, int l, int64_t row) const { return Row(t_.by_state[k][l], row); }
  const T* GateSlope(int k, int64_t row, int64_t gate) const {
    return Row(t_.by_gates[k], row * p_.num_gates + gate);
  }
  const T* Row(const T* tensor, int64_t row) const { return tensor + row * p_.num_units; }
  T* Gates(int64_t j) const { return memory_.gates + j * p_.num_gates * p_.num_units; }

  static constexpr int kMostTerms = 6;  // four gates and two states

  const LinearRecurrenceProblem& p_;
  const LinearTensors<T>& t_;
  const LinearMemory<T>& memory_;
  const int64_t j0_, j1_;
};

// The implementation of linear_recurrence in the kernel table.
template <typename T>
class LinearPass {
 public:
  explicit LinearPass(const LinearRecurrenceArgs& args)
      : p_(args.problem), split_(LinearSplit(p_, args.parallel.threads, sizeof(T))) {}

  // Measures or allocates the memory.
  void Take(Arena& arena) {
    memory_.weights = arena.Take<T>(p_.has_gates ? Area(depth(), RoundUp(width(), kLanes<T>)) : 0);
    memory_.gates = arena.Take<T>(p_.has_gates ? Area(p_.batch, gates()) : 0);
    memory_.a = arena.Take<const void*>(p_.batch);
    memory_.c = arena.Take<T*>(p_.batch);
  }
  ReserveSizes reserve_sizes() const { return {}; }

  KernelResult Run(const LinearRecurrenceArgs& args, void*) const {
    if (p_.has_gates) PackWeights(args);
    const LinearTensors<T> tensors = LinearTensorsOf<T>(p_, *args.tensors);
    const int64_t slices = split_.slices;
    Parallel(args.parallel, slices, split_.ns, [&](int64_t i) {
      const int64_t j0 = p_.batch * i / slices, j1 = p_.batch * (i + 1) / slices;
      LinearSlice<T>(p_, tensors, memory_, j0, j1).Run();
    });
    return kDone;
  }

 private:
  int64_t gates() const { return p_.num_gates * p_.num_units; }
  // The size of the matrix that multiplies the rows at each step.
  int64_t depth() const { return p_.transposed ? gates() : p_.num_units; }
  int64_t width() const { return p_.transposed ? p_.num_units : gates(); }

  void PackWeights(const LinearRecurrenceArgs& args) const {
    const T* const weights = args.tensors->in<T>(Arg::recurrent_kernel);
    const MatrixView<const T> view = p_.transposed ? MatrixView<const T>{weights, 1, gates()}
                                                   : MatrixView<const T>{weights, gates(), 1};
    const int64_t ns = NsToPack(depth() * width() * static_cast<int64_t>(sizeof(T))) + split_.ns;
    Parallel(args.parallel, DensePanels<T>(width()), ns, [&](int64_t panel) {
      PackDensePanel(view, depth(), width(), panel,
                     memory_.weights + DensePanelOffset<T>(depth(), panel));
    });
  }

  const LinearRecurrenceProblem& p_;
  const Split split_;
  LinearMemory<T> memory_ = {};
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
