#include "tests/cc/cpu/kernel_reference.h"

#include <algorithm>
#include <cmath>

#include "cc/core/op/dropout.h"

namespace rnn_ops::cpu::reference {
namespace {

constexpr RnnMode kRelu = RnnMode::kRelu, kTanh = RnnMode::kTanh, kLstm = RnnMode::kLstm,
                  kGru = RnnMode::kGru;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double SigmoidSlope(double y) { return y * (1 - y); }
double TanhSlope(double y) { return 1 - y * y; }

int64_t GatesOf(RnnMode mode) { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }

// Offsets of one pseudo-layer in the opaque buffer. The weights of all pseudo-layers come first.
struct Offsets {
  int64_t in;  // columns of the input weights; 0: x is added to each gate
  int64_t input, recurrent, projection, input_bias, recurrent_bias;
};

struct Layout {
  std::vector<Offsets> pseudo_layers;
  int64_t size = 0;
};

Layout LayoutOf(const RnnProblem& p) {
  const int64_t gates = GatesOf(p.mode), H = p.num_units, P = p.num_proj, S = P ? P : H;
  Layout layout;
  for (int64_t l = 0; l < p.num_layers; ++l) {
    for (int64_t d = 0; d < p.num_dirs(); ++d) {
      Offsets at = {};
      at.in = l > 0 ? p.num_dirs() * S : p.skips_input(0) ? 0 : p.input_size;
      at.input = layout.size;
      at.recurrent = at.input + gates * H * at.in;
      at.projection = at.recurrent + gates * H * S;
      layout.size = at.projection + P * H;
      layout.pseudo_layers.push_back(at);
    }
  }
  for (Offsets& at : layout.pseudo_layers) {
    at.input_bias = layout.size;
    at.recurrent_bias = at.input_bias + gates * H;
    layout.size = at.recurrent_bias + gates * H;
  }
  return layout;
}

// One step of one sequence in one pseudo-layer.
struct Step {
  Vec x, h_prev, c_prev;
  Vec from_x, from_h;  // [G*H] W x + b_W and R h + b_R
  Vec gate;            // [G*H] after the activations
  Vec c, m, h;         // m: h before the projection
};

class Cell {
 public:
  Cell(const RnnProblem& p, const Offsets& at, const Vec& params)
      : p_(p), at_(at), params_(params), H_(p.num_units), S_(p.num_proj ? p.num_proj : H_) {}

  void Forward(Step* s) const {
    const int64_t G = GatesOf(p_.mode);
    s->from_x.assign(G * H_, 0);
    s->from_h.assign(G * H_, 0);
    for (int64_t g = 0; g < G * H_; ++g) {
      s->from_x[g] = params_[at_.input_bias + g] + (at_.in == 0 ? s->x[g % H_] : 0);
      for (int64_t k = 0; k < at_.in; ++k) s->from_x[g] += W(g, k) * s->x[k];
      s->from_h[g] = params_[at_.recurrent_bias + g];
      for (int64_t k = 0; k < S_; ++k) s->from_h[g] += R(g, k) * s->h_prev[k];
    }
    s->gate.assign(G * H_, 0);
    s->c.assign(p_.mode == kLstm ? H_ : 0, 0);
    s->m.assign(H_, 0);
    for (int64_t u = 0; u < H_; ++u) {
      auto a = [&](int64_t g) { return s->from_x[g * H_ + u] + s->from_h[g * H_ + u]; };
      auto gate = [&](int64_t g) -> double& { return s->gate[g * H_ + u]; };
      switch (p_.mode) {
        case kLstm:  // i, f, c, o
          gate(0) = Sigmoid(a(0)), gate(1) = Sigmoid(a(1));
          gate(2) = std::tanh(a(2)), gate(3) = Sigmoid(a(3));
          s->c[u] = gate(1) * s->c_prev[u] + gate(0) * gate(2);
          s->m[u] = gate(3) * std::tanh(s->c[u]);
          break;
        case kGru:  // r, z, h
          gate(0) = Sigmoid(a(0)), gate(1) = Sigmoid(a(1));
          gate(2) = std::tanh(s->from_x[2 * H_ + u] + gate(0) * s->from_h[2 * H_ + u]);
          s->m[u] = (1 - gate(1)) * gate(2) + gate(1) * s->h_prev[u];
          break;
        case kTanh:
          s->m[u] = gate(0) = std::tanh(a(0));
          break;
        default:
          s->m[u] = gate(0) = a(0) > 0 || std::isnan(a(0)) ? a(0) : 0;
          break;
      }
    }
    s->h = s->m;
    if (p_.num_proj == 0) return;
    s->h.assign(S_, 0);
    for (int64_t k = 0; k < S_; ++k) {
      for (int64_t u = 0; u < H_; ++u) s->h[k] += params_[at_.projection + k * H_ + u] * s->m[u];
    }
  }

  // Replaces the gradients of h and c after the step by the gradients before the step.
  void Backward(const Step& s, Vec* dh, Vec* dc, Vec* dx, Vec* dparams) const {
    const int64_t G = GatesOf(p_.mode);
    Vec dm = *dh;
    if (p_.num_proj > 0) {
      dm.assign(H_, 0);
      for (int64_t k = 0; k < S_; ++k) {
        for (int64_t u = 0; u < H_; ++u) {
          dm[u] += (*dh)[k] * params_[at_.projection + k * H_ + u];
          (*dparams)[at_.projection + k * H_ + u] += (*dh)[k] * s.m[u];
        }
      }
    }
    Vec da(G * H_), db(G * H_);  // gradients of from_x and from_h
    Vec dh_prev(S_, 0);
    for (int64_t u = 0; u < H_; ++u) {
      auto gate = [&](int64_t g) { return s.gate[g * H_ + u]; };
      if (p_.mode == kLstm) {
        const double tanh_c = std::tanh(s.c[u]);
        const double dcu = (*dc)[u] + dm[u] * gate(3) * TanhSlope(tanh_c);
        da[u] = dcu * gate(2) * SigmoidSlope(gate(0));
        da[H_ + u] = dcu * s.c_prev[u] * SigmoidSlope(gate(1));
        da[2 * H_ + u] = dcu * gate(0) * TanhSlope(gate(2));
        da[3 * H_ + u] = dm[u] * tanh_c * SigmoidSlope(gate(3));
        (*dc)[u] = dcu * gate(1);
      } else if (p_.mode == kGru) {
        const double dn = dm[u] * (1 - gate(1)) * TanhSlope(gate(2));
        da[u] = dn * s.from_h[2 * H_ + u] * SigmoidSlope(gate(0));
        da[H_ + u] = dm[u] * (s.h_prev[u] - gate(2)) * SigmoidSlope(gate(1));
        da[2 * H_ + u] = dn;
        dh_prev[u] = dm[u] * gate(1);
      } else {
        da[u] = p_.mode == kTanh ? dm[u] * TanhSlope(gate(0)) : gate(0) > 0 ? dm[u] : 0;
      }
    }
    db = da;
    if (p_.mode == kGru) {
      for (int64_t u = 0; u < H_; ++u) db[2 * H_ + u] = da[2 * H_ + u] * s.gate[u];
    }
    for (int64_t g = 0; g < G * H_; ++g) {
      (*dparams)[at_.input_bias + g] += da[g];
      (*dparams)[at_.recurrent_bias + g] += db[g];
      if (at_.in == 0) (*dx)[g % H_] += da[g];
      for (int64_t k = 0; k < at_.in; ++k) {
        (*dx)[k] += da[g] * W(g, k);
        (*dparams)[at_.input + g * at_.in + k] += da[g] * s.x[k];
      }
      for (int64_t k = 0; k < S_; ++k) {
        dh_prev[k] += db[g] * R(g, k);
        (*dparams)[at_.recurrent + g * S_ + k] += db[g] * s.h_prev[k];
      }
    }
    *dh = dh_prev;
  }

 private:
  double W(int64_t g, int64_t k) const { return params_[at_.input + g * at_.in + k]; }
  double R(int64_t g, int64_t k) const { return params_[at_.recurrent + g * S_ + k]; }

  const RnnProblem& p_;
  const Offsets& at_;
  const Vec& params_;
  const int64_t H_, S_;
};

// The factor by which dropout multiplies an element of the output of `layer`; see DropRows in
// cc/cpu.
double DropoutFactor(const RnnProblem& p, int64_t layer, int64_t t, int64_t b, int64_t column) {
  if (p.dropout == 0 || !p.is_training) return 1;
  if (p.dropout == 1) return 0;
  const uint32_t counter[4] = {static_cast<uint32_t>(column / 4), static_cast<uint32_t>(layer),
                               static_cast<uint32_t>(t * p.batch + b), 0};
  uint32_t word[4];
  Philox4x32({p.dropout_key[0], p.dropout_key[1]}, counter, word);
  return word[column % 4] < DropThreshold(p.dropout) ? 0 : 1 / (1 - double{p.dropout});
}

Vec Slice(const Vec& from, int64_t at, int64_t n) {
  return Vec(from.begin() + at, from.begin() + at + n);
}
void Put(const Vec& from, int64_t at, Vec* to) {
  std::copy(from.begin(), from.end(), to->begin() + at);
}

// Runs all layers for sequence b of the batch.
void RunRow(const RnnProblem& p, const Layout& layout, int64_t b, RnnValues* v) {
  const int64_t L = p.num_layers, D = p.num_dirs(), H = p.num_units,
                S = p.num_proj ? p.num_proj : H;
  const int64_t n = p.lengths.steps[b];
  auto row = [&](int64_t t) { return p.time_major ? t * p.batch + b : b * p.max_time + t; };
  auto state = [&](int64_t pl) { return p.time_major ? pl * p.batch + b : b * L * D + pl; };
  const bool lstm = p.mode == kLstm;

  std::vector<std::vector<Step>> steps(L * D, std::vector<Step>(n));  // by time
  std::vector<Vec> sequence(n);
  for (int64_t t = 0; t < n; ++t) sequence[t] = Slice(v->x, row(t) * p.input_size, p.input_size);
  for (int64_t l = 0; l < L; ++l) {
    std::vector<Vec> output(n, Vec(D * S));
    for (int64_t d = 0; d < D; ++d) {
      const int64_t pl = l * D + d;
      Vec h = Slice(v->h0, state(pl) * S, S);
      Vec c = lstm ? Slice(v->c0, state(pl) * H, H) : Vec();
      for (int64_t i = 0; i < n; ++i) {
        const int64_t t = d == 0 ? i : n - 1 - i;
        Step& step = steps[pl][t];
        step.x = sequence[t], step.h_prev = h, step.c_prev = c;
        Cell(p, layout.pseudo_layers[pl], v->params).Forward(&step);
        for (int64_t g = 0; p.mode == kRelu && g < H; ++g) {
          v->nearest = std::min(v->nearest, std::abs(step.from_x[g] + step.from_h[g]));
        }
        h = step.h, c = step.c;
        Put(h, d * S, &output[t]);
      }
      Put(h, state(pl) * S, &v->h_n);
      if (lstm) Put(c, state(pl) * H, &v->c_n);
    }
    sequence = output;
    for (int64_t t = 0; l + 1 < L && t < n; ++t) {
      for (int64_t k = 0; k < D * S; ++k) sequence[t][k] *= DropoutFactor(p, l, t, b, k);
    }
  }
  for (int64_t t = 0; t < n; ++t) Put(sequence[t], row(t) * D * S, &v->y);
  if (!p.is_training) return;

  for (int64_t d = 0; d < D && !v->given_y.empty(); ++d) {
    std::vector<Step>& last = steps[(L - 1) * D + d];
    for (int64_t t = 0; t < n; ++t) {
      const Vec h = Slice(v->given_y, row(t) * D * S + d * S, S);
      if (p.mode == kTanh || p.mode == kRelu) last[t].gate = h;
      const int64_t after = d == 0 ? t + 1 : t - 1;
      if (after >= 0 && after < n) last[after].h_prev = h;
    }
  }

  std::vector<Vec> gradient(n);  // gradient of the layer's output, later of its input
  for (int64_t t = 0; t < n; ++t) gradient[t] = Slice(v->dy, row(t) * D * S, D * S);
  for (int64_t l = L - 1; l >= 0; --l) {
    const int64_t in = l == 0 ? p.input_size : D * S;
    std::vector<Vec> below(n, Vec(in, 0));
    for (int64_t d = 0; d < D; ++d) {
      const int64_t pl = l * D + d;
      Vec dh = Slice(v->dh_n, state(pl) * S, S);
      Vec dc = lstm ? Slice(v->dc_n, state(pl) * H, H) : Vec();
      for (int64_t i = 0; i < n; ++i) {
        const int64_t t = d == 0 ? n - 1 - i : i;
        for (int64_t k = 0; k < S; ++k) dh[k] += gradient[t][d * S + k];
        Cell(p, layout.pseudo_layers[pl], v->params)
            .Backward(steps[pl][t], &dh, &dc, &below[t], &v->dparams);
      }
      Put(dh, state(pl) * S, &v->dh0);
      if (lstm) Put(dc, state(pl) * H, &v->dc0);
    }
    gradient = below;
    for (int64_t t = 0; l > 0 && t < n; ++t) {
      for (int64_t k = 0; k < in; ++k) gradient[t][k] *= DropoutFactor(p, l - 1, t, b, k);
    }
  }
  for (int64_t t = 0; t < n; ++t) Put(gradient[t], row(t) * p.input_size, &v->dx);
}

}  // namespace

RnnElements ElementsOf(const RnnProblem& p) {
  if (p.weight_layout == kKerasWeights) return LayerElementsOf(p);
  const int64_t S = p.num_proj ? p.num_proj : p.num_units;
  const int64_t states = p.num_pseudo_layers() * p.batch, rows = p.max_time * p.batch;
  RnnElements n = {};
  n.x = rows * p.input_size;
  n.y = rows * p.num_dirs() * S;
  n.h = states * S;
  n.c = p.mode == kLstm ? states * p.num_units : 0;
  n.params = LayoutOf(p).size;
  return n;
}

void RunStack(const RnnProblem& p, RnnValues* v) {
  const RnnElements n = ElementsOf(p);
  v->y.assign(n.y, 0), v->h_n.assign(n.h, 0), v->c_n.assign(n.c, 0);
  v->dx.assign(n.x, 0), v->dh0.assign(n.h, 0), v->dc0.assign(n.c, 0);
  v->dparams.assign(n.params, 0);
  v->dkernel.assign(n.kernel, 0), v->drecurrent_kernel.assign(n.recurrent_kernel, 0);
  v->dbias.assign(n.bias, 0);
  v->dprojection.assign(n.projection, 0), v->dpeepholes.assign(n.peepholes, 0);
  v->dlayer_norm.assign(n.layer_norm, 0);
  if (p.weight_layout == kKerasWeights) return RunLayer(p, v);
  const Layout layout = LayoutOf(p);
  for (int64_t b = 0; b < p.batch; ++b) RunRow(p, layout, b, v);
}

void RunBlockLstm(const BlockLstmProblem& p, BlockLstmValues* v) {
  const int64_t B = p.batch, I = p.input_size, H = p.num_units, steps = p.max_time * B * H;
  for (Vec* out : {&v->i, &v->cs, &v->f, &v->o, &v->ci, &v->co, &v->h}) out->assign(steps, 0);
  v->x_grad.assign(p.max_time * B * I, 0);
  v->cs_prev_grad.assign(B * H, 0), v->h_prev_grad.assign(B * H, 0);
  v->w_grad.assign((I + H) * 4 * H, 0), v->b_grad.assign(4 * H, 0);
  for (Vec* out : {&v->wci_grad, &v->wcf_grad, &v->wco_grad}) out->assign(H, 0);
  const double peephole = p.use_peephole ? 1 : 0;

  // Row r of [x_t, h_(t-1)], and c_(t-1), of sequence b.
  auto input = [&](int64_t t, int64_t b, int64_t r) {
    if (r < I) return v->x[(t * B + b) * I + r];
    return t == 0 ? v->h_prev[b * H + r - I] : v->h[((t - 1) * B + b) * H + r - I];
  };
  auto c_before = [&](int64_t t, int64_t b, int64_t u) {
    return t == 0 ? v->cs_prev[b * H + u] : v->cs[((t - 1) * B + b) * H + u];
  };

  for (int64_t t = 0; t < p.seq_len; ++t) {
    for (int64_t b = 0; b < B; ++b) {
      for (int64_t u = 0; u < H; ++u) {
        double a[4];  // i, f, ci, o
        for (int64_t g = 0; g < 4; ++g) {
          a[g] = v->b[g * H + u];
          for (int64_t r = 0; r < I + H; ++r) a[g] += input(t, b, r) * v->w[(r * 4 + g) * H + u];
        }
        const int64_t at = (t * B + b) * H + u;
        const double c_prev = c_before(t, b, u);
        v->i[at] = Sigmoid(a[0] + peephole * v->wci[u] * c_prev);
        v->f[at] = Sigmoid(a[1] + peephole * v->wcf[u] * c_prev);
        v->ci[at] = std::tanh(a[2]);
        double c = v->f[at] * c_prev + v->i[at] * v->ci[at];
        if (p.cell_clip > 0) c = std::clamp<double>(c, -p.cell_clip, p.cell_clip);
        v->cs[at] = c;
        v->o[at] = Sigmoid(a[3] + peephole * v->wco[u] * c);
        v->co[at] = std::tanh(c);
        v->h[at] = v->o[at] * v->co[at];
      }
    }
  }

  for (int64_t b = 0; b < B; ++b) {
    Vec dh(H, 0), dc(H, 0);
    for (int64_t t = p.seq_len - 1; t >= 0; --t) {
      Vec dh_prev(H, 0);
      for (int64_t u = 0; u < H; ++u) {
        const int64_t at = (t * B + b) * H + u;
        const double dhu = dh[u] + v->h_grad[at], c_prev = c_before(t, b, u);
        double da[4];
        da[3] = dhu * v->co[at] * SigmoidSlope(v->o[at]);
        const double dcu = dc[u] + v->cs_grad[at] + dhu * v->o[at] * TanhSlope(v->co[at]) +
                           peephole * da[3] * v->wco[u];
        da[0] = dcu * v->ci[at] * SigmoidSlope(v->i[at]);
        da[1] = dcu * c_prev * SigmoidSlope(v->f[at]);
        da[2] = dcu * v->i[at] * TanhSlope(v->ci[at]);
        dc[u] = dcu * v->f[at] + peephole * (da[0] * v->wci[u] + da[1] * v->wcf[u]);
        v->wci_grad[u] += peephole * da[0] * c_prev;
        v->wcf_grad[u] += peephole * da[1] * c_prev;
        v->wco_grad[u] += peephole * da[3] * v->cs[at];
        for (int64_t g = 0; g < 4; ++g) {
          v->b_grad[g * H + u] += da[g];
          for (int64_t r = 0; r < I + H; ++r) {
            const int64_t w = (r * 4 + g) * H + u;
            v->w_grad[w] += da[g] * input(t, b, r);
            double& back = r < I ? v->x_grad[(t * B + b) * I + r] : dh_prev[r - I];
            back += da[g] * v->w[w];
          }
        }
      }
      dh = dh_prev;
    }
    Put(dh, b * H, &v->h_prev_grad);
    Put(dc, b * H, &v->cs_prev_grad);
  }
}

}  // namespace rnn_ops::cpu::reference
