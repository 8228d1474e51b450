#include "tests/cc/gpu/block_lstm_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "tests/cc/gpu/fake_memory.h"

namespace rnn_ops {
namespace gpu {
namespace fake {
namespace {

using V = BlockValues;
using Vec = std::vector<double>;

cpu::BlockLstmProblem ForReference(const BlockLstmProblem& p) { return {p, p.dtype}; }

void FillRandom(std::mt19937_64& random, Dtype dtype, double size, int64_t count, Vec* values) {
  std::uniform_real_distribution<double> any(-size, size);
  values->resize(count);
  for (double& value : *values) value = RoundTo(dtype, any(random));
}

// The tensors of a run in device memory.
class Tensors {
 public:
  Tensors(Dtype dtype, BlockValues* values) : dtype_(dtype), values_(*values) {}

  void* Input(Vec V::* field) {
    void* const memory = Make(field, (values_.*field).size());
    WriteAll(dtype_, memory, values_.*field);
    return memory;
  }
  void* Output(Vec V::* field, int64_t size) {
    (values_.*field).resize(size);
    return Make(field, size);
  }
  void Read(const std::vector<BlockField>& fields) {
    for (const BlockField& field : fields) {
      Vec& values = values_.*field.values;
      values = ReadAll(dtype_, memory_.at(field.name), static_cast<int64_t>(values.size()));
    }
  }

 private:
  void* Make(Vec V::* field, int64_t size) {
    void*& memory = memory_[NameOf(field)];
    memory = size == 0 ? nullptr : allocator_.Allocate(size * SizeOf(dtype_));
    return memory;
  }
  static const char* NameOf(Vec V::* values) {
    for (const auto* fields :
         {&kBlockInputs, &kBlockGradientInputs, &kBlockOutputs, &kBlockGradients}) {
      for (const BlockField& field : *fields) {
        if (field.values == values) return field.name;
      }
    }
    return "";
  }

  const Dtype dtype_;
  BlockValues& values_;
  ExactAllocator allocator_;
  std::map<std::string, void*> memory_;
};

}  // namespace

const std::vector<BlockField> kBlockInputs = {
    {"x", &V::x},     {"cs_prev", &V::cs_prev}, {"h_prev", &V::h_prev}, {"w", &V::w},
    {"wci", &V::wci}, {"wcf", &V::wcf},         {"wco", &V::wco},       {"b", &V::b}};
const std::vector<BlockField> kBlockGradientInputs = {{"cs_grad", &V::cs_grad},
                                                      {"h_grad", &V::h_grad}};
const std::vector<BlockField> kBlockOutputs = {{"i", &V::i}, {"cs", &V::cs}, {"f", &V::f},
                                               {"o", &V::o}, {"ci", &V::ci}, {"co", &V::co},
                                               {"h", &V::h}};
const std::vector<BlockField> kBlockGradients = {
    {"x_grad", &V::x_grad},           {"cs_prev_grad", &V::cs_prev_grad},
    {"h_prev_grad", &V::h_prev_grad}, {"w_grad", &V::w_grad},
    {"wci_grad", &V::wci_grad},       {"wcf_grad", &V::wcf_grad},
    {"wco_grad", &V::wco_grad},       {"b_grad", &V::b_grad}};

std::string Describe(const BlockLstmProblem& p) {
  return StrCat(Name(p.dtype), " T=", p.max_time, " B=", p.batch, " I=", p.input_size,
                " H=", p.num_units, " seq_len_max=", p.seq_len, " peephole=", p.use_peephole,
                " clip=", p.cell_clip, " tf32=", p.allow_tf32);
}

double RoundTo(Dtype dtype, double value) {
  double memory;
  Write(dtype, &memory, 0, value);
  return Read(dtype, &memory, 0);
}

BlockValues MakeBlockInputs(const BlockLstmProblem& p, uint64_t seed) {
  std::mt19937_64 random(seed);
  const int64_t T = p.max_time, B = p.batch, I = p.input_size, H = p.num_units;
  const double weight = 1.5 / std::sqrt(static_cast<double>(I + H));
  BlockValues v;
  FillRandom(random, p.dtype, weight, (I + H) * 4 * H, &v.w);
  FillRandom(random, p.dtype, weight, 4 * H, &v.b);
  for (Vec* peephole : {&v.wci, &v.wcf, &v.wco}) FillRandom(random, p.dtype, 1, H, peephole);
  for (Vec* state : {&v.cs_prev, &v.h_prev}) FillRandom(random, p.dtype, 1, B * H, state);
  FillRandom(random, p.dtype, 2, T * B * I, &v.x);
  for (Vec* grad : {&v.cs_grad, &v.h_grad}) FillRandom(random, p.dtype, 1, T * B * H, grad);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::fill(v.x.begin() + p.seq_len * B * I, v.x.end(), nan);
  for (Vec* grad : {&v.cs_grad, &v.h_grad}) {
    std::fill(grad->begin() + p.seq_len * B * H, grad->end(), nan);
  }
  return v;
}

BlockValues BlockReference(const BlockLstmProblem& p, const BlockValues& inputs) {
  BlockValues v = inputs;
  cpu::reference::RunBlockLstm(ForReference(p), &v);
  return v;
}

BlockValues NaiveBlockLstm(const BlockLstmProblem& p, const BlockValues& inputs) {
  const int64_t B = p.batch, I = p.input_size, H = p.num_units;
  const auto r = [&p](double value) { return RoundTo(p.dtype, value); };
  const auto sigmoid = [&r](double x) { return r(1 / r(1 + r(std::exp(-x)))); };
  const auto slope = [&r](double y) { return r(y * r(1 - y)); };
  const auto tanh_slope = [&r](double y) { return r(1 - r(y * y)); };
  const auto add = [&r](double value, double* to) { *to = r(*to + value); };
  const double peephole = p.use_peephole ? 1 : 0;
  BlockValues v = inputs;
  for (const BlockField& out : kBlockOutputs) (v.*out.values).assign(p.max_time * B * H, 0);
  v.x_grad.assign(v.x.size(), 0), v.w_grad.assign(v.w.size(), 0), v.b_grad.assign(4 * H, 0);
  for (Vec* out : {&v.wci_grad, &v.wcf_grad, &v.wco_grad}) out->assign(H, 0);
  const auto input = [&](int64_t t, int64_t b, int64_t k) {
    if (k < I) return v.x[(t * B + b) * I + k];
    return t == 0 ? v.h_prev[b * H + k - I] : v.h[((t - 1) * B + b) * H + k - I];
  };
  const auto c_before = [&](int64_t t, int64_t at) {
    return t == 0 ? v.cs_prev[at % (B * H)] : v.cs[at - B * H];
  };
  for (int64_t t = 0; t < p.seq_len; ++t) {
    for (int64_t row = 0; row < B * H; ++row) {
      const int64_t b = row / H, u = row % H, at = t * B * H + row;
      double a[4];
      for (int64_t g = 0; g < 4; ++g) {
        a[g] = v.b[g * H + u];
        for (int64_t k = 0; k < I + H; ++k) {
          add(r(input(t, b, k) * v.w[(k * 4 + g) * H + u]), &a[g]);
        }
      }
      const double c_prev = c_before(t, at);
      v.i[at] = sigmoid(r(a[0] + r(peephole * v.wci[u] * c_prev)));
      v.f[at] = sigmoid(r(a[1] + r(peephole * v.wcf[u] * c_prev)));
      v.ci[at] = r(std::tanh(a[2]));
      double c = r(r(v.f[at] * c_prev) + r(v.i[at] * v.ci[at]));
      const double clip = r(p.cell_clip);
      if (clip > 0) c = std::min(std::max(c, -clip), clip);
      v.cs[at] = c;
      v.o[at] = sigmoid(r(a[3] + r(peephole * v.wco[u] * c)));
      v.co[at] = r(std::tanh(c));
      v.h[at] = r(v.o[at] * v.co[at]);
    }
  }
  v.h_prev_grad.assign(B * H, 0), v.cs_prev_grad.assign(B * H, 0);
  Vec &dh = v.h_prev_grad, &dc = v.cs_prev_grad;
  for (int64_t t = p.seq_len - 1; t >= 0; --t) {
    Vec dh_prev(B * H, 0);
    for (int64_t row = 0; row < B * H; ++row) {
      const int64_t b = row / H, u = row % H, at = t * B * H + row;
      const double dhu = r(dh[row] + v.h_grad[at]), c_prev = c_before(t, at);
      double da[4];
      da[3] = r(r(dhu * v.co[at]) * slope(v.o[at]));
      double dcu = r(r(dc[row] + v.cs_grad[at]) + r(r(dhu * v.o[at]) * tanh_slope(v.co[at])));
      add(peephole * r(da[3] * v.wco[u]), &dcu);
      da[0] = r(r(dcu * v.ci[at]) * slope(v.i[at]));
      da[1] = r(r(dcu * c_prev) * slope(v.f[at]));
      da[2] = r(r(dcu * v.i[at]) * tanh_slope(v.ci[at]));
      dc[row] = r(dcu * v.f[at]);
      add(peephole * r(da[0] * v.wci[u]), &dc[row]);
      add(peephole * r(da[1] * v.wcf[u]), &dc[row]);
      add(peephole * r(da[0] * c_prev), &v.wci_grad[u]);
      add(peephole * r(da[1] * c_prev), &v.wcf_grad[u]);
      add(peephole * r(da[3] * v.cs[at]), &v.wco_grad[u]);
      for (int64_t g = 0; g < 4; ++g) {
        add(da[g], &v.b_grad[g * H + u]);
        for (int64_t k = 0; k < I + H; ++k) {
          const int64_t w = (k * 4 + g) * H + u;
          add(r(da[g] * input(t, b, k)), &v.w_grad[w]);
          add(r(da[g] * v.w[w]), k < I ? &v.x_grad[(t * B + b) * I + k] : &dh_prev[b * H + k - I]);
        }
      }
    }
    dh = dh_prev;
  }
  return v;
}

Status RunBlockLstm(const ProductLibraries& libraries, const BlockLstmProblem& p,
                    DeviceAllocator* forward, DeviceAllocator* backward, void* stream,
                    BlockValues* v) {
  const int64_t T = p.max_time, B = p.batch, I = p.input_size, H = p.num_units;
  Tensors tensors(p.dtype, v);
  const auto in = [&tensors](Vec V::* field) { return tensors.Input(field); };
  const auto out = [&](Vec V::* field) { return tensors.Output(field, T * B * H); };
  BlockLstmForwardArgs f = {p,          in(&V::x),   in(&V::cs_prev), in(&V::h_prev),
                            in(&V::w),  in(&V::wci), in(&V::wcf),     in(&V::wco),
                            in(&V::b),  out(&V::i),  out(&V::cs),     out(&V::f),
                            out(&V::o), out(&V::ci), out(&V::co),     out(&V::h)};
  RNN_OPS_RETURN_IF_ERROR(RunBlockLstmForward(libraries, f, forward, stream));
  tensors.Read(kBlockOutputs);
  BlockLstmBackwardArgs g = {};
  g.problem = p;
  g.x = f.x, g.cs_prev = f.cs_prev, g.h_prev = f.h_prev, g.w = f.w;
  g.wci = f.wci, g.wcf = f.wcf, g.wco = f.wco, g.b = f.b;
  g.i = f.i, g.cs = f.cs, g.f = f.f, g.o = f.o, g.ci = f.ci, g.co = f.co, g.h = f.h;
  g.cs_grad = in(&V::cs_grad), g.h_grad = in(&V::h_grad);
  g.x_grad = tensors.Output(&V::x_grad, T * B * I);
  g.cs_prev_grad = tensors.Output(&V::cs_prev_grad, B * H);
  g.h_prev_grad = tensors.Output(&V::h_prev_grad, B * H);
  g.w_grad = tensors.Output(&V::w_grad, (I + H) * 4 * H);
  g.wci_grad = tensors.Output(&V::wci_grad, H);
  g.wcf_grad = tensors.Output(&V::wcf_grad, H);
  g.wco_grad = tensors.Output(&V::wco_grad, H);
  g.b_grad = tensors.Output(&V::b_grad, 4 * H);
  RNN_OPS_RETURN_IF_ERROR(RunBlockLstmBackward(libraries, g, backward, stream));
  tensors.Read(kBlockGradients);
  return Status();
}

}  // namespace fake
}  // namespace gpu
}  // namespace rnn_ops
