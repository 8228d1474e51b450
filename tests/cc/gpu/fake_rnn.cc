#include "tests/cc/gpu/fake_rnn.h"

#include <cmath>

namespace rnn_ops::gpu::fake {
namespace {

using Vec = std::vector<double>;

double Logistic(double v) { return 1 / (1 + std::exp(-v)); }

// The time step that is processed as number i in direction `dir`.
int64_t StepAt(int64_t dir, int64_t i, int64_t length) { return dir == 0 ? i : length - 1 - i; }

// h before step i: the state h0, or the h of the previous step on the tape.
const double* Before(const Problem& p, const Tape& at, const double* tape, const Vec& h0,
                     int64_t pl, int64_t i, int64_t b) {
  const int64_t dir = pl % p.size.dirs;
  if (i == 0) return h0.data() + (pl * p.batch + b) * p.size.out;
  return tape + at.cell(pl, StepAt(dir, i - 1, p.lengths[b]), b).h;
}

const double* CellBefore(const Problem& p, const Tape& at, const double* tape, const Vec& c0,
                         int64_t pl, int64_t i, int64_t b) {
  const int64_t dir = pl % p.size.dirs;
  if (i == 0) return c0.data() + (pl * p.batch + b) * p.size.hidden;
  return tape + at.cell(pl, StepAt(dir, i - 1, p.lengths[b]), b).c;
}

void ForwardCell(const RnnSize& s, const Weights& w, int64_t columns, const double* x,
                 const double* h, const double* c, double* tape, const Tape::Cell& at) {
  const int64_t H = s.hidden;
  Vec from_x(s.gates() * H), from_h(s.gates() * H);
  for (int64_t row = 0; row < s.gates() * H; ++row) {
    double sum = columns == 0 ? x[row % H] : 0;
    for (int64_t k = 0; k < columns; ++k) sum += w.input[row * columns + k] * x[k];
    from_x[row] = sum + w.input_bias[row];
    sum = 0;
    for (int64_t k = 0; k < s.out; ++k) sum += w.recurrent[row * s.out + k] * h[k];
    from_h[row] = sum + w.recurrent_bias[row];
  }
  double* gate = tape + at.gates;
  double* m = tape + at.m;
  for (int64_t u = 0; u < H; ++u) {
    const auto sum = [&](int64_t g) { return from_x[g * H + u] + from_h[g * H + u]; };
    if (s.mode == kLstm) {
      const double i = Logistic(sum(0)), f = Logistic(sum(1)), g = std::tanh(sum(2)),
                   o = Logistic(sum(3));
      gate[u] = i, gate[H + u] = f, gate[2 * H + u] = g, gate[3 * H + u] = o;
      tape[at.c + u] = f * c[u] + i * g;
      m[u] = o * std::tanh(tape[at.c + u]);
    } else if (s.mode == kGru) {
      const double r = Logistic(sum(0)), z = Logistic(sum(1));
      const double n = std::tanh(from_x[2 * H + u] + r * from_h[2 * H + u]);
      gate[u] = r, gate[H + u] = z, gate[2 * H + u] = n;
      tape[at.candidate + u] = from_h[2 * H + u];
      m[u] = (1 - z) * n + z * h[u];
    } else {
      m[u] = gate[u] = s.mode == kTanh ? std::tanh(sum(0)) : std::fmax(sum(0), 0);
    }
  }
  double* out = tape + at.h;
  for (int64_t k = 0; k < s.out; ++k) {
    out[k] = s.projects() ? 0 : m[k];
    for (int64_t u = 0; s.projects() && u < H; ++u) out[k] += w.projection[k * H + u] * m[u];
  }
}

// Overwrites the gates on the tape with the gradients of the inputs of the gates. *dh and *dc are
// the gradients after the step on entry and before the step on return. Adds to dx.
void BackwardCell(const RnnSize& s, const Weights& w, int64_t columns, const double* h,
                  const double* c, double* tape, const Tape::Cell& at, Vec* dh, Vec* dc,
                  double* dx) {
  const int64_t H = s.hidden;
  Vec dm(H, 0);
  for (int64_t u = 0; u < H; ++u) {
    if (!s.projects()) dm[u] = (*dh)[u];
    for (int64_t k = 0; s.projects() && k < s.out; ++k) {
      dm[u] += w.projection[k * H + u] * (*dh)[k];
    }
  }
  for (int64_t k = 0; k < s.out; ++k) tape[at.dh + k] = (*dh)[k];
  double* gate = tape + at.gates;
  Vec from_h(s.gates() * H), before(s.out, 0);
  for (int64_t u = 0; u < H; ++u) {
    if (s.mode == kLstm) {
      const double i = gate[u], f = gate[H + u], g = gate[2 * H + u], o = gate[3 * H + u];
      const double t = std::tanh(tape[at.c + u]);
      const double d = (*dc)[u] + dm[u] * o * (1 - t * t);
      gate[u] = d * g * i * (1 - i);
      gate[H + u] = d * c[u] * f * (1 - f);
      gate[2 * H + u] = d * i * (1 - g * g);
      gate[3 * H + u] = dm[u] * t * o * (1 - o);
      (*dc)[u] = d * f;
    } else if (s.mode == kGru) {
      const double r = gate[u], z = gate[H + u], n = gate[2 * H + u];
      const double dn = dm[u] * (1 - z) * (1 - n * n);
      gate[u] = dn * tape[at.candidate + u] * r * (1 - r);
      gate[H + u] = dm[u] * (h[u] - n) * z * (1 - z);
      gate[2 * H + u] = dn;
      tape[at.candidate + u] = dn * r;
      before[u] = dm[u] * z;
    } else {
      gate[u] = s.mode == kTanh ? dm[u] * (1 - gate[u] * gate[u]) : gate[u] > 0 ? dm[u] : 0;
    }
    for (int64_t g = 0; g < s.gates(); ++g) from_h[g * H + u] = gate[g * H + u];
    if (s.mode == kGru) from_h[2 * H + u] = tape[at.candidate + u];
  }
  for (int64_t row = 0; row < s.gates() * H; ++row) {
    for (int64_t k = 0; k < s.out; ++k) before[k] += w.recurrent[row * s.out + k] * from_h[row];
    if (columns == 0) dx[row % H] += gate[row];
    for (int64_t k = 0; k < columns; ++k) dx[k] += w.input[row * columns + k] * gate[row];
  }
  *dh = before;
}

}  // namespace

Tape::Tape(const RnnSize& size, int64_t max_time, int64_t batch)
    : size_(size),
      batch_(batch),
      cell_doubles_(size.gates() * size.hidden + 3 * size.hidden + 2 * size.out) {
  steps_ = max_time * batch;
  doubles_ = size.pseudo_layers() * steps_ * cell_doubles_;
  for (int64_t layer = 0; layer < size.layers; ++layer) {
    inputs_.push_back(doubles_);
    doubles_ += 2 * steps_ * size.width(layer);
  }
}

Tape::Cell Tape::cell(int64_t pseudo_layer, int64_t t, int64_t b) const {
  Cell at;
  at.gates = (pseudo_layer * steps_ + t * batch_ + b) * cell_doubles_;
  at.candidate = at.gates + size_.gates() * size_.hidden;
  at.c = at.candidate + size_.hidden;
  at.m = at.c + size_.hidden;
  at.h = at.m + size_.hidden;
  at.dh = at.h + size_.out;
  return at;
}

int64_t Tape::input(int64_t layer, int64_t t, int64_t b) const {
  return inputs_[layer] + (t * batch_ + b) * size_.width(layer);
}

int64_t Tape::mask(int64_t layer, int64_t t, int64_t b) const {
  return input(layer, t, b) + steps_ * size_.width(layer);
}

void Forward(const Problem& p, const Vec& h0, const Vec& c0, double* tape, Vec* y, Vec* h_n,
             Vec* c_n) {
  const RnnSize& s = p.size;
  const Tape at(s, p.max_time, p.batch);
  for (int64_t pl = 0; pl < s.pseudo_layers(); ++pl) {
    const int64_t layer = pl / s.dirs, dir = pl % s.dirs;
    for (int64_t b = 0; b < p.batch; ++b) {
      const int64_t n = p.lengths[b];
      for (int64_t i = 0; i < n; ++i) {
        const int64_t t = StepAt(dir, i, n);
        ForwardCell(s, p.weights[pl], s.columns(layer), tape + at.input(layer, t, b),
                    Before(p, at, tape, h0, pl, i, b),
                    s.mode == kLstm ? CellBefore(p, at, tape, c0, pl, i, b) : nullptr, tape,
                    at.cell(pl, t, b));
        const double* h = tape + at.cell(pl, t, b).h;
        for (int64_t k = 0; k < s.out; ++k) {
          const int64_t column = dir * s.out + k;
          if (layer + 1 == s.layers) {
            (*y)[(t * p.batch + b) * s.dirs * s.out + column] = h[k];
          } else {
            tape[at.input(layer + 1, t, b) + column] =
                h[k] * tape[at.mask(layer + 1, t, b) + column];
          }
        }
      }
      const double* h = Before(p, at, tape, h0, pl, n, b);
      for (int64_t k = 0; k < s.out; ++k) (*h_n)[(pl * p.batch + b) * s.out + k] = h[k];
      if (s.mode != kLstm) continue;
      const double* c = CellBefore(p, at, tape, c0, pl, n, b);
      for (int64_t u = 0; u < s.hidden; ++u) (*c_n)[(pl * p.batch + b) * s.hidden + u] = c[u];
    }
  }
}

void BackwardData(const Problem& p, const Vec& h0, const Vec& c0, const Vec& dy, Vec dh_n, Vec dc_n,
                  double* tape, Vec* dx, Vec* dh0, Vec* dc0) {
  const RnnSize& s = p.size;
  const Tape at(s, p.max_time, p.batch);
  Vec above = dy;  // the gradient of the output of the layer
  for (int64_t layer = s.layers - 1; layer >= 0; --layer) {
    const int64_t width = s.width(layer), out = s.dirs * s.out;
    Vec below(p.max_time * p.batch * width, 0);
    for (int64_t dir = 0; dir < s.dirs; ++dir) {
      const int64_t pl = layer * s.dirs + dir;
      for (int64_t b = 0; b < p.batch; ++b) {
        const int64_t n = p.lengths[b], state = pl * p.batch + b;
        Vec dh(dh_n.begin() + state * s.out, dh_n.begin() + (state + 1) * s.out), dc;
        if (s.mode == kLstm) {
          dc.assign(dc_n.begin() + state * s.hidden, dc_n.begin() + (state + 1) * s.hidden);
        }
        for (int64_t i = n - 1; i >= 0; --i) {
          const int64_t t = StepAt(dir, i, n), row = t * p.batch + b;
          for (int64_t k = 0; k < s.out; ++k) dh[k] += above[row * out + dir * s.out + k];
          BackwardCell(s, p.weights[pl], s.columns(layer), Before(p, at, tape, h0, pl, i, b),
                       s.mode == kLstm ? CellBefore(p, at, tape, c0, pl, i, b) : nullptr, tape,
                       at.cell(pl, t, b), &dh, &dc, &below[row * width]);
        }
        for (int64_t k = 0; k < s.out; ++k) (*dh0)[state * s.out + k] = dh[k];
        for (size_t u = 0; u < dc.size(); ++u) (*dc0)[state * s.hidden + u] = dc[u];
      }
    }
    for (int64_t t = 0; layer > 0 && t < p.max_time; ++t) {
      for (int64_t b = 0; b < p.batch; ++b) {
        for (int64_t k = 0; k < width; ++k) {
          below[(t * p.batch + b) * width + k] *= tape[at.mask(layer, t, b) + k];
        }
      }
    }
    above = below;
  }
  *dx = above;
}

void BackwardWeights(const Problem& p, const Vec& h0, const double* tape,
                     std::vector<Weights>* gradients) {
  const RnnSize& s = p.size;
  const Tape at(s, p.max_time, p.batch);
  for (int64_t pl = 0; pl < s.pseudo_layers(); ++pl) {
    const int64_t layer = pl / s.dirs, columns = s.columns(layer), H = s.hidden;
    Weights& g = (*gradients)[pl];
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t i = 0; i < p.lengths[b]; ++i) {
        const int64_t t = StepAt(pl % s.dirs, i, p.lengths[b]);
        const Tape::Cell cell = at.cell(pl, t, b);
        const double* x = tape + at.input(layer, t, b);
        const double* h = Before(p, at, tape, h0, pl, i, b);
        for (int64_t row = 0; row < s.gates() * H; ++row) {
          const double d = tape[cell.gates + row];
          const bool candidate = s.mode == kGru && row >= 2 * H;
          const double e = candidate ? tape[cell.candidate + row - 2 * H] : d;
          g.input_bias[row] += d;
          g.recurrent_bias[row] += e;
          for (int64_t k = 0; k < columns; ++k) g.input[row * columns + k] += d * x[k];
          for (int64_t k = 0; k < s.out; ++k) g.recurrent[row * s.out + k] += e * h[k];
        }
        for (int64_t k = 0; s.projects() && k < s.out; ++k) {
          for (int64_t u = 0; u < H; ++u) {
            g.projection[k * H + u] += tape[cell.dh + k] * tape[cell.m + u];
          }
        }
      }
    }
  }
}

}  // namespace rnn_ops::gpu::fake
