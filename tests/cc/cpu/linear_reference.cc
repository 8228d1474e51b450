// The linear recurrence, from the equations of the op's documentation.
#include "tests/cc/cpu/kernel_reference.h"

namespace rnn_ops::cpu::reference {
namespace {

// Element k of sequence b at step t; 0 if the tensor is absent.
double At(const LinearRecurrenceProblem& p, const Vec& tensor, int64_t columns, int64_t t,
          int64_t b, int64_t k) {
  return tensor.empty() ? 0 : tensor[(t * p.batch + b) * columns + k];
}

}  // namespace

void RunLinearRecurrence(const LinearRecurrenceProblem& p, LinearValues* v) {
  const int64_t H = p.num_units, GH = p.num_gates * H;
  v->output = v->input;
  v->cell_output = v->cell_input;
  // Adds to the states of step t the part that comes from the states of the adjacent step s, with
  // the slopes of step k.
  const auto add = [&](int64_t t, int64_t s, int64_t k, int64_t b) {
    const auto at = [&](const Vec& slope, int64_t u) { return At(p, slope, H, k, b, u); };
    const auto gate = [&](const Vec& slope, int64_t c) { return At(p, slope, GH, k, b, c); };
    const double* h = v->output.data() + (s * p.batch + b) * H;
    const double* c = p.num_states > 1 ? v->cell_output.data() + (s * p.batch + b) * H : nullptr;
    for (int64_t u = 0; u < H; ++u) {
      const double c_u = c != nullptr ? c[u] : 0;
      double to_h = at(v->h_by_h, u) * h[u];
      double to_c = 0;
      if (p.transposed) {
        to_h += at(v->c_by_h, u) * c_u;
        to_c = at(v->h_by_c, u) * h[u] + at(v->c_by_c, u) * c_u;
        for (int64_t j = 0; j < GH; ++j) {
          const double back = gate(v->h_by_gates, j) * h[j % H] +
                              (c != nullptr ? gate(v->c_by_gates, j) * c[j % H] : 0);
          to_h += back * v->recurrent_kernel[u * GH + j];
        }
      } else {
        to_h += at(v->h_by_c, u) * c_u;
        to_c = at(v->c_by_h, u) * h[u] + at(v->c_by_c, u) * c_u;
        for (int64_t g = 0; g < p.num_gates; ++g) {
          double sum = 0;
          for (int64_t j = 0; j < H; ++j) sum += h[j] * v->recurrent_kernel[j * GH + g * H + u];
          to_h += gate(v->h_by_gates, g * H + u) * sum;
          to_c += gate(v->c_by_gates, g * H + u) * sum;
        }
      }
      v->output[(t * p.batch + b) * H + u] += to_h;
      if (c != nullptr) v->cell_output[(t * p.batch + b) * H + u] += to_c;
    }
  };
  for (int64_t k = 1; k < p.max_time; ++k) {
    const int64_t t = p.transposed ? p.max_time - 1 - k : k;
    for (int64_t b = 0; b < p.batch; ++b) {
      if (p.transposed) {
        add(t, t + 1, t + 1, b);
      } else {
        add(t, t - 1, t, b);
      }
    }
  }
}

}  // namespace rnn_ops::cpu::reference
