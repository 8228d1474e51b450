#include "tests/cc/gpu/block_lstm_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/cc/gpu/device_tensors.h"

namespace rnn_ops::gpu::fake {
namespace {

using V = BlockValues;
using Vec = std::vector<double>;

cpu::BlockLstmProblem ForReference(const BlockLstmProblem& p) { return {p, p.dtype}; }

void FillRandom(std::mt19937_64& random, Dtype dtype, double size, int64_t count, Vec* values) {
  std::uniform_real_distribution<double> any(-size, size);
  values->resize(count);
  for (double& value : *values) value = RoundTo(dtype, any(random));
}

}  // namespace

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

Status RunBlockLstm(const ProductLibraries& libraries, const BlockLstmProblem& p,
                    DeviceAllocator* forward, DeviceAllocator* backward, void* stream,
                    BlockValues* v) {
  const int64_t T = p.max_time, B = p.batch, I = p.input_size, H = p.num_units;
  DeviceTensors<BlockValues> tensors(p.dtype, v);
  const auto in = [&tensors](Vec V::* field) { return tensors.In(field); };
  const auto out = [&](Vec V::* field) { return tensors.Out(field, T * B * H); };
  BlockLstmForwardArgs f = {p,          in(&V::x),   in(&V::cs_prev), in(&V::h_prev),
                            in(&V::w),  in(&V::wci), in(&V::wcf),     in(&V::wco),
                            in(&V::b),  out(&V::i),  out(&V::cs),     out(&V::f),
                            out(&V::o), out(&V::ci), out(&V::co),     out(&V::h)};
  RNN_OPS_RETURN_IF_ERROR(RunBlockLstmForward(libraries, f, forward, stream));
  tensors.Read(cpu::testing::kBlockOutputs);
  BlockLstmBackwardArgs g = {};
  g.problem = p;
  g.x = f.x, g.cs_prev = f.cs_prev, g.h_prev = f.h_prev, g.w = f.w;
  g.wci = f.wci, g.wcf = f.wcf, g.wco = f.wco, g.b = f.b;
  g.i = f.i, g.cs = f.cs, g.f = f.f, g.o = f.o, g.ci = f.ci, g.co = f.co, g.h = f.h;
  g.cs_grad = in(&V::cs_grad), g.h_grad = in(&V::h_grad);
  g.x_grad = tensors.Out(&V::x_grad, T * B * I);
  g.cs_prev_grad = tensors.Out(&V::cs_prev_grad, B * H);
  g.h_prev_grad = tensors.Out(&V::h_prev_grad, B * H);
  g.w_grad = tensors.Out(&V::w_grad, (I + H) * 4 * H);
  g.wci_grad = tensors.Out(&V::wci_grad, H);
  g.wcf_grad = tensors.Out(&V::wcf_grad, H);
  g.wco_grad = tensors.Out(&V::wco_grad, H);
  g.b_grad = tensors.Out(&V::b_grad, 4 * H);
  RNN_OPS_RETURN_IF_ERROR(RunBlockLstmBackward(libraries, g, backward, stream));
  tensors.Read(cpu::testing::kBlockGradients);
  return Status();
}

}  // namespace rnn_ops::gpu::fake
