// The reference of LayerRNN: one layer with Keras's layout of the weights, masks for each gate, a
// choice of activations, and zoneout. LSTMs can have a projection, peepholes, clipping and
// normalizations. With int8 weights a product reads rounded rows (Operand).
#include <algorithm>
#include <cmath>

#include "cc/core/op/dropout.h"
#include "tests/cc/cpu/kernel_reference.h"

namespace rnn_ops::cpu::reference {
namespace {

constexpr RnnMode kRelu = RnnMode::kRelu, kTanh = RnnMode::kTanh, kLstm = RnnMode::kLstm,
                  kGru = RnnMode::kGru, kGruResetBefore = RnnMode::kGruResetBefore;

// The functions by number: tanh, sigmoid, hard_sigmoid, hard_sigmoid_keras2, relu, linear.
struct Function {
  int number;

  double operator()(double x) const {
    switch (number) {
      case 0:
        return std::tanh(x);
      case 1:
        return 1 / (1 + std::exp(-x));
      case 2:
        return x < -3 ? 0 : x > 3 ? 1 : x / 6 + 0.5;
      case 3:
        return x < -2.5 ? 0 : x > 2.5 ? 1 : x / 5 + 0.5;
      case 4:
        return x < 0 ? 0 : x;
      default:
        return x;
    }
  }
  double Slope(double x) const { return SlopeOf((*this)(x)); }
  // The slope from the value y, which may be rounded.
  double SlopeOf(double y) const {
    switch (number) {
      case 0:
        return 1 - y * y;
      case 1:
        return y * (1 - y);
      case 2:
        return y > 0 && y < 1 ? 1.0 / 6 : 0;
      case 3:
        return y > 0 && y < 1 ? 0.2 : 0;
      case 4:
        return y > 0 ? 1 : 0;
      default:
        return 1;
    }
  }
  // The distance from x to the nearest jump of the slope.
  double Nearest(double x) const {
    switch (number) {
      case 2:
        return std::abs(std::abs(x) - 3);
      case 3:
        return std::abs(std::abs(x) - 2.5);
      case 4:
        return std::abs(x);
      default:
        return std::numeric_limits<double>::infinity();
    }
  }
};

double Limited(double x, double limit) { return limit > 0 ? std::clamp(x, -limit, limit) : x; }

// A row as a product reads it.
struct Operand {
  Vec row;
  // With int8 weights: the change of an element by one integer, if the element is so near the
  // middle of two integers that a rounding error decides between them; otherwise 0.
  Vec unclear;
};

// The row with each element rounded to an integer, times what the integers stand for. The integers
// are computed in float and half to even, as the documentation of QuantizedLayerRNN has it.
Operand Rounded(const Vec& row) {
  float largest = 0;
  for (double v : row) largest = std::max(largest, std::abs(static_cast<float>(v)));
  Operand found = {Vec(row.size()), Vec(row.size())};
  if (largest < 127 * 0x1p-126f) return found;
  const double integer = largest / 127.0;
  for (size_t k = 0; k < row.size(); ++k) {
    const float scaled = static_cast<float>(row[k]) * (127.0f / largest);
    found.row[k] = std::nearbyint(scaled) * integer;
    const bool in_the_middle = std::abs(scaled - std::floor(scaled) - 0.5f) < 1e-3f;
    found.unclear[k] = in_the_middle ? integer : 0;
  }
  return found;
}

// One step of one sequence: from_x = sum of x * mask * W + bias[0]; from_h in the same way with h,
// R and bias[1].
struct Step {
  int64_t t, row;  // row: index in the sequence tensors
  Vec h_prev, c_prev, from_x, from_h, gate, c, h;
  Vec unlimited;  // c before clipping
  Vec m;          // input of the projection
  // With layer normalization, which normalises from_x and from_h.
  struct Norm {
    Vec unit;  // normalised values, with mean 0
    double slope;
  } norm_x, norm_h, norm_c;
};

class Row {
 public:
  Row(const RnnProblem& p, int64_t b, RnnValues* v)
      : p_(p),
        b_(b),
        v_(v),
        G_(FactsOf(p.mode).gates),
        I_(p.input_size),
        H_(p.num_units),
        S_(p.hidden_size()),
        act_{p.mode == kRelu ? 4 : static_cast<int>(p.activation)},
        gate_act_{static_cast<int>(p.recurrent_activation)} {}

  void Run() {
    const int64_t n = p_.lengths.steps[b_];
    std::vector<Step> steps(n);
    Vec h(S_), c(p_.mode == kLstm ? H_ : 0);
    std::copy_n(v_->h0.begin() + b_ * S_, S_, h.begin());
    std::copy_n(v_->c0.begin() + b_ * (p_.mode == kLstm ? H_ : 0), c.size(), c.begin());
    for (int64_t t = 0; t < n; ++t) {
      Step& s = steps[t];
      s.t = t;
      s.row = p_.time_major ? t * p_.batch + b_ : b_ * p_.max_time + t;
      s.h_prev = h, s.c_prev = c;
      Forward(&s);
      h = Mixed(t, 0, h, s.h), c = Mixed(t, 1, c, s.c);
      std::copy(h.begin(), h.end(), v_->y.begin() + s.row * S_);
      // The last bit of h may decide on an integer of the next step.
      if (p_.int8_weights && !v_->given_y.empty()) {
        std::copy_n(v_->given_y.begin() + s.row * S_, S_, h.begin());
      }
    }
    std::copy(h.begin(), h.end(), v_->h_n.begin() + b_ * S_);
    std::copy(c.begin(), c.end(), v_->c_n.begin() + b_ * c.size());
    if (!p_.is_training) return;
    Vec dh(S_), dc(c.size());
    std::copy_n(v_->dh_n.begin() + b_ * S_, S_, dh.begin());
    std::copy_n(v_->dc_n.begin() + b_ * dc.size(), dc.size(), dc.begin());
    for (int64_t t = 0; t < n && !v_->given_y.empty(); ++t) {
      const auto given = v_->given_y.begin() + steps[t].row * S_;
      if (p_.proj_clip > 0) std::copy_n(given, S_, steps[t].h.begin());
      if (G_ == 1) std::copy_n(given, H_, steps[t].gate.begin());
      if (t + 1 < n) std::copy_n(given, S_, steps[t + 1].h_prev.begin());
    }
    for (int64_t t = n - 1; t >= 0; --t) Backward(steps[t], &dh, &dc);
    std::copy(dh.begin(), dh.end(), v_->dh0.begin() + b_ * S_);
    std::copy(dc.begin(), dc.end(), v_->dc0.begin() + b_ * dc.size());
  }

 private:
  double InputMask(int64_t g, int64_t k) const {
    return p_.input_masked ? v_->input_mask[(g * p_.batch + b_) * I_ + k] : 1;
  }
  double RecurrentMask(int64_t g, int64_t k) const {
    return p_.recurrent_masked ? v_->recurrent_mask[(g * p_.batch + b_) * S_ + k] : 1;
  }
  // `value`, perhaps an infinity, times the peephole weight of i, f and o: k is 0, 1 and 2.
  double Peephole(int64_t k, int64_t u, double value) const {
    return p_.has_peepholes ? v_->peepholes[k * H_ + u] * value : 0;
  }
  double Bias(int64_t row, int64_t column) const {
    return row < p_.bias_rows ? v_->bias[row * G_ * H_ + column] : 0;
  }

  Operand Read(const Vec& row) const { return p_.int8_weights ? Rounded(row) : Operand{row, {}}; }
  // The matrices of int8 weights have scales for their columns.
  static double Weight(const Vec& matrix, const Vec& scales, int64_t row, int64_t columns,
                       int64_t column) {
    return matrix[row * columns + column] * (scales.empty() ? 1 : scales[column]);
  }
  double Recurrent(int64_t row, int64_t column) const {
    return Weight(v_->recurrent_kernel, v_->recurrent_kernel_scale, row, G_ * H_, column);
  }
  double Projection(int64_t row, int64_t column) const {
    return Weight(v_->projection, v_->projection_scale, row, S_, column);
  }

  // The part of the old h (state 0) or c (state 1) that zoneout keeps; see DrawZoneoutMasks in
  // cc/cpu.
  double Kept(int64_t t, int64_t state, int64_t u) const {
    const float rate = state == 0 ? p_.zoneout_h : p_.zoneout_c;
    if (!p_.zoneout_drawn) return double{rate};
    const auto place = static_cast<uint64_t>(t * p_.batch + b_);
    const uint32_t counter[4] = {static_cast<uint32_t>(u / 4), static_cast<uint32_t>(state),
                                 static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32)};
    uint32_t word[4];
    Philox4x32({p_.dropout_key[0], p_.dropout_key[1]}, counter, word);
    return word[u % 4] < DropThreshold(rate) ? 1 : 0;
  }

  Vec Mixed(int64_t t, int64_t state, const Vec& old, Vec made) const {
    for (size_t u = 0; u < made.size() && p_.has_zoneout(); ++u) {
      const double k = Kept(t, state, u);
      // A state with weight 0 may be infinite.
      if (k == 1) made[u] = old[u];
      if (k > 0 && k < 1) made[u] = k * old[u] + (1 - k) * made[u];
    }
    return made;
  }

  void Forward(Step* s) const {
    const int64_t columns = G_ * H_;
    s->from_x.resize(columns), s->from_h.resize(columns), s->gate.resize(columns);
    s->h.resize(S_), s->m.resize(H_), s->c.resize(s->c_prev.size());
    s->unlimited = s->c;
    const auto x_begin = v_->x.begin() + s->row * I_;
    const Operand x = Read(Vec(x_begin, x_begin + I_)), h = Read(s->h_prev);
    Vec slack(S_);
    for (int64_t g = 0; g < G_; ++g) {
      for (int64_t column = g * H_; column < (g + 1) * H_; ++column) {
        double from_x = p_.has_layer_norm ? 0 : Bias(0, column), from_h = Bias(1, column);
        for (int64_t k = 0; k < I_; ++k) {
          from_x +=
              x.row[k] * InputMask(g, k) * Weight(v_->kernel, v_->kernel_scale, k, columns, column);
        }
        for (int64_t k = 0; k < S_; ++k) {
          from_h += h.row[k] * RecurrentMask(g, k) * Recurrent(k, column);
        }
        s->from_x[column] = from_x, s->from_h[column] = from_h;
      }
    }
    if (p_.mode == kGruResetBefore) {
      // The recurrent product of the candidate is a separate product.
      Vec m(H_);
      for (int64_t u = 0; u < H_; ++u) {
        m[u] = Apply(gate_act_, Sum(*s, 1, u)) * s->h_prev[u] * RecurrentMask(2, u);
      }
      const Operand read = Read(m);
      for (int64_t column = 2 * H_; column < 3 * H_; ++column) {
        s->from_h[column] = 0;
        for (int64_t k = 0; k < H_; ++k) s->from_h[column] += read.row[k] * Recurrent(k, column);
        for (size_t k = 0; k < read.unclear.size(); ++k) {
          slack[column - 2 * H_] += read.unclear[k] * std::abs(Recurrent(k, column));
        }
      }
    }
    if (p_.has_layer_norm) {
      s->norm_x = Normalize(0, &s->from_x);
      s->norm_h = Normalize(8, &s->from_h);
      for (int64_t column = 0; column < columns; ++column) s->from_x[column] += Bias(0, column);
    }
    for (int64_t u = 0; u < H_; ++u) {
      auto gate = [&](int64_t g) -> double& { return s->gate[g * H_ + u]; };
      auto open = [&](int64_t g) { gate(g) = Apply(gate_act_, Sum(*s, g, u)); };
      if (p_.mode == kLstm) {  // i, f, c, o
        s->from_h[u] += Peephole(0, u, s->c_prev[u]);
        s->from_h[H_ + u] += Peephole(1, u, s->c_prev[u]);
        open(0), open(1);
        gate(2) = Apply(act_, Sum(*s, 2, u));
        s->unlimited[u] = gate(1) * s->c_prev[u] + gate(0) * gate(2);
        s->c[u] = Limit(s->unlimited[u], p_.cell_clip);
        s->from_h[3 * H_ + u] += Peephole(2, u, s->c[u]);
        open(3);
        s->m[u] = gate(3) * Apply(act_, s->c[u]);
        if (p_.num_proj == 0) s->h[u] = s->m[u];
      } else if (G_ == 3) {  // z, r, n
        open(0), open(1);
        gate(2) = Apply(act_, CandidateSum(*s, u));
        s->h[u] = gate(0) * s->h_prev[u] + (1 - gate(0)) * gate(2);
        slack[u] *= std::abs(1 - gate(0));
      } else {
        s->h[u] = gate(0) = Apply(act_, Sum(*s, 0, u));
      }
    }
    if (p_.has_layer_norm) {
      s->norm_c = Normalize(16, &s->c);
      for (int64_t u = 0; u < H_; ++u) s->h[u] = s->gate[3 * H_ + u] * Apply(act_, s->c[u]);
    }
    const Operand m = p_.num_proj > 0 ? Read(s->m) : Operand();
    for (int64_t k = 0; k < p_.num_proj; ++k) {
      double sum = 0;
      for (int64_t u = 0; u < H_; ++u) sum += m.row[u] * Projection(u, k);
      s->h[k] = Limit(sum, p_.proj_clip);
      for (size_t u = 0; u < m.unclear.size(); ++u) {
        slack[k] += m.unclear[u] * std::abs(Projection(u, k));
      }
    }
    if (p_.int8_weights) std::copy(slack.begin(), slack.end(), v_->slack.begin() + s->row * S_);
  }

  // Normalizes in place. gamma begins at row `row` of layer_norm, and beta follows.
  Step::Norm Normalize(int64_t row, Vec* values) const {
    const size_t n = values->size();
    double mean = 0, variance = 0;
    for (double v : *values) mean += v / n;
    for (double v : *values) variance += (v - mean) * (v - mean) / n;
    const double slope = 1 / std::sqrt(variance + static_cast<double>(p_.layer_norm_epsilon));
    Step::Norm norm = {Vec(n), slope};
    for (size_t k = 0; k < n; ++k) {
      norm.unit[k] = ((*values)[k] - mean) * slope;
      (*values)[k] = norm.unit[k] * v_->layer_norm[row * H_ + k] + v_->layer_norm[row * H_ + n + k];
    }
    return norm;
  }

  // The gradient of Normalize, in place.
  void NormalizeBack(int64_t row, const Step::Norm& norm, Vec* d) const {
    const size_t n = d->size();
    double mean = 0, along = 0;
    for (size_t k = 0; k < n; ++k) {
      v_->dlayer_norm[row * H_ + k] += (*d)[k] * norm.unit[k];
      v_->dlayer_norm[row * H_ + n + k] += (*d)[k];
      (*d)[k] *= v_->layer_norm[row * H_ + k];
      mean += (*d)[k] / n, along += (*d)[k] * norm.unit[k] / n;
    }
    for (size_t k = 0; k < n; ++k) (*d)[k] = norm.slope * ((*d)[k] - mean - norm.unit[k] * along);
  }

  double Limit(double x, double limit) const {
    if (limit > 0) v_->nearest = std::min(v_->nearest, std::abs(std::abs(x) - limit));
    return Limited(x, limit);
  }

  double Sum(const Step& s, int64_t g, int64_t u) const {
    return s.from_x[g * H_ + u] + s.from_h[g * H_ + u];
  }
  // The sum of the candidate of a GRU.
  double CandidateSum(const Step& s, int64_t u) const {
    if (p_.mode == kGruResetBefore) return Sum(s, 2, u);
    return s.from_x[2 * H_ + u] + s.gate[H_ + u] * s.from_h[2 * H_ + u];
  }
  double Apply(const Function& f, double x) const {
    v_->nearest = std::min(v_->nearest, f.Nearest(x));
    return f(x);
  }

  // Replaces the gradients of h and c from later steps by the gradients of the step before.
  void Backward(const Step& s, Vec* dh, Vec* dc) const {
    const int64_t columns = G_ * H_;
    Vec from_x(columns), from_h(columns), before(S_, 0);  // gradients
    Vec dm(H_);                                           // of h, without a projection
    for (int64_t u = 0; u < H_ && p_.num_proj == 0; ++u) dm[u] = (*dh)[u] + v_->dy[s.row * H_ + u];
    for (int64_t k = 0; k < p_.num_proj; ++k) {
      double dhk = (*dh)[k] + v_->dy[s.row * S_ + k];
      if (p_.proj_clip > 0 && std::abs(s.h[k]) >= p_.proj_clip) dhk = 0;
      for (int64_t u = 0; u < H_; ++u) {
        dm[u] += dhk * v_->projection[u * S_ + k];
        v_->dprojection[u * S_ + k] += dhk * s.m[u];
      }
    }
    Vec kept_dh(S_), kept_dc(dc->size());  // the part that reaches the step before unchanged
    for (int64_t u = 0; u < H_ && p_.has_zoneout(); ++u) {
      kept_dh[u] = Kept(s.t, 0, u) * dm[u];
      dm[u] -= kept_dh[u];
    }
    for (size_t u = 0; u < dc->size(); ++u) {
      kept_dc[u] = Kept(s.t, 1, u) * (*dc)[u];
      (*dc)[u] -= kept_dc[u];
    }
    if (p_.has_layer_norm) {
      for (int64_t u = 0; u < H_; ++u) {
        (*dc)[u] += dm[u] * s.gate[3 * H_ + u] * act_.Slope(s.c[u]);
      }
      NormalizeBack(16, s.norm_c, dc);
    }
    for (int64_t u = 0; u < H_; ++u) {
      auto gate = [&](int64_t g) { return s.gate[g * H_ + u]; };
      auto put = [&](int64_t g, double gradient) {
        from_x[g * H_ + u] = from_h[g * H_ + u] = gradient;
      };
      const double dhu = dm[u];
      auto slope = [&](int64_t g) { return gate_act_.Slope(Sum(s, g, u)); };
      if (p_.mode == kLstm) {
        const double d_out = dhu * act_(s.c[u]) * slope(3);
        double dcu = (*dc)[u] + Peephole(2, u, d_out);
        if (!p_.has_layer_norm) dcu += dhu * gate(3) * act_.Slope(s.c[u]);
        if (p_.cell_clip > 0 && std::abs(s.unlimited[u]) > p_.cell_clip) dcu = 0;
        put(0, dcu * gate(2) * slope(0));
        put(1, dcu * s.c_prev[u] * slope(1));
        put(2, dcu * gate(0) * act_.Slope(Sum(s, 2, u)));
        put(3, d_out);
        (*dc)[u] = dcu * gate(1) + Peephole(0, u, from_x[u]) + Peephole(1, u, from_x[H_ + u]);
        if (p_.has_peepholes) {
          v_->dpeepholes[u] += from_x[u] * s.c_prev[u];
          v_->dpeepholes[H_ + u] += from_x[H_ + u] * s.c_prev[u];
          v_->dpeepholes[2 * H_ + u] += d_out * s.c[u];
        }
      } else if (G_ == 3) {
        const double dn = dhu * (1 - gate(0)) * act_.Slope(CandidateSum(s, u));
        put(0, dhu * (s.h_prev[u] - gate(2)) * slope(0));
        put(1, p_.mode == kGru ? dn * s.from_h[2 * H_ + u] * slope(1) : 0);
        from_x[2 * H_ + u] = dn;
        from_h[2 * H_ + u] = p_.mode == kGru ? dn * gate(1) : 0;
        before[u] = dhu * gate(0);
      } else {
        put(0, dhu * act_.SlopeOf(gate(0)));
      }
    }
    if (p_.mode == kGruResetBefore) {
      for (int64_t k = 0; k < H_; ++k) {
        const double m = s.gate[H_ + k] * s.h_prev[k] * RecurrentMask(2, k);
        double dm = 0;
        for (int64_t column = 2 * H_; column < columns; ++column) {
          dm += from_x[column] * v_->recurrent_kernel[k * columns + column];
          v_->drecurrent_kernel[k * columns + column] += m * from_x[column];
        }
        dm *= RecurrentMask(2, k);
        from_x[H_ + k] = from_h[H_ + k] = dm * s.h_prev[k] * gate_act_.Slope(Sum(s, 1, k));
        before[k] += dm * s.gate[H_ + k];
      }
    }
    const Vec d_sums = from_x;
    if (p_.has_layer_norm) {
      NormalizeBack(0, s.norm_x, &from_x);
      NormalizeBack(8, s.norm_h, &from_h);
    }
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t g = column / H_;
      if (p_.bias_rows > 0) v_->dbias[column] += d_sums[column];
      if (p_.bias_rows > 1) v_->dbias[columns + column] += from_h[column];
      for (int64_t k = 0; k < I_; ++k) {
        const int64_t at = k * columns + column;
        v_->dx[s.row * I_ + k] += from_x[column] * v_->kernel[at] * InputMask(g, k);
        v_->dkernel[at] += v_->x[s.row * I_ + k] * InputMask(g, k) * from_x[column];
      }
      for (int64_t k = 0; k < S_; ++k) {
        const int64_t at = k * columns + column;
        before[k] += from_h[column] * v_->recurrent_kernel[at] * RecurrentMask(g, k);
        v_->drecurrent_kernel[at] += s.h_prev[k] * RecurrentMask(g, k) * from_h[column];
      }
    }
    for (int64_t k = 0; k < S_; ++k) (*dh)[k] = before[k] + kept_dh[k];
    for (size_t u = 0; u < dc->size(); ++u) (*dc)[u] += kept_dc[u];
  }

  const RnnProblem& p_;
  const int64_t b_;
  RnnValues* const v_;
  const int64_t G_, I_, H_, S_;
  const Function act_, gate_act_;
};

}  // namespace

int64_t KeptValuesOf(RnnMode mode) {
  switch (mode) {
    case kLstm:
      return 5;  // the gates and c
    case kGru:
      return 4;  // the gates and the recurrent part of the candidate
    case kGruResetBefore:
      return 3;
    case kRelu:
    case kTanh:
    case RnnMode::kVanilla:
      break;
  }
  return 0;
}

RnnElements LayerElementsOf(const RnnProblem& p) {
  const int64_t G = FactsOf(p.mode).gates, I = p.input_size, H = p.num_units;
  const int64_t S = p.num_proj > 0 ? p.num_proj : H;
  RnnElements n = {};
  n.x = p.max_time * p.batch * I;
  n.y = p.max_time * p.batch * S;
  n.h = p.batch * S;
  n.c = p.mode == kLstm ? p.batch * H : 0;
  n.kernel = I * G * H;
  n.recurrent_kernel = S * G * H;
  n.bias = p.bias_rows * G * H;
  n.projection = H * p.num_proj;
  if (p.int8_weights) {
    n.kernel_scale = n.recurrent_kernel_scale = G * H;
    n.projection_scale = p.num_proj;
  }
  n.peepholes = p.has_peepholes ? 3 * H : 0;
  n.layer_norm = p.has_layer_norm ? 18 * H : 0;
  n.input_mask = p.input_masked ? G * p.batch * I : 0;
  n.recurrent_mask = p.recurrent_masked ? G * p.batch * S : 0;
  return n;
}

void RunLayer(const RnnProblem& p, RnnValues* v) {
  if (p.int8_weights) v->slack.assign(v->y.size(), 0);
  for (int64_t b = 0; b < p.batch; ++b) Row(p, b, v).Run();
}

}  // namespace rnn_ops::cpu::reference
