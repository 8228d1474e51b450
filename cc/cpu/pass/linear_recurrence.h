// A recurrence that is linear in its states: the derivative of a cell's loop over time in one
// direction, or the adjoint of that.
//
// Note [Linear recurrence]
// The derivative of one step acts on the states h and (LSTM) c unit by unit, but for the product
// with the recurrent weights R. With `by_gates` and `by_state` the slopes of step t,
//
//   s_t = input_t + by_gates_t * (h_{t-1} R) + by_state_t * s_{t-1},          t = 0, 1, ...
//
// and the adjoint, which runs from the last step, with the slopes of step t + 1,
//
//   s_t = input_t + (by_gates_{t+1} * s_{t+1}) R' (for h) + by_state_{t+1}' * s_{t+1}.
//
// It knows nothing of cells: the slopes are tensors.
#ifndef TF_RNN_OPS_CC_CPU_PASS_LINEAR_RECURRENCE_H_
#define TF_RNN_OPS_CC_CPU_PASS_LINEAR_RECURRENCE_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cc/cpu/kernel_args.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/parallel.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The memory of a pass, measured or taken.
template <typename T>
struct LinearPlan {
  Split split;
  T* weights;   // dense panels of R, or of R' for the adjoint
  T* gates;     // [B, G*H], of one step
  const T** a;  // [B]
  T** c;        // [B]
};

template <typename T>
LinearPlan<T> MakeLinearPlan(const LinearRecurrenceProblem& p, const ThreadBudget& threads,
                             Arena& arena) {
  const int64_t columns = p.num_gates * p.num_units;
  SplitProblem split = {};
  split.batch = p.batch;
  split.num_dirs = 1;
  split.threads = threads;
  split.steps = p.max_time;
  split.registers = kVectorRegisters;
  split.panels = 1;  // units are not shared: the products of a step would wait for each other
  split.recurrent_bytes = Area(Area(p.num_units, columns), static_cast<int64_t>(sizeof(T)));
  split.weight_bytes = split.recurrent_bytes;
  split.stream_bytes = std::numeric_limits<int64_t>::max();
  split.multiplies = Area(Area(p.max_time, p.batch), Area(p.num_units, columns));
  LinearPlan<T> plan;
  plan.split = ChooseSplit(split);
  const int64_t depth = p.transposed ? columns : p.num_units;
  const int64_t width = p.transposed ? p.num_units : columns;
  plan.weights = arena.Take<T>(p.has_gates ? Area(depth, RoundUp(width, kLanes<T>)) : 0);
  plan.gates = arena.Take<T>(p.has_gates ? Area(p.batch, columns) : 0);
  plan.a = arena.Take<const T*>(p.batch);
  plan.c = arena.Take<T*>(p.batch);
  return plan;
}

// Elements of a row that are multiplied and added up: slope * value.
template <typename T>
struct LinearTerm {
  const T* slope;
  const T* value;
};

// result = start + the sum of the terms; start may be null, or result itself.
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

// Rows [j0, j1) of the batch.
template <typename T>
class LinearSlice {
 public:
  LinearSlice(const LinearRecurrenceArgs& args, const LinearPlan<T>& plan, int64_t j0, int64_t j1)
      : args_(args), p_(args.problem), plan_(plan), j0_(j0), j1_(j1) {}

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
        if (!first && args_.by_gates[k] != nullptr) {
          for (int64_t g = 0; g < p_.num_gates; ++g) {
            terms[count++] = {GateSlope(k, row, g), Gates(j) + g * p_.num_units};
          }
        }
        for (int l = 0; !first && l < p_.num_states; ++l) {
          if (args_.by_state[k][l] == nullptr) continue;
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
          if (args_.by_state[k][l] == nullptr) continue;
          terms[count++] = {StateSlope(k, l, after), Output(k, after)};
        }
        SumTerms(p_.num_units, Input(l, row), terms, count, Output(l, row));
      }
      for (int64_t g = 0; !first && p_.has_gates && g < p_.num_gates; ++g) {
        int count = 0;
        for (int k = 0; k < p_.num_states; ++k) {
          if (args_.by_gates[k] == nullptr) continue;
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
      plan_.a[j] = p_.transposed ? Gates(j) : Output(0, from * p_.batch + j);
      plan_.c[j] = p_.transposed ? Output(0, to * p_.batch + j) : Gates(j);
    }
    const int64_t gates = p_.num_gates * p_.num_units;
    RowGemm<T> g;
    g.a = plan_.a + j0_;
    g.c = plan_.c + j0_;
    g.rows = j1_ - j0_;
    g.run = p_.transposed ? gates : p_.num_units;
    g.b = plan_.weights;
    g.columns = p_.transposed ? p_.num_units : gates;
    g.panel_stride = 4 * kLanes<T>;
    g.start = start;
    g.few_rows = FewRows(p_.batch);
    g.reversed = to % 2 != 0;
    GemmDense(g, 0, DensePanels<T>(g.columns));
  }

  template <typename F>
  void ForRows(int64_t t, F&& fn) const {
    for (int64_t j = j0_; j < j1_; ++j) fn(j, t * p_.batch + j);
  }

  const T* Input(int k, int64_t row) const { return Row(args_.input[k], row); }
  T* Output(int k, int64_t row) const {
    return static_cast<T*>(args_.output[k]) + row * p_.num_units;
  }
  const T* StateSlope(int k, int l, int64_t row) const { return Row(args_.by_state[k][l], row); }
  const T* GateSlope(int k, int64_t row, int64_t gate) const {
    return Row(args_.by_gates[k], row * p_.num_gates + gate);
  }
  const T* Row(const void* tensor, int64_t row) const {
    return static_cast<const T*>(tensor) + row * p_.num_units;
  }
  T* Gates(int64_t j) const { return plan_.gates + j * p_.num_gates * p_.num_units; }

  static constexpr int kMostTerms = 6;  // four gates and two states

  const LinearRecurrenceArgs& args_;
  const LinearRecurrenceProblem& p_;
  const LinearPlan<T>& plan_;
  const int64_t j0_, j1_;
};

template <typename T>
int32_t RunLinearRecurrence(const LinearRecurrenceArgs& args) {
  const LinearRecurrenceProblem& p = args.problem;
  Arena arena(args.scratch);
  const LinearPlan<T> plan = MakeLinearPlan<T>(p, args.parallel.threads, arena);
  const int64_t columns = p.num_gates * p.num_units;
  if (p.has_gates) {
    const T* weights = static_cast<const T*>(args.weights);
    const MatrixView<const T> view = p.transposed ? MatrixView<const T>{weights, 1, columns}
                                                  : MatrixView<const T>{weights, columns, 1};
    const int64_t depth = p.transposed ? columns : p.num_units;
    const int64_t width = p.transposed ? p.num_units : columns;
    const int64_t ns = NsToMove(depth * width * static_cast<int64_t>(sizeof(T))) + plan.split.ns;
    Parallel(args.parallel, DensePanels<T>(width), ns, [&](int64_t panel) {
      PackDensePanel(view, depth, width, panel, plan.weights + DensePanelOffset<T>(depth, panel));
    });
  }
  const int64_t slices = plan.split.slices;
  Parallel(args.parallel, slices, plan.split.ns, [&](int64_t i) {
    LinearSlice<T>(args, plan, p.batch * i / slices, p.batch * (i + 1) / slices).Run();
  });
  return 0;
}

inline int32_t LinearRecurrence(const LinearRecurrenceArgs* args) {
  return args->problem.dtype == kFloat64 ? RunLinearRecurrence<double>(*args)
                                         : RunLinearRecurrence<float>(*args);
}

inline int64_t LinearRecurrenceScratch(const LinearRecurrenceProblem* p,
                                       const ThreadBudget* threads) {
  Arena arena;
  if (p->dtype == kFloat64) {
    MakeLinearPlan<double>(*p, *threads, arena);
  } else {
    MakeLinearPlan<float>(*p, *threads, arena);
  }
  return arena.bytes();
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

#endif  // TF_RNN_OPS_CC_CPU_PASS_LINEAR_RECURRENCE_H_
